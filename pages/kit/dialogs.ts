import { ApiFailure } from './api-failure.js';
import { whileBusy } from './busy.js';
import { find } from './dom.js';
import { focusHeading } from './heading.js';
import { hideNotice } from './notice.js';
import { failureText } from './texts.js';

export const dialogNamed = (name: string): HTMLDialogElement => find<HTMLDialogElement>(`[data-dialog=${name}]`);

/** Opens a dialog. The browser keeps the focus inside, closes it with Escape, and returns the focus when it closes. */
export function openDialog(name: string): HTMLDialogElement {
  const dialog = dialogNamed(name);
  // The user has moved on.
  hideNotice();
  dialog.returnValue = '';
  dialog.showModal();
  // The browser would focus the button that closes the dialog.
  if (!dialog.querySelector('[autofocus]')) {
    const visible = (selector: string) =>
      [...dialog.querySelectorAll<HTMLElement>(selector)].find((control) => control.checkVisibility());
    (visible('input, select') ?? visible('.primary, .button'))?.focus();
  }
  return dialog;
}

/** Enables the buttons that open and close dialogs. */
export function enableDialogs(): void {
  for (const button of document.querySelectorAll<HTMLElement>('[data-opens]')) {
    button.addEventListener('click', () => openDialog(button.dataset.opens ?? ''));
  }
  for (const button of document.querySelectorAll<HTMLElement>('[data-close]')) {
    button.addEventListener('click', () => button.closest('dialog')?.close());
  }
}

/** An action that the user has to confirm. */
interface Question {
  title: string;
  text: string;
  /** The label of the button that confirms. */
  action: string;
  /** Prefix of the action's own error texts. */
  scope: string;
  /** Performs the action. If it throws, the dialog stays open and says why the action failed. */
  act(): Promise<void>;
}

/** Asks the user to confirm an action. The harmless button has the focus, so that pressing a key twice does not confirm. */
export function ask({ title, text, action, scope, act }: Question): void {
  const dialog = openDialog('question');
  const yes = find<HTMLButtonElement>('[data-yes]', dialog);
  const alert = find('[data-alert]', dialog);
  find('h2', dialog).textContent = title;
  find('.lead', dialog).textContent = text;
  yes.textContent = action;
  alert.textContent = '';
  yes.onclick = () =>
    whileBusy(yes, async () => {
      alert.textContent = '';
      try {
        await act();
      } catch (failure) {
        if (!(failure instanceof ApiFailure)) console.error(failure);
        alert.textContent = failureText(scope, failure);
        return;
      }
      dialog.close();
      // The button that opened the dialog may no longer exist. The focus then stays in the dialog until the browser draws the page.
      const { activeElement } = document;
      if (activeElement === document.body || dialog.contains(activeElement)) focusHeading();
    });
}
