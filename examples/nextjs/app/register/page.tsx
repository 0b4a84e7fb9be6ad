'use client';

import Link from 'next/link';
import { useActionState } from 'react';
import { register, type State, sendAgain } from '../actions';
import { Field, Form, NewPassword, Outcome } from '../form';

export default function Register() {
  const [state, action, isPending] = useActionState(register, {});
  if (state.step === 'done') return <CheckYourEmail initial={state} />;
  return (
    <>
      <h1>Create an account</h1>
      <Form button="Create account" action={action} isPending={isPending} message={state.message}>
        <Field
          label="First name (optional)"
          name="first_name"
          autoComplete="given-name"
          required={false}
          defaultValue={state.first_name}
        />
        <Field label="Email address" name="email" type="email" autoComplete="username" defaultValue={state.email} />
        <NewPassword />
      </Form>
      <nav aria-label="Other pages">
        <Link href="/sign-in">Sign in</Link>
      </nav>
    </>
  );
}

function CheckYourEmail({ initial }: { initial: State }) {
  const [state, action, isPending] = useActionState(sendAgain, initial);
  return (
    <Outcome heading="Check your email">
      <p>We have sent a link to {state.email}. Open it to confirm your address.</p>
      <form action={action} aria-busy={isPending}>
        <button type="submit" className="secondary" disabled={isPending}>
          Send again
        </button>
        <p role="status">{state.message}</p>
      </form>
    </Outcome>
  );
}
