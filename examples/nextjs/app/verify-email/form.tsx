'use client';

import Link from 'next/link';
import { useActionState } from 'react';
import { verifyEmail } from '../actions';

export function VerifyEmail({ token }: { token: string }) {
  const [{ step, message }, action, isPending] = useActionState(verifyEmail, {});
  if (step === 'done')
    return (
      <>
        <h1>Your address is confirmed</h1>
        <Link href="/sign-in">Sign in</Link>
      </>
    );
  if (step === 'dead')
    return (
      <>
        <h1>This link cannot be used</h1>
        <Link href="/register">Register again</Link>
      </>
    );
  return (
    <form action={action}>
      <h1>Confirm your address</h1>
      <p role="alert">{message}</p>
      <input type="hidden" name="token" value={token} />
      {step === 'password' && (
        <>
          <p>You are using a different browser. Set the password of your account to confirm.</p>
          <label htmlFor="password">Password</label>
          <input id="password" name="password" type="password" autoComplete="new-password" minLength={8} required />
        </>
      )}
      <button type="submit" disabled={isPending}>
        Confirm
      </button>
    </form>
  );
}
