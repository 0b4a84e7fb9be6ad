import { type SQL, sql } from 'drizzle-orm';

/** How wrong guesses are slowed down: from `limit` in a row on, each locks for longer. All times in milliseconds. */
export interface AttemptRules {
  limit: number;
  firstLock: number;
  longestLock: number;
}

/** Until when so many failures lock, as a value in a statement; null below the limit. */
export function lockAfter(failures: SQL, now: Date, { limit, firstLock, longestLock }: AttemptRules): SQL {
  // The exponent stays small, however often somebody fails: the lock stops growing long before.
  const lock = sql`least(${longestLock}::float8, ${firstLock}::float8 * power(2, least(${failures} - ${limit}::integer, 30)))`;
  return sql`case when ${failures} >= ${limit}::integer
    then ${now.toISOString()}::timestamptz + ${lock} * interval '1 millisecond' end`;
}
