'use client';

import Link from 'next/link';
import { useActionState } from 'react';
import { resetPassword } from '../actions';
import { Form, NewPassword, Outcome } from '../form';

export function ResetPassword({ token }: { token: string }) {
  const [{ step, message }, action, isPending] = useActionState(resetPassword, {});
  if (step === 'done')
    return (
      <Outcome heading="Your new password is saved">
        <Link href="/sign-in">Sign in</Link>
      </Outcome>
    );
  if (step === 'dead')
    return (
      <Outcome heading="This link cannot be used">
        <Link href="/forgot-password">Request a new link</Link>
      </Outcome>
    );
  return (
    <>
      <h1>Set a new password</h1>
      <Form button="Save password" action={action} isPending={isPending} message={message}>
        <input type="hidden" name="token" value={token} />
        <NewPassword label="New password" />
      </Form>
    </>
  );
}
