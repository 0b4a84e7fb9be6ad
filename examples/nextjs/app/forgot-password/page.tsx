'use client';

import { useActionState } from 'react';
import { requestReset } from '../actions';
import { Field, Form, Outcome } from '../form';

export default function ForgotPassword() {
  const [{ step, email, message }, action, isPending] = useActionState(requestReset, {});
  if (step === 'done')
    return (
      <Outcome heading="Check your email">
        <p>If there is an account for {email}, we have sent a link to set a new password.</p>
      </Outcome>
    );
  return (
    <>
      <h1>Reset your password</h1>
      <Form button="Send a link" action={action} isPending={isPending} message={message}>
        <Field label="Email address" name="email" type="email" autoComplete="username" defaultValue={email} />
      </Form>
    </>
  );
}
