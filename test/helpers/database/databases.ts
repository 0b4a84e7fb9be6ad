import { createHash, randomBytes } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import postgres from 'postgres';
import { type DatabaseConnection, type DatabaseLocation, openDatabase } from '../../../db/client.js';
import { schemasFor } from '../../../db/database-schemas.js';
import { migrate } from '../../../db/migrate.js';
import { createEmbeddedPool } from './embedded-pool.js';

/** The engine that the suite runs on: `npm test` and `npm run test:all` use the embedded one, `npm run test:postgres` uses PostgreSQL. */
export const engine = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'embedded';

/**
 * Whether the databases have settings that no code expects, and the tables are in a schema other than `public`
 * (`npm run test:hostile-database`). PostgreSQL only.
 */
export const isHostile = engine === 'postgres' && process.env.TEST_HOSTILE_DATABASE === 'true';

/** The schemas of the service in the test databases. */
export const schemas = schemasFor(isHostile ? 'hostile' : 'public');

const hostileSettings = {
  search_path: schemas.tables,
  datestyle: 'German, DMY',
  timezone: 'America/St_Johns',
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  standard_conforming_strings: 'off',
  default_transaction_isolation: 'serializable',
};

/** The database of one test file. */
export interface TestDatabase {
  location: DatabaseLocation;
  /** The URL for a service in its own process; undefined on the embedded engine. */
  url: string | undefined;
  drop(): Promise<void>;
}

/**
 * Creates a database.
 * @param options.collation the collation of texts; the embedded engine supports only `C`
 * @param options.hasTables creates the tables in advance, which is faster than a migration
 */
export async function createTestDatabase({
  collation,
  hasTables = false,
}: {
  collation?: 'C';
  hasTables?: boolean;
} = {}): Promise<TestDatabase> {
  return engine === 'postgres' ? createPostgres(hasTables, collation) : createEmbedded(hasTables);
}

/** Opens a database that is not migrated, or not with {@link migrate}, which otherwise determines the schemas. */
export const openUnmigrated = async (location: DatabaseLocation): Promise<DatabaseConnection> =>
  Object.assign(await openDatabase(location), { schemas });

/** The URL of the server from DATABASE_URL. */
function serverUrl(): URL {
  const { DATABASE_URL } = process.env;
  if (!DATABASE_URL) throw new Error('Set DATABASE_URL to a PostgreSQL server on which you can create databases.');
  return new URL(DATABASE_URL);
}

async function createPostgres(hasTables: boolean, collation?: 'C'): Promise<TestDatabase> {
  const name = `gatehouse_test_${randomBytes(8).toString('hex')}`;
  const server = serverUrl();
  const locale = collation
    ? ` template template0 encoding 'UTF8' lc_collate '${collation}' lc_ctype '${collation}'`
    : '';
  if (hasTables) template ??= createTemplate(server);
  const from = hasTables ? ` template ${await template}` : locale;
  await onServer(server, (sql) => sql.unsafe(`create database ${name}${from}`));
  if (isHostile) await makeHostile(server, name);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    location: { kind: 'postgres', url: url.href, poolMax: 5 },
    url: url.href,
    drop: () => onServer(server, (sql) => sql.unsafe(`drop database if exists ${name} with (force)`)),
  };
}

/** Settings of a database are not copied from its template. */
async function makeHostile(server: URL, name: string): Promise<void> {
  await onServer(server, async (sql) => {
    for (const [setting, value] of Object.entries(hostileSettings))
      await sql.unsafe(`alter database ${name} set ${setting} = '${value}'`);
  });
  // Without it, tests with tables of their own could not create them.
  const url = new URL(server);
  url.pathname = `/${name}`;
  await onServer(url, (sql) => sql.unsafe(`create schema if not exists ${schemas.tables}`));
}

let template: Promise<string> | undefined;

