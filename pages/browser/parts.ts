import { find } from './dom.js';

/** Shows one part of the page in place of the others, and lets screen readers begin at its heading. */
export function showPart(name: string, message?: string): HTMLElement {
  for (const part of document.querySelectorAll<HTMLElement>('[data-part]')) part.hidden = part.dataset.part !== name;
  const part = find(`[data-part=${name}]`);
  const place = part.querySelector('[data-text]');
  if (place && message !== undefined) place.textContent = message;
  part.querySelector<HTMLElement>('h1')?.focus();
  return part;
}
