import t from 'tap';
import { hearStatements } from '../helpers/database/statements.js';
import { clearedCookies, sessionCookie } from '../helpers/http/cookies.js';
import { isContractError } from '../helpers/openapi/contract-error.js';
import { bearer, cutDatabase, startTestApp, type TestApp } from '../helpers/service/app.js';
import { healthIsFresh } from '../helpers/service/outage.js';
import { administrator } from '../helpers/users/credentials.js';

async function logIn({ post }: TestApp): Promise<Record<string, string>> {
  return bearer((await post('/auth/login', administrator)).json().data.access_token);
}

const open = ['/server/ping', '/server/info', '/server/health'];

t.test('the service itself', async (t) => {
  const testApp = await startTestApp(t);
  const { app, get } = testApp;
  const authorization = await logIn(testApp);

  t.test('ping returns pong', async (t) => {
    for (const headers of [{}, authorization]) {
      const response = await get('/server/ping', headers);
      t.equal(response.statusCode, 200);
      t.equal(response.headers['content-type'], 'text/plain; charset=utf-8');
      t.equal(response.body, 'pong');
    }
  });

  t.test('health tells anonymous callers only that the service is healthy', async (t) => {
    const response = await get('/server/health');
    t.equal(response.statusCode, 200);
    t.equal(String(response.headers['content-type']).split(';')[0], 'application/health+json');
    t.strictSame(response.json(), { status: 'ok' });
  });

  t.test('health shows its checks to an administrator', async (t) => {
    const response = await get('/server/health', authorization);
    t.equal(response.statusCode, 200);
    t.equal(String(response.headers['content-type']).split(';')[0], 'application/health+json');
    const { status, version, checks, ...rest } = response.json();
    t.strictSame(rest, {});
    t.equal(status, 'ok');
    t.match(version, /^\d+\.\d+\.\d+$/);
    t.strictSame(Object.keys(checks), ['database', 'writes']);
    t.strictSame(checks.writes, { status: 'ok' });
    t.equal(checks.database.status, 'ok');
    t.type(checks.database.latency_ms, 'number');
    t.ok(checks.database.latency_ms >= 0 && checks.database.latency_ms < 2_000);
    t.notMatch(response.body, /postgres|pglite|127\.0\.0\.1|gatehouse_test/i, 'without addresses or names');
  });

  t.test('health shows no checks to other users', async (t) => {
    const { $client } = app.db as unknown as {
      $client: { unsafe?(sql: string): Promise<unknown>; exec?(sql: string): Promise<unknown> };
    };
    const run = ($client.unsafe ?? $client.exec)?.bind($client);
    await run?.('update policies set admin_access = false');
    t.strictSame((await get('/server/health', authorization)).json(), { status: 'ok' });
    await run?.('update policies set admin_access = true');
  });

  t.test('info returns the public settings', async (t) => {
    for (const headers of [{}, authorization]) {
      const response = await get('/server/info', headers);
      t.equal(response.statusCode, 200);
      t.strictSame(response.json(), {
        data: {
          project: {
            project_name: 'Gatehouse',
            project_color: null,
            project_logo: null,
            default_language: 'en-US',
            public_registration: false,
            public_registration_verify_email: true,
          },
        },
      });
    }
  });

  t.test('an unusable token is rejected, but an unusable session cookie is only ignored and cleared', async (t) => {
    for (const url of open) {
      isContractError(t, await get(url, bearer('nobody')), 'INVALID_CREDENTIALS', url);
      isContractError(t, await get(`${url}?access_token=nobody`), 'INVALID_CREDENTIALS', `${url} in the query`);
      const byCookie = await get(url, sessionCookie('nobody'));
      t.equal(byCookie.statusCode, 200, `${url} in the cookie`);
      t.strictSame(clearedCookies(byCookie), ['gatehouse_session_token'], `${url} in the cookie`);
      isContractError(t, await get(`${url}?access_token=a`, bearer('b')), 'INVALID_PAYLOAD', `${url} in both`);
      t.equal((await get(`${url}?access_token=`)).statusCode, 200, `${url}, an empty one`);
    }
  });

  t.test('unknown and malformed query parameters are ignored', async (t) => {
    for (const url of open) t.equal((await get(`${url}?a[b][c]=%zz&limit=-5&fields=x`)).statusCode, 200);
  });
});

