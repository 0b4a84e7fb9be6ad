import { useState } from 'react';
import { ActionButton, Field, Form, Outcome } from '../form';
import { call, Failure } from '../gatehouse';

export function Register() {
  /** The address to which the email was sent. */
  const [email, setEmail] = useState<string>();

  async function register({ first_name = '', ...values }: Record<string, string>) {
    const user = { ...values, first_name: first_name || null };
    // A registration always returns 204, even if it was dropped because of the password. So check the password first.
    const { acceptable, reasons } = await call<{ acceptable: boolean; reasons: string[] }>(
      '/auth/password/check',
      user,
    );
    if (!acceptable) throw new Failure('FAILED_VALIDATION', reasons[0]);
    await call('/users/register', { ...user, verification_url: `${location.origin}/verify-email` });
    setEmail(values.email);
  }

  if (email !== undefined) return <CheckYourEmail email={email} />;
  return (
    <>
      <h1>Create an account</h1>
      <Form button="Create account" onSubmit={register}>
        <Field label="First name (optional)" name="first_name" autoComplete="given-name" required={false} />
        <Field label="Email address" name="email" type="email" autoComplete="username" />
        <Field label="Password" name="password" type="password" autoComplete="new-password" minLength={8} />
      </Form>
      <nav aria-label="Other pages">
        <a href="/">Sign in</a>
      </nav>
    </>
  );
}

function CheckYourEmail({ email }: { email: string }) {
  const [isSentAgain, setIsSentAgain] = useState(false);
  return (
    <Outcome heading="Check your email">
      <p>We have sent a link to {email}. Open it to confirm your address.</p>
      <ActionButton onClick={() => call('/users/register/resend', { email }).then(() => setIsSentAgain(true))}>
        Send again
      </ActionButton>
      <p role="status">{isSentAgain && 'We have sent the email again. Also check your spam folder.'}</p>
    </Outcome>
  );
}
