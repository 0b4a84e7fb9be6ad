import { fileURLToPath } from 'node:url';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import type { DatabaseConnection, Executor } from './client.js';
import { findSchemas } from './database-schemas.js';
import { createQueueTables } from './job-queue.js';
import { readBuildMigrations } from './migration-journal.js';
import { type Pause, withMigrationLock } from './migration-lock.js';
import { ensureMailIndexes } from './queries/mail/mails.js';
import { readAppliedMigrations, recordCompatibility } from './queries/platform/migrations.js';
import { createMissingSchema } from './queries/platform/schemas.js';
import { ensureSearchIndexes } from './queries/users/search-indexes.js';
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
  connection.schemas = await findSchemas(connection);
  const isPending = async () => (await missingMigrations(connection)).length > 0;
  return withMigrationLock(connection, pause, isPending, async () => {
    await requireUsableSchema(connection, shouldMigrate);
    if (shouldMigrate) await migrateSchema(connection);
    await compactUserCounts(connection.db);
    return connection.db.transaction(bootstrap);
  });
}

/** For programs that use the tables of the service but do not change them. @throws {SchemaError} if this build cannot use the tables */
export async function requireMigrated(connection: DatabaseConnection): Promise<void> {
  connection.schemas = await findSchemas(connection);
  await requireCompatibleSchema(connection);
  const missing = await missingMigrations(connection);
  if (missing.length > 0) {
    const tags = missing.map(({ tag }) => tag).join(', ');
    throw new SchemaError(
      `The tables are not up to date: ${tags}. Start the service once, or run \`npm run migrate\`.`,
    );
  }
}

/** Creates and changes everything that requires rights on the schemas of the database. */
async function migrateSchema(connection: DatabaseConnection): Promise<void> {
  await createMissingSchema(connection.db, connection.schemas.tables);
  await migrateTables(connection);
  await recordCompatibility(connection.db, readBuildMigrations(migrationsFolder));
  if (connection.engine === 'postgres') await ensureSearchIndexes(connection.db);
  await createQueueTables(connection);
  await ensureMailIndexes(connection.db, connection.schemas);
}

/** Drizzle's own migrator has fixed names of schemas. */
interface Migrator {
  dialect: { migrate(migrations: MigrationMeta[], session: unknown, config: object): Promise<void> };
  session: unknown;
}

/** Runs all pending migrations of a folder in one transaction. */
export async function migrateTables({ db, schemas }: DatabaseConnection, folder = migrationsFolder): Promise<void> {
  const { dialect, session } = db as unknown as Migrator;
  const tables = `"${schemas.tables.replaceAll('"', '""')}".`;
  const config = { migrationsFolder: folder, migrationsSchema: schemas.journal };
  // Generated foreign keys name the schema. Migrations are identified by their time, and a hash of the file, which stays the same.
  const migrations = readMigrationFiles(config).map((migration) => ({
    ...migration,
    sql: migration.sql.map((statement) => statement.replaceAll('"public".', () => tables)),
  }));
  await dialect.migrate(migrations, session, config);
}

/** The migrations of this build that the database does not have yet. */
async function missingMigrations({ db, schemas }: DatabaseConnection) {
  const present = new Set((await readAppliedMigrations(db, schemas)).map(({ createdAt }) => createdAt));
  return readBuildMigrations(migrationsFolder).filter(({ createdAt }) => !present.has(createdAt));
}

/** Checks that this build can work with the migrations that the database has. A newer build may have added some. @throws {SchemaError} */
async function requireCompatibleSchema({ db, schemas }: DatabaseConnection): Promise<void> {
  const own = readBuildMigrations(migrationsFolder);
  const applied = await readAppliedMigrations(db, schemas);
  if (applied.length > 0 && applied.every(({ createdAt }) => createdAt !== own[0]?.createdAt)) {
    throw new SchemaError(
      'A development version from before 0.1.0 created the tables, and they cannot be upgraded. Use an empty database, or another DATABASE_SCHEMA or DATA_DIR. To keep the data, continue to use the version that created the tables.',
    );
  }
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
}

/** @param shouldMigrate whether missing migrations will be run. @throws {SchemaError} */
async function requireUsableSchema(connection: DatabaseConnection, shouldMigrate: boolean): Promise<void> {
  await requireCompatibleSchema(connection);
  const missing = await missingMigrations(connection);
  if (!shouldMigrate && missing.length > 0) {
    throw new SchemaError(
      `MIGRATE is off, and the tables are not up to date: ${missing.map(({ tag }) => tag).join(', ')}. Run \`npm run migrate\` and db/grants.sql with a role that owns the tables.`,
    );
  }
}
