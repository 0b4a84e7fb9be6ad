// @suite not-everyday: kills hundreds of connections

import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { isDatabaseUnavailable, sqlStateOf } from '../../db/failures.js';
import { createPostgresPool, type PoolOptions } from '../../db/postgres/pool.js';
import { createTestDatabase, engine } from '../helpers/database/databases.js';
import { otherCertificate, startTlsFront, testCertificate } from '../helpers/servers/tls-front.js';

const skip = engine === 'embedded' && 'PostgreSQL only';
const killAll = sql`select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and application_name = 'pool'`;

async function startPool(t: Test, options: Partial<PoolOptions> = {}, sslmode?: string) {
  const database = await createTestDatabase();
  const url = new URL(database.url ?? '');
  const observer = postgres(url.href, { max: 1, onnotice: () => {} });
  if (sslmode) {
    url.port = String(await startTlsFront(t, { host: url.hostname, port: Number(url.port || 5432) }));
    url.hostname = 'localhost';
    url.searchParams.set('sslmode', sslmode);
  }
  url.searchParams.set('application_name', 'pool');
  const pool = createPostgresPool(url.href, { max: 4, ...options });
  t.teardown(async () => {
    await pool.close();
    await observer.end();
    await database.drop();
  });
  const sessions = async () => {
    const [found] = await observer<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and application_name = 'pool'`;
    return found?.count;
  };
  return { pool, db: drizzle(pool.client), observer: drizzle(observer), sessions, url };
}

for (const sslmode of [undefined, 'require']) {
  const title = 'killing sessions under load causes no wrong results and no partial transactions';
  t.test(`${title} (sslmode ${sslmode ?? 'disable'})`, { skip }, async (t) => {
    const { db, observer } = await startPool(t, {}, sslmode);
    await observer.execute(sql`create table pairs (number int not null, half int not null)`);
    let isOver = false;
    let successes = 0;
    let failures = 0;
    const wrong: unknown[] = [];
    const kept = new Set<number>();
    const attempt = async (work: () => Promise<void>) => {
      try {
        await work();
        successes++;
      } catch (error) {
        if (!isDatabaseUnavailable(error)) wrong.push(error);
        failures++;
        await sleep(1);
      }
    };
    const asks = async (client: number) => {
      for (let n = client; !isOver; n += 100) {
        await attempt(async () => {
          const rows = await db.execute(sql`select ${n}::int as n, generate_series(1, ${n % 7}::int) as i`);
          if (rows.length !== n % 7 || rows.some((row) => row?.n !== n)) wrong.push({ n, rows });
        });
      }
    };
    const writes = async (client: number) => {
      for (let n = client; !isOver; n += 100) {
        await attempt(async () => {
          await db.transaction(async (tx) => {
            await tx.execute(sql`insert into pairs values (${n}, 1)`);
            await sleep(n % 3);
            await tx.execute(sql`insert into pairs values (${n}, 2)`);
          });
          kept.add(n);
        });
      }
    };
    const clients = [asks(0), asks(1), asks(2), asks(3), writes(4), writes(5), writes(6), writes(7)];
    let kills = 0;
    for (let round = 0; round < 1_000 && (kills < 200 || successes < 200); round++) {
      await sleep(5 + ((round * 7) % 40));
      kills += (await observer.execute(killAll)).length;
    }
    isOver = true;
    await Promise.all(clients);

    t.comment(`${kills} kills, ${successes} successes, ${failures} failures`);
    t.ok(kills >= 200);
    t.ok(successes >= 200);
    t.ok(failures >= 20);
    t.strictSame(wrong, []);
    const halves = await observer.execute(sql`select number from pairs group by number having count(*) <> 2`);
    t.strictSame([...halves], [], 'no transaction is applied partially');
    const stored = new Set(
      (await observer.execute<{ number: number }>(sql`select distinct number from pairs`)).map(({ number }) => number),
    );
    t.strictSame(
      [...kept].filter((number) => !stored.has(number)),
      [],
      'no acknowledged transaction is lost',
    );
    t.strictSame([...(await db.execute(sql`select 1 as one`))], [{ one: 1 }]);
  });
}

t.test('a transaction that loses its session runs no further statements', { skip }, async (t) => {
  const { db, observer } = await startPool(t);
  await observer.execute(sql`create table notes (text text)`);
  let second: unknown;
  const transaction = db.transaction(async (tx) => {
    await tx.execute(sql`insert into notes values ('first')`);
    await observer.execute(killAll);
    await sleep(100);
    // Others use the pool in the meantime. The statements of this transaction must not run on their connections.
    await Promise.all([1, 2, 3, 4].map(() => db.execute(sql`select pg_sleep(0.01)`)));
    second = await tx.execute(sql`insert into notes values ('second')`).catch((error: unknown) => error);
  });
  const failure = await transaction.catch((error: unknown) => error);
  t.ok(isDatabaseUnavailable(failure));
  for (let tries = 0; second === undefined && tries < 100; tries++) await sleep(10);
  t.ok(isDatabaseUnavailable(second));
  t.strictSame([...(await observer.execute(sql`select * from notes`))], []);
});

t.test('idle connections are closed, and old ones are replaced', { skip }, async (t) => {
  const { db, sessions } = await startPool(t, { idleTimeout: 400, lifetime: 300 });
  const pid = async () => (await db.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`))[0]?.pid;
  await Promise.all([pid(), pid(), pid()]);
  t.equal(await sessions(), 3);
  const first = await pid();
  t.equal(await pid(), first, 'the most recently used connection is reused');
  await sleep(320);
  t.equal(await pid(), first, 'an old connection is closed after its next use');
  t.not(await pid(), first);
  await sleep(800);
  t.equal(await sessions(), 0);
  t.ok(await pid());
});

