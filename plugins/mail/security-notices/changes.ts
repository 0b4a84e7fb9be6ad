import type { AccountState } from '../../../db/queries/mail/recipients.js';
import type { ActivityAction } from '../../../schemas/activity.js';
import type { ActivityEvent } from '../../activity/service.js';
import type { SecurityChange } from '../jobs.js';

/** Derives the changes to a user's credentials from an event, and from the account before and after it. */
type ChangeReader = (event: ActivityEvent, former: AccountState, now: AccountState) => readonly SecurityChange[];

const always =
  (change: SecurityChange): ChangeReader =>
  () => [change];

/** Reads the changes from the credential fields. A field that was written does not always have a new value. */
const readFields: ChangeReader = ({ changed = [] }, former, now) => {
  const hasNewIdentity = former.provider !== now.provider || former.externalIdentifier !== now.externalIdentifier;
  return [
    ...(changed.includes('password') ? (['password_changed'] as const) : []),
    ...(former.email?.toLowerCase() === now.email?.toLowerCase() ? [] : (['email_changed'] as const)),
    ...(changed.includes('token') && now.hasToken ? (['token_set'] as const) : []),
    ...(hasNewIdentity ? (['provider_changed'] as const) : []),
  ];
};

const readings: Partial<Record<ActivityAction, ChangeReader>> = {
  password_reset: always('password_changed'),
  password_change: readFields,
  update: readFields,
  email_change: readFields,
  tfa_enable: always('tfa_enabled'),
  tfa_disable: (_event, former) => (former.hasTfa ? ['tfa_disabled'] : []),
  recovery_code_used: always('recovery_code_used'),
  recovery_codes: always('recovery_codes_made'),
  passkey_add: always('passkey_added'),
  passkey_remove: always('passkey_removed'),
  identity_link: always('provider_linked'),
  identity_unlink: always('provider_unlinked'),
};

/** The events that can change credentials. */
export const actions: ReadonlySet<ActivityAction> = new Set(Object.keys(readings) as ActivityAction[]);

const credentials = new Set(['password', 'email', 'token', 'provider', 'external_identifier']);

/** The user whose credentials an event may have changed; undefined: it changed no credentials. */
export function userOf({ collection, item, changed, details }: ActivityEvent): string | undefined {
  if (changed && !changed.some((field) => credentials.has(field))) return undefined;
  if (collection === 'users') return typeof item === 'string' ? item : undefined;
  return details?.owner;
}

export const changesOf: ChangeReader = (event, former, now) => readings[event.action]?.(event, former, now) ?? [];