/** The database to copy, with empty tables. It is created once per server and set of migrations, and stays there. */
async function createTemplate(server: URL): Promise<string> {
  const name = `gatehouse_test_template_${versionOfTables()}${isHostile ? '_hostile' : ''}`;
  await onServer(server, async (sql) => {
    // The test files run in several processes.
    await sql`select pg_advisory_lock(hashtext(${name}))`;
    if ((await sql`select 1 from pg_database where datname = ${name}`).length > 0) return;
    const draft = `${name}_draft`;
    await sql.unsafe(`drop database if exists ${draft} with (force)`);
    await sql.unsafe(`create database ${draft}`);
    if (isHostile) await makeHostile(server, draft);
    const url = new URL(server);
    url.pathname = `/${draft}`;
    const connection = await openDatabase({ kind: 'postgres', url: url.href, poolMax: 2 });
    await migrate(connection, async () => {});
    await connection.close();
    await sql.unsafe(`alter database ${draft} rename to ${name}`);
  });
  return name;
}

async function onServer(url: URL, work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  const sql = postgres(url.href, { max: 1, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}

const folder = join(process.cwd(), '.tmp');

/**
 * Creates a database in memory. Loading a dump is four times as fast as creating a database, and reusing a database is
 * even faster.
 */
async function createEmbedded(hasTables: boolean): Promise<TestDatabase> {
  const client = await (hasTables ? withTables.take() : load(false));
  const drop = async () => {
    if (hasTables) await withTables.giveBack(client);
    else if (!client.closed) await client.close();
  };
  return { location: { kind: 'memory', client }, url: undefined, drop };
}

const load = async (hasTables: boolean) => PGlite.create({ loadDataDir: dumpIn(await dumpedDatabase(hasTables)) });

/** Reads a dump into memory, because a blob backed by a file would keep the process alive. */
const dumpIn = (file: string) => new Blob([readFileSync(file)]);

const withTables = createEmbeddedPool(() => load(true));

/** The dump of an embedded database without rows, created on first use. */
async function dumpedDatabase(hasTables: boolean): Promise<string> {
  const file = join(folder, hasTables ? `tables-${versionOfTables()}.tar` : 'empty-database.tar');
  if (!existsSync(file)) await dumpTo(file, hasTables);
  return file;
}

/** A data directory with empty tables for tests to copy, created on first use. */
export async function dataDirectory(): Promise<string> {
  const dump = await dumpedDatabase(true);
  const directory = dump.replace(/\.tar$/, '');
  if (existsSync(directory)) return directory;
  const draft = `${directory}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  const database = await PGlite.create({ dataDir: draft, loadDataDir: dumpIn(dump) });
  await database.close();
  try {
    renameSync(draft, directory);
  } catch {
    // Another test file has created the directory in the meantime.
    rmSync(draft, { recursive: true });
  }
  return directory;
}

/** A hash that changes with the migrations and with the version of pg-boss, which creates its own tables. */
function versionOfTables(): string {
  const hash = createHash('sha256').update(readFileSync('node_modules/pg-boss/package.json'));
  for (const name of readdirSync('db/migrations').sort()) {
    if (name.endsWith('.sql')) hash.update(readFileSync(join('db/migrations', name)));
  }
  return hash.digest('hex').slice(0, 16);
}

async function dumpTo(file: string, hasTables: boolean): Promise<void> {
  const connection = await openDatabase({ kind: 'memory' });
  if (hasTables) await migrate(connection, async () => {});
  const { $client } = connection.db as unknown as { $client: PGlite };
  // No test uses these databases, and they would take half of the load time.
  await $client.exec("update pg_database set datistemplate = false where datname in ('template0', 'template1')");
  for (const name of ['template0', 'template1']) await $client.exec(`drop database ${name}`);
  await $client.exec('checkpoint');
  const dump = await $client.dumpDataDir('none');
  await connection.close();
  mkdirSync(folder, { recursive: true });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, Buffer.from(await dump.arrayBuffer()));
  try {
    // Link the file instead of renaming it: another test file may be reading the dump that it has just created.
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  unlinkSync(draft);
}
