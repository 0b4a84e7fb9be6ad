import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { engine } from '../helpers/database/databases.js';
import { ownerByName, startCluster, withoutPrograms } from '../helpers/database/postgres-cluster.js';
import { metricsOf } from '../helpers/measurements/metrics.js';
import { bearer } from '../helpers/service/app.js';
import { password, variables } from '../helpers/service/outage.js';
import { createHome, logIn, logLines, type Service, startService } from '../helpers/service/service.js';
import { administrator } from '../helpers/users/credentials.js';

const skip = engine === 'embedded' ? 'PostgreSQL only' : withoutPrograms;
const METRICS_TOKEN = 'the-token-that-prometheus-has';

t.test('the service reports the faults of a PostgreSQL server', { skip }, async (t) => {
  const cluster = await startCluster(t);
  const url = `postgres://postgres@127.0.0.1:${cluster.port}/postgres`;
  const home = await createHome(t, { databaseUrl: url });
  const start = (more: Record<string, string> = {}) => startService(home, { ...variables, METRICS_TOKEN, ...more });
  const service = await start();
  const metrics = async (from = service) => metricsOf(await (await from.get('/metrics', bearer(METRICS_TOKEN))).text());
  const isUnavailable = async (t: Test, service: Service, response: Response, reason: string) => {
    t.equal(response.status, 503);
    t.match(response.headers.get('retry-after'), /^[1-9]\d*$/);
    t.match(await response.json(), { errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE', service: 'database' } }] });
    const id = response.headers.get('x-request-id');
    const isLine = ({ reqId, msg }: Record<string, unknown>) => reqId === id && msg === 'request';
    // The line is written just after the response.
    for (let waited = 0; waited < 2_000 && !logLines(service.stdout).some(isLine); waited += 20) await sleep(20);
    t.match(logLines(service.stdout).find(isLine), { status: 503, service: 'database', reason });
    t.ok(((await metrics(service)).value('gatehouse_unavailable_total', { reason }) ?? 0) > 0);
  };
  const attempt = (on = service) => on.post('/auth/login', { ...administrator, password });

  await t.test(
    'a full disk',
    { skip: process.getuid?.() !== 0 && 'mounting a file system requires root' },
    async (t) => {
      const directory = mkdtempSync(join(tmpdir(), 'gatehouse-full-'));
      const owner = ownerByName('postgres');
      const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', directory]);
      t.teardown(() => {
        spawnSync('umount', ['-l', directory]);
        rmSync(directory, { recursive: true, force: true });
      });
      if (mounted.status !== 0) return t.comment('file systems cannot be mounted here');
      if (owner) chownSync(directory, owner.uid, owner.gid);
      await cluster.ask(`create tablespace small location '${directory}'`);
      await cluster.ask('alter table sessions set tablespace small');
      // Fill the rest of the disk.
      await cluster.ask('create table filler (content text) tablespace small');
      for (let rows = 512; rows >= 1; rows = Math.floor(rows / 2)) {
        const fill = `insert into filler select repeat(md5(n::text), 200) from generate_series(1, ${rows}) n`;
        while (
          await cluster.ask(fill).then(
            () => true,
            () => false,
          )
        );
      }
      let failed: Response | undefined;
      for (let tries = 0; tries < 200 && failed?.status !== 503; tries++) failed = await attempt();
      await isUnavailable(t, service, failed as Response, 'database_disk_full');
      t.ok(((await metrics()).value('gatehouse_database_writes_failing_since_seconds') ?? 0) > 1_700_000_000);
      t.match(await (await service.get('/server/health', bearer(METRICS_TOKEN))).json(), {
        status: 'warn',
        checks: { database: { status: 'ok' }, writes: { status: 'error' } },
      });
      await cluster.ask('drop table filler');
      t.equal((await attempt()).status, 200, 'it recovers without a restart');
      t.equal((await metrics()).value('gatehouse_database_writes_failing_since_seconds'), 0);
      await cluster.ask('alter table sessions set tablespace pg_default');
    },
  );

  for (const [setting, reason] of [
    ['lock_timeout', 'database_lock_timeout'],
    ['statement_timeout', 'database_timeout'],
  ] as const) {
    await t.test(`${setting} of the server`, async (t) => {
      const impatient = await start({ DATABASE_URL: `${url}?options=-c%20${setting}%3D300` });
      const sql = postgres(url, { max: 1, onnotice: () => {} });
      await sql.begin(async (tx) => {
        await tx.unsafe('lock table sessions in share mode');
        await isUnavailable(t, impatient, await attempt(impatient), reason);
      });
      await sql.end();
      t.equal((await attempt(impatient)).status, 200);
      await impatient.stop();
    });
  }

  await t.test('each connection names the service and its host', async (t) => {
    const names = () =>
      cluster.ask(
        "select distinct application_name as name from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
      );
    t.strictSame(await names(), [{ name: `gatehouse@${hostname()}`.slice(0, 63) }]);
    const named = await start({ DATABASE_URL: `${url}?application_name=another` });
    t.match(await names(), [{ name: 'another' }, { name: /^gatehouse@/ }].sort(), 'unless the URL sets another name');
    await named.stop();
  });

  await t.test('the log of PostgreSQL contains no password hashes if it is set up as the guide says', async (t) => {
    await cluster.ask('alter system set log_min_duration_statement = 0');
    await cluster.ask('select pg_reload_conf()');
    const changePassword = async () => {
      const { body } = await logIn(service, password);
      const headers = bearer(body.data.access_token);
      const response = await service.post(
        '/users',
        { email: `${randomUUID()}@example.com`, password: 'a long password' },
        headers,
      );
      t.equal(response.status, 200);
    };
    await changePassword();
    t.match(cluster.log(), '$argon2id$', 'by default, it does');
    const careless = await start();
    for (let waited = 0; waited < 5_000 && !careless.stdout.includes('PostgreSQL logs'); waited += 20) await sleep(20);
    t.match(careless.stdout, 'PostgreSQL logs the parameters of statements', 'and the service says so');
    await careless.stop();

    await cluster.ask('alter system set log_parameter_max_length = 0');
    await cluster.ask('select pg_reload_conf()');
    const careful = await start();
    await sleep(500);
    const before = cluster.log().length;
    await changePassword();
    const logged = cluster.log().slice(before);
    t.match(logged, 'insert into "users"', 'statements are logged');
    t.notMatch(logged, '$argon2', 'without hashes');
    t.notMatch(careful.stdout, 'PostgreSQL logs the parameters');
    await careful.stop();

    const commenting = await start({ DATABASE_REQUEST_COMMENTS: 'true' });
    const response = await attempt(commenting);
    t.match(cluster.log(), `/*request_id='${response.headers.get('x-request-id')}'*/`, 'IDs of requests are optional');
    t.notMatch(logged, '/*request_id', 'and off by default');
    await commenting.stop();
  });

  await t.test('slow statements are in the log of the service, with the request but without values', async (t) => {
    const slow = await start({ SLOW_QUERY_MS: '200' });
    await cluster.ask(
      `create function delay() returns trigger language plpgsql as $$ begin perform pg_sleep(0.3); return new; end $$;
      create trigger delaying before insert on sessions for each row execute function delay()`,
    );
    const response = await attempt(slow);
    await cluster.ask('drop trigger delaying on sessions');
    t.equal(response.status, 200);
    const id = response.headers.get('x-request-id');
    const found = logLines(slow.stdout).filter(({ msg, reqId }) => msg === 'an SQL statement was slow' && reqId === id);
    const line = found.find(({ statement }) => /^insert into "?sessions|sessions/.test(String(statement)));
    t.equal(line?.level, 40);
    t.ok(Number(line?.ms) >= 300 && Number(line?.ms) < 3_000);
    t.match(line?.statement, /\$1/);
    t.notMatch(JSON.stringify(line), administrator.email);
    await slow.stop();
  });
});
