/**
 * Runs an action. Meanwhile, its button shows a spinner beside its text, keeps its width and the focus, and ignores clicks.
 * @param button undefined if the page has no button for the action
 */
export async function whileBusy(button: Element | null | undefined, act: () => Promise<void>): Promise<void> {
  if (button?.hasAttribute('aria-busy')) return;
  button?.setAttribute('aria-busy', 'true');
  try {
    await act();
  } finally {
    button?.removeAttribute('aria-busy');
  }
}

/** Calls an action whenever the button is pressed, but not again while it runs. */
export function onPress(button: HTMLElement, act: () => Promise<void>): void {
  button.addEventListener('click', () => whileBusy(button, act));
}
