import { useState } from 'react';
import { Field, Form, Outcome } from '../form';
import { call, codeOf, isDeadLink } from '../gatehouse';
import { useLinkToken } from '../use-link-token';

export function VerifyEmail() {
  const token = useLinkToken();
  const [step, setStep] = useState<'click' | 'password' | 'done' | 'dead'>('click');

  // Email scanners open links too, so the address is confirmed only when the user clicks the button.
  async function confirm({ password }: Record<string, string>) {
    try {
      await call('/users/register/verify-email', { token, ...(password && { password }) });
      setStep('done');
    } catch (error) {
      if (isDeadLink(error)) return setStep('dead');
      if (codeOf(error) !== 'INVALID_PAYLOAD') throw error;
      // In a browser other than the one that was used to register, the user must set a password. If the request already
      // had a password, this error means that the link has been used.
      setStep(password ? 'dead' : 'password');
    }
  }

  if (step === 'done')
    return (
      <Outcome heading="Your address is confirmed">
        <a href="/">Sign in</a>
      </Outcome>
    );
  if (step === 'dead')
    return (
      <Outcome heading="This link cannot be used">
        <a href="/register">Register again</a>
      </Outcome>
    );
  return (
    <>
      <h1>Confirm your address</h1>
      <Form button="Confirm" onSubmit={confirm}>
        {step === 'password' && (
          <>
            <p>You are using a different browser. Set the password of your account to confirm.</p>
            <Field label="Password" name="password" type="password" autoComplete="new-password" minLength={8} />
          </>
        )}
      </Form>
    </>
  );
}
