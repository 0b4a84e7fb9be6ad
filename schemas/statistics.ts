import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named, Timestamp } from './common.js';

const intervals = ['hour', 'day', 'week', 'month'] as const;

const Interval = Type.Unsafe<(typeof intervals)[number]>(
  Type.Union(
    intervals.map((interval) => Type.Literal(interval)),
    { description: 'The length of an interval. All intervals begin in UTC, and weeks begin on Monday.' },
  ),
);

export type StatisticsInterval = Static<typeof Interval>;

/** How many intervals a response can contain. */
export const maxIntervals = 750;

/** What is counted in each interval, and what it means. */
export const statisticsSeries = {
  active_users:
    'Users who used the API: they logged in, refreshed a session, or sent a request with a valid credential.',
  sign_ups: 'Registrations, accepted invitations, and users who were created on their first login through a provider.',
  sign_ins: 'Logins that started a session.',
  failed_sign_ins: 'Logins that were refused. A login that only lacked the code of the second factor is not counted.',
  lockouts: 'Locks of accounts after too many wrong passwords or codes in a row.',
  password_resets: 'Passwords that were set with a reset link.',
  refusals_omitted:
    'Times that an IP address exceeded the number of refused requests that the audit log records. If it is not 0, there were more failed sign-ins than `failed_sign_ins`.',
} as const;

export type StatisticsSeries = keyof typeof statisticsSeries;

const count = (description: string) => Type.Integer({ minimum: 0, description });

const { active_users, ...events } = statisticsSeries;

const IntervalCounts = named(
  'IntervalCounts',
  Closed(
    {
      start: Timestamp('When the interval begins.'),
      active_users: Nullable(
        count(
          `${active_users} Each is counted once in each interval. Null if the interval ended before the service began to count active users.`,
        ),
      ),
      ...(Object.fromEntries(Object.entries(events).map(([name, description]) => [name, count(description)])) as Record<
        keyof typeof events,
        ReturnType<typeof count>
      >),
    },
    { description: 'What happened in one interval.' },
  ),
);

export const maxExactCount = 10_000;

const attention = {
  failed_emails: 'Emails that could not be sent.',
  locked_accounts:
    'Accounts whose passwords or codes are not checked now, because there were too many wrong ones in a row. Addresses without a user are included.',
  pending_invitations: 'Invited users whose latest invitation can still be accepted.',
  expired_invitations: 'Invited users whose latest invitation has expired.',
  unverified_users: 'Active users who have not proved that they receive the emails sent to their address.',
  administrators_without_second_factor:
    'Active users with administrator access who have neither two-factor authentication nor a passkey.',
} as const;

export type AttentionName = keyof typeof attention;

const Count = (description: string) =>
  Closed(
    {
      count: Type.Integer({ minimum: 0, description: 'The number.' }),
      estimated: Type.Boolean({
        description: `Whether the number is an estimate. Numbers up to ${maxExactCount} are exact; a higher one is at least ${maxExactCount}.`,
      }),
    },
    { description },
  );

const Attention = named(
  'Attention',
  Closed(
    Object.fromEntries(Object.entries(attention).map(([name, text]) => [name, Count(text)])) as Record<
      AttentionName,
      ReturnType<typeof Count>
    >,
    { description: 'What may need attention now, whatever period was requested.' },
  ),
);

export const Statistics = named(
  'Statistics',
  Closed(
    {
      from: Timestamp('When the first interval begins.'),
      to: Timestamp('When the last interval ends.'),
      interval: Interval,
      estimated: Type.Boolean({
        description:
          'Whether recent events may be missing from the intervals, because the service has not counted them yet. This can be the case for some minutes after an upgrade, or while the audit log cannot be linked.',
      }),
      intervals: Type.Array(IntervalCounts, { description: 'Every interval of the period, oldest first.' }),
      total_users: Type.Integer({ minimum: 0, description: 'The number of users now, whatever their status.' }),
      attention: Attention,
    },
    { description: 'Numbers for an overview of the service.' },
  ),
);
export type Statistics = Static<typeof Statistics>;

const Moment = (description: string) =>
  Type.String({
    description: `${description} An ISO 8601 date, with an optional time; UTC unless it names a time zone.`,
  });

export const StatisticsQuery = Type.Object({
  from: Type.Optional(
    Moment(
      'The beginning of the period. The first interval is the one that contains it. The default is 24 hours, 30 days, 12 weeks, or 12 months before `to`.',
    ),
  ),
  to: Type.Optional(
    Moment(
      'The end of the period, exclusive. The last interval is the one before it or that contains it. The default is now.',
    ),
  ),
  interval: Type.Optional({ ...Interval, default: 'day' }),
});

const exact = (count: number) => ({ count, estimated: false });

export const StatisticsResponse = named(
  'StatisticsResponse',
  Data(Statistics, {
    from: '2026-01-31T00:00:00.000Z',
    to: '2026-02-01T00:00:00.000Z',
    interval: 'day',
    estimated: false,
    intervals: [
      {
        start: '2026-01-31T00:00:00.000Z',
        active_users: 412,
        sign_ups: 9,
        sign_ins: 230,
        failed_sign_ins: 17,
        lockouts: 1,
        password_resets: 3,
        refusals_omitted: 0,
      },
    ],
    total_users: 2048,
    attention: {
      failed_emails: exact(2),
      locked_accounts: exact(1),
      pending_invitations: exact(14),
      expired_invitations: exact(3),
      unverified_users: exact(120),
      administrators_without_second_factor: exact(1),
    },
  }),
);
