'use client';

import { startAuthentication } from '@simplewebauthn/browser';
import Link from 'next/link';
import { startTransition, useActionState, useState } from 'react';
import { type Attempt, type State, signIn, startPasskeyLogin } from '../actions';
import { Field, Form, PasskeyButton } from '../form';

export default function SignIn() {
  /** The last attempt, which is repeated with a code. It is stored only while the page is open. */
  const [attempt, setAttempt] = useState<Attempt>({});
  const [state, submit, isPending] = useActionState<State, Attempt | null>(async (_state, next) => {
    if (!next) return {};
    setAttempt(next);
    return signIn(next);
  }, {});

  async function askForPasskey() {
    const credential = await startAuthentication({ optionsJSON: await startPasskeyLogin() });
    startTransition(() => submit({ credential }));
    return undefined;
  }

  if (state.step === 'code')
    return (
      <>
        <h1>Sign in</h1>
        <Form
          button="Sign in"
          action={(form) => submit({ ...attempt, otp: String(form.get('otp')) })}
          isPending={isPending}
          message={state.message}
        >
          <Field
            label="Code"
            hint="Enter the code from your authenticator app, or a recovery code."
            name="otp"
            autoComplete="one-time-code"
            spellCheck={false}
            autoFocus
          />
        </Form>
        <button type="button" className="secondary" onClick={() => startTransition(() => submit(null))}>
          Sign in to another account
        </button>
      </>
    );
  return (
    <>
      <h1>Sign in</h1>
      <Form
        button="Sign in"
        action={(form) => submit({ email: String(form.get('email')), password: String(form.get('password')) })}
        isPending={isPending}
        message={state.message}
      >
        <Field label="Email address" name="email" type="email" autoComplete="username" defaultValue={state.email} />
        <Field label="Password" name="password" type="password" autoComplete="current-password" />
      </Form>
      <PasskeyButton onClick={askForPasskey}>Sign in with a passkey</PasskeyButton>
      <nav aria-label="Other pages">
        <Link href="/forgot-password">Forgot your password?</Link>
        <Link href="/register">Create an account</Link>
      </nav>
    </>
  );
}
