import { redirect } from 'next/navigation';
import { call, readUser } from '../lib/gatehouse';
import { signOut } from './actions';
import { AddPasskey } from './add-passkey';

export default async function Home() {
  const user = await readUser();
  if (!user) redirect('/sign-in');
  const passkeys = await call<{ id: string; name: string }[]>('/users/me/passkeys');
  return (
    <>
      <h1>{user.first_name ? `Hello, ${user.first_name}!` : 'Hello!'}</h1>
      <p>You are signed in as {user.email}.</p>
      <section>
        <h2>Passkeys</h2>
        {passkeys.length === 0 && <p>With a passkey, you can sign in without a password.</p>}
        <ul>
          {passkeys.map(({ id, name }) => (
            <li key={id}>{name}</li>
          ))}
        </ul>
        <AddPasskey />
      </section>
      <form action={signOut}>
        <button type="submit" className="secondary">
          Sign out
        </button>
      </form>
    </>
  );
}
