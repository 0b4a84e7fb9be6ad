/** Lets users show the password that they are typing. */
export function enablePasswordToggles(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('.password-toggle')) {
    const input = document.getElementById(button.getAttribute('aria-controls') ?? '');
    if (!(input instanceof HTMLInputElement)) continue;
    const show = (isShown: boolean) => {
      input.type = isShown ? 'text' : 'password';
      button.setAttribute('aria-pressed', String(isShown));
    };
    button.addEventListener('click', () => show(input.type === 'password'));
    // The password must not stay on the screen, and the browser must not save it as ordinary text input.
    input.form?.addEventListener('submit', () => show(false));
  }
}
