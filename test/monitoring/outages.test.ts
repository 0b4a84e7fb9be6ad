// @suite not-everyday: tries many cases

import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { metricsOf } from '../helpers/measurements/metrics.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { collectLog } from '../helpers/service/collect-log.js';
import { administrator } from '../helpers/users/credentials.js';

const METRICS_TOKEN = 'the-token-that-prometheus-has';

/** SQLSTATEs of failures that are not the fault of the request, and the reason that the log and the metrics give. */
const outages: Readonly<Record<string, string>> = {
  53000: 'database_out_of_resources',
  53100: 'database_disk_full',
  53200: 'database_out_of_resources',
  53300: 'database_out_of_resources',
  53400: 'database_out_of_resources',
  58030: 'database_io_error',
  57014: 'database_timeout',
  '25P03': 'database_timeout',
  '25P04': 'database_timeout',
  '55P03': 'database_lock_timeout',
  '40P01': 'database_deadlock',
  40001: 'database_deadlock',
  25006: 'database_read_only',
  '57P01': 'database_unreachable',
  '57P03': 'database_unreachable',
  '08006': 'database_unreachable',
};

t.test('failures of the database', async (t) => {
  const { lines, logger } = collectLog('info');
  const { app, clock, get, post } = await startTestApp(t, { METRICS_TOKEN }, { logger });
  const metrics = async () => metricsOf((await get('/metrics', bearer(METRICS_TOKEN))).body);
  const failWith = (state: string) =>
    app.databaseConnection.runScript(
      `create or replace function fail() returns trigger language plpgsql as $$ begin
        raise exception 'a failure' using errcode = '${state}'; end $$;
      drop trigger if exists failing on sessions;
      create trigger failing before insert on sessions execute function fail()`,
    );
  const succeed = () => app.databaseConnection.runScript('drop trigger failing on sessions');

  for (const [state, reason] of Object.entries(outages)) {
    t.test(`SQLSTATE ${state} returns 503 with Retry-After, and is counted as ${reason}`, async (t) => {
      const before = (await metrics()).value('gatehouse_unavailable_total', { reason });
      await failWith(state);
      lines.length = 0;
      const response = await post('/auth/login', administrator);
      await succeed();
      t.equal(response.statusCode, 503);
      t.match(response.headers['retry-after'], /^[1-9]\d*$/);
      const { code, service, reason: explanation } = response.json().errors[0].extensions;
      t.strictSame([code, service], ['SERVICE_UNAVAILABLE', 'database']);
      t.match(explanation, /^The database /);
      t.notMatch(response.body, /a failure|sessions/);

      const id = response.headers['x-request-id'];
      const errors = lines.filter(({ level, reqId }) => level === 50 && reqId === id);
      const isFirst = Object.values(outages).indexOf(reason) === Object.keys(outages).indexOf(state);
      const line = { service: 'database', reason, requests: 1, cause: { code: state } };
      if (isFirst) t.match(errors, [line], 'the first error for a reason is in the log');
      t.notMatch(JSON.stringify(errors), '"stack"');
      const requests = lines.filter(({ msg, reqId }) => msg === 'request' && reqId === id);
      t.match(requests, [{ status: 503, service: 'database', reason }], 'the request is in the log');
      t.equal((await metrics()).value('gatehouse_unavailable_total', { reason }), (before ?? Number.NaN) + 1);
    });
  }

  t.test('other failures still return 500', async (t) => {
    for (const state of ['XX001', '22012', '42P01', 'P0001']) {
      await failWith(state);
      t.equal((await post('/auth/login', administrator)).statusCode, 500, state);
      await succeed();
    }
  });

  t.test('a metric and the health report since when writes have been failing', async (t) => {
    const since = async () => (await metrics()).value('gatehouse_database_writes_failing_since_seconds');
    t.equal((await post('/auth/login', administrator)).statusCode, 200);
    t.equal(await since(), 0);

    await failWith('53100');
    const begun = clock.now().getTime() / 1_000;
    t.equal((await post('/auth/login', administrator)).statusCode, 503);
    const found = (await since()) ?? 0;
    t.ok(found >= begun && found < begun + 5, `${found}`);
    const health = await get('/server/health', bearer(METRICS_TOKEN));
    t.equal(health.statusCode, 200, 'reads succeed');
    const { status, checks } = health.json();
    t.equal(status, 'warn');
    t.equal(checks.writes.status, 'error');
    t.equal(Date.parse(checks.writes.failing_since), found * 1_000);
    t.strictSame((await get('/server/health')).json(), { status: 'warn' });
    clock.advance(60_000);
    t.equal((await post('/auth/login', administrator)).statusCode, 503);
    t.equal((await get('/server/info')).statusCode, 200);
    t.equal((await post('/auth/password/request', { email: 'unknown@example.com' })).statusCode, 204);
    t.equal(await since(), found, 'neither a further failure nor a success without a write changes it');

    await succeed();
    const login = await post('/auth/login', administrator);
    t.equal(login.statusCode, 200);
    t.equal(await since(), 0, 'a write succeeded');

    await failWith('53100');
    await post('/auth/login', administrator);
    t.not(await since(), 0);
    const { refresh_token } = login.json().data;
    t.equal((await post('/auth/refresh', { refresh_token })).statusCode, 200);
    t.equal(await since(), 0, 'a refresh writes too');
    await succeed();
  });

  t.test(
    'a login is repeated if it is aborted by a deadlock',
    { skip: engine === 'embedded' && 'one connection' },
    async (t) => {
      await app.databaseConnection.runScript(
        `create sequence attempts;
        create or replace function fail() returns trigger language plpgsql as $$ begin
          if nextval('attempts') < 3 then raise exception 'a failure' using errcode = '40P01'; end if; return null; end $$;
        create trigger failing before insert on sessions execute function fail()`,
      );
      t.equal((await post('/auth/login', administrator)).statusCode, 200);
      await succeed();
    },
  );
});

t.test('while the service sheds load, the log has one line for each reason every ten seconds', async (t) => {
  const { lines, logger } = collectLog('info');
  const { app, post } = await startTestApp(
    t,
    { PASSWORD_HASH_TIME: '20', PASSWORD_HASH_CONCURRENCY: '1', PASSWORD_HASH_QUEUE: '2' },
    { logger },
  );
  const flood = async () => {
    const logins = Array.from({ length: 40 }, () =>
      post('/auth/login', { email: 'nobody@example.com', password: 'x' }),
    );
    const responses = await Promise.all(logins);
    return responses.filter(({ statusCode }) => statusCode === 503).length;
  };
  const shed = await flood();
  t.ok(shed > 20, `${shed} logins were refused`);
  const requests = lines.filter(({ msg, status }) => msg === 'request' && status === 503);
  t.equal(requests.length, shed);
  const others = () => lines.filter(({ level }) => Number(level) > 30);
  t.match(others(), [{ level: 50, service: 'passwords', reason: 'password_queue_full', requests: 1 }]);
  t.equal(others().length, 1);
  // The line that covers the rest follows ten seconds after the first.
  for (const end = performance.now() + 15_000; performance.now() < end && others().length < 2; ) await sleep(200);
  t.match(others()[1], { reason: 'password_queue_full', requests: shed - 1, seconds: 10 });
  t.notMatch(JSON.stringify(others()), /"(stack|cause)"|already|premature/);
  await app.close();
});
