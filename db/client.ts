import type { PGlite } from '@electric-sql/pglite';
import type { SQL } from 'drizzle-orm';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import { lockDirectory } from './embedded/directory-lock.js';
import { keepUp, sessionSettings } from './embedded/upkeep.js';
import { type ObserveStatement, observed } from './observe.js';
import { createPostgresPool } from './postgres/pool.js';
import * as schema from './schema.js';

/** The database or a transaction on it, whichever engine is under it: what every query takes as its first argument. */
export type Executor = PgDatabase<PgQueryResultHKT, typeof schema>;

export interface DatabaseConnection {
  readonly db: Executor;
  readonly engine: 'postgres' | 'embedded';
  /** From now on, a connection on which an answer is too long in coming is given up. Migrations may take their time. */
  limitWaiting(): void;
  /** Runs statements without parameters, a whole script of them maybe. @returns the rows of the first */
  runScript(text: string): Promise<{ rows: Record<string, unknown>[] }>;
  /** Work that has a connection to itself, and that waits for one; undefined on the embedded engine. */
  load(): { running: number; waiting: number } | undefined;
  /** To be called every few seconds where it is there: a little of what a database has to do besides. */
  readonly keepUp?: () => Promise<void>;
  close(): Promise<void>;
}

export type DatabaseLocation =
  | { kind: 'postgres'; url: string; poolMax: number }
  | { kind: 'embedded'; dataDir: string }
  /** An embedded database that lives in memory only. One that is brought along is left open. */
  | { kind: 'memory'; client?: PGlite };

/** Opens the database at `location`. Nothing is migrated yet. */
export async function openDatabase(
  location: DatabaseLocation,
  observe?: ObserveStatement,
): Promise<DatabaseConnection> {
  return location.kind === 'postgres'
    ? openPostgres(location.url, location.poolMax, observe)
    : openEmbedded(location, observe);
}

function openPostgres(url: string, max: number, observe: ObserveStatement | undefined): DatabaseConnection {
  const { client, limitWaiting, runScript, load, close } = createPostgresPool(url, {
    max,
    ...(observe && { observe }),
  });
  return { db: drizzlePostgres(client, { schema }), engine: 'postgres', limitWaiting, runScript, load, close };
}

async function openEmbedded(
  location: Exclude<DatabaseLocation, { kind: 'postgres' }>,
  observe: ObserveStatement | undefined,
): Promise<DatabaseConnection> {
  const unlock = location.kind === 'embedded' ? lockDirectory(location.dataDir) : () => {};
  try {
    // Loaded here, so that a service on PostgreSQL never pays for an engine that it does not use.
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
    return {
      db: drizzle(observe ? observed(client, observe) : client, { schema }),
      engine: 'embedded',
      limitWaiting: () => {},
      runScript,
      load: () => undefined,
      // What is in memory only is gone soon.
      ...(location.kind === 'embedded' && {
        keepUp: () => {
          upkeep = keepUp(client);
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

/** Runs a statement that the query builder has no words for, and gives its rows on either engine. */
export async function rows<Row extends object>(executor: Executor, statement: SQL): Promise<Row[]> {
  const result = (await executor.execute(statement)) as unknown as Row[] | { rows: Row[] };
  return Array.isArray(result) ? result : result.rows;
}
