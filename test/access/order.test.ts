// @suite not-everyday: tries every operation

import { connect } from 'node:net';
import type { FastifyContextConfig, LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { listen } from '../helpers/http/raw-http.js';
import { refused } from '../helpers/http/refusals.js';
import { adminToken, asAdmin } from '../helpers/http/writing.js';
import { allOperations, configOf } from '../helpers/openapi/operations.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { assertUnchanged, createPolicy, policyWith, setPublicPolicy } from '../helpers/users/rights.js';
import { createUserWithToken } from '../helpers/users/users.js';

/**
 * The service rejects a caller without access to an operation before it reads the input. These tests cover every
 * operation, every caller without rights, and every kind of error in a body or a query.
 */

const json = { 'content-type': 'application/json' };

/** Malformed input. A caller with the necessary rights would get an error that describes it. */
const malformed: Record<string, { payload?: string | Buffer; headers?: Record<string, string>; query?: string }> = {
  'malformed JSON': { payload: '{"a":', headers: json },
  'a body that is too large': { payload: `{"a":"${'x'.repeat(2_000_000)}"}`, headers: json },
  'another media type': { payload: '<a/>', headers: { 'content-type': 'text/xml' } },
  'a malformed media type': { payload: '{}', headers: { 'content-type': '/' } },
  'no media type': { payload: '{"email":"ada@example.com"}', headers: {} },
  'a scalar': { payload: '1', headers: json },
  'unknown keys': { payload: '{"unknown":1}', headers: json },
  'invalid values': { payload: '{"keys":1,"data":2,"email":3,"role":4,"id":5}', headers: json },
  'an invalid query': { query: '?limit=-7&fields[a]=1&filter={&page=x&state=x&sort[]=' },
  'nested too deeply': { payload: `${'['.repeat(100)}${']'.repeat(100)}`, headers: json },
};

/** What callers without permissions get, by what the route declares. */
const expectations = [
  { access: 'anonymous', needs: 'nothing', anonymous: 'open', member: 'open' },
  { access: 'authenticated', needs: 'nothing', anonymous: 'INVALID_CREDENTIALS', member: 'open' },
  { access: 'authenticated', needs: 'a right', anonymous: 'INVALID_CREDENTIALS', member: 'FORBIDDEN' },
  { access: 'permission', needs: 'nothing', anonymous: 'open', member: 'open' },
  { access: 'permission', needs: 'a right', anonymous: 'FORBIDDEN', member: 'FORBIDDEN' },
] as const;

const expectationOf = ({ access, needs = 'nothing' }: FastifyContextConfig) =>
  expectations.find((one) => one.access === access && (one.needs === 'nothing') === (needs === 'nothing'));

t.test('what each operation requires is declared, and every kind of declaration occurs', async (t) => {
  const { app } = await startTestApp(t);
  const found = allOperations().map(({ operationId }) => expectationOf(configOf(app, operationId)));
  for (const one of expectations) t.ok(found.includes(one), `${one.access}, ${one.needs}`);
  t.notOk(found.includes(undefined));
});

t.test('a caller without access to an operation gets the same error, whatever they send', async (t) => {
  const { app, request } = await startTestApp(t);
  const member = await createUserWithToken(app);
  const callers = [
    { who: 'anonymous', headers: {} },
    { who: 'member', headers: member.headers },
  ] as const;
  const harmless = await createPolicy(app, { name: 'Public' });

  for (const policy of [null, harmless]) {
    await setPublicPolicy(app, policy);
    for (const { who, headers } of callers) {
      await assertUnchanged(t, app, who, async () => {
        for (const operation of allOperations()) {
          const { operationId, method, url } = operation;
          const expected = expectationOf(configOf(app, operationId))?.[who] ?? 'open';
          if (expected === 'open') continue;
          const plain = await request({ method, url, headers });
          refused(t, plain, expected, `${who}: ${operationId}`);
          for (const [fault, { payload, query = '', headers: more = {} }] of Object.entries(malformed)) {
            const response = await request({
              method,
              url: `${url}${query}`,
              headers: { ...headers, ...more },
              ...(payload === undefined || method === 'GET' ? {} : { payload }),
            });
            const same = [plain.statusCode, plain.body];
            t.strictSame([response.statusCode, response.body], same, `${who}: ${operationId}: ${fault}`);
          }
        }
      });
    }
  }
});

t.test('a malformed key in a path gets the same response as a key that does not exist', async (t) => {
  const { app, post, request } = await startTestApp(t);
  const headers = bearer((await post('/auth/login', administrator)).json().data.access_token);
  // The key of a provider is any text.
  const byKey = (id: string) =>
    allOperations({ id: encodeURIComponent(id) }).filter(
      ({ operationId, url }) => url.includes(`/${encodeURIComponent(id)}`) && operationId !== 'linkIdentity',
    );
  const unknown = '00000000-0000-4000-8000-000000000000';
  const responsesTo = async (id: string, sent: Record<string, string>) => {
    const found: Record<string, unknown> = {};
    for (const { operationId, method, url } of byKey(id)) {
      // Bodies are validated before a passkey is looked up, so that one must be valid.
      const payload = operationId === 'renamePasskey' ? { name: 'Laptop' } : undefined;
      const { statusCode, body } = await request({ method, url, headers: sent, ...(payload && { payload }) });
      found[operationId] = [statusCode, body];
    }
    return found;
  };
  for (const [who, sent] of Object.entries({ anonymous: {}, administrator: headers })) {
    const expected = await responsesTo(unknown, sent);
    const withKey = [...app.operations].filter(([id, { url }]) => url.includes('/:id') && id !== 'linkIdentity');
    t.strictSame(Object.keys(expected).sort(), withKey.map(([operationId]) => operationId).sort());
    await assertUnchanged(t, app, who, async () => {
      for (const id of [
        'x',
        '1.5',
        '1e3',
        '0x1',
        'null',
        ' ',
        "1' OR 1=1",
        `${unknown}0`,
        `{${unknown}}`,
        '9'.repeat(30),
      ]) {
        t.strictSame(await responsesTo(id, sent), expected, `${who}: ${id}`);
      }
    });
    if (who === 'administrator')
      for (const response of Object.values(expected)) t.match(response, [403, /"FORBIDDEN"/]);
  }
});

t.test('over a real socket, a caller without access is rejected before the body has arrived', async (t) => {
  const { app } = await startTestApp(t);
  const port = await listen(app);
  for (const [path, status] of [
    ['/settings', 403],
    ['/users/me', 401],
    ['/users', 403],
  ] as const) {
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.setEncoding('utf8').once('data', (chunk: string) => {
        socket.destroy();
        resolve(chunk);
      });
      socket.on('error', reject);
      // The rest of the body is never sent.
      socket.write(
        `PATCH ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n{"a`,
      );
    });
    t.match(text, new RegExp(`^HTTP/1\\.1 ${status} `), path);
  }
});

