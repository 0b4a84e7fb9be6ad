import type { DatabaseConnection } from './client.js';
import { tryMigrationLock } from './queries/platform/migrations.js';

/**
 * Waits a moment before something is tried again.
 * @param isBrief whether the wait usually ends so soon that there is no need to report it
 * @throws if it has already waited too long in total
 */
export type Pause = (reason: string, isBrief?: boolean) => Promise<void>;

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
      return (await tryMigrationLock(guard)) ? { result: await work() } : undefined;
    });
    if (done) return done.result;
    if (await isPending()) await pause('another instance is migrating the database');
    else await pause('another instance is starting', true);
  }
}
