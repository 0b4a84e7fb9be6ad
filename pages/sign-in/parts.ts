import { find, setText } from '../kit/dom.js';

/** Shows only one part of the page and moves the focus to its heading, for screen readers. */
export function showPart(name: string, message?: string): HTMLElement {
  for (const part of document.querySelectorAll<HTMLElement>('[data-part]')) part.hidden = part.dataset.part !== name;
  const part = find(`[data-part=${name}]`);
  const place = part.querySelector('[data-text]');
  if (place && message !== undefined) setText(place, message);
  part.querySelector<HTMLElement>('h1')?.focus();
  return part;
}

/** Shows only one step of a part or form. */
export function showStep(root: ParentNode, name: string): void {
  for (const step of root.querySelectorAll<HTMLElement>('[data-step]')) step.hidden = step.dataset.step !== name;
}
