'use client';

import Link from 'next/link';
import { useActionState } from 'react';
import { verifyEmail } from '../actions';
import { Form, NewPassword, Outcome } from '../form';

export function VerifyEmail({ token }: { token: string }) {
  const [{ step, message }, action, isPending] = useActionState(verifyEmail, {});
  if (step === 'done')
    return (
      <Outcome heading="Your address is confirmed">
        <Link href="/sign-in">Sign in</Link>
      </Outcome>
    );
  if (step === 'dead')
    return (
      <Outcome heading="This link cannot be used">
        <Link href="/register">Register again</Link>
      </Outcome>
    );
  return (
    <>
      <h1>Confirm your address</h1>
      <Form button="Confirm" action={action} isPending={isPending} message={message}>
        <input type="hidden" name="token" value={token} />
        {step === 'password' && (
          <>
            <p>You are using a different browser. Set the password of your account to confirm.</p>
            <NewPassword />
          </>
        )}
      </Form>
    </>
  );
}
