import { type Static, Type } from '@sinclair/typebox';
import { orHidden, readSchemas } from './collections.js';
import { Closed, Data, Nullable, named, Timestamp, Uuid } from './common.js';
import { Related } from './query.js';

/** Every action in the audit log, and what it means. */
export const activityActions = {
  login: 'Started a session, with a password, with a passkey, by email, or through a provider.',
  reauthenticate: 'Confirmed their identity again within a session.',
  logout: 'Ended their own session.',
  refresh_reused: 'A replaced refresh token was presented after the grace period, so the session was ended.',
  session_end: "Ended one or all of a user's sessions.",
  lock: 'Further logins were temporarily blocked after too many wrong passwords or codes in a row.',
  unlock: "Reset a user's count of wrong passwords.",
  password_reset_request: 'Requested a password reset link.',
  password_reset: 'Set a new password with a reset link.',
  password_change: "Changed a user's password, possibly together with other fields.",
  email_login_request: 'Requested a code by email.',
  register: 'Registered, or was created on first login through a provider.',
  verification_resend: 'Requested another verification email.',
  email_verified: 'Verified an email address with a link.',
  invite: 'Invited a user.',
  invite_accept: 'Accepted an invitation.',
  tfa_generate: 'Received a secret for setting up two-factor authentication.',
  tfa_enable: 'Turned on two-factor authentication.',
  tfa_disable: 'Turned off two-factor authentication.',
  recovery_codes: 'Created new recovery codes.',
  recovery_code_used: 'Used a recovery code.',
  passkey_add: 'Added a passkey.',
  passkey_remove: 'Removed a passkey.',
  identity_link: 'Linked a provider account.',
  identity_unlink: 'Unlinked a provider account.',
  email_change_request: 'Requested a change of email address.',
  email_change_cancel: 'Canceled the requested change of email address.',
  email_change: 'Confirmed a new email address with a link.',
  application_allow: 'Gave an application access to their account.',
  application_withdraw: 'Withdrew the access of an application.',
  token_exchange: 'An application exchanged an access token of the user for one of its own.',
  export: 'Exported their account data, or the items of a list.',
  secret_create: 'Created a new secret for a client.',
  mail_retry: 'Retried an email that had failed.',
  create: 'Created an item.',
  update: 'Updated an item or the settings.',
  delete: 'Deleted an item.',
  refusals_omitted: 'More requests from the same IP address were refused. They are not listed individually.',
} as const;

export type ActivityAction = keyof typeof activityActions;

/** Why the service refused to accept a caller's credentials, and what it means. Clients never receive it. */
const failureReasons = {
  unknown_user: 'No user has this email address, or this account at the provider.',
  wrong_password: 'The password was wrong.',
  no_password: 'The user has no password, or logs in only through a provider.',
  wrong_passkey:
    'The passkey is unknown, its response was not valid or had already been used, or the user logs in only through a provider.',
  managed: 'The user logs in only with the account at the provider that determines their role.',
  missing_code: 'The user has two-factor authentication, and the request had no code.',
  wrong_code: 'The code was wrong, or had already been used.',
  one_factor: 'The user needs a second factor to confirm their identity, and the request proved only one.',
  locked: 'The service did not check the credentials, because there were too many wrong passwords or codes in a row.',
  suspended: 'The user is suspended.',
  unverified: 'The email address of the user is not verified, or the provider does not assert that it is.',
  invited: 'The user has not accepted the invitation yet.',
  draft: 'The status of the user is `draft`.',
  archived: 'The user is archived.',
  user_changed: 'The user or their credentials were changed while the service processed the request.',
  void_link: 'The link has already been used, or a change to the account has invalidated it.',
} as const;

export type FailureReason = keyof typeof failureReasons;

/** Why a user with this status was refused. If they are active now, they were not when their row was checked or written. */
export const reasonOfStatus = (status: string): FailureReason =>
  Object.hasOwn(failureReasons, status) ? (status as FailureReason) : 'user_changed';