t.test('a statement times out only after limitWaiting is called', { skip }, async (t) => {
  const { pool, db } = await startPool(t, { answerTimeout: 200 });
  await db.execute(sql`select pg_sleep(0.5)`);
  pool.limitWaiting();
  const start = performance.now();
  await t.rejects(db.execute(sql`select pg_sleep(5)`));
  t.ok(performance.now() - start < 2_000);
  await db.execute(sql`select pg_sleep(0.05)`);
});

for (const sslmode of [undefined, 'require']) {
  const title = 'PostgreSQL cancels a statement that takes too long, and other statements are not affected';
  t.test(`${title} (sslmode ${sslmode ?? 'disable'})`, { skip }, async (t) => {
    const { pool, db, observer } = await startPool(t, {}, sslmode);
    await db.execute(sql`select pg_sleep(0.6)`);
    pool.limitWaiting(400);
    const active = async () => {
      const [found] = await observer.execute<{ count: number }>(sql`select count(*)::int as count from pg_stat_activity
        where datname = current_database() and application_name = 'pool' and state = 'active'`);
      return found?.count;
    };
    const start = performance.now();
    const failures = Promise.all(
      [1, 2, 3].map(() => db.execute(sql`select pg_sleep(20)`).catch((error: unknown) => error)),
    );
    const inTransaction = db
      .transaction(async (tx) => {
        await tx.execute(sql`create table half_done (number int)`);
        await tx.execute(sql`select pg_sleep(20)`);
      })
      .catch((error: unknown) => error);
    for (const failure of [...(await failures), await inTransaction]) {
      t.ok(isDatabaseUnavailable(failure));
      t.equal(sqlStateOf(failure), '57014');
    }
    t.ok(performance.now() - start < 3_000);
    t.equal(await active(), 0, 'no statement is still running in PostgreSQL');
    for (let count = 0; count < 20; count++) await db.execute(sql`select pg_sleep(0.01)`);
    const [found] = await db.execute<{ name: string | null }>(sql`select to_regclass('half_done') as name`);
    t.equal(found?.name, null, 'the transaction was rolled back');
  });
}

