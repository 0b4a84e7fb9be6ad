// @suite not-everyday: writes many rows

import { spawn } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { buildApp } from '../../app.js';
import { type DatabaseConnection, openDatabase } from '../../db/client.js';
import { rows } from '../../db/statements.js';
import { dataDirectory, engine } from '../helpers/database/databases.js';
import { captureTimers } from '../helpers/measurements/intervals.js';
import { skipUnlessLong } from '../helpers/runner/long.js';
import { testConfig } from '../helpers/service/app.js';

/** Maintenance that PostgreSQL does in background processes and that the service must run on the embedded engine. */

const skip = engine === 'postgres' && 'embedded database only';
const megabyte = 1024 * 1024;

/** Creates a folder that contains a database. */
async function makeDataDir(t: Test): Promise<string> {
  const dataDir = t.testdir();
  cpSync(await dataDirectory(), join(dataDir, 'database'), { recursive: true });
  return dataDir;
}

/** Opens a database in its own folder and creates a table of notes. */
async function startEmbedded(t: Test) {
  const connection = await openDatabase({ kind: 'embedded', dataDir: await makeDataDir(t) });
  t.teardown(() => connection.close());
  await connection.runScript('create table notes (id int primary key, text text)');
  return { connection, runMaintenance: async () => connection.runMaintenance?.() };
}

const one = async <T>({ db }: DatabaseConnection, statement: string) => {
  const [found] = await rows<{ value: T }>(db, sql.raw(statement));
  return found?.value;
};
/** The bytes of the log that a start after a crash would replay. */
const logSize = (connection: DatabaseConnection) =>
  one<number>(
    connection,
    'select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::float8 as value from pg_control_checkpoint()',
  );
const sizeOfNotes = (connection: DatabaseConnection) =>
  one<number>(connection, `select pg_total_relation_size('notes')::float8 as value`);
const fill = ({ db }: DatabaseConnection, count: number) =>
  db.execute(sql`insert into notes select number, repeat('x', 500) from generate_series(1, ${count}::int) number`);
/** Updates the statistics immediately. The engine would otherwise do so with a delay. */
const flushStatistics = ({ runScript }: DatabaseConnection) => runScript('select pg_stat_force_next_flush()');

t.test('maintenance keeps the write-ahead log small', { skip: skip || skipUnlessLong }, async (t) => {
  const { connection, runMaintenance } = await startEmbedded(t);
  let largest = 0;
  for (let round = 0; round < 15; round++) {
    await fill(connection, 12_000);
    await connection.db.execute(sql`truncate notes`);
    await runMaintenance();
    largest = Math.max(largest, (await logSize(connection)) ?? Number.NaN);
  }
  const written = await one<number>(connection, `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as value`);
  t.ok((written ?? 0) > 100 * megabyte, `${written} bytes were written to the log`);
  t.ok(largest < 40 * megabyte, `the log has at most ${largest} bytes`);
});

t.test('maintenance frees the space of deleted rows and updates the row counts of the planner', { skip }, async (t) => {
  const { connection, runMaintenance } = await startEmbedded(t);
  const sizes: number[] = [];
  for (let round = 0; round < 3; round++) {
    await fill(connection, 5_000);
    await flushStatistics(connection);
    await runMaintenance();
    sizes.push((await sizeOfNotes(connection)) ?? Number.NaN);
    if (round === 0) {
      const known = await one<number>(connection, `select reltuples as value from pg_class where relname = 'notes'`);
      t.equal(known, 5_000);
    }
    // The last row must stay: without it, the engine would only truncate the file.
    await connection.db.execute(sql`delete from notes where id < 5000`);
    await connection.db.execute(sql`update notes set id = -1 - ${round}::int where id = 5000`);
    await flushStatistics(connection);
    await runMaintenance();
  }
  t.ok((sizes[2] ?? 0) < 1.5 * (sizes[0] ?? 0), `${sizes.join(', ')} bytes`);
});

