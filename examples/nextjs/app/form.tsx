'use client';

import { type ComponentProps, type ReactNode, useActionState, useId } from 'react';

interface FormProps {
  /** The label of the button. */
  button: string;
  action: ComponentProps<'form'>['action'];
  isPending: boolean;
  message?: string | undefined;
  children?: ReactNode;
}

export function Form({ button, action, isPending, message, children }: FormProps) {
  return (
    <form action={action} aria-busy={isPending}>
      <p role="alert">{message}</p>
      {children}
      <button type="submit" disabled={isPending}>
        {button}
      </button>
    </form>
  );
}

export function Field({ label, hint, ...input }: { label: string; hint?: string } & ComponentProps<'input'>) {
  const id = useId();
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <input id={id} required {...input} {...(hint && { 'aria-describedby': `${id}-hint` })} />
      {hint && <p id={`${id}-hint`}>{hint}</p>}
    </>
  );
}

export function NewPassword({ label = 'Password' }) {
  return <Field label={label} name="password" type="password" autoComplete="new-password" minLength={8} />;
}

// Not inside the component, because React calls a new function after each render.
const focus = (element: HTMLElement | null) => element?.focus();

/** What a page shows after an action. The heading receives the focus, so screen readers read it. */
export function Outcome({ heading, children }: { heading: string; children?: ReactNode }) {
  return (
    <>
      <h1 tabIndex={-1} ref={focus}>
        {heading}
      </h1>
      {children}
    </>
  );
}

interface PasskeyButtonProps {
  /** Asks the browser for a passkey, and sends it. @returns a message if this failed */
  onClick(): Promise<string | undefined>;
  children: string;
}

export function PasskeyButton({ onClick, children }: PasskeyButtonProps) {
  const [message, action, isPending] = useActionState(() => onClick().catch(browserMessageOf), undefined);
  return (
    <form action={action} aria-busy={isPending}>
      <button type="submit" className="secondary" disabled={isPending}>
        {children}
      </button>
      <p role="alert">{message}</p>
    </form>
  );
}

function browserMessageOf(error: unknown): string {
  const name = error instanceof Error ? error.name : '';
  // The user closed the dialog of the browser, or the dialog timed out.
  if (name === 'NotAllowedError') return 'No passkey was used. Try again.';
  if (name === 'InvalidStateError') return 'This device already has a passkey for your account.';
  return 'Something went wrong. Try again in a minute.';
}
