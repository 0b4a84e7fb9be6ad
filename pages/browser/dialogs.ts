import { find } from './dom.js';
import { focusHeading } from './views.js';

export const dialogNamed = (name: string): HTMLDialogElement => find<HTMLDialogElement>(`[data-dialog=${name}]`);

/** Opens a dialog. The browser keeps the focus inside, closes it with Escape, and returns the focus when it closes. */
export function openDialog(name: string): HTMLDialogElement {
  const dialog = dialogNamed(name);
  dialog.returnValue = '';
  dialog.showModal();
  // The browser would focus the button that closes the dialog.
  if (!dialog.querySelector('[autofocus]')) {
    [...dialog.querySelectorAll<HTMLElement>('input, select')].find((field) => field.checkVisibility())?.focus();
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
  /** Performs the action. If it returns a text, the text says why the action failed, and the dialog stays open. */
  act(): Promise<string | undefined>;
}

/** Asks the user to confirm an action. The harmless button has the focus, so that pressing a key twice does not confirm. */
export function ask({ title, text, action, act }: Question): void {
  const dialog = openDialog('question');
  const yes = find<HTMLButtonElement>('[data-yes]', dialog);
  const alert = find('[data-alert]', dialog);
  find('h2', dialog).textContent = title;
  find('.lead', dialog).textContent = text;
  yes.textContent = action;
  alert.textContent = '';
  yes.onclick = async () => {
    if (dialog.hasAttribute('aria-busy')) return;
    dialog.setAttribute('aria-busy', 'true');
    alert.textContent = '';
    const failure = await act();
    dialog.removeAttribute('aria-busy');
    if (failure !== undefined) {
      alert.textContent = failure;
      return;
    }
    dialog.close();
    // The button that opened the dialog may no longer exist.
    if (document.activeElement === document.body) focusHeading();
  };
}
