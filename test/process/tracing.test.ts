// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: starts many processes

import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { slowness } from '../helpers/measurements/slowness.js';
import { startCollector } from '../helpers/servers/collector.js';
import { createHome, logLines, startService } from '../helpers/service/service.js';

/** The service as started in production, with a collector that is available, unavailable, or malfunctioning. */

const json = (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' });
const warnings = (stdout: string) =>
  logLines(stdout)
    .filter(({ level }) => Number(level) >= 40)
    .map(({ msg, reason }) => `${msg}: ${reason}`);

t.test('pending spans are sent when the service stops', async (t) => {
  const collector = await startCollector(t);
  const service = await startService(await createHome(t, { prepared: true }), json(collector.url));
  await service.get('/server/info');
  await service.post('/auth/login', { email: 'nobody@example.com', password: 'a fine password' });
  const start = performance.now();
  t.strictSame(await service.stop(), { code: 0, signal: null });
  t.ok(performance.now() - start < 2_500 * slowness(), 'immediately');
  const lines = logLines(service.stdout);
  // The body and the end of the response are handled in other asynchronous contexts.
  for (const [name, path] of [
    ['GET /server/info', '/server/info'],
    ['POST /auth/login', '/auth/login'],
  ]) {
    const root = collector.spans.find((span) => span.name === name);
    t.match(root, { kind: 2, resource: { 'service.name': 'gatehouse' } });
    t.ok(
      collector.spans.some(
        ({ parentSpanId, attributes }) => parentSpanId === root?.spanId && 'db.query.text' in attributes,
      ),
      `${name}: statements`,
    );
    const line = lines.find((found) => found.path === path);
    t.match(line, { trace_id: root?.traceId, span_id: root?.spanId });
  }
  t.strictSame(warnings(service.stdout), []);
});

t.test('a client that disconnects is reported', async (t) => {
  const collector = await startCollector(t);
  const service = await startService(await createHome(t, { prepared: true }), {
    ...json(collector.url),
    // Hashing takes several times as long as the client waits, even on a fast machine.
    PASSWORD_HASH_TIME: '100',
    PASSWORD_HASH_MEMORY: '65536',
  });
  const body = JSON.stringify({ email: 'ada@example.com', password: 'whatever it is' });
  const headers = { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(300);
  await t.rejects(fetch(`${service.url}/auth/login`, { method: 'POST', headers, body, signal }));
  await service.stop();
  const login = collector.spans.find(({ name }) => name === 'POST /auth/login');
  t.match(login, { status: 2, attributes: { 'error.type': 'aborted' } });
  t.notOk('http.response.status_code' in (login?.attributes ?? {}));
});

t.test('Protobuf is sent by default, with the configured headers', async (t) => {
  const collector = await startCollector(t);
  const service = await startService(await createHome(t, { prepared: true }), {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/own/path`,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20eDp5',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
  });
  await service.get('/server/info');
  await service.stop();
  const [body] = collector.bodies;
  t.match(body, { path: '/own/path', type: 'application/x-protobuf', headers: { authorization: 'Basic eDp5' } });
  t.match(body?.text, 'GET /server/info');
});

t.test('an unavailable collector is reported once, and affects no request', async (t) => {
  const collector = await startCollector(t, false);
  const service = await startService(await createHome(t, { prepared: true }), {
    ...json(collector.url),
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_EXPORTER_OTLP_TIMEOUT: '300',
  });
  for (let asked = 0; asked < 30; asked++) {
    t.equal((await service.get('/server/info')).status, 200);
    await sleep(30);
  }
  t.match(warnings(service.stdout), [/^the collector does not accept the traces: .*ECONNREFUSED/]);
  await collector.start();
  for (let tries = 0; collector.spans.length === 0 && tries < 200; tries++) {
    await service.get('/server/info');
    await sleep(25);
  }
  t.ok(collector.spans.length > 0, 'spans are sent again when the collector is back');
  collector.stop();
  await service.get('/server/info');
  await sleep(1_000);
  t.equal(warnings(service.stdout).length, 2, 'the next outage is reported, too');
  const start = performance.now();
  t.strictSame(await service.stop(), { code: 0, signal: null });
  t.ok(performance.now() - start < 2_000 * slowness(), 'the outage does not delay the stop');
});

for (const behaviour of ['silent', 'failing'] as const) {
  t.test(`a ${behaviour} collector delays no request, and the stop only briefly`, async (t) => {
    const collector = await startCollector(t);
    collector.behavior = behaviour;
    const service = await startService(await createHome(t, { prepared: true }), {
      ...json(collector.url),
      OTEL_BSP_SCHEDULE_DELAY: '20',
    });
    const times: number[] = [];
    for (let asked = 0; asked < 50; asked++) {
      const start = performance.now();
      t.equal((await service.get('/server/ping')).status, 200);
      times.push(performance.now() - start);
    }
    t.ok((times.sort((a, b) => a - b)[25] ?? 0) < 100, 'no request waits for the collector');
    t.ok(collector.bodies.length > 0, 'the collector was called');
    const start = performance.now();
    t.strictSame(await service.stop(), { code: 0, signal: null });
    t.ok(performance.now() - start < 3_000 * slowness());
    t.strictSame(service.stderr, '');
  });
}

t.test('invalid tracing variables do not prevent a start', async (t) => {
  const home = await createHome(t, { prepared: true });
  for (const [variables, warning] of [
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      /grpc is not supported/,
    ],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' }, /Could not parse/],
  ] as const) {
    const service = await startService(home, variables);
    t.equal((await service.get('/server/info')).status, 200);
    await service.stop();
    t.match(warnings(service.stdout)[0], warning);
  }
});
