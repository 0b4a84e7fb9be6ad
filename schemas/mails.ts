import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named, Timestamp, Uuid } from './common.js';

export const MailState = Type.Union(
  [
    Type.Literal('waiting'),
    Type.Literal('sending'),
    Type.Literal('failed'),
    Type.Literal('sent'),
    Type.Literal('dropped'),
  ],
  {
    description:
      'The state of the email. `waiting`: the email is waiting for its first or next attempt. `sending`: an attempt is in progress. `failed`: the last attempt failed; the email is kept for 90 days. `sent`: the mail server accepted the email. `dropped`: the email was not sent, because it exceeded a limit or because no user can use it, for example if the address is unknown. Emails that were sent or dropped are kept for one hour.',
  },
);
export type MailState = Static<typeof MailState>;

/** The limits that can cause an email to be dropped. */
export const MailLimit = Type.Union(
  [
    Type.Literal('network'),
    Type.Literal('mailbox'),
    Type.Literal('notices'),
    Type.Literal('alerts'),
    Type.Literal('pending'),
  ],
  {
    description:
      'The limit that the email exceeded, if that is why it was dropped. `network`: emails requested from one network, either of this kind or of all kinds. If too many emails of all kinds are requested, only the first one over the limit is listed. `mailbox`: emails of this kind to one address. `notices`: notices of changes that users make to their own account. `alerts`: notices of suspicious sign-ins. `pending`: codes of one user that can still be used.',
  },
);
export type MailLimit = Static<typeof MailLimit>;

/** An email in the queue. It is rendered when it is sent, so there is no text or token to return. */
const mail = Type.Object({
  id: Uuid('The ID of the email. The `Message-ID` header of the email starts with it.'),
  kind: Type.Union(
    [
      Type.Literal('invite'),
      Type.Literal('registration'),
      Type.Literal('account_exists'),
      Type.Literal('reset'),
      Type.Literal('notice'),
      Type.Literal('email_change'),
      Type.Literal('email_change_notice'),
      Type.Literal('email_login'),
      Type.Literal('email_code'),
    ],
    {
      description:
        'The purpose of the email. `notice`: notifies a user of a security-related change. `account_exists`: tells the owner of a registered address that they already have an account. `email_change`: sent to the new address, to confirm a change. `email_change_notice`: sent to the old address, as a notice of the requested change. `email_login`: contains a code and a link to log in with. `email_code`: contains a code with which a logged-in user confirms their identity.',
    },
  ),
  state: MailState,
  user: Nullable(
    Uuid(
      'The ID of the recipient. An email that anyone can request for an address has none until the first attempt to send it has found a user with this address.',
    ),
  ),
  email: Nullable(
    Type.String({
      description:
        'The address that the email was requested for, or the address of the user to notify. Null if the address is looked up when the email is sent.',
    }),
  ),
  attempts: Type.Integer({ minimum: 0, description: 'The number of attempts that have failed so far.' }),
  created_at: Timestamp('When the email was queued.'),
  next_attempt_at: Nullable(Timestamp('When the next attempt is due. Null if no attempt is planned.')),
  limit: Nullable(MailLimit),
  reason: Nullable(Type.String({ description: 'Why the latest attempt failed, or why the email was dropped.' })),
});
export type Mail = Static<typeof mail>;

/** An email, and whether the caller can retry it. */
export const ListedMail = named(
  'Mail',
  Closed(
    {
      ...Type.Partial(mail).properties,
      can_retry: Type.Boolean({
        description: 'Whether the email has failed, and you have the permissions that are required to retry it.',
      }),
    },
    { description: 'A queued email, with the fields that you can read.' },
  ),
);
export type ListedMail = Static<typeof ListedMail>;

export const ListMailsQuery = Type.Object({
  state: Type.Optional(MailState),
  user: Type.Optional(
    Uuid(
      'The ID of a user: returns only the emails to this user. An email that anyone can request for an address, such as for a password reset, is included from the first attempt to send it. If there is no such user, the list is empty.',
    ),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 100,
      description: 'The maximum number of emails to return.',
    }),
  ),
});

export const MailListResponse = named(
  'MailListResponse',
  Data(Type.Array(ListedMail), [
    {
      id: '5b6f7a0e-1f3c-4c59-9d0a-0f6d3e2b1a47',
      kind: 'invite',
      state: 'waiting',
      user: '0c9d5d6e-3f0b-4d0c-9d53-6a4f1e0c8b21',
      email: null,
      attempts: 1,
      created_at: '2026-01-31T09:26:53.000Z',
      next_attempt_at: '2026-01-31T09:27:53.000Z',
      limit: null,
      reason: 'connect ECONNREFUSED 192.0.2.1:25',
      can_retry: false,
    },
  ]),
);
