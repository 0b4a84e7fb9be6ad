import { post } from '../api/client.js';

interface Account {
  status?: string | null | undefined;
  provider?: string | null | undefined;
  has_password?: boolean | null | undefined;
}

/** Whether the user signs in here, and not at a provider, as far as the caller may know. Others get no link. */
const signsInHere = ({ provider }: Account): boolean => (provider ?? 'default') === 'default';

/** Whether the user can get a link to set a new password. */
export const canReset = (account: Account): boolean => account.status === 'active' && signsInHere(account);

/** Whether nothing is known that the user could sign in with. */
export const lacksPassword = (account: Account): boolean =>
  signsInHere(account) &&
  (account.has_password === undefined ? account.status === 'invited' : account.has_password === false);

/** Requests a link with which a user can set a password. For every address, the API only says that it has received the request. */
export const requestLink = (email: string): Promise<unknown> => post('/auth/password/request', { email });
