import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'drizzle-orm';
import { migrate as migrateEmbedded } from 'drizzle-orm/pglite/migrator';
import { migrate as migratePostgres } from 'drizzle-orm/postgres-js/migrator';
import { type DatabaseConnection, type Executor, rows } from './client.js';
import { ensureSearchIndexes } from './postgres/search-indexes.js';
import { compactUserCounts } from './queries/users/user-counts.js';

const migrationsFolder = fileURLToPath(new URL('migrations', import.meta.url));

/** An arbitrary number that no other program on the same database is likely to lock. */
const lockKey = 0x6761_7465;

/** Milliseconds until an instance checks again whether another one has finished. */
const lookAgainAfter = 100;

/**
 * Runs the work that every start does on the tables. On PostgreSQL, any number of instances may start at the same time: one does
 * the work while the others wait, and then find it done. The lock belongs to a separate transaction, which needs a second
 * connection but also works behind a pooler. A waiting instance holds no connection, because a pooler may have only two in total.
 * The embedded database is used by a single process, thanks to the lock on its directory.
 */
export async function withMigrationLock<T>({ db, engine }: DatabaseConnection, work: () => Promise<T>): Promise<T> {
  if (engine === 'embedded') return work();
  for (;;) {
    const done = await db.transaction(async (guard) => {
      const [lock] = await rows<{ ours: boolean }>(guard, sql`select pg_try_advisory_xact_lock(${lockKey}) as ours`);
      return lock?.ours ? { result: await work() } : undefined;
    });
    if (done) return done.result;
    await sleep(lookAgainAfter);
  }
}

/** Runs all pending migrations of a folder in one transaction. */
export async function migrateTables({ db, engine }: DatabaseConnection, folder = migrationsFolder): Promise<void> {
  const options = { migrationsFolder: folder };
  if (engine === 'embedded') await migrateEmbedded(db as Parameters<typeof migrateEmbedded>[0], options);
  else await migratePostgres(db as Parameters<typeof migratePostgres>[0], options);
}

/** Brings the tables up to date, then runs `bootstrap`. Each step is a transaction, so a crash leaves nothing half done. */
export async function migrate<T>(connection: DatabaseConnection, bootstrap: (tx: Executor) => Promise<T>): Promise<T> {
  const { db, engine } = connection;
  return withMigrationLock(connection, async () => {
    await migrateTables(connection);
    if (engine === 'postgres') await ensureSearchIndexes(db);
    await compactUserCounts(db);
    return db.transaction(bootstrap);
  });
}
