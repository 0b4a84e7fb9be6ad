import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, openAsBlob, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import postgres from 'postgres';
import type { DatabaseLocation } from '../../db/client.js';

/** Which engine the suite runs on: `npm test` the embedded one, `npm run test:postgres` PostgreSQL. */
export const engine = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'embedded';

/** A database of one test file's own. */
export interface TestDatabase {
  location: DatabaseLocation;
  /** Only on PostgreSQL: the URL to give to a service in a process of its own. */
  url: string | undefined;
  drop(): Promise<void>;
}

/** @param collation of the texts; the embedded engine has only `C` */
export async function createTestDatabase(collation?: 'C'): Promise<TestDatabase> {
  return engine === 'postgres'
    ? createPostgres(collation)
    : { location: await memory(), url: undefined, drop: async () => {} };
}

/** The server that DATABASE_URL points to. */
function serverUrl(): URL {
  const { DATABASE_URL } = process.env;
  if (!DATABASE_URL) throw new Error('Set DATABASE_URL to a PostgreSQL on which databases may be created.');
  return new URL(DATABASE_URL);
}

async function createPostgres(collation?: 'C'): Promise<TestDatabase> {
  const name = `gatehouse_test_${randomBytes(8).toString('hex')}`;
  const server = serverUrl();
  const locale = collation
    ? ` template template0 encoding 'UTF8' lc_collate '${collation}' lc_ctype '${collation}'`
    : '';
  await onServer(server, (sql) => sql.unsafe(`create database ${name}${locale}`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    location: { kind: 'postgres', url: url.href, poolMax: 5 },
    url: url.href,
    drop: () => onServer(server, (sql) => sql.unsafe(`drop database if exists ${name} with (force)`)),
  };
}

async function onServer(url: URL, work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  const sql = postgres(url.href, { max: 1, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}

const dumpFile = join(process.cwd(), '.tmp', 'empty-database.tar');

/** An empty database in memory. Loading the dump of one is four times as fast as making one. */
async function memory(): Promise<DatabaseLocation> {
  if (!existsSync(dumpFile)) await dumpEmptyDatabase();
  return { kind: 'memory', dump: await openAsBlob(dumpFile) };
}

async function dumpEmptyDatabase(): Promise<void> {
  const empty = await PGlite.create();
  const dump = await empty.dumpDataDir('none');
  await empty.close();
  mkdirSync(join(process.cwd(), '.tmp'), { recursive: true });
  const draft = `${dumpFile}.${process.pid}`;
  writeFileSync(draft, Buffer.from(await dump.arrayBuffer()));
  try {
    // Not renamed: another test file may be reading the one that it has just made.
    linkSync(draft, dumpFile);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  unlinkSync(draft);
}
