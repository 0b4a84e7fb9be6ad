import { type Static, Type } from '@sinclair/typebox';
import { readSchemas } from './collections.js';
import { Nullable, Timestamp, Uuid } from './common.js';
import { Related } from './query.js';

/** All that the audit log tells of, and what each means. */
export const activityActions = {
  login: 'Began a session, by password or by provider.',
  logout: 'Ended the own session.',
  refresh_reused: 'A refresh token that was replaced long ago was shown again: the session is ended.',
  session_end: 'Ended a session, or all of a user.',
  lock: 'Too many wrong passwords or codes in a row: no further one is looked at for a while.',
  password_reset_request: 'Asked for a link to reset a password.',
  password_reset: 'Set a new password by a link.',
  password_change: 'Wrote the password of a user, and maybe other fields.',
  register: 'Signed up, or was made at a first login by provider.',
  email_verified: 'Verified the e-mail address by a link.',
  invite: 'Invited a user.',
  invite_accept: 'Accepted an invitation.',
  tfa_generate: 'Was given a secret to set two-factor authentication up with.',
  tfa_enable: 'Turned two-factor authentication on.',
  tfa_disable: 'Turned two-factor authentication off.',
  recovery_codes: 'Made new recovery codes.',
  recovery_code_used: 'Used a recovery code up.',
  identity_link: 'Linked an account at a provider.',
  identity_unlink: 'Unlinked an account at a provider.',
  mail_retry: 'Had a mail sent again that was given up.',
  create: 'Created an item.',
  update: 'Updated an item, or the settings.',
  delete: 'Deleted an item.',
  refusals_omitted: 'More was refused from one address than is told of one by one.',
} as const;

export type ActivityAction = keyof typeof activityActions;

const activityCollections = [
  'users',
  'roles',
  'policies',
  'permissions',
  'settings',
  'sessions',
  'identities',
  'mails',
  'signing_keys',
] as const;

/** What an event is about. */
export type ActivityCollection = (typeof activityCollections)[number];

/** What an operation is recorded as; what it is about, where only its path tells. */
export type RecordedAs = readonly [action: ActivityAction, collection: ActivityCollection];

const literals = <T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      { description },
    ),
  );

/** What an event looks like in a response, as far as fields were asked for. */
export const activityProperties = {
  id: Uuid('Identifier of the row; ids are in the order of events.'),
  timestamp: Timestamp('When it happened.'),
  action: literals(
    Object.keys(activityActions) as ActivityAction[],
    `What was done. ${Object.entries(activityActions)
      .map(([action, meaning]) => `\`${action}\`: ${meaning}`)
      .join(' ')}`,
  ),
  outcome: literals(['success', 'failure'], 'Whether it was done or refused.'),
  code: Nullable(Type.String({ description: 'The error code, when it was refused.' })),
  user: Related(Uuid('Who did it; null: somebody who has not proved who they are, or the service by itself.'), 'User'),
  collection: Nullable(literals(activityCollections, 'What it was done to.')),
  item: Nullable(Type.String({ description: 'The key of the item that it was done to; null: all, or nobody known.' })),
  ip: Nullable(Type.String({ description: 'The address that the request came from.' })),
  user_agent: Nullable(Type.String({ description: 'What the client called itself.' })),
  request_id: Nullable(Type.String({ description: 'The `x-request-id` of the request, as it is in the log.' })),
  changed: Nullable(
    Type.Array(Type.String(), { description: 'Names of the fields that were written; never what was written.' }),
  ),
};

/** The audit log on the wire: it is read, and never written. */
export const activitySchemas = readSchemas({
  one: 'Activity',
  many: 'Activities',
  properties: activityProperties,
  description: 'An event, with the fields that were asked for.',
  example: {
    id: '0198c3a0-7d4e-7c31-9f02-5b1e6a9d0c44',
    timestamp: '2026-01-31T09:26:53.000Z',
    action: 'update',
    outcome: 'success',
    code: null,
    user: '0c9d5d6e-3f0b-4d0c-9d53-6a4f1e0c8b21',
    collection: 'users',
    item: '5b6f7a0e-1f3c-4c59-9d0a-0f6d3e2b1a47',
    ip: '192.0.2.7',
    user_agent: 'Mozilla/5.0',
    request_id: 'a4d1f0c2-5a0e-4f7c-8a0e-2f1d9b6c3e58',
    changed: ['role', 'status'],
  },
});

export type Outcome = Static<typeof activityProperties.outcome>;
