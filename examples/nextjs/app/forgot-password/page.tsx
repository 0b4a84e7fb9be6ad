'use client';

import { useActionState } from 'react';
import { requestReset } from '../actions';

export default function ForgotPassword() {
  const [state, action, isPending] = useActionState(requestReset, {});
  if (state.step === 'done')
    return (
      <>
        <h1>Check your email</h1>
        <p>If there is an account for {state.email}, we have sent a link to set a new password.</p>
      </>
    );
  return (
    <form action={action}>
      <h1>Reset your password</h1>
      <p role="alert">{state.message}</p>
      <label htmlFor="email">Email address</label>
      <input id="email" name="email" type="email" autoComplete="username" required defaultValue={state.email} />
      <button type="submit" disabled={isPending}>
        Send a link
      </button>
    </form>
  );
}
