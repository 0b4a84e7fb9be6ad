import { useState } from 'react';
import { Field, Form, Outcome } from '../form';
import { call, isDeadLink } from '../gatehouse';
import { useLinkToken } from '../use-link-token';

/** Requests the link to set a new password. */
export function ForgotPassword() {
  const [email, setEmail] = useState<string>();
  if (email !== undefined)
    return (
      <Outcome heading="Check your email">
        <p>If there is an account for {email}, we have sent a link to set a new password.</p>
      </Outcome>
    );
  return (
    <>
      <h1>Reset your password</h1>
      <Form
        button="Send a link"
        onSubmit={async ({ email }) => {
          await call('/auth/password/request', { email, reset_url: `${location.origin}/reset-password` });
          setEmail(email);
        }}
      >
        <Field label="Email address" name="email" type="email" autoComplete="username" />
      </Form>
    </>
  );
}

/** The page that the link opens. */
export function ResetPassword() {
  const token = useLinkToken();
  const [step, setStep] = useState<'form' | 'done' | 'dead'>('form');

  async function save({ password }: Record<string, string>) {
    try {
      await call('/auth/password/reset', { token, password });
      setStep('done');
    } catch (error) {
      if (!isDeadLink(error)) throw error;
      setStep('dead');
    }
  }

  if (step === 'done')
    return (
      <Outcome heading="Your new password is saved">
        <a href="/">Sign in</a>
      </Outcome>
    );
  if (step === 'dead')
    return (
      <Outcome heading="This link cannot be used">
        <a href="/forgot-password">Request a new link</a>
      </Outcome>
    );
  return (
    <>
      <h1>Set a new password</h1>
      <Form button="Save password" onSubmit={save}>
        <Field label="New password" name="password" type="password" autoComplete="new-password" minLength={8} />
      </Form>
    </>
  );
}
