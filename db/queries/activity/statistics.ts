import { type SQL, sql } from 'drizzle-orm';
import {
  type AttentionName,
  maxExactCount,
  type StatisticsInterval,
  type StatisticsSeries,
  statisticsSeries,
} from '../../../schemas/statistics.js';
import type { Executor } from '../../client.js';
import type { DatabaseSchemas } from '../../database-schemas.js';
import {
  activeHours,
  activity,
  activityChain,
  activityCounts,
  loginAttempts,
  passkeys,
  policies,
  rolePolicies,
  roles,
  userPolicies,
  users,
} from '../../schema.js';
import { fixedStatement, rows } from '../../statements.js';

/** An arbitrary number that no other lock of the service uses. */
const countingLock = 0x6761_7473;

/** What an event counts as; null: it is not counted. */
const series = (outcome: SQL) => sql`case
  when action = 'login' and ${outcome} then 'sign_ins'
  when action = 'login' and reason is distinct from 'missing_code' then 'failed_sign_ins'
  when action in ('register', 'invite_accept') and ${outcome} then 'sign_ups'
  when action = 'lock' then 'lockouts'
  when action = 'password_reset' and ${outcome} then 'password_resets'
  when action = 'refusals_omitted' then 'refusals_omitted' end`;

/** Columns of events, from `activity`. */
const ofEvent = sql`${series(sql`outcome = 'success'`)} as series,
  date_trunc('hour', "timestamp" at time zone 'UTC') as hour, null::timestamp as previous`;

/** Columns of uses of the API, from `active_hours`. */
const ofUse = sql`'active_users' as series, hour, previous`;

/**
 * Whether something that happened in an hour counts in the interval with this unit. A user who uses the API counts in an interval only the
 * first time, so that the numbers are those of distinct users.
 */
const countsIn = (unit: SQL) =>
  sql`series is not null and (previous is null or date_trunc(${unit}, previous) < date_trunc(${unit}, hour))`;

const counting = fixedStatement<{ limit: number }, { counted: number }>(
  (value) => sql`
    with linked as (
      select position, ${ofEvent} from ${activity}
      where position > (select counted_position from ${activityChain})
      order by position limit ${value('limit')}::integer
    ), used as (
      delete from ${activeHours} where id = any(array(select id from ${activeHours} order by id limit ${value('limit')}::integer))
      returning ${ofUse}
    ), counted as (
      select series, hour, previous, count(*) as times from (
        select series, hour, previous from linked union all select series, hour, previous from used
      ) happened group by 1, 2, 3
    ), added as (
      insert into ${activityCounts} (unit, series, start, count)
      select unit, series, date_trunc(unit, hour), sum(times)
      from counted cross join unnest(array['hour', 'day', 'week', 'month']) unit
      where ${countsIn(sql`unit`)} group by 1, 2, 3
      on conflict (unit, series, start) do update set count = activity_counts.count + excluded.count
    ), moved as (
      update ${activityChain} set counted_position = last.position
      from (select max(position) as position from linked) last where last.position is not null
    )
    select greatest((select count(*) from linked), (select count(*) from used))::integer as counted`,
);

/**
 * Adds to the counts what has happened since the last call, in one statement. Only one instance at a time does this; other instances return
 * immediately.
 * @returns how many events or uses were counted
 */
export async function countActivity(db: Executor, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const [lock] = await rows<{ is_free: boolean }>(
      tx,
      sql`select pg_try_advisory_xact_lock(${countingLock}) as is_free`,
    );
    if (!lock?.is_free) return 0;
    // A separate statement, which sees what the previous holder of the lock has committed.
    const [found] = await counting(tx, { limit });
    return found?.counted ?? 0;
  });
}

/**
 * Whether anything has happened that is not included in the counts yet. With `exists`, PostgreSQL would scan the entire table each time
 * nothing is left to count.
 */
export async function hasUncounted(db: Executor): Promise<boolean> {
  const [found] = await rows<{ exists: boolean }>(
    db,
    sql`select
        (select position from ${activity} where position > (select counted_position from ${activityChain}) order by position limit 1) is not null
        or (select id from ${activeHours} order by id limit 1) is not null as exists`,
  );
  return found?.exists === true;
}

export interface Period {
  unit: StatisticsInterval;
  /** Inclusive. */
  from: Date;
  /** Exclusive. */
  to: Date;
}

const allSeries = sql.raw(
  `array[${Object.keys(statisticsSeries)
    .map((name) => `'${name}'`)
    .join()}]`,
);

interface Counted {
  start: number;
  series: StatisticsSeries;
  count: number;
}

const limit = sql.raw(String(maxExactCount + 1));
const seconds = (value: SQL) => sql`extract(epoch from ${value})::int8`;

/**
 * The counts of a period, including what has not been added to them yet: rows of the audit log without a position, and those after the last
 * position that is included. All of this is one statement, so that nothing is missing or counted twice.
 */
const reading = fixedStatement<
  { unit: string; from: string; to: string },
  { counts: Counted[] | null; is_behind: boolean; counted_since: number | null }
