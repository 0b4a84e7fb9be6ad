import { useState } from 'react';
import { useAccount } from '../account';
import { ActionButton, Field, Form } from '../form';
import { codeOf, Failure, startSession } from '../gatehouse';
import { askForPasskey } from '../passkeys';

interface Attempt {
  path: '/auth/login' | '/auth/passkey';
  body: object;
}

export function SignIn() {
  const { reload } = useAccount();
  /** The attempt that requires a code. It is stored only while the page is open. */
  const [attempt, setAttempt] = useState<Attempt>();

  async function signIn({ path, body }: Attempt, otp?: string) {
    try {
      await startSession(path, { ...body, ...(otp && { otp }) });
    } catch (error) {
      const code = codeOf(error);
      // Without a code, the first request of a user with two-factor authentication fails with INVALID_OTP.
      if (code === 'INVALID_OTP' && !otp) return setAttempt({ path, body });
      if (code === 'INVALID_CREDENTIALS' && path === '/auth/passkey') throw new Failure('UNKNOWN_PASSKEY');
      throw error;
    }
    await reload();
  }

  if (attempt)
    return (
      <>
        <h1>Sign in</h1>
        <Form button="Sign in" onSubmit={({ otp = '' }) => signIn(attempt, otp)}>
          <Field
            label="Code"
            hint="Enter the code from your authenticator app, or a recovery code."
            name="otp"
            autoComplete="one-time-code"
            spellCheck={false}
            autoFocus
          />
        </Form>
        <ActionButton onClick={async () => setAttempt(undefined)}>Sign in to another account</ActionButton>
      </>
    );
  return (
    <>
      <h1>Sign in</h1>
      <Form button="Sign in" onSubmit={(body) => signIn({ path: '/auth/login', body })}>
        <Field label="Email address" name="email" type="email" autoComplete="username" />
        <Field label="Password" name="password" type="password" autoComplete="current-password" />
      </Form>
      <ActionButton
        onClick={async () => signIn({ path: '/auth/passkey', body: { credential: await askForPasskey() } })}
      >
        Sign in with a passkey
      </ActionButton>
      <nav aria-label="Other pages">
        <a href="/forgot-password">Forgot your password?</a>
        <a href="/register">Create an account</a>
      </nav>
    </>
  );
}
