import { lt, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { storedResponses } from '../../schema.js';
import { fixedStatement, rows } from '../../statements.js';

/** The key of one user. */
export type StoredKey = {
  user: string;
  /** A hash of it. */
  key: string;
};

const timestamptz = (value: unknown) => sql`${value}::timestamptz`;

const find = fixedStatement<
  StoredKey & { now: string },
  { response: string | null; count: number; bytes: number; next: Date | null }
>(
  (value) => sql`select
      (select response from ${storedResponses} where "user" = ${value('user')} and key = ${value('key')}
        and expires_at > ${timestamptz(value('now'))}) as response,
      count(*)::int as count, coalesce(sum(size), 0)::float8 as bytes, min(expires_at) as next
    from ${storedResponses} where "user" = ${value('user')} and expires_at > ${timestamptz(value('now'))}`,
);

/** The response to a key, and how many responses are stored for the user. */
export async function findResponse(
  executor: Executor,
  stored: StoredKey,
  now: Date,
): Promise<{ response: string | null; count: number; bytes: number; next: Date | null }> {
  const [found] = await find(executor, { ...stored, now: now.toISOString() });
  if (!found) throw new Error('An aggregation has no row.');
  return { ...found, bytes: Number(found.bytes), next: found.next === null ? null : new Date(found.next) };
}

/**
 * Stores the response to a key, or reserves the place for it in the transaction of the request. Waits for a transaction that has reserved
 * the same place.
 * @returns false if the key has a response
 */
export async function storeResponse(
  executor: Executor,
  { user, key }: StoredKey,
  response: string,
  { now, expiresAt }: { now: Date; expiresAt: Date },
): Promise<boolean> {
  const stored = await rows(
    executor,
    sql`insert into ${storedResponses} as stored ("user", key, response, size, expires_at)
      values (${user}, ${key}, ${response}, ${response.length}, ${timestamptz(expiresAt.toISOString())})
      on conflict ("user", key) do update
        set response = excluded.response, size = excluded.size, expires_at = excluded.expires_at
        where stored.expires_at <= ${timestamptz(now.toISOString())}
      returning 1 as stored`,
  );
  return stored.length === 1;
}

/** Stores the response in the place that the transaction has reserved. */
export async function fillResponse(tx: Executor, { user, key }: StoredKey, response: string): Promise<void> {
  await rows(
    tx,
    sql`update ${storedResponses} set response = ${response}, size = ${response.length}
      where "user" = ${user} and key = ${key}`,
  );
}

export async function deleteExpiredResponses(executor: Executor, now: Date): Promise<void> {
  await executor.delete(storedResponses).where(lt(storedResponses.expiresAt, now));
}
