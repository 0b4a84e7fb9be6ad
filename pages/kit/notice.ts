import { find, setText } from './dom.js';

/** Milliseconds. Screen readers announce a text only in an element that was already in its place. */
const announcedAfterMs = 50;

let timer: ReturnType<typeof setTimeout> | undefined;
let found: HTMLElement | undefined;

/** The place of the message. It may have left the page with a dialog. */
const notice = () => {
  found ??= find('[data-notice]');
  return found;
};

/** Displays a short message above everything else, for a while, without moving anything on the page. */
export function showNotice(message: string, shownForMs: number): void {
  const place = notice();
  clearTimeout(timer);
  place.textContent = '';
  // Everything outside an open dialog is behind its backdrop, and hidden from screen readers.
  const front = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body;
  if (place.parentElement !== front) front.append(place);
  timer = setTimeout(() => {
    setText(place, message);
    timer = setTimeout(hideNotice, shownForMs);
  }, announcedAfterMs);
}

export function hideNotice(): void {
  clearTimeout(timer);
  notice().textContent = '';
}

// A message stays when its dialog closes. The event does not bubble.
document.addEventListener(
  'close',
  ({ target }) => {
    const place = notice();
    if (target instanceof Node && target.contains(place)) document.body.append(place);
  },
  true,
);
