// @suite embedded-only: hardly depends on the engine

import type { FastifyInstance, InjectOptions } from 'fastify';
import t from 'tap';
import { buildApp } from '../../app.js';
import type { ErrorFormat } from '../../plugins/http/errors.js';
import { createTestDatabase } from '../helpers/database/databases.js';
import { sessionCookie, setCookies } from '../helpers/http/cookies.js';
import { adminToken, asAdmin } from '../helpers/http/writing.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { bearer, codeOf, testConfig } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';

/** A scope of routes that speaks another protocol than the JSON API: forms, errors as in RFC 6749, and CORS for its own clients. */

const client = 'https://client.example';
const listed = 'https://app.example.com';

/** The errors of OAuth 2.0 (RFC 6749, 5.2). */
const formatError: ErrorFormat = ({ status, code, message }) => ({
  status: status === 403 ? 400 : status,
  body: { error: status >= 500 ? 'server_error' : 'invalid_request', error_description: `${message} (${code})` },
  headers: status === 401 ? { 'www-authenticate': 'Basic' } : {},
});

async function protocolRoutes(scope: FastifyInstance): Promise<void> {
  scope.setProtocol({
    isApi: false,
    bodies: ['form'],
    formatError,
    config: {
      access: 'anonymous',
      beforeTfa: true,
      acceptsFormsOfOtherSites: () => true,
      cors: { origin: async (origin?: string) => origin === client, credentials: false, methods: ['POST'], maxAge: 60 },
    },
  });
  const body = { type: 'object', required: ['grant_type'], properties: { grant_type: { type: 'string' } } };
  scope.post('/token', { schema: { body } }, async (request) => ({
    user: request.principal?.userId ?? null,
    body: request.body,
  }));
  scope.post('/session', { config: { access: 'authenticated', credentials: ['session'] } }, async () => ({}));
  scope.get('/broken', async () => {
    throw new Error('A fault in the code.');
  });
}

async function start(variables: Record<string, string>) {
  const database = await createTestDatabase({ hasTables: true });
  const app = await buildApp(testConfig(variables), { database: database.location });
  await app.register(protocolRoutes, { prefix: '/protocol' });
  await app.ready();
  atEndOf(t, async () => {
    await app.close();
    await database.drop();
  });
  return app;
}

const app = await start({
  CORS_ENABLED: 'true',
  CORS_ORIGIN: listed,
  ADMIN_TOKEN: adminToken,
});
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const token = (payload: string, headers: Record<string, string> = {}) =>
  app.inject({ method: 'POST', url: '/protocol/token', payload, headers: { ...form, ...headers } });
const login = await app.inject({ method: 'POST', url: '/auth/login', payload: { ...administrator, mode: 'session' } });
const cookies = sessionCookie(setCookies(login).gatehouse_session_token?.value ?? '');

t.test('the scope reads forms and ignores unknown parameters, and the API beside it does not', async (t) => {
  const answer = await token('grant_type=code&unknown=1&nested[a]=b');
  t.equal(answer.statusCode, 200);
  t.match(answer.json().body, { grant_type: 'code', unknown: '1' });
  const json = { method: 'POST', url: '/protocol/token', payload: { grant_type: 'code' } } as const;
  t.equal((await app.inject(json)).statusCode, 400, 'the scope ignores JSON');

  const payload = `email=${administrator.email}&password=${encodeURIComponent(administrator.password)}`;
  const ignored = await app.inject({ method: 'POST', url: '/auth/login', payload, headers: form });
  t.equal(codeOf(ignored), 'INVALID_PAYLOAD');
  t.match(ignored.json().errors[0].extensions.reason, /without Content-Type: application\/json/);
  const unknown = { email: 'ada@example.com', unknown: 1 };
  const refused = await app.inject({ method: 'POST', url: '/auth/email/request', payload: unknown });
  t.equal(codeOf(refused), 'INVALID_PAYLOAD', 'the API rejects unknown keys');
});

