import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { startTracing } from '../../plugins/platform/tracing/service.js';
import { adminToken, asAdmin } from '../helpers/http/writing.js';
import { startSmtp } from '../helpers/mail/smtp.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { completeLogin, createVisitor, followRedirect } from '../helpers/providers/visitor.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { type Collector, type ReceivedSpan, startCollector } from '../helpers/servers/collector.js';
import { freePort } from '../helpers/servers/ports.js';
import { startRedis, withoutRedis } from '../helpers/servers/redis-server.js';
import { bearer, codeOf, cutDatabase, startTestApp, testConfig } from '../helpers/service/app.js';
import { createUser } from '../helpers/users/users.js';

/** What a collector receives about requests, over the network. */

const publicUrl = 'http://gatehouse.example.com';

/** The SDK reads its settings from the environment of the process. */
function setVariables(t: Test, collector: Collector, variables: Record<string, string> = {}) {
  const standard = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '20',
    ...variables,
  };
  Object.assign(process.env, standard);
  atEndOf(t, () => {
    for (const name of Object.keys(standard)) delete process.env[name];
  });
  return standard;
}

const keyInUrl = 'a-key-in-the-query-of-a-provider';
const lines: string[] = [];
const stream = { write: (line: string) => void lines.push(line) };
const port = await freePort();
const collector = await startCollector(t);
await startSmtp(t, port);
const provider = await startOauth2Server(t, { publicUrl, keys: ['alpha'] });
const redis = withoutRedis ? undefined : await startRedis(t);
const service = await startTestApp(
  t,
  {
    ADMIN_TOKEN: adminToken,
    PUBLIC_URL: publicUrl,
    AUTH_PROVIDERS: 'alpha',
    ...provider.variables('alpha', {
      ALLOW_PUBLIC_REGISTRATION: 'true',
      PROFILE_URL: `${provider.origin}/user?key=${keyInUrl}`,
    }),
    EMAIL_TRANSPORT: 'smtp',
    EMAIL_SMTP_HOST: '127.0.0.1',
    EMAIL_SMTP_PORT: String(port),
    ...(redis ? { REDIS_URL: redis.url, RATE_LIMITER_ENABLED: 'true', RATE_LIMITER_POINTS: '100000' } : {}),
    ...setVariables(t, collector, { OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test' }),
  },
  { logger: { level: 'info', stream } },
);
const { app, get, post, request } = service;

/** The span of the request with this response, and its child spans. */
async function traceOf(response: { headers: Record<string, unknown> }) {
  const id = response.headers['x-request-id'];
  const of = (span: ReceivedSpan) => (span.attributes['http.response.header.x-request-id'] as string[])?.[0] === id;
  const root = await collector.find(of);
  return {
    root,
    children: collector.spans.filter(({ traceId }) => traceId === root.traceId).filter((span) => span !== root),
  };
}

t.test('a request is a span, named after its route', async (t) => {
  const { id } = await createUser(app);
  const response = await get(`/users/${id}?fields=id`, { ...asAdmin, 'user-agent': 'curl/8.5.0' });
  const { root, children } = await traceOf(response);
  t.match(root, {
    name: 'GET /users/:id',
    kind: 2,
    parentSpanId: undefined,
    status: 0,
    attributes: {
      'http.request.method': 'GET',
      'http.route': '/users/:id',
      'http.response.status_code': 200,
      'url.path': `/users/${id}`,
      'url.scheme': 'http',
      'server.address': 'localhost',
      'client.address': '127.0.0.1',
      'user_agent.original': 'curl/8.5.0',
    },
    resource: {
      'service.name': 'gatehouse',
      'service.version': /^\d/,
      'telemetry.sdk.language': 'nodejs',
      'deployment.environment.name': 'test',
    },
  });
  const statements = children.filter(({ attributes }) => attributes['db.system.name'] === 'postgresql');
  t.ok(statements.length >= 2, 'authentication, and the query');
  for (const { kind, name, parentSpanId, attributes } of statements) {
    t.equal(kind, 3);
    t.equal(parentSpanId, root.spanId);
    t.equal(name, attributes['db.operation.name']);
    t.match(attributes['db.query.text'], /\$1/);
    t.notOk(String(attributes['db.query.text']).includes(id), 'the statement contains no values');
  }
  if (redis) t.match(children, [{ name: 'EVAL', attributes: { 'db.system.name': 'redis' } }]);
});

t.test('rejected requests and unknown routes are traced without exceptions', async (t) => {
  const refused = await traceOf(await get('/users'));
  t.match(refused.root, { name: 'GET /users', status: 0, attributes: { 'http.response.status_code': 403 } });
  t.strictSame(refused.root.events, [], 'an error of the client is not an exception');
  const unknown = await traceOf(await get('/no/such/thing'));
  t.match(unknown.root, {
    name: 'GET',
    attributes: { 'http.response.status_code': 404, 'url.path': '/no/such/thing' },
  });
  t.notOk('http.route' in unknown.root.attributes);
  const invalid = await traceOf(await post('/auth/login', { email: 7 }));
  t.match(invalid.root, { name: 'POST /auth/login', attributes: { 'http.response.status_code': 400 } });
});

t.test('the service continues the trace of the caller, and does not record an unsampled one', async (t) => {
  const traceId = randomUUID().replaceAll('-', '');
  const traceparent = (flags: string) => ({ traceparent: `00-${traceId}-00f067aa0ba902b7-${flags}` });
  const { root } = await traceOf(await get('/server/ping', traceparent('01')));
  t.match(root, { traceId, parentSpanId: '00f067aa0ba902b7' });
  for (const nonsense of ['', 'x', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, '00-'.repeat(1_000)]) {
    t.equal((await traceOf(await get('/server/ping', { traceparent: nonsense }))).root.parentSpanId, undefined);
  }
  const before = collector.spans.length;
  await get('/users/me', { ...asAdmin, ...traceparent('00') });
  await traceOf(await get('/server/ping'));
  t.equal(collector.spans.length, before + 1, 'only the second request is recorded');
});

t.test('log lines contain the id of their trace', async (t) => {
  const { email, password } = await createUser(app);
  const before = lines.length;
  const response = await post('/auth/login', { email, password });
  const { root } = await traceOf(response);
  const said = lines.slice(before).map((line) => JSON.parse(line));
  const line = said.find(({ msg, reqId }) => msg === 'request' && reqId === response.headers['x-request-id']);
  t.match(line, { trace_id: root.traceId, span_id: root.spanId });
  await post('/users/register', { email: `${randomUUID()}@example.com`, password });
  t.match(
    lines.map((text) => JSON.parse(text)).find(({ msg }) => msg === 'a registration had no effect'),
    { trace_id: /^[0-9a-f]{32}$/ },
    'including those logged by a service, after the body was read and a transaction has run',
  );
});

t.test('each of several simultaneous requests has its own statements', async (t) => {
  const people = await Promise.all(Array.from({ length: 24 }, () => createUser(app)));
  const answers = await Promise.all(people.map(({ email, password }) => post('/auth/login', { email, password })));
  const traces = await Promise.all(answers.map(traceOf));
  // A login that had to wait for its statement reads the user again. How many do so depends on the machine.
  const isReadAgain = ({ attributes }: ReceivedSpan) =>
    /from "sessions" s join/.test(String(attributes['db.query.text']));
  const shapes = new Set(
    traces.map(({ children }) =>
      children
        .filter((child) => !isReadAgain(child))
        .map(({ name }) => name)
        .sort()
        .join(' '),
    ),
  );
  t.equal(shapes.size, 1, [...shapes].join('\n'));
  t.match([...shapes][0], /INSERT.*SELECT|WITH/);
});

t.test('emails have their own traces', async (t) => {
  const { email } = await createUser(app);
  await post('/auth/password/request', { email });
  while ((await app.mail.deliverNow()) > 0);
  const root = await collector.find(({ name }) => name === 'deliver mail');
  t.match(root, { kind: 1, parentSpanId: undefined, attributes: { 'gatehouse.mail.kind': 'reset' } });
  const sent = await collector.find(({ name, traceId }) => name === 'SMTP' && traceId === root.traceId);
  t.match(sent, { kind: 3, attributes: { 'server.address': '127.0.0.1', 'server.port': port } });
  t.ok(collector.spans.some(({ name, traceId }) => name === 'SELECT' && traceId === root.traceId));
});

t.test('requests to a provider are spans', async (t) => {
  provider.profile = { id: 'octo-1', name: 'Mona', email: 'mona@example.com' };
  const visitor = createVisitor(service, publicUrl);
  const { root, children } = await traceOf(await completeLogin(visitor, 'alpha', { family: 'oauth' }, followRedirect));
  t.equal(root.name, 'GET /auth/login/:provider/callback');
  const asked = children.filter(({ attributes }) => 'url.full' in attributes);
  t.match(
    asked.map(({ name, attributes }) => [name, attributes['url.full']]),
    [
      ['POST', `${provider.origin}/token`],
      ['GET', `${provider.origin}/user`],
    ],
  );
  t.match(asked[1]?.attributes, { 'http.response.status_code': 200, 'server.address': '127.0.0.1' });
});

t.test('spans contain no secrets', async (t) => {
  const { id, email, password } = await createUser(app);
  const { expires: _expires, ...tokens } = (await post('/auth/login', { email, password })).json().data;
  const wrong = `a-wrong-password-${randomUUID()}`;
  const asked = `a-static-token-${randomUUID()}`;
  await post('/auth/login', { email, password: wrong });
  await get(`/users/me?access_token=${tokens.access_token}`);
  await get(`/users/me?access_token=${asked}`);
  await get('/users/me', bearer(tokens.access_token));
  await get('/users/me', { cookie: `gatehouse_session_token=${tokens.access_token}` });
  await get(`/users?filter[email][_eq]=${email}`, asAdmin);
  await get(`/users/register/verify-email?token=${asked}`);
  await get(`/nowhere?token=${asked}`);
  await post('/auth/refresh', { refresh_token: tokens.refresh_token });
  await request({ method: 'PATCH', url: `/users/${id}`, payload: { token: asked, password: wrong }, headers: asAdmin });
  const last = await get('/server/ping');
  await traceOf(last);
  const everything = collector.bodies.map(({ text }) => text).join('\n');
  t.ok(
    collector.spans.some(({ attributes }) => attributes['url.path'] === '/nowhere'),
    'all spans have arrived',
  );
  for (const [what, secret] of Object.entries({ ...tokens, password, wrong, asked, adminToken, email, keyInUrl })) {
    t.notOk(everything.includes(String(secret)), what);
  }
  const signature = String(tokens.access_token).split('.')[2] ?? '';
  t.notOk(everything.includes(signature));
});

t.test('nothing is traced unless configured', async (t) => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  for (const variables of [
    {},
    { ...endpoint, OTEL_SDK_DISABLED: 'TRUE' },
    { ...endpoint, OTEL_TRACES_EXPORTER: 'none' },
    { ...endpoint, OTEL_TRACES_EXPORTER: 'console' },
  ]) {
    t.strictSame(await start(variables), { tracing: null, faults: [] }, JSON.stringify(variables));
  }
  t.match(await start({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), {
    tracing: null,
    faults: [/OTEL_EXPORTER_OTLP_PROTOCOL: grpc is not supported/],
  });
});

const start = (variables: Record<string, string>) =>
  startTracing(testConfig(variables), { version: '1', onOutage: () => {} });

t.test('sampler and service name follow the standard, and errors in these settings are reported', async (t) => {
  const own = await startCollector(t);
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const traceOne = async (variables: Record<string, string>) => {
    const { tracing, faults } = await start(setVariables(t, own, variables));
    tracing?.begin({ method: 'GET', route: '/', headers: { traceparent }, attributes: {} }).end(200);
    await tracing?.stop();
    return faults;
  };
  const sampler = { OTEL_TRACES_SAMPLER: 'traceidratio' };
  t.strictSame(await traceOne({ ...sampler, OTEL_TRACES_SAMPLER_ARG: '0' }), []);
  t.strictSame(own.spans, [], 'no spans, whatever callers request');
  await traceOne({ ...sampler, OTEL_TRACES_SAMPLER_ARG: '1', OTEL_SERVICE_NAME: 'accounts' });
  t.match(own.spans, [{ name: 'GET /', resource: { 'service.name': 'accounts' } }], 'sent at the latest on stop');
  t.match(await traceOne({ OTEL_TRACES_SAMPLER: 'sometimes' }), [/OTEL_TRACES_SAMPLER value "sometimes" invalid/]);
  t.equal(own.spans.length, 2, 'tracing still works');
});

t.test('an internal error is recorded as an exception', async (t) => {
  const { email } = await createUser(app);
  await cutDatabase(service);
  const password = `a-password-${randomUUID()}`;
  const answer = await post('/auth/login', { email, password });
  t.equal(codeOf(answer), 'SERVICE_UNAVAILABLE');
  const { root, children } = await traceOf(answer);
  t.match(root, { status: 2, attributes: { 'http.response.status_code': 503, 'error.type': /./ } });
  t.match(root.events, [{ name: 'exception', attributes: { 'exception.type': /./, 'exception.stacktrace': /./ } }]);
  const failed = children.filter(({ status }) => status === 2);
  t.match(failed, [{ attributes: { 'db.system.name': 'postgresql', 'error.type': /./ } }]);
  const told = JSON.stringify([root, ...children]);
  t.notOk(told.includes(email) || told.includes(password), 'the error does not repeat the input either');
});
