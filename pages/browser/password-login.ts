import { page } from './page-data.js';
import { canUsePasskeys } from './passkey.js';

const key = `${page.base}/account/password-login`;

/** Remembers in this tab that the user has signed in with a password. The account page then suggests a passkey. */
export function rememberPasswordLogin(): void {
  try {
    if (canUsePasskeys()) sessionStorage.setItem(key, 'yes');
  } catch {
    // Without storage, there is no suggestion. Users could not decline it for good.
  }
}

export function forgetPasswordLogin(): void {
  try {
    sessionStorage.removeItem(key);
  } catch {
    // Without storage, there is nothing to remove.
  }
}

export function hasPasswordLogin(): boolean {
  try {
    return sessionStorage.getItem(key) !== null;
  } catch {
    return false;
  }
}
