import { useState } from 'react';
import { Field, Form, Outcome } from '../form';
import { call, isDeadLink } from '../gatehouse';
import { useLinkToken } from '../use-link-token';

export function AcceptInvitation() {
  const token = useLinkToken();
  const [step, setStep] = useState<'form' | 'done' | 'dead'>('form');

  async function accept({ password }: Record<string, string>) {
    try {
      await call('/users/invite/accept', { token, password });
      setStep('done');
    } catch (error) {
      if (!isDeadLink(error)) throw error;
      setStep('dead');
    }
  }

  if (step === 'done')
    return (
      <Outcome heading="Your account is ready">
        <a href="/">Sign in</a>
      </Outcome>
    );
  if (step === 'dead')
    return (
      <Outcome heading="This invitation cannot be used">
        <p>Ask the person who invited you for a new one.</p>
      </Outcome>
    );
  return (
    <>
      <h1>Accept your invitation</h1>
      <p>Choose the password of your new account.</p>
      <Form button="Accept" onSubmit={accept}>
        <Field label="Password" name="password" type="password" autoComplete="new-password" minLength={8} />
      </Form>
    </>
  );
}
