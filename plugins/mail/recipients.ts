import type { Recipient } from '../../db/queries/mail/recipients.js';
import type { LinkTokenScope } from '../../schemas/link-tokens.js';
import type { LinkSubject } from '../tokens/link-tokens.js';
import type { LinkMailKind } from './jobs.js';

/** The `scope` of the token in each kind of email. */
export const scopeOf = {
  invite: 'invite',
  registration: 'pending-registration',
  reset: 'password-reset',
} as const satisfies Record<LinkMailKind, LinkTokenScope>;

/**
 * The state of a user that a link is bound to. A database trigger increments `usedLinks` with every change of status, address,
 * password or provider, so earlier links never become valid again. The creation time distinguishes users who have had the same id.
 */
export const linkStateOf = ({ email, password, usedLinks, createdAt }: LinkState): LinkSubject['state'] => [
  email,
  password,
  String(usedLinks),
  createdAt.toISOString(),
];

/** The link of a registration is also bound to that registration. */
export const stateOfRegistration = (user: Recipient, registration: string): LinkSubject['state'] => [
  ...linkStateOf(user),
  registration,
];

type LinkState = Pick<Recipient, 'email' | 'password' | 'usedLinks' | 'createdAt'>;

/**
 * A link to confirm a change of address becomes invalid when the address changes, when there is a newer request, and when another
 * link is used.
 */
export function changeStateOf({ email, usedLinks }: Recipient, change: string): LinkSubject['state'] {
  return [change, email, String(usedLinks)];
}

/** A link to cancel a change of address works for any pending change, as long as the account has the address that got the notice. */
export const cancelStateOf = ({ email }: Recipient): LinkSubject['state'] => ['cancel', email];

/** The link in a security notice stays valid whatever has been changed in the account, because the change may be an attacker's. */
export const notMeStateOf = ({ createdAt }: Recipient): LinkSubject['state'] => ['not-me', createdAt.toISOString()];

/** Whether a kind of email is still of use to a user, that is, whether its link or code would still work. */
export const isApplicable = {
  invite: ({ status }: Recipient) => status === 'invited',
  registration: ({ status }: Recipient) => status === 'unverified',
  account_exists: ({ status }: Recipient) => status === 'active',
  reset: ({ status, provider }: Recipient) => status === 'active' && provider === 'default',
  /** Users of a provider sign in there, because the provider decides whether they may still sign in. */
  email_login: ({ status, provider }: Recipient) => status === 'active' && provider === 'default',
  email_code: ({ status }: Recipient) => status === 'active',
};
