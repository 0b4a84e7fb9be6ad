'use client';

import { useActionState } from 'react';
import { register, type State, sendAgain } from '../actions';

export default function Register() {
  const [state, action, isPending] = useActionState(register, {});
  if (state.step === 'done') return <Sent initial={state} />;
  return (
    <form action={action}>
      <h1>Create an account</h1>
      <p role="alert">{state.message}</p>
      <label htmlFor="email">Email address</label>
      <input id="email" name="email" type="email" autoComplete="username" required defaultValue={state.email} />
      <label htmlFor="password">Password</label>
      <input id="password" name="password" type="password" autoComplete="new-password" minLength={8} required />
      <button type="submit" disabled={isPending}>
        Create account
      </button>
    </form>
  );
}

function Sent({ initial }: { initial: State }) {
  const [state, action, isPending] = useActionState(sendAgain, initial);
  return (
    <form action={action}>
      <h1>Check your email</h1>
      <p>We have sent a link to {state.email}. Open it to confirm your address.</p>
      <button type="submit" disabled={isPending}>
        Send again
      </button>
      <p role="status">{state.message}</p>
    </form>
  );
}