t.test('a caller holds at most half of the connections', { skip }, async (t) => {
  const { pool, db, observer } = await startPool(t, { max: 4 });
  const greedy = drizzle(pool.clientOf('greedy'));
  const work = [
    ...[1, 2, 3, 4, 5].map(() => greedy.execute(sql`select pg_sleep(0.3)`)),
    ...[1, 2, 3].map(() =>
      greedy.transaction(async (tx) => {
        await tx.execute(sql`select 1`);
        await sleep(300);
        await tx.execute(sql`select 2`);
      }),
    ),
  ];
  let isOver = false;
  const done = Promise.all(work).finally(() => {
    isOver = true;
  });
  await sleep(50);
  let slowest = 0;
  let maxHeld = 0;
  while (!isOver) {
    const start = performance.now();
    await Promise.all([db.execute(sql`select 1`), drizzle(pool.clientOf('modest')).execute(sql`select 1`)]);
    slowest = Math.max(slowest, performance.now() - start);
    const [held] = await observer.execute<{ count: number }>(sql`select count(*)::int as count from pg_stat_activity
      where datname = current_database() and application_name = 'pool' and state <> 'idle'`);
    maxHeld = Math.max(maxHeld, held?.count ?? 0);
    await sleep(10);
  }
  await done;
  t.equal(maxHeld, 2, `the caller holds at most ${maxHeld} connections at the same time`);
  t.ok(slowest < 250, `other callers wait at most ${Math.round(slowest)} ms`);
});

t.test('simultaneous statements succeed whatever the default isolation level is', { skip }, async (t) => {
  const { db, observer } = await startPool(t);
  await observer.execute(sql`create table counters (count int not null)`);
  await observer.execute(sql`insert into counters values (0)`);
  const [found] = await observer.execute<{ name: string }>(sql`select current_database() as name`);
  await observer.execute(
    sql`alter database ${sql.identifier(found?.name ?? '')} set default_transaction_isolation = 'serializable'`,
  );
  await Promise.all(Array.from({ length: 40 }, () => db.execute(sql`update counters set count = count + 1`)));
  t.same([...(await db.execute(sql`select count from counters`))], [{ count: 40 }]);
});

t.test('PostgreSQL compiles no statement, on any connection', { skip }, async (t) => {
  const { db } = await startPool(t);
  const compiles = async () => (await db.execute(sql`select current_setting('jit') as jit, pg_sleep(0.05)`))[0]?.jit;
  await db.execute(sql`select 1`);
  t.strictSame(await Promise.all([compiles(), compiles(), compiles(), compiles()]), ['off', 'off', 'off', 'off']);
});

t.test('a statement that waits too long for a connection never runs', { skip }, async (t) => {
  const { pool, db } = await startPool(t, { max: 1, answerTimeout: 500 });
  await db.execute(sql`create table notes (text text)`);
  pool.limitWaiting();
  const slow = db.execute(sql`select pg_sleep(5)`).catch((error: unknown) => error);
  const early = db.execute(sql`insert into notes values ('early')`).catch((error: unknown) => error);
  await sleep(300);
  const late = db.execute(sql`insert into notes values ('late')`);
  await slow;
  t.ok(isDatabaseUnavailable(await early), 'the early statement fails');
  await late;
  t.strictSame([...(await db.execute(sql`select * from notes`))], [{ text: 'late' }]);
});

t.test('the server certificate is verified if the URL contains sslmode=verify-full', { skip }, async (t) => {
  const { db } = await startPool(t, {}, 'verify-full');
  const failure = await db.execute(sql`select 1`).catch((error: unknown) => error);
  t.match((failure as Error).cause, { message: /^localhost:\d+: TLS: self-signed certificate/ });
});

