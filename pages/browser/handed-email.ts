import { page } from './page-data.js';

const key = `${page.base}/account/email`;

/** Passes an address to the next page, so that the user does not have to type it again. It is not in the URL, which others could see. */
export function handOverEmail(email: string): void {
  try {
    if (email) sessionStorage.setItem(key, email);
  } catch {
    // Without storage, the user types the address again.
  }
}

/** Fills in the address from the page before. @returns whether there was one */
export function takeHandedEmail(input: HTMLInputElement): boolean {
  try {
    const email = sessionStorage.getItem(key) ?? '';
    sessionStorage.removeItem(key);
    if (email && input.value === '') input.value = email;
    return email !== '';
  } catch {
    return false;
  }
}

/** Passes the address on when the user follows one of the links. */
export function handOverWith(links: string, email: () => string): void {
  for (const link of document.querySelectorAll(links)) link.addEventListener('click', () => handOverEmail(email()));
}
