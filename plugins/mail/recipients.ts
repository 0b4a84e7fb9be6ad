import type { Recipient } from '../../db/queries/mail/recipients.js';
import type { LinkTokenScope } from '../../schemas/link-tokens.js';
import type { LinkSubject } from '../tokens/link-tokens.js';
import type { LinkMailKind } from './jobs.js';

/** The `scope` of the token in each kind of mail. */
export const scopeOf = {
  invite: 'invite',
  registration: 'pending-registration',
  reset: 'password-reset',
} as const satisfies Record<LinkMailKind, LinkTokenScope>;

/**
 * What the links of a user are bound to. `usedLinks` grows with every change of status, address, password or provider (a trigger
 * of the table sees to it), so a link never works again after one. The time of creation tells apart users who have had the
 * same id.
 */
export const stateOf = ({ email, password, usedLinks, createdAt }: LinkState): LinkSubject['state'] => [
  email,
  password,
  String(usedLinks),
  createdAt.toISOString(),
];

/** The link of a registration is bound to that registration, too. */
export const stateOfRegistration = (user: Recipient, registration: string): LinkSubject['state'] => [
  ...stateOf(user),
  registration,
];

type LinkState = Pick<Recipient, 'email' | 'password' | 'usedLinks' | 'createdAt'>;

/** A link to confirm a change of address becomes invalid when the address changes, when there is a newer request, and when another link is used. */
export function changeStateOf({ email, usedLinks }: Recipient, change: string): LinkSubject['state'] {
  return [change, email, String(usedLinks)];
}

/** A link to cancel one works as long as the account has the address that got the notice, whichever change is pending. */
export const cancelStateOf = ({ email }: Recipient): LinkSubject['state'] => ['cancel', email];

/** Whether a mail of a kind still has somebody to go to, and its link something to do. */
export const isDue = {
  invite: ({ status }: Recipient) => status === 'invited',
  registration: ({ status }: Recipient) => status === 'unverified',
  account_exists: ({ status }: Recipient) => status === 'active',
  reset: ({ status, provider }: Recipient) => status === 'active' && provider === 'default',
};
