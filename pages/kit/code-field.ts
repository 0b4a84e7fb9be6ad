/** Removes the spaces with which authenticator apps group the digits. The service reads the digits of any script. */
export const codeOf = ({ otp = '' }: Record<string, string>): string => withoutSpaces(otp);

export const withoutSpaces = (code: string): string => code.replace(/\s/g, '');

/**
 * Submits the form of a code field as soon as it contains six digits. Lets users switch between a code from the app and a recovery
 * code. The field always accepts both. The switch changes only its label and the keyboard on phones.
 */
export function enableCodeFields(root: ParentNode = document): void {
  for (const input of root.querySelectorAll<HTMLInputElement>('input.code')) {
    const field = input.closest('.field');
    const label = field?.querySelector('label');
    const button = field?.querySelector<HTMLButtonElement>('[data-other-code]');
    let sent = '';
    input.addEventListener('input', () => {
      const code = withoutSpaces(input.value);
      if (input.inputMode !== 'numeric' || !/^\p{Nd}{6}$/u.test(code) || code === sent) {
        if (code.length < 6) sent = '';
        return;
      }
      // Submit each code only once, so that users can correct a code that was rejected.
      sent = code;
      input.form?.requestSubmit();
    });
    input.form?.addEventListener('reset', () => {
      sent = '';
    });
    button?.addEventListener('click', () => {
      for (const element of [label, button]) {
        if (!element) continue;
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
