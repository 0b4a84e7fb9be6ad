import { ifAllowed } from '../kit/storage.js';
import { page } from './page-data.js';

const key = `${page.base}/account/email`;

/** Passes an address to the next page, so that the user does not have to type it again. It is not in the URL, which others could see. */
export function handOverEmail(email: string): void {
  // Without storage, the user types the address again.
  if (email) ifAllowed(() => sessionStorage.setItem(key, email));
}

/** Fills in the address from the previous page. @returns whether there was one */
export function takeHandedEmail(input: HTMLInputElement): boolean {
  const email = ifAllowed(() => {
    const handed = sessionStorage.getItem(key);
    sessionStorage.removeItem(key);
    return handed;
  });
  if (email && input.value === '') input.value = email;
  return Boolean(email);
}

/** Passes the address on when the user follows one of the links. */
export function handOverWith(links: string, email: () => string): void {
  for (const link of document.querySelectorAll(links)) link.addEventListener('click', () => handOverEmail(email()));
}
