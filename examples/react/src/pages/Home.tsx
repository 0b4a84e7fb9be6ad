import { useCallback, useEffect, useState } from 'react';
import { useAccount } from '../account';
import { ActionButton } from '../form';
import { messageOf } from '../gatehouse';
import { addPasskey, listPasskeys, type Passkey } from '../passkeys';
import { SignIn } from './SignIn';

export function Home() {
  const { user, error, reload, signOut } = useAccount();
  if (error)
    return (
      <>
        <p role="alert">{messageOf(error)}</p>
        <ActionButton onClick={reload}>Try again</ActionButton>
      </>
    );
  if (user === undefined) return <p role="status">Loading…</p>;
  if (user === null) return <SignIn />;
  return (
    <>
      <h1>{user.first_name ? `Hello, ${user.first_name}!` : 'Hello!'}</h1>
      <p>You are signed in as {user.email}.</p>
      <Passkeys />
      <ActionButton onClick={signOut}>Sign out</ActionButton>
      <nav aria-label="Other pages">
        {/* A page of Gatehouse. Users are signed in there, too. */}
        <a href="/account">Manage your account</a>
      </nav>
    </>
  );
}

function Passkeys() {
  const [passkeys, setPasskeys] = useState<Passkey[]>();
  const load = useCallback(async () => setPasskeys(await listPasskeys()), []);
  useEffect(() => void load().catch(() => setPasskeys(undefined)), [load]);
  return (
    <section>
      <h2>Passkeys</h2>
      {passkeys?.length === 0 && <p>With a passkey, you can sign in without a password.</p>}
      <ul>
        {passkeys?.map(({ id, name }) => (
          <li key={id}>{name}</li>
        ))}
      </ul>
      <ActionButton onClick={() => addPasskey().then(load)}>Add a passkey</ActionButton>
    </section>
  );
}
