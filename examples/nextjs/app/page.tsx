import { redirect } from 'next/navigation';
import { readUser } from '../lib/gatehouse';
import { signOut } from './actions';

export default async function Home() {
  const user = await readUser();
  if (!user) redirect('/sign-in');
  return (
    <>
      <h1>Hello, {user.first_name ?? user.email}!</h1>
      <form action={signOut}>
        <button type="submit">Sign out</button>
      </form>
    </>
  );
}
