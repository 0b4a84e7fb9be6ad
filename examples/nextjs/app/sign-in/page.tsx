'use client';

import Link from 'next/link';
import { useActionState, useState } from 'react';
import { signIn } from '../actions';

export default function SignIn() {
  const [state, action, isPending] = useActionState(signIn, {});
  // Controlled, so that the values are still there when the form asks for the code.
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const needsCode = state.step === 'code';
  return (
    <form action={action}>
      <h1>Sign in</h1>
      <p role="alert">{state.message}</p>
      <div hidden={needsCode}>
        <label htmlFor="email">Email address</label>
        <input
          id="email"
          name="email"
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <label htmlFor="password">Password</label>
        <input
          id="password"
          name="password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </div>
      {needsCode && (
        <>
          <label htmlFor="otp">Code from your authenticator app, or a recovery code</label>
          {/* biome-ignore lint/a11y/noAutofocus: the field appears because the user submitted the form */}
          <input id="otp" name="otp" autoComplete="one-time-code" required autoFocus />
        </>
      )}
      <button type="submit" disabled={isPending}>
        Sign in
      </button>
      <Link href="/forgot-password">Forgot your password?</Link>
      <Link href="/register">Create an account</Link>
    </form>
  );
}