t.test('every error in the scope has its format, and every error of the API has that of the API', async (t) => {
  const cases: [options: InjectOptions, status: number, error: string][] = [
    [{ method: 'POST', url: '/protocol/token', headers: form, payload: 'x=1' }, 400, 'invalid_request'],
    [{ method: 'POST', url: '/protocol/token', headers: form, payload: Buffer.from([0xff]) }, 400, 'invalid_request'],
    [{ method: 'POST', url: '/protocol/token', headers: bearer('unknown') }, 401, 'invalid_request'],
    [{ method: 'POST', url: '/protocol/session' }, 401, 'invalid_request'],
    [{ method: 'GET', url: '/protocol/broken' }, 500, 'server_error'],
    [{ method: 'GET', url: '/protocol/unknown' }, 404, 'invalid_request'],
    [{ method: 'PUT', url: '/protocol/token' }, 404, 'invalid_request'],
  ];
  for (const [options, status, error] of cases) {
    const { statusCode, headers, ...answer } = await app.inject(options);
    const what = `${options.method} ${options.url} ${status}`;
    t.equal(statusCode, status, what);
    t.strictSame(Object.keys(answer.json()), ['error', 'error_description'], what);
    t.equal(answer.json().error, error, what);
    t.equal(headers['www-authenticate'], status === 401 ? 'Basic' : undefined, what);
    t.equal(headers['cache-control'], 'no-store', what);
    t.type(headers['x-request-id'], 'string', what);
  }
  for (const url of ['/unknown', '/users/me', '/protocols']) t.ok(codeOf(await app.inject(url)), url);
});

t.test(
  'in the scope, an unusable session cookie counts as none, and a kind that is not accepted is rejected',
  async (t) => {
    t.type((await token('grant_type=code', cookies)).json().user, 'string', 'a usable cookie');
    const unusable = await token('grant_type=code', sessionCookie('unusable'));
    t.equal(unusable.statusCode, 200);
    t.equal(unusable.json().user, null);
    const session = (headers: Record<string, string>) =>
      app.inject({ method: 'POST', url: '/protocol/session', headers: { ...form, ...headers } });
    t.equal((await session(cookies)).statusCode, 200);
    const { error_description: reason } = (await session(asAdmin)).json();
    t.match(reason, /FORBIDDEN/);
  },
);

t.test('the scope accepts forms of other sites with cookies, and the API does not', async (t) => {
  const foreign = { ...cookies, origin: client, 'sec-fetch-site': 'cross-site' };
  t.equal((await token('grant_type=code', foreign)).statusCode, 200);
  const payload = { refresh_token: 'x' };
  const refused = await app.inject({ method: 'POST', url: '/auth/refresh', payload, headers: foreign });
  t.equal(codeOf(refused), 'FORBIDDEN');
});

t.test('the scope has its own CORS, whether or not the API has any', async (t) => {
  const without = await start({});
  const preflight = (at: FastifyInstance, url: string, origin: string) =>
    at.inject({ method: 'OPTIONS', url, headers: { origin, 'access-control-request-method': 'POST' } });
  const allowed = 'access-control-allow-origin';
  for (const [at, what] of [
    [app, 'with CORS_ENABLED'],
    [without, 'without'],
  ] as const) {
    const { statusCode, headers } = await preflight(at, '/protocol/token', client);
    t.equal(statusCode, 204, what);
    t.match(
      headers,
      { [allowed]: client, 'access-control-allow-methods': 'POST', 'access-control-max-age': '60' },
      what,
    );
    t.equal(headers['access-control-allow-credentials'], undefined, what);
    t.equal((await preflight(at, '/protocol/token', listed)).headers[allowed], undefined, `${what}: another origin`);
    const sent = {
      method: 'POST',
      url: '/protocol/token',
      headers: { ...form, origin: client },
      payload: 'x=1',
    } as const;
    t.equal((await at.inject(sent)).headers[allowed], client, `${what}: a page can read errors`);
    t.equal((await preflight(at, '/auth/login', client)).headers[allowed], undefined, `${what}: the API`);
    const bare = await at.inject({ method: 'OPTIONS', url: '/protocol/token' });
    t.strictSame([bare.statusCode, Object.keys(bare.json())], [404, ['error', 'error_description']], what);
  }
  t.equal((await preflight(app, '/auth/login', listed)).headers[allowed], listed);
  const { statusCode, headers, body } = await preflight(without, '/auth/login', listed);
  t.strictSame([statusCode, headers[allowed], headers.vary], [404, undefined, undefined]);
  t.match(body, /ROUTE_NOT_FOUND/);
});

t.test('the routes of the scope are not in the OpenAPI document', async (t) => {
  t.notMatch((await app.inject('/openapi.json')).body, /\/protocol/);
});
