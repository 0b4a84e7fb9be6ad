import type { Recipient } from '../../db/queries/recipients.js';
import type { LinkTokenScope } from '../../schemas/link-tokens.js';
import type { LinkSubject } from '../tokens/link-tokens.js';
import type { LinkMailKind } from './jobs.js';

/** The `scope` of the token in each kind of mail (contract 6.1). */
export const scopeOf = {
  invite: 'invite',
  registration: 'pending-registration',
  reset: 'password-reset',
} as const satisfies Record<LinkMailKind, LinkTokenScope>;

/** A link dies with the address that it was sent to, with the password of then, and when it or another was used. */
export const stateOf = ({ email, password, usedLinks }: Recipient): LinkSubject['state'] => [
  email,
  password,
  String(usedLinks),
];

/** Whether a mail of a kind still has somebody to go to, and its link something to do. */
export const isDue = {
  invite: ({ status }: Recipient) => status === 'invited',
  registration: ({ status }: Recipient) => status === 'unverified',
  reset: ({ status, provider }: Recipient) => status === 'active' && provider === 'default',
};
