// @suite not-everyday: waits for timeouts

import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { engine } from '../helpers/database/databases.js';
import { startFakePostgres } from '../helpers/database/fake-postgres.js';
import { freePort } from '../helpers/servers/ports.js';
import { startProxy } from '../helpers/servers/proxy.js';
import { databaseUrl } from '../helpers/service/outage.js';
import { createHome, launchService, logLines, type Service, startService } from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';

const skip = engine === 'embedded' && 'PostgreSQL only';

/** What probes see: the status of liveness and readiness, and of any other request; `down` if nothing listens. */
async function probe(port: number) {
  const get = async (path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`).then(
      async (response) => ({ status: response.status, body: await response.text(), headers: response.headers }),
      () => undefined,
    );
  const [ping, health, other] = await Promise.all(['/server/ping', '/server/health', '/users/me'].map(get));
  return { ping, health, other };
}

/** Waits until the service responds to probes although it has not started. */
async function untilAlive(t: Test, port: number): Promise<void> {
  for (const end = performance.now() + 40_000; performance.now() < end; await sleep(100)) {
    const { ping, health, other } = await probe(port);
    if (!ping) continue;
    t.match(ping, { status: 200, body: 'pong' });
    t.match(health, { status: 503, body: '{"status":"error"}' });
    t.equal(other?.status, 503);
    t.match(JSON.parse(other?.body ?? ''), { errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }] });
    t.ok(other?.headers.get('retry-after'));
    return;
  }
  t.fail('the service did not respond while it was starting');
}

/** Waits until the service is ready, and checks that liveness never fails in the meantime, except at the moment of the change. */
async function untilReady(t: Test, service: Service, port: number): Promise<void> {
  let failures = 0;
  for (const end = performance.now() + 30_000; performance.now() < end; await sleep(20)) {
    const { ping, health } = await probe(port);
    if (ping?.status !== 200) failures++;
    if (health?.status === 200) {
      t.ok(failures <= 5, `${failures} probes failed`);
      return;
    }
  }
  t.fail(`the service did not become ready: ${service.stdout}${service.stderr}`);
}

const waits = (service: Service) => logLines(service.stdout).filter(({ msg }) => msg === 'waiting for the database');

t.test('the start waits for a database that comes up later, and liveness responds', { skip }, async (t) => {
  const home = await createHome(t);
  const url = databaseUrl(home);
  const proxy = await startProxy(t, { host: url.hostname, port: Number(url.port || 5432) });
  url.host = `127.0.0.1:${proxy.port}`;
  await proxy.cut();
  const port = await freePort();
  const service = launchService(home, { ...cheapHashing, DATABASE_URL: url.href, PORT: String(port) });
  await untilAlive(t, port);
  const reported = waits(service);
  const gaps = reported.slice(1).map(({ time }, index) => Number(time) - Number(reported[index]?.time));
  t.ok(gaps.length > 0 && gaps.every((gap) => gap > 4_900 && gap < 10_000), `every 5 seconds: ${gaps}`);
  t.match(reported[0], { level: 40, reason: `127.0.0.1:${proxy.port}: connect ECONNREFUSED 127.0.0.1:${proxy.port}` });
  // Next, the database accepts connections but does not respond.
  await proxy.restore();
  proxy.freeze();
  await sleep(6_000);
  t.match((await probe(port)).health, { status: 503 });
  await proxy.restore();
  await untilReady(t, service, port);
  t.strictSame(await service.stop(), { code: 0, signal: null });
});

t.test('the start continues after the connection is lost during the migration', { skip }, async (t) => {
  const home = await createHome(t);
  const url = databaseUrl(home);
  const proxy = await startProxy(t, { host: url.hostname, port: Number(url.port || 5432) });
  url.host = `127.0.0.1:${proxy.port}`;
  const port = await freePort();
  proxy.loseStatement('CREATE TABLE "users"', false);
  const service = await startService(home, { ...cheapHashing, DATABASE_URL: url.href, PORT: String(port) });
  await untilReady(t, service, port);
  t.equal(waits(service).length, 1);
  t.strictSame(await service.stop(), { code: 0, signal: null });
});

t.test('the start waits for another instance that is migrating, and liveness responds', { skip }, async (t) => {
  const home = await createHome(t);
  const client = postgres(databaseUrl(home).href, { max: 1, onnotice: () => {} });
  const port = await freePort();
  let service: Service | undefined;
  await client.begin(async (tx) => {
    // The lock that an instance holds while it migrates.
    await tx`select pg_advisory_xact_lock(${0x6761_7465})`;
    service = launchService(home, { ...cheapHashing, PORT: String(port) });
    await untilAlive(t, port);
    await sleep(1_000);
    t.match(waits(service)[0], { reason: 'another instance is migrating the database' });
  });
  await client.end();
  if (service) await untilReady(t, service, port);
  await service?.stop();
});

t.test('after START_TIMEOUT, the process exits with a message', { skip }, async (t) => {
  const home = await createHome(t);
  const cases = [
    {
      port: await freePort(),
      says: /^Gatehouse could not start\. PostgreSQL cannot be reached at 127\.0\.0\.1:\d+ \(127\.0\.0\.1:\d+: connect ECONNREFUSED/,
    },
    {
      port: await startFakePostgres(t, 'silent'),
      says: /^Gatehouse could not start\. PostgreSQL cannot be reached at 127\.0\.0\.1:\d+ \(.*(did|does) not respond/,
    },
  ];
  for (const { port, says } of cases) {
    const start = performance.now();
    const service = launchService(home, {
      START_TIMEOUT: '3s',
      DATABASE_URL: `postgres://gatehouse:hunter2@127.0.0.1:${port}/gatehouse`,
    });
    t.strictSame(await service.ended, { code: 1, signal: null });
    t.ok(performance.now() - start > 3_000);
    t.match(service.stderr, says);
    t.match(service.stderr, 'The service waited for 3s (START_TIMEOUT).');
    t.notMatch(service.stderr + service.stdout, 'hunter2');
  }
  const client = postgres(databaseUrl(home).href, { max: 1, onnotice: () => {} });
  await client.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${0x6761_7465})`;
    const service = launchService(home, { START_TIMEOUT: '2s' });
    t.strictSame(await service.ended, { code: 1, signal: null });
    t.match(service.stderr, 'another instance is migrating the database. The service waited for 2s (START_TIMEOUT).');
  });
  await client.end();
});
