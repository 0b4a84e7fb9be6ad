import { type ComponentProps, type ReactNode, useId, useState } from 'react';
import { messageOf } from './gatehouse';

/** Runs actions, one at a time, and provides the message of the last one that failed. */
function useAction() {
  const [isBusy, setIsBusy] = useState(false);
  const [message, setMessage] = useState('');
  const run = async (action: () => Promise<void>) => {
    if (isBusy) return;
    setIsBusy(true);
    setMessage('');
    try {
      await action();
    } catch (error) {
      setMessage(messageOf(error));
    } finally {
      setIsBusy(false);
    }
  };
  return { isBusy, message, run };
}

interface FormProps {
  /** The label of the button. */
  button: string;
  onSubmit(values: Record<string, string>): Promise<void>;
  children?: ReactNode;
}

export function Form({ button, onSubmit, children }: FormProps) {
  const { isBusy, message, run } = useAction();
  return (
    <form
      aria-busy={isBusy}
      onSubmit={(event) => {
        event.preventDefault();
        const fields = new FormData(event.currentTarget);
        run(() => onSubmit(Object.fromEntries([...fields].map(([name, value]) => [name, String(value)]))));
      }}
    >
      <p role="alert">{message}</p>
      {children}
      <button type="submit">{button}</button>
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

/** A button outside of a form. */
export function ActionButton({ onClick, children }: { onClick(): Promise<void>; children: string }) {
  const { isBusy, message, run } = useAction();
  return (
    <>
      <button type="button" className="secondary" aria-busy={isBusy} onClick={() => run(onClick)}>
        {children}
      </button>
      <p role="alert">{message}</p>
    </>
  );
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
