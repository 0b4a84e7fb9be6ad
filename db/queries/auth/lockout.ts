import { type Placeholder, type SQL, sql } from 'drizzle-orm';

/** How wrong guesses are slowed down: from `limit` in a row on, each locks for longer. All times in milliseconds. */
export interface AttemptRules {
  limit: number;
  firstLock: number;
  longestLock: number;
}

/**
 * Until when so many failures lock, as a value in a statement; null below the limit.
 * @param now in ISO 8601, or what stands for it; likewise the rules
 */
export function lockAfter(
  failures: SQL,
  now: string | Placeholder,
  { limit, firstLock, longestLock }: Record<keyof AttemptRules, number | Placeholder>,
): SQL {
  // The exponent stays small, however often somebody fails: the lock stops growing long before.
  const lock = sql`least(${longestLock}::float8, ${firstLock}::float8 * power(2, least(${failures} - ${limit}::integer, 30)))`;
  return sql`case when ${failures} >= ${limit}::integer
    then ${now}::timestamptz + ${lock} * interval '1 millisecond' end`;
}