t.test('health with METRICS_TOKEN', async (t) => {
  const METRICS_TOKEN = 'the-token-that-prometheus-has';
  const testApp = await startTestApp(t, { METRICS_TOKEN });
  const { app, get } = testApp;
  await app.health.check();

  t.test('the checks are returned without a database query', async (t) => {
    let asked = 0;
    const stop = hearStatements(app, () => {
      asked++;
    });
    const response = await get('/server/health', bearer(METRICS_TOKEN));
    stop();
    t.equal(asked, 0);
    t.equal(response.statusCode, 200);
    t.match(response.json(), { status: 'ok', version: /^\d/, checks: { database: { status: 'ok' } } });
  });

  t.test('the token is accepted nowhere else, and no other token is accepted', async (t) => {
    for (const url of ['/server/ping', '/server/info', '/users/me'])
      isContractError(t, await get(url, bearer(METRICS_TOKEN)), 'INVALID_CREDENTIALS', url);
    isContractError(
      t,
      await get('/server/health', bearer(`${METRICS_TOKEN}x`)),
      'INVALID_CREDENTIALS',
      'another token',
    );
  });

  t.test('the checks are returned while the database is unavailable', async (t) => {
    await cutDatabase(testApp);
    await healthIsFresh();
    await app.health.check();
    const response = await get('/server/health', bearer(METRICS_TOKEN));
    t.equal(response.statusCode, 503);
    t.match(response.json(), { status: 'error', checks: { database: { status: 'error' } } });
  });
});

t.test('without METRICS_TOKEN, no such token is accepted by the health check', async (t) => {
  const { get } = await startTestApp(t);
  for (const token of ['undefined', 'null', 'x'])
    isContractError(t, await get('/server/health', bearer(token)), 'INVALID_CREDENTIALS', token);
});

t.test('many simultaneous health checks cause one database query (GHSA-6q22-g298-grjh)', async (t) => {
  const { app, get } = await startTestApp(t);
  let asked = 0;
  const transaction = app.db.transaction.bind(app.db);
  app.db.transaction = ((...work: Parameters<typeof transaction>) => {
    asked += 1;
    return transaction(...work);
  }) as typeof app.db.transaction;
  const responses = await Promise.all(Array.from({ length: 200 }, () => get('/server/health')));
  t.ok(responses.every(({ statusCode }) => statusCode === 200));
  t.equal(asked, 1);
  await healthIsFresh();
  await get('/server/health');
  t.equal(asked, 2, 'the result is not reused for long');
});

t.test('if the database is unavailable, only ping still succeeds', async (t) => {
  const testApp = await startTestApp(t);
  const { get, post } = testApp;
  const authorization = await logIn(testApp);
  await cutDatabase(testApp);

  t.equal((await get('/server/ping')).body, 'pong', 'ping still succeeds');

  const response = await get('/server/health');
  t.equal(response.statusCode, 503);
  t.equal(String(response.headers['content-type']).split(';')[0], 'application/health+json');
  t.strictSame(response.json(), { status: 'error' });

  const detailed = await get('/server/health', authorization);
  t.equal(detailed.statusCode, 503);
  t.match(detailed.json(), { status: 'error', checks: { database: { status: 'error' } } }, 'an administrator sees why');

  for (const answer of [
    await get('/server/info'),
    await get('/users/me', authorization),
    await post('/auth/login', administrator),
    await post('/auth/refresh', { refresh_token: 'x'.repeat(64) }).then(() => get('/server/info')),
  ]) {
    t.equal(answer.statusCode, 503, answer.body);
    t.equal(answer.json().errors[0].extensions.code, 'SERVICE_UNAVAILABLE');
    t.equal(answer.json().errors[0].extensions.service, 'database');
    t.match(answer.headers['retry-after'], /^\d+$/, 'Retry-After, in seconds');
    t.match(answer.headers['x-request-id'], /./);
    t.notMatch(answer.body, /CONNECTION|closed|select|stack/i);
  }
});