t.test('sslrootcert names the authority that the certificate is verified with', { skip }, async (t) => {
  const { url: unencrypted } = await startPool(t);
  const target = { host: unencrypted.hostname, port: Number(unencrypted.port || 5432) };
  const port = await startTlsFront(t, target);
  const otherName = await startTlsFront(t, target, otherCertificate);
  const files = t.testdir({ 'ca.pem': testCertificate.cert, 'other.pem': otherCertificate.cert });
  const ours = { sslrootcert: `${files}/ca.pem` };
  const other = { sslrootcert: `${files}/other.pem` };
  const connect = async (parameters: Record<string, string>, at = port) => {
    const url = new URL(unencrypted);
    url.host = `localhost:${at}`;
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    const pool = createPostgresPool(url.href, { max: 1 });
    const result = await drizzle(pool.client)
      .execute(sql`select 1 as one`)
      .catch((error: Error) => String(error.cause));
    await pool.close();
    return result;
  };
  for (const sslmode of ['verify-full', 'verify-ca', 'require']) {
    t.match(await connect({ sslmode, ...ours }), [{ one: 1 }], sslmode);
    t.match(await connect({ sslmode, ...other }), /TLS: self-signed certificate/, `${sslmode}, another authority`);
  }
  t.match(await connect(ours), [{ one: 1 }], 'without sslmode');
  t.match(await connect(other), /TLS: /, 'without sslmode, the certificate is verified');
  t.match(await connect({ sslmode: 'prefer', ...other }), [{ one: 1 }], 'prefer verifies nothing');
  t.match(await connect({ sslrootcert: 'system' }), /TLS: self-signed certificate/, 'the authorities that Node trusts');
  t.match(await connect({ sslmode: 'verify-full', ...other }, otherName), /TLS: Hostname\/IP does not match/);
  t.match(await connect({ sslmode: 'verify-ca', ...other }, otherName), [{ one: 1 }], 'any host name');
  t.match(await connect({ sslmode: 'verify-ca' }, otherName), /TLS: /, 'verify-ca without sslrootcert');
});

t.test('a server without TLS is rejected with sslmode=require but accepted with prefer', { skip }, async (t) => {
  const { url, observer } = await startPool(t);
  const [tls] = await observer.execute<{ ssl: string }>(sql`show ssl`);
  for (const [sslmode, message] of [
    ['require', /does not offer TLS/],
    ['prefer', undefined],
  ] as const) {
    const wanted = new URL(url);
    wanted.searchParams.set('sslmode', sslmode);
    const pool = createPostgresPool(wanted.href, { max: 1 });
    const result = await drizzle(pool.client)
      .execute(sql`select 1 as one`)
      .catch((error: Error) => error.cause);
    if (message && tls?.ssl === 'off') t.match(result, { message });
    else t.match(result, [{ one: 1 }]);
    await pool.close();
  }
});

t.test('the pool connects to the first host that responds and matches target_session_attrs', { skip }, async (t) => {
  const { url } = await startPool(t);
  const several = url.href.replace(url.host, `127.0.0.1:1,${url.hostname}:${url.port || 5432}`);
  for (const parameter of ['', '&target_session_attrs=primary']) {
    const pool = createPostgresPool(several + parameter, { max: 2 });
    t.match(await drizzle(pool.client).execute(sql`select 1 as one`), [{ one: 1 }]);
    await pool.close();
  }
  const none = createPostgresPool(url.href.replace(url.host, '127.0.0.1:1,127.0.0.1:2'), { max: 1 });
  const failure = await drizzle(none.client)
    .execute(sql`select 1`)
    .catch((error: unknown) => error);
  t.ok(isDatabaseUnavailable(failure), 'if no host responds, the statement fails immediately');
  await none.close();
});

t.test('closing the pool lets running statements finish', { skip }, async (t) => {
  const { pool, db, sessions } = await startPool(t);
  // Drizzle sends a statement only when its result is awaited.
  const answer = db.execute(sql`select pg_sleep(0.3), 1 as one`).then((rows) => [...rows]);
  await sleep(50);
  await pool.close();
  t.match(await answer, [{ one: 1 }]);
  t.equal(await sessions(), 0);
  t.ok(isDatabaseUnavailable(await db.execute(sql`select 1`).catch((error: unknown) => error)), 'closed');
});
