import { setImmediate } from 'node:timers/promises';
import {
  countActivity,
  createReadAttention,
  hasUncounted,
  readActivityCounts,
} from '../../db/queries/activity/statistics.js';
import { countAllUsers } from '../../db/queries/users/user-counts.js';
import { readMoment } from '../../db/query-language/timestamps.js';
import { ApiError } from '../../schemas/errors.js';
import {
  type AttentionName,
  maxExactCount,
  maxIntervals,
  type Statistics,
  type StatisticsInterval,
  type StatisticsSeries,
  statisticsSeries,
} from '../../schemas/statistics.js';
import type { Caller } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';

export interface StatisticsRequest {
  /** ISO 8601. Undefined: the default. */
  from: string | undefined;
  to: string | undefined;
  interval: StatisticsInterval;
}

export interface ActivityStatistics {
  /** @throws {ApiError} INVALID_QUERY if the period is empty or too long */
  read(caller: Caller, request: StatisticsRequest): Promise<Statistics>;
  /** Adds what has happened since the last call to the counts. @returns how many events or uses of the API were counted */
  count(): Promise<number>;
}

/** Rows per transaction. Between batches, other requests get their turn. */
const batch = 1_000;

const defaultLengths: Record<StatisticsInterval, number> = { hour: 24, day: 30, week: 12, month: 12 };

/** The numbers for an overview of the service. */
export function createStatistics({ config, db, dbOf, clock, databaseConnection }: Services): ActivityStatistics {
  // The schemas are known once the tables have been migrated.
  let readAttention: ReturnType<typeof createReadAttention> | undefined;

  return {
    read: async (caller, request) => {
      const now = clock();
      const { interval } = request;
      const starts = startsOf(request, now);
      const [from, to] = [starts[0] as Date, starts.pop() as Date];
      const callerDb = dbOf(caller);
      const { counts, isBehind, countedSince } = await readActivityCounts(callerDb, { unit: interval, from, to });
      readAttention ??= createReadAttention(databaseConnection.schemas);
      const attention = await readAttention(callerDb, {
        now,
        acceptsPasskeys: config.AUTH_PASSKEYS,
      });
      const found = new Map(counts.map(({ start, series, count }) => [`${start.getTime()} ${series}`, count]));
      const countsOf = (start: Date, index: number) => {
        const end = starts[index + 1] ?? to;
        const values = Object.fromEntries(
          Object.keys(statisticsSeries).map((series) => [series, found.get(`${start.getTime()} ${series}`) ?? 0]),
        ) as Record<StatisticsSeries, number>;
        const isCounted = countedSince !== null && countedSince < end;
        return { start, ...values, active_users: isCounted ? values.active_users : null };
      };
      return {
        from,
        to,
        interval,
        estimated: isBehind,
        intervals: starts.map(countsOf),
        total_users: await countAllUsers(callerDb),
        attention: withEstimates(attention),
      };
    },

    count: async () => {
      if (!(await hasUncounted(db))) return 0;
      for (let total = 0; ; ) {
        const counted = await countActivity(db, batch);
        total += counted;
        if (counted < batch) return total;
        await setImmediate();
      }
    },
  };
}

const withEstimates = (attention: Record<AttentionName, number>): Statistics['attention'] => {
  // Pending and expired invitations are read together.
  const invitations = attention.pending_invitations + attention.expired_invitations;
  return Object.fromEntries(
    Object.entries(attention).map(([name, count]) => [
      name,
      { count, estimated: (name.endsWith('_invitations') ? invitations : count) > maxExactCount },
    ]),
  ) as Statistics['attention'];
};

/** When each interval of a period begins, and when the last one ends. */
function startsOf({ interval, ...request }: StatisticsRequest, now: Date): Date[] {
  const from = readParameter('from', request.from);
  const end = readParameter('to', request.to) ?? now;
  // The last interval is the one before `to`, or the one that contains it.
  const last = startOf(interval, new Date(end.getTime() - 1));
  let start = from === undefined ? shifted(interval, last, 1 - defaultLengths[interval]) : startOf(interval, from);
  if (from !== undefined && from >= end) throw invalidPeriod('`from` must be before `to`.');
  const starts: Date[] = [];
  for (; start <= last; start = shifted(interval, start, 1)) {
    starts.push(start);
    if (starts.length > maxIntervals)
      throw invalidPeriod(`The period must have at most ${maxIntervals} intervals of one ${interval}.`);
  }
  return [...starts, start];
}

function readParameter(name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const moment = readMoment(text);
  if (moment === undefined)
    throw invalidPeriod(`\`${name}\` must be a date in ISO 8601, such as 2026-01-31T09:00:00Z.`);
  return new Date(moment);
}

const invalidPeriod = (reason: string) => new ApiError('INVALID_QUERY', { reason });

const [monday, weekdays] = [1, 7];

/** The beginning of the interval that contains a moment, in UTC. */
function startOf(interval: StatisticsInterval, moment: Date): Date {
  const [year, month, day] = [moment.getUTCFullYear(), moment.getUTCMonth(), moment.getUTCDate()];
  switch (interval) {
    case 'hour':
      return utc(year, month, day, moment.getUTCHours());
    case 'day':
      return utc(year, month, day);
    case 'week':
      return utc(year, month, day - ((moment.getUTCDay() - monday + weekdays) % weekdays));
    case 'month':
      return utc(year, month);
  }
}

/** The beginning of a later or, if the number is negative, of an earlier interval. */
function shifted(interval: StatisticsInterval, start: Date, by: number): Date {
  const [year, month, day] = [start.getUTCFullYear(), start.getUTCMonth(), start.getUTCDate()];
  switch (interval) {
    case 'hour':
      return utc(year, month, day, start.getUTCHours() + by);
    case 'day':
      return utc(year, month, day + by);
    case 'week':
      return utc(year, month, day + by * weekdays);
    case 'month':
      return utc(year, month + by);
  }
}

/** Unlike `Date.UTC`, it does not read years below 100 as those of the 20th century. */
function utc(year: number, month: number, day = 1, hours = 0): Date {
  const moment = new Date(0);
  moment.setUTCFullYear(year, month, day);
  moment.setUTCHours(hours);
  return moment;
}
