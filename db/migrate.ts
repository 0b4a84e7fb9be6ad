import { fileURLToPath } from 'node:url';
import { migrate as migrateEmbedded } from 'drizzle-orm/pglite/migrator';
import { migrate as migratePostgres } from 'drizzle-orm/postgres-js/migrator';
import type { DatabaseConnection, Executor } from './client.js';
import { createQueueTables } from './job-queue.js';
import { readBuildMigrations } from './migration-journal.js';
import { type Pause, withMigrationLock } from './migration-lock.js';
import { ensureSearchIndexes } from './postgres/search-indexes.js';
import { readAppliedMigrations, recordCompatibility } from './queries/server/migrations.js';
import { compactUserCounts } from './queries/users/user-counts.js';
import { SchemaError } from './schema-error.js';

const migrationsFolder = fileURLToPath(new URL('migrations', import.meta.url));

export interface MigrateOptions {
  /** False: only checks the schema, for a role without rights on it. */
  shouldMigrate?: boolean;
  /** Called repeatedly while another instance is migrating. */
  pause?: Pause;
}

/** Brings the schema up to date, then runs `bootstrap`. Each step is a transaction, so a crash leaves nothing half done. */
export async function migrate<T>(
  connection: DatabaseConnection,
  bootstrap: (tx: Executor) => Promise<T>,
  { shouldMigrate = true, pause = async () => {} }: MigrateOptions = {},
): Promise<T> {
  return withMigrationLock(connection, pause, async () => {
    await requireUsableSchema(connection.db, shouldMigrate);
    if (shouldMigrate) await migrateSchema(connection);
    await compactUserCounts(connection.db);
    return connection.db.transaction(bootstrap);
  });
}

/** Creates and changes everything that requires rights on the schemas of the database. */
async function migrateSchema(connection: DatabaseConnection): Promise<void> {
  await migrateTables(connection);
  await recordCompatibility(connection.db, readBuildMigrations(migrationsFolder));
  if (connection.engine === 'postgres') await ensureSearchIndexes(connection.db);
  await createQueueTables(connection, 'mail');
}

/** Runs all pending migrations of a folder in one transaction. */
export async function migrateTables({ db, engine }: DatabaseConnection, folder = migrationsFolder): Promise<void> {
  const options = { migrationsFolder: folder };
  if (engine === 'embedded') await migrateEmbedded(db as Parameters<typeof migrateEmbedded>[0], options);
  else await migratePostgres(db as Parameters<typeof migratePostgres>[0], options);
}

/**
 * Checks that this build can work with the migrations that the database has. A newer build may have added some.
 * @param shouldMigrate whether missing migrations will be run
 * @throws {SchemaError}
 */
async function requireUsableSchema(db: Executor, shouldMigrate: boolean): Promise<void> {
  const own = readBuildMigrations(migrationsFolder);
  const applied = await readAppliedMigrations(db);
  const known = new Set(own.map(({ createdAt }) => createdAt));
  const knownTags = new Set(own.map(({ tag }) => tag));
  const incompatible = applied.find(
    ({ createdAt, worksWith }) => !known.has(createdAt) && (worksWith === null || !knownTags.has(worksWith)),
  );
  if (incompatible) {
    throw new SchemaError(
      `A newer version of the service has changed the tables (${incompatible.tag ?? incompatible.createdAt}), and this version cannot work with them. Start the newer version, or restore a backup from before the upgrade.`,
    );
  }
  const present = new Set(applied.map(({ createdAt }) => createdAt));
  const missing = own.filter(({ createdAt }) => !present.has(createdAt));
  if (!shouldMigrate && missing.length > 0) {
    throw new SchemaError(
      `MIGRATE is off, and the tables are not up to date: ${missing.map(({ tag }) => tag).join(', ')}. Run \`npm run migrate\` and db/grants.sql with a role that owns the tables.`,
    );
  }
}
