import { find } from './dom.js';
import { hideNotice, showNotice } from './notice.js';

/** Milliseconds. Long enough to read the longest message twice. */
const shownForMs = 10_000;

/** Reports the result of an action, for a while, without moving anything on the page. */
export function toast(message: string): void {
  pageAlert('');
  showNotice(message, shownForMs);
}

/** Reports why an action without a dialog of its own failed. */
export function pageAlert(message: string): void {
  const place = find('main > [data-alert]');
  place.textContent = message;
  if (message === '') return;
  hideNotice();
  place.scrollIntoView({ block: 'nearest' });
}
