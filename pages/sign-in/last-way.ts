import { ifAllowed } from '../kit/storage.js';
import { text } from '../kit/texts.js';
import { page } from './page-data.js';

/** The ways to sign in, as named by `data-way` on the sign-in page. Providers have their own names. */
export type Way = 'password' | 'email' | 'passkey' | `provider:${string}`;

const key = `${page.base}/account/last-way`;

/** Remembers how the user has signed in with this browser. The address is not stored, because others may use the browser, too. */
export function rememberWay(way: Way): void {
  ifAllowed(() => localStorage.setItem(key, way));
}

/** Marks the way in which the user last signed in, if there is a choice. */
export function markLastWay(): void {
  const last = ifAllowed(() => localStorage.getItem(key));
  const ways = [...document.querySelectorAll<HTMLElement>('[data-way]')];
  const way = ways.find(({ dataset }) => dataset.way === last);
  if (!way || ways.length === 1) return;
  const mark = document.createElement('span');
  Object.assign(mark, { id: 'last-way', className: 'badge last-way', textContent: text('status_last_way') });
  // A description, because the name of the button says only what it does.
  mark.ariaHidden = 'true';
  way.setAttribute('aria-describedby', mark.id);
  way.append(mark);
}
