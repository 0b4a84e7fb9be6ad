'use client';

import Link from 'next/link';
import { useActionState } from 'react';
import { acceptInvitation } from '../actions';
import { Form, NewPassword, Outcome } from '../form';

export function AcceptInvitation({ token }: { token: string }) {
  const [{ step, message }, action, isPending] = useActionState(acceptInvitation, {});
  if (step === 'done')
    return (
      <Outcome heading="Your account is ready">
        <Link href="/sign-in">Sign in</Link>
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
      <Form button="Accept" action={action} isPending={isPending} message={message}>
        <input type="hidden" name="token" value={token} />
        <NewPassword />
      </Form>
    </>
  );
}
