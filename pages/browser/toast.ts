import { find } from './dom.js';

/** Milliseconds. Long enough to read the longest message twice. */
const shownFor = 10_000;

let timer: ReturnType<typeof setTimeout> | undefined;

/** Reports the result of an action, for a while, without moving anything on the page. */
export function toast(message: string): void {
  const place = find('main > [data-status]');
  clearTimeout(timer);
  place.textContent = message;
  pageAlert('');
  timer = setTimeout(() => {
    place.textContent = '';
  }, shownFor);
}

/** Reports why an action failed that has no dialog of its own. */
export function pageAlert(message: string): void {
  const place = find('main > [data-alert]');
  place.textContent = message;
  if (message === '') return;
  find('main > [data-status]').textContent = '';
  place.scrollIntoView({ block: 'nearest' });
}
