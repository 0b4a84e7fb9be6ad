import { type Static, Type } from '@sinclair/typebox';
import { readSchemas } from './collections.js';
import { Nullable, Timestamp, Uuid } from './common.js';
import { Related } from './query.js';

/** Every action in the audit log, and what it means. */
export const activityActions = {
  login: 'Started a session, with a password or through a provider.',
  reauthenticate: 'Proved their identity again in their session.',
  logout: 'Ended their own session.',
  refresh_reused: 'A refresh token that was replaced some time ago was presented again, so the session was ended.',
  session_end: 'Ended a session, or all sessions of a user.',
  lock: 'Too many wrong passwords or codes in a row: further logins were temporarily blocked.',
  unlock: 'Reset the number of wrong passwords of a user.',
  password_reset_request: 'Requested a link to reset a password.',
  password_reset: 'Set a new password with a reset link.',
  password_change: 'Changed the password of a user, possibly with other fields.',
  register: 'Registered, or was created by the first login through a provider.',
  verification_resend: 'Requested another verification email.',
  email_verified: 'Verified the email address with a link.',
  invite: 'Invited a user.',
  invite_accept: 'Accepted an invitation.',
  tfa_generate: 'Received a secret for setting up two-factor authentication.',
  tfa_enable: 'Turned two-factor authentication on.',
  tfa_disable: 'Turned two-factor authentication off.',
  recovery_codes: 'Created new recovery codes.',
  recovery_code_used: 'Used a recovery code.',
  identity_link: 'Linked a provider account.',
  identity_unlink: 'Unlinked a provider account.',
  email_change_request: 'Requested a new email address.',
  email_change_cancel: 'Canceled the request for a new email address.',
  email_change: 'Confirmed a new email address with a link.',
  export: 'Exported the data of the account.',
  mail_retry: 'Retried an email that had failed.',
  create: 'Created an item.',
  update: 'Updated an item, or the settings.',
  delete: 'Deleted an item.',
  refusals_omitted: 'Further requests from one address were refused, too many to list each of them.',
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

/** The collection of the item that an event affects. */
export type ActivityCollection = (typeof activityCollections)[number];

/** The action and the collection that an operation is recorded with. */
export type RecordedAs = readonly [action: ActivityAction, collection: ActivityCollection];

const literals = <T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      { description },
    ),
  );

/** An event in a response, with the requested fields. */
export const activityProperties = {
  id: Uuid('Identifier of the row. IDs are in the order of events.'),
  timestamp: Timestamp('When it happened.'),
  action: literals(
    Object.keys(activityActions) as ActivityAction[],
    `What was done. ${Object.entries(activityActions)
      .map(([action, meaning]) => `\`${action}\`: ${meaning}`)
      .join(' ')}`,
  ),
  outcome: literals(['success', 'failure'], 'Whether the action succeeded or was refused.'),
  code: Nullable(Type.String({ description: 'The error code, if the request was refused.' })),
  user: Related('The user who performed the action. Null: an anonymous caller, or the service itself.', 'User'),
  collection: Nullable(literals(activityCollections, 'The collection of the affected item.')),
  item: Nullable(Type.String({ description: 'The ID of the affected item. Null: several items, or an unknown user.' })),
  ip: Nullable(Type.String({ description: 'The IP address of the client.' })),
  user_agent: Nullable(Type.String({ description: 'The user agent of the client.' })),
  request_id: Nullable(
    Type.String({ description: 'The `x-request-id` of the request, which is also in the service log.' }),
  ),
  changed: Nullable(Type.Array(Type.String(), { description: 'The names of the changed fields, never their values.' })),
};

export const activitySchemas = readSchemas({
  one: 'Activity',
  many: 'Activities',
  properties: activityProperties,
  description: 'An event, with the requested fields.',
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
  filterExample: { action: { _eq: 'login' }, outcome: { _eq: 'failure' } },
});

export type Outcome = Static<typeof activityProperties.outcome>;