t.test('maintenance waits for open transactions and does nothing when nothing is due', { skip }, async (t) => {
  const { connection, runMaintenance } = await startEmbedded(t);
  await fill(connection, 40_000);
  await flushStatistics(connection);
  let maintenance = Promise.resolve() as Promise<unknown>;
  await connection.db.transaction(async (tx) => {
    await tx.execute(sql`insert into notes values (0, 'in a transaction')`);
    maintenance = runMaintenance();
    await sleep(50);
    await tx.execute(sql`update notes set text = 'still in it' where id = 0`);
  });
  await maintenance;
  t.equal(await one(connection, 'select text as value from notes where id = 0'), 'still in it');
  const done = () =>
    one<string>(
      connection,
      `select concat_ws(' ', (select sum(vacuum_count) from pg_stat_user_tables), (select sum(analyze_count) from pg_stat_user_tables), redo_lsn) as value from pg_control_checkpoint()`,
    );
  await flushStatistics(connection);
  await runMaintenance();
  const before = await done();
  t.match(before, /^0 1 /, 'only the maintenance that was due ran, and it ran once');
  for (let round = 0; round < 3; round++) await runMaintenance();
  t.equal(await done(), before);
});

t.test('new log files are not filled with zeros first, which would cause a delay', { skip }, async (t) => {
  const { connection } = await startEmbedded(t);
  t.equal(await one(connection, `select current_setting('wal_init_zero') as value`), 'off');
});

t.test(
  'a process killed during maintenance loses no acknowledged data',
  { skip: skip || skipUnlessLong },
  async (t) => {
    const dataDir = await makeDataDir(t);
    const client = new URL('../../db/client.js', import.meta.url);
    const program = `import { openDatabase } from '${client}';
    const { runScript, runMaintenance } = await openDatabase({ kind: 'embedded', dataDir: ${JSON.stringify(dataDir)} });
    await runScript('create table if not exists notes (id int primary key, text text)');
    for (;;) {
      const { rows } = await runScript("insert into notes select coalesce((select max(id) from notes), 0) + number, repeat(md5(random()::text), 40) from generate_series(1, 400) number returning id");
      console.log(rows.at(-1).id);
      await runScript('delete from notes where id % 4 = 1');
      await runScript('checkpoint');
      await runMaintenance();
    }`;
    let last = 0;
    for (let kill = 0; kill < 2; kill++) {
      const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let lines = 0;
      const enough = 15 + kill * 7;
      await new Promise((resolve) => {
        child.on('close', resolve);
        child.stdout.setEncoding('utf8').on('data', (text: string) => {
          const ids = text.trim().split('\n');
          last = Number(ids.at(-1));
          lines += ids.length;
          if (lines >= enough) child.kill('SIGKILL');
        });
      });
      const connection = await openDatabase({ kind: 'embedded', dataDir });
      const whole = await one<number>(
        connection,
        `select count(*)::int as value from notes where id <= ${last} and id % 4 <> 1`,
      );
      t.equal(whole, (last * 3) / 4, `no row up to ${last}, the last acknowledged one, is missing`);
      await connection.close();
    }
  },
);

t.test('the service runs maintenance periodically', { skip }, async (t) => {
  const runScheduled = captureTimers(t, 10_000);
  const app = await buildApp(testConfig(), { database: { kind: 'embedded', dataDir: await makeDataDir(t) } });
  t.teardown(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { databaseConnection: connection } = app;
  await connection.runScript('create table notes (id int primary key, text text)');
  await fill(connection, 80_000);
  t.ok(((await logSize(connection)) ?? 0) > 40 * megabyte);
  runScheduled();
  for (let tries = 0; tries < 200 && ((await logSize(connection)) ?? 0) > megabyte; tries++) await sleep(20);
  t.ok(((await logSize(connection)) ?? Number.NaN) < megabyte);
});