t.test('a caller with a permission gets an error that describes the malformed request', async (t) => {
  const { app, request } = await startTestApp(t);
  const policy = await policyWith(app, [
    { collection: 'settings', action: 'update', fields: ['project_name'] },
    { collection: 'users', action: 'create', fields: ['email'] },
  ]);
  const member = await createUserWithToken(app, { policies: [policy] });
  for (const [method, url] of [
    ['PATCH', '/settings'],
    ['POST', '/users'],
  ] as const) {
    const response = await request({ method, url, payload: '{"a":', headers: { ...member.headers, ...json } });
    refused(t, response, 'INVALID_PAYLOAD', url);
  }
  // A rule does not apply to the single row of settings, so this permission grants nothing.
  const ruled = await policyWith(app, [
    { collection: 'settings', action: 'update', fields: ['*'], permissions: { project_name: { _eq: 'x' } } },
  ]);
  const other = await createUserWithToken(app, { policies: [ruled] });
  refused(
    t,
    await request({ method: 'PATCH', url: '/settings', payload: '{"a":', headers: { ...other.headers, ...json } }),
    'FORBIDDEN',
    'a permission with a rule',
  );
});

t.test('operations that are not part of the Directus API reject unknown keys', async (t) => {
  const { app, post, request } = await startTestApp(t);
  // Some of them require a fresh session.
  const headers = bearer((await post('/auth/login', administrator)).json().data.access_token);
  const reading = new Set(['GET', 'HEAD', 'SEARCH']);
  const own = allOperations().filter(
    ({ operationId, method }) => !reading.has(method) && !configOf(app, operationId).acceptsUnknownKeys,
  );
  t.not(own.length, 0);
  await assertUnchanged(t, app, 'unknown keys', async () => {
    for (const { operationId, method, url, fields } of own) {
      const known = Object.fromEntries([...fields.keys()].map((name) => [name, 'x']));
      const response = await request({ method, url, headers, payload: { ...known, unknown: 1 } });
      refused(t, response, 'INVALID_PAYLOAD', operationId);
    }
  });
});

t.test('the error says that the body was ignored because of its media type', async (t) => {
  const { app, request } = await startTestApp(t, { ADMIN_TOKEN: adminToken });
  const reasonOf = (response: LightMyRequestResponse): string => response.json().errors[0].extensions.reason;
  for (const { operationId, method, url, hasBody, isBodyRequired } of allOperations()) {
    if (!hasBody || (method as string) === 'SEARCH') continue;
    const { credentials, requiresFresh } = configOf(app, operationId);
    const acceptsToken = !requiresFresh && (credentials?.includes('static token') ?? true);
    // The provider of `completeProviderLogin` does not exist. An operation with an optional body may accept the request.
    const mustBeRejected = isBodyRequired && acceptsToken && operationId !== 'completeProviderLogin';
    for (const type of [undefined, 'text/plain', 'application/x-www-form-urlencoded']) {
      const headers = { ...asAdmin, ...(type === undefined ? {} : { 'content-type': type }) };
      const response = await request({ method, url, headers, payload: '{"email":"ada@example.com"}' });
      if (!mustBeRejected && response.statusCode !== 400) continue;
      refused(t, response, 'INVALID_PAYLOAD', operationId);
      t.match(reasonOf(response), /without Content-Type: application\/json/, `${operationId}: ${type}`);
    }
    const none = await request({ method, url, headers: asAdmin });
    if (none.statusCode === 400) t.notMatch(none.body, /Content-Type/, `${operationId}: no body was sent`);
  }
});
