import { page } from './page-data.js';
import { canUsePasskeys } from './passkey.js';
import { ifAllowed } from './storage.js';

const key = `${page.base}/account/password-login`;

/** Remembers in this tab that the user has signed in with a password. The account page then suggests a passkey. */
export function rememberPasswordLogin(): void {
  // Without storage, there is no suggestion, because users could not decline it for good.
  if (canUsePasskeys()) ifAllowed(() => sessionStorage.setItem(key, 'yes'));
}

export function forgetPasswordLogin(): void {
  ifAllowed(() => sessionStorage.removeItem(key));
}

export function hasPasswordLogin(): boolean {
  return ifAllowed(() => sessionStorage.getItem(key) !== null) ?? false;
}
