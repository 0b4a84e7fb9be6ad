import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import t, { type Test } from 'tap';
import { isDatabaseUnavailable } from '../../db/failures.js';
import { createPostgresPool, type PoolOptions, type PostgresPool } from '../../db/postgres/pool.js';
import { pingDatabase } from '../../db/queries/platform/health.js';
import { engine } from '../helpers/database/databases.js';
import { startFakePostgres } from '../helpers/database/fake-postgres.js';
import { type Cluster, startCluster, withoutPrograms } from '../helpers/database/postgres-cluster.js';
import { startProxy } from '../helpers/servers/proxy.js';

const skip = (engine === 'embedded' && 'PostgreSQL only') || withoutPrograms;

/** Creates a pool whose URL lists the servers in the order of these ports. */
function poolOn(t: Test, ports: readonly number[], parameters = '', options: Partial<PoolOptions> = {}): PostgresPool {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  const pool = createPostgresPool(`postgres://postgres@${hosts}/postgres${parameters}`, { max: 4, ...options });
  t.teardown(() => pool.close());
  return pool;
}

const write = ({ client }: PostgresPool) => drizzle(client).execute(sql`insert into notes values (now())`);
const failureOf = (work: PromiseLike<unknown>): PromiseLike<Error | undefined> =>
  work.then(
    () => undefined,
    (error: Error) => error,
  );

/** The number of sessions that a server has accepted since it was started. */
async function sessionsOn(cluster: Cluster): Promise<number> {
  const [row] = await cluster.ask("select sessions::int from pg_stat_database where datname = 'postgres'");
  return Number(row?.sessions);
}

t.test('a pool with a primary and a standby always uses the primary', { skip }, async (t) => {
  const primary = await startCluster(t);
  await primary.ask('create table notes (at timestamptz)');
  const standby = await primary.startSynchronousStandby(t);

  await t.test('the pool finds the writable server, whatever the host order and target_session_attrs', async (t) => {
    const parameters = ['', '?target_session_attrs=read-write', '?target_session_attrs=primary&application_name=me'];
    for (const wanted of [...parameters, '?target_session_attrs=any']) {
      const pool = poolOn(t, [1, standby.port, primary.port], wanted);
      t.equal(await failureOf(write(pool)), undefined, wanted);
    }
  });

  await t.test('servers that are starting or silent are skipped, and the working one is remembered', async (t) => {
    const silent = await startProxy(t, { host: '127.0.0.1', port: primary.port });
    silent.freeze();
    const starting = await startFakePostgres(t, {
      refusal: { code: '57P03', message: 'the database is starting up' },
    });
    const pool = poolOn(t, [silent.port, starting, primary.port], '', { connectTimeout: 1_000 });
    const start = performance.now();
    t.equal(await failureOf(write(pool)), undefined);
    t.ok(performance.now() - start > 900, 'the pool waits for the silent server');
    const again = performance.now();
    await Promise.all([0, 1, 2, 3].map(() => write(pool)));
    t.ok(performance.now() - again < 900, 'the pool waits only once');
  });

  await t.test('an error that every server would return fails immediately', async (t) => {
    const refusing = await startFakePostgres(t, { refusal: { code: '28P01', message: 'wrong password' } });
    const failure = await failureOf(write(poolOn(t, [refusing, primary.port])));
    t.match(failure?.cause, { code: '28P01' });
  });

  await t.test('a connection to a read-only server is closed', async (t) => {
    for (const what of [write, ({ client }: PostgresPool) => pingDatabase(drizzle(client) as never)]) {
      const pool = poolOn(t, [primary.port], '', { max: 1 });
      await drizzle(pool.client).execute(sql`set default_transaction_read_only = on`);
      const failure = await failureOf(what(pool));
      t.ok(isDatabaseUnavailable(failure));
      t.equal(await failureOf(what(pool)), undefined, 'the next connection reaches a writable server');
    }
    const pool = poolOn(t, [standby.port]);
    t.ok(
      isDatabaseUnavailable(await failureOf(pingDatabase(drizzle(pool.client) as never))),
      'a standby is reported as unavailable',
    );
    t.ok(isDatabaseUnavailable(await failureOf(write(pool))));
    const wanting = poolOn(t, [standby.port], '?target_session_attrs=primary');
    t.match(await failureOf(wanting.client.unsafe('select 1')), { message: /it is read-only/ });
  });

  await t.test('without a primary, writes fail immediately and open few sessions on the standby', async (t) => {
    const pool = poolOn(t, [primary.port, standby.port], '?target_session_attrs=read-write');
    t.equal(await failureOf(write(pool)), undefined);
    await primary.kill();
    await failureOf(write(pool));
    const before = await sessionsOn(standby);
    const start = performance.now();
    const failure = await failureOf(write(pool));
    t.ok(performance.now() - start < 1_000, 'the failure is immediate');
    t.ok(isDatabaseUnavailable(failure));
    t.match(failure?.cause, {
      message: new RegExp(
        `^no server accepts writes: 127.0.0.1:${primary.port}: connect ECONNREFUSED.*; 127.0.0.1:${standby.port}: it is read-only$`,
      ),
    });
    t.ok((await sessionsOn(standby)) - before < 5, 'each attempt opens one session');

    await standby.promote();
    t.equal(await failureOf(write(pool)), undefined, 'writes work as soon as there is a primary');
  });
});
