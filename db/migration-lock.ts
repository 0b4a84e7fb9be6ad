import { sql } from 'drizzle-orm';
import type { DatabaseConnection } from './client.js';
import { rows } from './statements.js';

/**
 * Waits a moment before something is tried again.
 * @param isBrief whether the wait usually ends so soon that there is no need to report it
 * @throws if it has already waited too long in total
 */
export type Pause = (reason: string, isBrief?: boolean) => Promise<void>;

/** An arbitrary number that no other program on the same database is likely to lock. */
const lockKey = 0x6761_7465;

/**
 * Runs the work that every start does on the tables. On PostgreSQL, any number of instances may start at the same time: one does the
 * work, while the others wait and then find it done. The lock belongs to a separate transaction, which needs a second connection but
 * also works behind a pooler. A waiting instance holds no connection, because a pooler may have only two in total. The embedded
 * database is used by a single process, thanks to the lock on its directory.
 * @param isPending whether there is something to migrate; otherwise, the other instance is only starting
 */
export async function withMigrationLock<T>(
  { db, engine }: DatabaseConnection,
  pause: Pause,
  isPending: () => Promise<boolean>,
  work: () => Promise<T>,
): Promise<T> {
  if (engine === 'embedded') return work();
  for (;;) {
    const done = await db.transaction(async (guard) => {
      const [lock] = await rows<{ ours: boolean }>(guard, sql`select pg_try_advisory_xact_lock(${lockKey}) as ours`);
      return lock?.ours ? { result: await work() } : undefined;
    });
    if (done) return done.result;
    if (await isPending()) await pause('another instance is migrating the database');
    else await pause('another instance is starting', true);
  }
}
