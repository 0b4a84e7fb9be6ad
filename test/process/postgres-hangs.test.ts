import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { startCluster, withoutPrograms } from '../helpers/database/postgres-cluster.js';
import { metricsOf } from '../helpers/measurements/metrics.js';
import { slowness } from '../helpers/measurements/slowness.js';
import { median } from '../helpers/measurements/statistics.js';
import { bearer } from '../helpers/service/app.js';
import { databaseUrl, password, recovers, startBehindProxy, variables } from '../helpers/service/outage.js';
import { createHome, logIn, startService } from '../helpers/service/service.js';
import { administrator } from '../helpers/users/credentials.js';

const skip = engine === 'embedded' && 'PostgreSQL only';

t.test('the service handles a database that hangs', { skip }, async (t) => {
  // The tests spend most of their time waiting.
  t.jobs = 4;

  for (const sslmode of ['disable', 'require']) {
    t.test(`no request waits forever for a database that hangs (sslmode ${sslmode})`, async (t) => {
      const { proxy, service } = await startBehindProxy(t, sslmode);
      const { body } = await logIn(service, password);
      const token = bearer(body.data.access_token);
      await Promise.all([0, 1, 2, 3, 4].map(() => service.get('/users/me', token)));

      proxy.freeze();
      const start = performance.now();
      const frozen = Promise.all([
        ...Array.from({ length: 20 }, () => service.get('/users/me', token)),
        ...[0, 1, 2, 3].map(() => service.post('/auth/login', { ...administrator, password })),
        service.post('/auth/refresh', { refresh_token: body.data.refresh_token }),
      ]);
      const health = await service.get('/server/health');
      t.equal(health.status, 503);
      t.ok(performance.now() - start < 5_000, 'the health check reports the outage sooner');
      t.equal((await service.get('/server/ping')).status, 200, 'a request that needs no database is answered');
      for (const answer of await frozen) {
        t.equal(answer.status, 503);
        t.match(answer.headers.get('retry-after'), /^\d+$/);
      }
      t.ok(performance.now() - start < 15_000);

      // The old connections never recover, so the service itself must close them.
      await proxy.restore();
      await recovers(t, service, token, 15_000);
      t.strictSame(await service.stop(), { code: 0, signal: null });
    });
  }

  t.test('metrics and health respond while the server hangs', { skip: withoutPrograms }, async (t) => {
    const METRICS_TOKEN = 'the-token-that-prometheus-has';
    const cluster = await startCluster(t);
    const home = await createHome(t, { databaseUrl: `postgres://postgres@127.0.0.1:${cluster.port}/postgres` });
    const service = await startService(home, { ...variables, METRICS_TOKEN });
    const admin = bearer((await logIn(service, password)).body.data.access_token);
    const monitor = bearer(METRICS_TOKEN);
    // Present only while the operating system works for the process, for example when a file is read.
    const activeRequests = 'nodejs_active_requests';
    const before = metricsOf(await (await service.get('/metrics', monitor)).text());
    t.equal(before.value('gatehouse_database_up'), 1);

    cluster.freeze();
    const end = performance.now() + 12_000;
    const times: number[] = [];
    const timed = async (path: string) => {
      const start = performance.now();
      const response = await service.get(path, monitor);
      times.push(performance.now() - start);
      return response;
    };
    // Requests of users occupy all connections in the meantime.
    const users = Array.from({ length: 20 }, () => service.get('/users/me', admin));
    while (performance.now() < end) {
      const response = await timed('/metrics');
      t.equal(response.status, 200);
      const metrics = metricsOf(await response.text());
      const lost = [...before.names()].filter((name) => name !== activeRequests && !metrics.names().has(name));
      if (lost.length > 0) t.fail(`these metrics are lost: ${lost}`);
      t.match(await (await timed('/server/health')).json(), { checks: { database: {} } });
      await sleep(200);
    }
    const slowest = Math.max(...times);
    t.comment(`the median response took ${Math.round(median(times))} ms, the slowest ${Math.round(slowest)} ms`);
    t.ok(median(times) < 250 * slowness());
    // A busy machine can delay single responses by a second or two. One that waited for the database would take much longer.
    t.ok(slowest < 5_000);

    const metrics = metricsOf(await (await timed('/metrics')).text());
    t.equal(metrics.value('gatehouse_database_up'), 0);
    const health = await timed('/server/health');
    t.equal(health.status, 503);
    t.match(await health.json(), { status: 'error', checks: { database: { status: 'error' } } });

    const start = performance.now();
    const seen = await service.get('/server/health', admin);
    t.ok(performance.now() - start < 5_000);
    t.equal(seen.status, 503);
    t.match(await seen.json(), { status: 'error', checks: { database: { status: 'error' } } }, 'as an administrator');
    await Promise.all(users);
    await service.stop('SIGKILL');
  });

  t.test('no request waits forever for a locked table', async (t) => {
    const { home, service } = await startBehindProxy(t);
    const { body } = await logIn(service, password);
    const token = bearer(body.data.access_token);
    const sql = postgres(databaseUrl(home).href, { max: 1, onnotice: () => {} });
    await sql.begin(async (tx) => {
      await tx.unsafe('lock table users in access exclusive mode');
      const start = performance.now();
      const answer = await service.get('/users/me', token);
      t.equal(answer.status, 503);
      t.match(await answer.json(), { errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }] });
      t.ok(performance.now() - start < 15_000);
      t.equal((await service.get('/server/health')).status, 200, 'the database is available');
    });
    await sql.end();
    await recovers(t, service, token);
    await service.stop();
  });

  t.test('a service with a database that hangs still stops', async (t) => {
    const { proxy, service } = await startBehindProxy(t);
    proxy.freeze();
    const request = service.get('/server/info').catch(() => undefined);
    await sleep(100);
    const start = performance.now();
    await service.stop();
    t.ok(performance.now() - start < 13_000);
    await request;
  });
});
