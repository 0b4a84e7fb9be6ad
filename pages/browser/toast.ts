import { find } from './dom.js';

/** Milliseconds. Long enough to read the longest message twice. */
const shownForMs = 10_000;

let timer: ReturnType<typeof setTimeout> | undefined;

/** Reports the result of an action, for a while, without moving anything on the page. */
export function toast(message: string): void {
  const place = find('main > [data-status]');
  clearTimeout(timer);
  place.textContent = message;
  pageAlert('');
  timer = setTimeout(() => {
    place.textContent = '';
  }, shownForMs);
}

/** Reports why an action without a dialog of its own failed. */
export function pageAlert(message: string): void {
  const place = find('main > [data-alert]');
  place.textContent = message;
  if (message === '') return;
  find('main > [data-status]').textContent = '';
  place.scrollIntoView({ block: 'nearest' });
}