const activityCollections = [
  'users',
  'activity',
  'roles',
  'policies',
  'permissions',
  'settings',
  'sessions',
  'identities',
  'passkeys',
  'mails',
  'signing_keys',
  'clients',
  'resources',
  'grants',
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

/** One of the keys. The description contains the meaning of each. */
const oneOf = <T extends string>(meanings: Readonly<Record<T, string>>, description: string) =>
  literals(
    Object.keys(meanings) as T[],
    `${description}\n\n${Object.entries(meanings)
      .map(([key, meaning]) => `- \`${key}\`: ${meaning}`)
      .join('\n')}`,
  );

/** An event in a response, with the requested fields. */
export const activityProperties = {
  id: Uuid('The ID of the entry. IDs sort in chronological order.'),
  timestamp: Timestamp('When the event occurred.'),
  action: oneOf(activityActions, 'The action that was performed.'),
  outcome: literals(['success', 'failure'], 'Whether the action succeeded or was refused.'),
  code: Nullable(Type.String({ description: 'The error code, if the request was refused.' })),
  reason: Nullable(
    oneOf(
      failureReasons,
      'Why the credentials were not accepted. The response does not reveal the reason to the client.',
    ),
  ),
  user: Related('The user who performed the action. Null for anonymous callers and the service itself.', 'User'),
  actor: Related('The application that acted for the user. Null if the user acted without one.', 'Client'),
  collection: Nullable(literals(activityCollections, 'The collection of the affected item.')),
  item: Nullable(
    Type.String({
      description: 'The ID of the affected item. Null if the event concerns all items, or if the item is unknown.',
    }),
  ),
  ip: Nullable(Type.String({ description: 'The IP address of the client.' })),
  user_agent: Nullable(Type.String({ description: 'The user agent of the client.' })),
  request_id: Nullable(
    Type.String({ description: 'The `x-request-id` of the request, which also appears in the service log.' }),
  ),
  changed: Nullable(
    Type.Array(Type.String(), {
      description:
        'The names of the changed fields, never their values. For the export of a list, the names of its fields.',
    }),
  ),
};

export const activitySchemas = readSchemas({
  one: 'Activity',
  many: 'Activities',
  properties: orHidden(activityProperties),
  description:
    'An event, with the requested fields. If you can read a field on other items but not on this one, the field is null. `id` is omitted instead of being null.',
  example: {
    id: '0198c3a0-7d4e-7c31-9f02-5b1e6a9d0c44',
    timestamp: '2026-01-31T09:26:53.000Z',
    action: 'update',
    outcome: 'success',
    code: null,
    reason: null,
    user: '0c9d5d6e-3f0b-4d0c-9d53-6a4f1e0c8b21',
    actor: null,
    collection: 'users',
    item: '5b6f7a0e-1f3c-4c59-9d0a-0f6d3e2b1a47',
    ip: '192.0.2.7',
    user_agent: 'Mozilla/5.0',
    request_id: 'a4d1f0c2-5a0e-4f7c-8a0e-2f1d9b6c3e58',
    changed: ['role', 'status'],
  },
  filterExample: { action: { _eq: 'login' }, outcome: { _eq: 'failure' } },
});

/** The newest row of the chain of the audit log, as noted outside the database. */
export interface NotedHead {
  position: number;
  hash: string;
}

/** The text of a head, `<position>:<hash>`. The hash is a signature: the ID of its key, and 256 bits in base64url. */
const headPattern = /^(\d{1,15}):([\w-]{8}\.[\w-]{43})$/;

export const writeHead = ({ position, hash }: NotedHead): string => `${position}:${hash}`;

/** @returns undefined if the text is not that of a head */
export function readHead(text: string): NotedHead | undefined {
  const [, position, hash] = headPattern.exec(text) ?? [];
  return position === undefined || hash === undefined ? undefined : { position: Number(position), hash };
}

export const ActivityVerificationQuery = Closed({
  after: Type.Optional(
    Type.String({
      pattern: headPattern.source,
      description:
        'The `head` of an earlier response, or of `npm run audit:verify`. The log must still contain this entry, unless it is older than what is kept, and verification continues after it. Default: verification begins with the oldest entry.',
    }),
  ),
});

export const ActivityVerificationResponse = named(
  'ActivityVerificationResponse',
  Data(
    Closed({
      intact: Type.Boolean({ description: 'Whether the verified entries are unaltered, complete, and in order.' }),
      fault: Nullable(Type.String({ description: 'The first fault. Null if no fault was found.' })),
      complete: Type.Boolean({
        description:
          'Whether all entries up to the newest were verified. Otherwise, repeat the request with `head` as `after`.',
      }),
      verified: Type.Integer({ minimum: 0, description: 'How many entries this request verified.' }),
      head: Nullable(
        Type.String({
          description:
            'The last verified entry of the chain. Store it outside the service, and pass it as `after` to detect later that the log was replaced. Null if no entry has been linked yet, or at a fault.',
        }),
      ),
    }),
    {
      intact: true,
      fault: null,
      complete: true,
      verified: 1024,
      head: '1024:0PoUb1cN.kq3vWbYI2pT0a0mQ8sJrN3xL4cE7dG1hF5uZ9oKyR6A',
    },
  ),
);

export type Outcome = Static<typeof activityProperties.outcome>;
