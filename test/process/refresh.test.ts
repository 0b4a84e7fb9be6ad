import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { engine } from '../helpers/database/databases.js';
import { freePort } from '../helpers/servers/ports.js';
import { databaseUrl, password, startBehindProxy, variables } from '../helpers/service/outage.js';
import { createHome, type Service, startService } from '../helpers/service/service.js';
import { startSession } from '../helpers/users/session-client.js';
import { modes } from '../helpers/users/sessions.js';

const skip = engine === 'embedded' && 'PostgreSQL only';

/** Like `startSession`, for a service whose connection to PostgreSQL can be lost. */
async function startOnProxy(t: Test) {
  const { home, proxy, service } = await startBehindProxy(t);
  const sql = postgres(databaseUrl(home).href, { max: 2, onnotice: () => {} });
  t.teardown(() => sql.end());
  const client = await startSession(service, password);
  const continues = async (t: Test) => {
    t.strictSame(await client.refresh(), [200], 'the session continues');
    const [{ count } = { count: 0 }] = await sql`select count(*)::int as count from sessions`;
    t.equal(count, 1, 'there is one session');
  };
  return { home, proxy, service, sql, client, session: client.id, refresh: client.refresh, continues };
}

t.test('a client that retries keeps its session, whatever happens to the database', { skip }, async (t) => {
  // The tests spend most of their time waiting.
  t.jobs = 5;

  t.test('if the response to the commit is lost', async (t) => {
    const { proxy, service, session, refresh, continues } = await startOnProxy(t);
    for (const isDone of [true, false]) {
      proxy.loseStatement(session, isDone);
      t.strictSame(await refresh(), [503, 200], isDone ? 'it was committed' : 'it was not committed');
    }
    await continues(t);
    t.strictSame(await service.stop(), { code: 0, signal: null });
  });

  t.test('if, in addition, the database is unreachable for longer than the grace period', async (t) => {
    const { proxy, session, refresh, continues } = await startOnProxy(t);
    proxy.loseStatement(session, true);
    const pending = refresh();
    await sleep(30);
    await proxy.cut();
    await sleep(14_000);
    await proxy.restore();
    const statuses = await pending;
    t.ok(statuses.length > 2, `${statuses.length} attempts`);
    t.equal(statuses.at(-1), 200);
    await continues(t);
  });

  t.test('if the row or the table is locked for longer than a request waits', async (t) => {
    const { sql, session, refresh, continues } = await startOnProxy(t);
    for (const lock of [
      (tx: postgres.TransactionSql) => tx`select from sessions where id = ${session} for update`,
      (tx: postgres.TransactionSql) => tx`lock table sessions in access exclusive mode`,
    ]) {
      const pending = await sql.begin(async (tx) => {
        await lock(tx);
        const statuses = refresh();
        await sleep(17_000);
        return [statuses] as const;
      });
      const statuses = await pending[0];
      t.ok(statuses.length > 2, `${statuses.length} attempts`);
      t.equal(statuses.at(-1), 200);
    }
    await continues(t);
  });

  t.test('if a commit by another instance takes longer than the grace period', async (t) => {
    const { home, sql, session, refresh, continues } = await startOnProxy(t);
    const other = await startService(home, { ...variables, PORT: String(await freePort()) });
    // Blocks during the commit, like a slow disk or a slow standby.
    await sql.unsafe(`
      create function hold_back() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return null; end $$;
      create constraint trigger hold_back after update on sessions deferrable initially deferred
        for each row execute function hold_back()`);
    const { pending, late } = await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(1)`;
      const pending = refresh(other);
      await sleep(12_000);
      // A second tab, on another instance: its request arrives before the commit.
      const late = refresh();
      await sleep(1_500);
      return { pending: [pending] as const, late: [late] as const };
    });
    t.equal((await pending[0]).at(-1), 200, 'the client that retries');
    t.equal((await late[0]).at(-1), 200, 'the second tab');
    t.equal((await sql`select from sessions where id = ${session}`).length, 1);
    await sql`drop trigger hold_back on sessions`;
    await continues(t);
  });

  t.test('if the first response was lost, and the retries reach other instances', async (t) => {
    const home = await createHome(t);
    const start = () =>
      startService(home, { ...variables, SESSION_REFRESH_GRACE_PERIOD: '4s', DATABASE_POOL_MAX: '2' });
    const one = await start();
    const last = await start();
    const instances = [one, last];
    const sql = postgres(databaseUrl(home).href, { max: 1, onnotice: () => {} });
    // A request waits for at most 2 s, so the fourth one is sent after 9 s, when the table is no longer locked.
    const stallMs = 8_500;
    const patterns = [
      (attempt: number) => instances[attempt % instances.length] as Service,
      (attempt: number) => (attempt < 3 ? one : last),
    ];
    const clients = await Promise.all(
      patterns.flatMap((choose) =>
        modes.map(async (mode) => ({ choose, client: await startSession(one, password, { mode, maxRetryAfter: 2 }) })),
      ),
    );
    // Each instance has to have probed the database.
    await sleep(1_000);
    for (const { client } of clients) {
      const { token } = client;
      t.strictSame(await client.refresh(one), [200]);
      client.token = token;
    }
    const results = await sql.begin(async (tx) => {
      await tx`lock table sessions in access exclusive mode`;
      const results = Promise.all(clients.map(({ choose, client }) => client.refresh(choose)));
      await sleep(stallMs);
      return [results] as const;
    });
    for (const statuses of await results[0]) {
      t.ok(statuses.length > 2, `${statuses.length} attempts`);
      t.equal(statuses.at(-1), 200, `${statuses}`);
    }
    await sleep(4_500);
    for (const { client } of clients) t.strictSame(await client.refresh(last), [200], 'the session continues');
    await sql.end();
  });

  t.test('but a replaced token sent after the grace period still ends the session', async (t) => {
    const { service, sql, client, refresh } = await startOnProxy(t);
    const replaced = client.token;
    t.strictSame(await refresh(), [200]);
    await sql`update sessions set replaced_at = clock_timestamp() - interval '11 seconds'`;
    t.equal((await service.post('/auth/refresh', { refresh_token: replaced })).status, 401);
    t.equal((await client.ask()).status, 401, 'the successor');
    t.equal((await sql`select from sessions`).length, 0);
  });
});

t.test('an instance killed before it responds signs no user out', async (t) => {
  const home = await createHome(t, { prepared: true });
  const PORT = String(await freePort());
  let service = await startService(home, { ...variables, PORT, SESSION_REFRESH_GRACE_PERIOD: '60s' });
  const post: Service['post'] = (...request) => service.post(...request);
  const client = await startSession({ post }, password);
  for (let kill = 0; kill < 3; kill++) {
    // One of several pauses should fall between the commit and the response.
    const pending = client.refresh();
    await sleep(kill * 3);
    await service.stop('SIGKILL');
    service = await startService(home, { ...variables, PORT, SESSION_REFRESH_GRACE_PERIOD: '60s' });
    t.equal((await pending).at(-1), 200);
  }
  t.strictSame(await client.refresh(), [200]);
});
