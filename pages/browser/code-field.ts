/** Removes the spaces with which authenticator apps group the digits. */
export const codeOf = ({ otp = '' }: Record<string, string>): string => otp.replace(/\s/g, '');

/**
 * Lets users switch between a code from the app and a recovery code. The field always accepts both. The switch changes only
 * its label and the keyboard on phones.
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
