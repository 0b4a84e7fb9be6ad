import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { ApiFailure } from '../../kit/api-failure.js';
import { whileBusy } from '../../kit/busy.js';
import { failureMessage, Noticed, t } from '../texts.js';
import { Failure } from './failure.js';

interface Props {
  /** The label of the button that submits. Undefined: the user may only look at the values. */
  submit: string | undefined;
  /** The fields. @param faultOf what is wrong with the value of a field, according to the API */
  children: (faultOf: (name: string) => string | undefined) => ComponentChildren;
  /** The names of the fields of this form. A failure that concerns another field is shown above the form. */
  fields: readonly string[];
  onSubmit: () => Promise<unknown>;
  onCancel?: () => void;
  /** Nothing has changed, or something is missing. */
  disabled?: boolean;
  isDangerous?: boolean;
}

/** A form that reports an API failure at the field that it concerns, or else above the form, and gives it the focus. */
export function Form({ submit, children, fields, onSubmit, onCancel, disabled, isDangerous = false }: Props) {
  const [failure, setFailure] = useState<unknown>();
  const button = useRef<HTMLButtonElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const field = failure instanceof ApiFailure && fields.includes(failure.field ?? '') ? failure.field : undefined;
  const send = () =>
    whileBusy(button.current, async () => {
      setFailure(undefined);
      try {
        await onSubmit();
      } catch (error) {
        if (!(error instanceof ApiFailure || error instanceof Noticed)) console.error(error);
        setFailure(error);
        requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus());
      }
    });
  return (
    <form
      ref={form}
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!disabled && submit !== undefined) void send();
      }}
    >
      <Failure failure={field === undefined ? failure : undefined} />
      {children((name) => (name === field ? failureMessage(failure) : undefined))}
      {submit !== undefined && (
        <div class="buttons">
          {onCancel && (
            <button type="button" class="secondary small" onClick={() => onCancel()}>
              {t('cancel')}
            </button>
          )}
          <button ref={button} type="submit" class={`${isDangerous ? 'danger' : 'primary'} small`} disabled={disabled}>
            {submit}
          </button>
        </div>
      )}
    </form>
  );
}
