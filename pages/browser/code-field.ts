/** Authenticator apps show the code in groups. */
export const codeOf = ({ otp = '' }: Record<string, string>): string => otp.replace(/\s/g, '');

/**
 * Lets people enter a recovery code where a code of the app is asked for. The field takes either at any time; what changes
 * is what it is called, and the keyboard of a phone.
 */
export function enableRecoveryCodes(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-other-code]')) {
    const field = button.closest('.field');
    const input = field?.querySelector('input');
    const label = field?.querySelector('label');
    if (!input || !label) continue;
    button.addEventListener('click', () => {
      for (const element of [label, button]) {
        const { textContent } = element;
        element.textContent = element.dataset.other ?? '';
        element.dataset.other = textContent ?? '';
      }
      input.inputMode = input.inputMode === 'numeric' ? 'text' : 'numeric';
      input.value = '';
      input.focus();
    });
  }
}
