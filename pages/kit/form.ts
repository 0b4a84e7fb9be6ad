import { ApiFailure } from './api-failure.js';
import { whileBusy } from './busy.js';
import { find, setText } from './dom.js';
import { page } from './page-data.js';
import { failureText, text } from './texts.js';

type Values = Record<string, string>;

export interface FormControl {
  element: HTMLFormElement;
  /** Empties the form and removes its messages. */
  clear(): void;
  showFailure(failure: unknown): void;
  /** Reports a success above the form, which must include `kit/messages`. */
  showStatus(message: string): void;
}

/**
 * Submits a form by script. Missing or malformed values are reported at their fields, and API errors above the form. In both
 * cases, the first invalid field gets the focus. A form in a dialog is cleared when the dialog closes.
 * @param scope prefix of the form's own error texts
 * @param fieldAtFault the invalid field by error code, for errors that do not name a field
 */
export function handleForm(
  selector: string,
  scope: string,
  submit: (values: Values, form: FormControl) => Promise<void>,
  fieldAtFault: Readonly<Record<string, string>> = {},
): FormControl {
  const element = find<HTMLFormElement>(selector);
  const around = element.closest('dialog, [data-part]') ?? find('main');
  const alert = find('[data-alert]', around);
  // Dialogs have none: when an action succeeds, they close.
  const status = around.querySelector('[data-status]');

  const form: FormControl = {
    element,
    clear: () => {
      element.reset();
      for (const input of inputsOf(element)) showFault(input, '');
      alert.textContent = '';
      if (status) status.textContent = '';
    },
    showFailure: (failure) => {
      if (status) status.textContent = '';
      const message = failureText(scope, failure);
      const { code, field } = failure instanceof ApiFailure ? failure : new ApiFailure('unknown');
      const input = inputNamed(element, field ?? fieldAtFault[code] ?? (code === 'INVALID_OTP' ? 'otp' : undefined));
      if (!input) {
        alert.textContent = message;
        return;
      }
      showFault(input, message);
      input.focus();
      if (input instanceof HTMLInputElement) input.select();
    },
    showStatus: (message) => {
      alert.textContent = '';
      setText(find('[data-status]', around), message);
    },
  };

  const button = find<HTMLButtonElement>('button[type=submit]', element);
  element.addEventListener('submit', (event) => {
    event.preventDefault();
    return whileBusy(button, async () => {
      if (!isValid(element)) return;
      alert.textContent = '';
      if (status) status.textContent = '';
      try {
        await submit(valuesOf(element), form);
      } catch (failure) {
        if (!(failure instanceof ApiFailure)) console.error(failure);
        form.showFailure(failure);
      }
    });
  });
  // The button was disabled until now, because the form has no action without this script.
  button.disabled = false;
  element.closest('dialog')?.addEventListener('close', form.clear);
  return form;
}

const inputsOf = (form: HTMLFormElement) =>
  [...form.querySelectorAll<HTMLInputElement | HTMLSelectElement>('input, select')].filter(
    (input) => !input.closest('[hidden]'),
  );

const inputNamed = (form: HTMLFormElement, name: string | undefined) =>
  inputsOf(form).find((input) => input.name === name);

const valuesOf = (form: HTMLFormElement): Values =>
  Object.fromEntries(inputsOf(form).map(({ name, value }) => [name, value]));

/** Displays at each field what is wrong with it, and focuses the first invalid one. */
function isValid(form: HTMLFormElement): boolean {
  const inputs = inputsOf(form);
  const [first] = inputs.filter((input) => !isFilledIn(input));
  first?.focus();
  return first === undefined;
}

/** Displays at a field what is wrong with it. @returns whether the field is valid */
export function isFilledIn(input: HTMLInputElement | HTMLSelectElement): boolean {
  const fault = faultOf(input);
  showFault(input, fault ?? '');
  return fault === undefined;
}

/** What is wrong with a field; undefined if it is valid. */
function faultOf(input: HTMLInputElement | HTMLSelectElement): string | undefined {
  const { validity, value, name } = input;
  if (validity.valueMissing) {
    const ownText = `fault_missing_${name}`;
    return text(ownText in page.texts ? ownText : 'fault_missing');
  }
  if (validity.typeMismatch) return text('fault_email');
  // Browsers check the length only of typed values, not of values that a password manager filled in.
  if (input instanceof HTMLInputElement && value.length < input.minLength)
    return text('fault_too_short', { min: String(input.minLength) });
  return undefined;
}

/** Displays at a field what is wrong with it. */
export function showFault(input: HTMLInputElement | HTMLSelectElement, message: string): void {
  const place = document.getElementById(`${input.id}-fault`);
  if (!place) return;
  place.textContent = message;
  if (message === '') input.removeAttribute('aria-invalid');
  else input.setAttribute('aria-invalid', 'true');
}
