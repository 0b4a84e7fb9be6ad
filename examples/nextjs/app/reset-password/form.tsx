'use client';

import Link from 'next/link';
import { useActionState } from 'react';
import { resetPassword } from '../actions';

export function ResetPassword({ token }: { token: string }) {
  const [{ step, message }, action, isPending] = useActionState(resetPassword, {});
  if (step === 'done')
    return (
      <>
        <h1>Your new password is saved</h1>
        <Link href="/sign-in">Sign in</Link>
      </>
    );
  if (step === 'dead')
    return (
      <>
        <h1>This link cannot be used</h1>
        <Link href="/forgot-password">Request a new link</Link>
      </>
    );
  return (
    <form action={action}>
      <h1>Set a new password</h1>
      <p role="alert">{message}</p>
      <input type="hidden" name="token" value={token} />
      <label htmlFor="password">New password</label>
      <input id="password" name="password" type="password" autoComplete="new-password" minLength={8} required />
      <button type="submit" disabled={isPending}>
        Save password
      </button>
    </form>
  );
}