>((value) => {
  const unit = sql`${value('unit')}::text`;
  const moment = (name: 'from' | 'to') => sql`(${value(name)}::timestamptz at time zone 'UTC')`;
  return sql`
      with unlinked as (select ${ofEvent} from ${activity} where position is null order by id limit ${limit}),
      linked as (
        select ${ofEvent} from ${activity} where position > (select counted_position from ${activityChain})
        order by position limit ${limit}
      ), used as (select ${ofUse} from ${activeHours} order by id limit ${limit}),
      recent as (select * from unlinked union all select * from linked union all select * from used),
      counts as (
        select start, series, sum(count)::int8 as count from (
          select start, series, count from ${activityCounts}
          where unit = ${unit} and series = any(${allSeries}) and start >= ${moment('from')} and start < ${moment('to')}
          union all
          select date_trunc(${unit}, hour), series, count(*) from recent
          where ${countsIn(unit)} and hour >= ${moment('from')} and hour < ${moment('to')} group by 1, 2
        ) parts group by 1, 2
      )
      select
        (select json_agg(json_build_object('start', ${seconds(sql`start`)}, 'series', series, 'count', count)) from counts) as counts,
        greatest((select count(*) from unlinked), (select count(*) from linked), (select count(*) from used)) = ${limit} as is_behind,
        least(
          (select ${seconds(sql`start`)} from ${activityCounts} where unit = 'hour' and series = 'active_users' order by start limit 1),
          (select ${seconds(sql`min(hour)`)} from used)
        ) as counted_since`;
});

export interface Counts {
  counts: { start: Date; series: StatisticsSeries; count: number }[];
  /** Whether there is more to be counted than one statement reads. */
  isBehind: boolean;
  /** The hour from which active users are counted; null: none has been counted. */
  countedSince: Date | null;
}

export async function readActivityCounts(db: Executor, { unit, from, to }: Period): Promise<Counts> {
  const [found] = await reading(db, { unit, from: from.toISOString(), to: to.toISOString() });
  const date = (time: number) => new Date(time * 1_000);
  return {
    counts: (found?.counts ?? []).map((count) => ({ ...count, start: date(count.start) })),
    isBehind: found?.is_behind === true,
    countedSince: found?.counted_since == null ? null : date(found.counted_since),
  };
}

/** Counts the rows of a query, up to one more than the maximum. */
const upTo = (query: SQL) => sql`(select count(*)::integer from (${query} limit ${limit}) found)`;

/** The same for an index that contains exactly those rows: above the maximum, the number that the database estimates. */
const upToOrEstimate = (query: SQL, index: string) => sql`(select case when exact < ${limit} then exact
  else greatest(exact, (select reltuples from pg_class where oid = to_regclass(${sql.raw(`'${index}'`)}))::integer) end
  from (select ${upTo(query)} as exact) counted)`;

/**
 * Active users with administrator access who have no second factor. There are few administrators, and the indexes find them. With a join,
 * PostgreSQL would expect many, and read all users.
 */
const administratorsWithoutSecondFactor = (acceptsPasskeys: SQL) => sql`
  with recursive powerful(role) as (
    select rp.role from ${rolePolicies} rp join ${policies} p on p.id = rp.policy where p.admin_access
    union
    select r.id from ${roles} r join powerful on r.parent = powerful.role
  ), held(id) as (
    select member.id from powerful
    cross join lateral (select u.id from ${users} u where u.role = powerful.role limit ${limit}) member
    union
    select member.id from ${policies} p
    cross join lateral (select up."user" as id from ${userPolicies} up where up.policy = p.id limit ${limit}) member
    where p.admin_access
  )
  select from held where (
    select u.status = 'active' and u.tfa_secret is null
      and not (${acceptsPasskeys} and exists (select from ${passkeys} k where k."user" = u.id))
    from ${users} u where u.id = held.id
  )`;

const attending = ({ queue }: Pick<DatabaseSchemas, 'queue'>) =>
  fixedStatement<{ now: string; acceptsPasskeys: boolean }, Record<AttentionName, number>>((value) => {
    const now = sql`${value('now')}::timestamptz`;
    return sql`
        select
          ${upTo(sql`select from ${sql.identifier(queue)}.job where name = 'mail' and state = 'failed'`)} as failed_emails,
          ${upTo(sql`select distinct account from ${loginAttempts} where locked_until > ${now}`)}
            + ${upTo(sql`select from ${users} where tfa_locked_until > ${now}`)} as locked_accounts,
          invitations.pending as pending_invitations, invitations.expired as expired_invitations,
          ${upToOrEstimate(
            sql`select from ${users} where status = 'active' and email is not null and email_verified_at is null`,
            'users_unverified_index',
          )} as unverified_users,
          ${upTo(administratorsWithoutSecondFactor(sql`${value('acceptsPasskeys')}::boolean`))} as administrators_without_second_factor
        from (
          select (count(*) filter (where is_pending))::integer as pending,
            (count(*) filter (where not is_pending))::integer as expired
          from (
            select u.invite_expires_at is null or u.invite_expires_at > ${now} as is_pending
            from ${users} u where u.status = 'invited' order by u.invite_expires_at desc limit ${limit}
          ) invited
        ) invitations`;
  });

export type ReadAttention = (
  db: Executor,
  at: { now: Date; acceptsPasskeys: boolean },
) => Promise<Record<AttentionName, number>>;

/** What may need attention now. Every number is read from an index, and counts at most one row more than the maximum. */
export function createReadAttention(schemas: Pick<DatabaseSchemas, 'queue'>): ReadAttention {
  const statement = attending(schemas);
  return async (db, { now, acceptsPasskeys }) => {
    const values = { now: now.toISOString(), acceptsPasskeys };
    const [found] = await statement(db, values);
    if (!found) throw new Error('A statement without a table returns one row.');
    return found;
  };
}
