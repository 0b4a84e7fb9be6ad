import { connect as connectTo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import t, { type Test } from 'tap';
import { isDatabaseUnavailable, sqlStateOf } from '../../db/failures.js';
import { createPostgresPool, type PoolOptions, type PostgresPool } from '../../db/postgres/pool.js';
import { pingDatabase } from '../../db/queries/platform/health.js';
import { engine } from '../helpers/database/databases.js';
import { startFakePostgres } from '../helpers/database/fake-postgres.js';
import { type Cluster, startCluster, withoutPrograms } from '../helpers/database/postgres-cluster.js';
import { listen } from '../helpers/servers/ports.js';
import { startProxy } from '../helpers/servers/proxy.js';
import { testCertificate } from '../helpers/servers/tls-front.js';

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

/** Writes a file in the directory of a server, as the user that it runs as. */
const writeFile = (cluster: Cluster, name: string, content: string) => {
  const lines = content
    .trim()
    .split('\n')
    .map((line) => `'${line}'`);
  return cluster.ask(
    `copy (select unnest(array[${lines.join(',')}])) to program 'umask 077; cat > ${name}; chmod 600 ${name}'`,
  );
};

t.test('TLS is used as sslmode says, and by default if the server requires or offers it', { skip }, async (t) => {
  const cluster = await startCluster(t);
  const connect = async (user: string, parameters: string, host = '127.0.0.1') => {
    const pool = createPostgresPool(`postgres://${user}@${host}:${cluster.port}/postgres${parameters}`, { max: 1 });
    const isEncrypted = () =>
      drizzle(pool.client)
        .execute<{ ssl: boolean }>(sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`)
        .then(
          ([row]) => row?.ssl,
          (error: Error) => sqlStateOf(error),
        );
    const first = await isEncrypted();
    t.equal(await isEncrypted(), first, 'the same again');
    await pool.close();
    return first;
  };
  const onThisMachine = ['127.0.0.1', 'localhost'];
  const anyHost = [...onThisMachine, '0.0.0.0'];
  for (const host of anyHost) t.equal(await connect('nobody', '', host), '28000', 'a server without TLS');
  await writeFile(cluster, 'server.key', testCertificate.key);
  await writeFile(cluster, 'server.crt', testCertificate.cert);
  await writeFile(
    cluster,
    'pg_hba.conf',
    `host all postgres,either all trust
hostssl all encrypted all trust
hostnossl all plain all trust`,
  );
  for (const role of ['either', 'encrypted', 'plain']) await cluster.ask(`create role ${role} login`);
  await cluster.ask('alter system set ssl = on');
  await cluster.ask('select pg_reload_conf()');
  const expected: [user: string, parameters: string, hosts: string[], isEncrypted: boolean | string][] = [
    ['encrypted', '', anyHost, true],
    ['plain', '', anyHost, false],
    ['either', '', onThisMachine, false],
    ['either', '', ['0.0.0.0'], true],
    ['either', '?sslmode=allow', anyHost, false],
    ['either', '?sslmode=prefer', anyHost, true],
    ['either', '?sslmode=require', anyHost, true],
    ['encrypted', '?sslmode=allow', anyHost, true],
    ['plain', '?sslmode=prefer', anyHost, false],
    ['encrypted', '?sslmode=disable', anyHost, '28000'],
    ['plain', '?sslmode=require', anyHost, '28000'],
    ['nobody', '', anyHost, '28000'],
  ];
  for (const [user, parameters, hosts, isEncrypted] of expected) {
    for (const host of hosts)
      t.equal(await connect(user, parameters, host), isEncrypted, `${user}@${host}${parameters}`);
  }
  await t.test('a server whose TLS does not work', async (t) => {
    let attempts = 0;
    const front = createServer((client) => {
      client.on('error', () => {});
      attempts++;
      client.once('data', (first) => {
        if (first.length === 8) return client.end('S no TLS');
        const upstream = connectTo(cluster.port, '127.0.0.1').on('error', () => {});
        upstream.write(first);
        client.pipe(upstream).pipe(client);
      });
    });
    const port = await listen(front);
    t.teardown(() => front.close());
    const pool = poolOn(t, [port], '?sslmode=prefer', { max: 1 });
    t.equal(await failureOf(drizzle(pool.client).execute(sql`select 1`)), undefined);
    t.equal(attempts, 2);
  });
  await t.test('rules that change later', async (t) => {
    const pool = createPostgresPool(`postgres://either@127.0.0.1:${cluster.port}/postgres`, { max: 1, idleTimeout: 1 });
    const ask = () => drizzle(pool.client).execute(sql`select 1`);
    await ask();
    await writeFile(cluster, 'pg_hba.conf', 'host all postgres all trust\nhostssl all either all trust');
    await cluster.ask('select pg_reload_conf()');
    await cluster.ask("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'either'");
    await sleep(100);
    t.ok(await failureOf(ask()), 'the way that worked before');
    t.equal(await failureOf(ask()), undefined, 'the other way');
    await pool.close();
  });
});
