import type { PGlite } from '@electric-sql/pglite';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import { createBoundedCache } from './bounded-cache.js';
import { type DatabaseSchemas, schemasFor } from './database-schemas.js';
import { lockDirectory } from './embedded/directory-lock.js';
import { runMaintenance, sessionSettings } from './embedded/maintenance.js';
import { observed, type StatementHooks } from './observe.js';
import { createPostgresPool } from './postgres/pool.js';
import * as schema from './schema.js';

/** The database or a transaction on it, on either engine. Every query accepts it as its first argument. */
export type Executor = PgDatabase<PgQueryResultHKT, typeof schema>;

export interface DatabaseConnection {
  readonly db: Executor;
  readonly engine: 'postgres' | 'embedded';
  /** The schema of the tables, if the operator has chosen it. */
  readonly schema: string | undefined;
  /** The schemas in use. They are known once the tables have been migrated. */
  schemas: DatabaseSchemas;
  /** The database for one caller, limited to half of the connections. The embedded engine has only one connection. */
  dbOf(caller: string): Executor;
  /** The database for maintenance, whose statements may take longer than those of requests. */
  readonly maintenanceDb: Executor;
  /**
   * Starts to enforce time limits: a connection is closed when a response takes too long. Migrations run before this call and may
   * take longer.
   * @param statementTimeout milliseconds after which PostgreSQL is asked to cancel a statement, except for maintenance
   */
  limitWaiting(statementTimeout: number): void;
  /** Runs one or more statements without parameters. @returns the rows of the first statement */
  runScript(text: string): Promise<{ rows: Record<string, unknown>[] }>;
  /** The numbers of running and waiting tasks, and the maximum number of connections; undefined on the embedded engine. */
  load(): { running: number; waiting: number; max: number } | undefined;
  /** Performs a small part of the database's maintenance. If present, it must be called every few seconds. */
  readonly runMaintenance?: () => Promise<void>;
  close(): Promise<void>;
}

export type DatabaseLocation =
  | { kind: 'postgres'; url: string; poolMax: number; schema?: string | undefined }
  | { kind: 'embedded'; dataDir: string }
  /** An embedded database that exists only in memory. A `client` passed by the caller is not closed. */
  | { kind: 'memory'; client?: PGlite };

/** Opens the database at `location`. Does not run migrations. */
export async function openDatabase(
  location: DatabaseLocation,
  hooks: StatementHooks = {},
): Promise<DatabaseConnection> {
  return location.kind === 'postgres' ? openPostgres(location, hooks) : openEmbedded(location, hooks);
}

function openPostgres(
  { url, poolMax: max, schema: ownSchema }: Extract<DatabaseLocation, { kind: 'postgres' }>,
  hooks: StatementHooks,
): DatabaseConnection {
  const pool = createPostgresPool(url, { max, hooks, schema: ownSchema });
  const { client, clientOf, maintenanceClient, limitWaiting, runScript, load, close } = pool;
  const known = createBoundedCache<Executor>(1_000);
  const dbOf = (caller: string) => known(caller, () => drizzlePostgres(clientOf(caller)) as unknown as Executor);
  const maintenanceDb = drizzlePostgres(maintenanceClient) as unknown as Executor;
  const db = drizzlePostgres(client, { schema });
  const schemas = schemasFor(ownSchema ?? 'public');
  return {
    db,
    engine: 'postgres',
    schema: ownSchema,
    schemas,
    dbOf,
    maintenanceDb,
    limitWaiting,
    runScript,
    load,
    close,
  };
}

async function openEmbedded(
  location: Exclude<DatabaseLocation, { kind: 'postgres' }>,
  hooks: StatementHooks,
): Promise<DatabaseConnection> {
  const unlock = location.kind === 'embedded' ? await lockDirectory(location.dataDir) : () => {};
  try {
    // Loaded lazily, so that a service on PostgreSQL does not load an engine that it does not use.
    const [{ PGlite }, { drizzle }] = await Promise.all([import('@electric-sql/pglite'), import('drizzle-orm/pglite')]);
    const lent = location.kind === 'memory' ? location.client : undefined;
    const client =
      location.kind === 'embedded'
        ? await PGlite.create({ dataDir: `${location.dataDir}/database` })
        : (lent ?? (await PGlite.create()));
    await client.exec(sessionSettings);
    let upkeep = Promise.resolve();
    const close = async () => {
      await upkeep.catch(() => {});
      if (!lent && !client.closed) await client.close();
      unlock();
    };
    const runScript = async (text: string) => {
      try {
        const [first] = await client.exec(text);
        return { rows: (first?.rows ?? []) as Record<string, unknown>[] };
      } catch (error) {
        await client.exec('rollback');
        throw error;
      }
    };
    const db = drizzle(hooks.observe || hooks.onEnd ? observed(client, hooks) : client, { schema });
    return {
      db,
      engine: 'embedded',
      schema: undefined,
      schemas: schemasFor('public'),
      dbOf: () => db,
      maintenanceDb: db,
      limitWaiting: () => {},
      runScript,
      load: () => undefined,
      // An in-memory database does not live long enough to need maintenance.
      ...(location.kind === 'embedded' && {
        runMaintenance: () => {
          upkeep = runMaintenance(client);
          return upkeep;
        },
      }),
      close,
    };
  } catch (error) {
    unlock();
    throw error;
  }
}
