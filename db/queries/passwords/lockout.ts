import { type Placeholder, type SQL, sql } from 'drizzle-orm';

/**
 * How repeated wrong guesses are slowed down: starting with failure number `limit` in a row, each causes a longer lock. All times
 * are in milliseconds.
 */
export interface AttemptRules {
  limit: number;
  firstLockMs: number;
  maxLockMs: number;
}

/**
 * The time until which this number of failures causes a lock, as an SQL expression; null below the limit.
 * @param now in ISO 8601, or a placeholder for it; the rules may be placeholders, too
 */
export function lockAfter(
  failures: SQL,
  now: string | Placeholder,
  { limit, firstLockMs, maxLockMs }: Record<keyof AttemptRules, number | Placeholder>,
): SQL {
  // The exponent is capped at 30: the lock reaches its maximum long before that.
  const lock = sql`least(${maxLockMs}::float8, ${firstLockMs}::float8 * power(2, least(${failures} - ${limit}::integer, 30)))`;
  return sql`case when ${failures} >= ${limit}::integer
    then ${now}::timestamptz + ${lock} * interval '1 millisecond' end`;
}
