// @suite not-everyday: measures what requests cost

import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { ErrorCode } from '../../schemas/errors.js';
import type { LinkTokenScope } from '../../schemas/link-tokens.js';
import { refused } from '../helpers/http/refusals.js';
import { costOf } from '../helpers/measurements/costs.js';
import { allOperations, type BodySchema } from '../helpers/openapi/operations.js';
import { startTestApp } from '../helpers/service/app.js';
import { day } from '../helpers/service/clock.js';
import { assertUnchanged, createPolicy, policyWith } from '../helpers/users/rights.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

/** A rejected request causes no hash, no email, and only a few statements, however many items it contains. */

const service = await startTestApp(t, { REAUTHENTICATION_PERIOD: '0', MAX_BATCH_MUTATION: '300' });
const { app, request } = service;

const password = 'a password that nobody has';
const ownRow = { id: { _eq: '$CURRENT_USER' } };
const member = await createUserWithToken(app, {
  policies: [
    await policyWith(app, [
      { collection: 'users', action: 'read', fields: ['*'] },
      { collection: 'users', action: 'update', fields: ['*'], permissions: ownRow },
    ]),
  ],
});
const creator = await createUserWithToken(app, {
  policies: [
    await policyWith(app, [
      { collection: 'users', action: 'create', fields: ['*'], validation: { email: { _ends_with: '@ours.example' } } },
      { collection: 'users', action: 'update', fields: ['*'], validation: { title: { _null: true } } },
    ]),
  ],
});
const archivist = await createUserWithToken(app, {
  policies: [
    await policyWith(app, [
      { collection: 'users', action: 'update', fields: ['*'], permissions: { title: { _eq: 'archived' } } },
    ]),
  ],
});
const administrator = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
const others: string[] = [];
for (let index = 0; index < 200; index++) others.push((await createUser(app, { password: 'none' })).id);
const taken = (await createUser(app, { password: 'none', email: 'taken@ours.example' })).email;

const news = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, index) => ({ email: `new-${index}@ours.example`, password, ...more }));

type Case = [
  what: string,
  caller: { headers: Record<string, string> },
  method: 'POST' | 'PATCH' | 'DELETE',
  url: string,
  payload: object,
  code: ErrorCode,
];
const [first = ''] = others;
const refusedWrites: Case[] = [
  ['rows of other users', member, 'PATCH', '/users', others.map((id) => ({ id, password })), 'FORBIDDEN'],
  ['keys of other users', member, 'PATCH', '/users', { keys: others, data: { password } }, 'FORBIDDEN'],
  ['a query', member, 'PATCH', '/users', { query: { limit: 100 }, data: { password } }, 'FORBIDDEN'],
  ['the row of another user', member, 'PATCH', `/users/${first}`, { password }, 'FORBIDDEN'],
  ['a row that does not exist', member, 'PATCH', `/users/${randomUUID()}`, { password }, 'FORBIDDEN'],
  [
    'the caller’s own row among other rows',
    member,
    'PATCH',
    '/users',
    [member.id, ...others].map((id) => ({ id, password })),
    'FORBIDDEN',
  ],
  ['deleting', member, 'DELETE', '/users', others, 'FORBIDDEN'],
  ['creating', member, 'POST', '/users', news(200), 'FORBIDDEN'],
  ['an administrator', creator, 'PATCH', `/users/${administrator.id}`, { password }, 'FORBIDDEN'],
  ['a field of administrators', creator, 'PATCH', `/users/${first}`, { password, role: first }, 'FORBIDDEN'],
  ['a row outside the rule', archivist, 'PATCH', '/users/me', { password, current_password: 'x' }, 'FORBIDDEN'],
  ['an unknown key', creator, 'POST', '/users', news(5, { unknown: 1 }), 'INVALID_PAYLOAD'],
  ['an unknown key of a row', creator, 'PATCH', `/users/${first}`, { password, unknown: 1 }, 'INVALID_PAYLOAD'],
  ['eleven passwords', creator, 'POST', '/users', news(11), 'INVALID_PAYLOAD'],
  ['eleven rows', creator, 'PATCH', '/users', others.slice(0, 11).map((id) => ({ id, password })), 'INVALID_PAYLOAD'],
  ['eleven keys', creator, 'PATCH', '/users', { keys: others.slice(0, 11), data: { password } }, 'INVALID_PAYLOAD'],
  ['a duplicate address', creator, 'POST', '/users', [...news(3), ...news(1)], 'RECORD_NOT_UNIQUE'],
  ['a taken address', creator, 'POST', '/users', [...news(3), { email: taken, password }], 'RECORD_NOT_UNIQUE'],
  ['a taken address for a row', creator, 'PATCH', `/users/${first}`, { password, email: taken }, 'RECORD_NOT_UNIQUE'],
  ['a failed rule', creator, 'POST', '/users', [{ email: 'a@theirs.example', password }], 'FAILED_VALIDATION'],
  ['a failed rule for a row', creator, 'PATCH', `/users/${first}`, { password, title: 'x' }, 'FAILED_VALIDATION'],
  ['an unknown role', administrator, 'POST', '/users', news(20, { role: randomUUID() }), 'INVALID_FOREIGN_KEY'],
  [
    'an unknown policy',
    administrator,
    'PATCH',
    `/users/${first}`,
    { password, policies: [randomUUID()] },
    'INVALID_FOREIGN_KEY',
  ],
  ['a taken id', administrator, 'POST', '/users', news(1, { id: first }), 'RECORD_NOT_UNIQUE'],
  ['too many items', administrator, 'POST', '/users', news(301), 'INVALID_PAYLOAD'],
];

t.test('a rejected write hashes no password', async (t) => {
  for (const [what, { headers }, method, url, payload, code] of refusedWrites) {
    await assertUnchanged(t, app, what, async () => {
      const [response, cost] = await costOf(app, () => request({ method, url, headers, payload }));
      refused(t, response, code, what);
      t.equal(cost.hashes, 0, `${what}: ${cost.hashes} hashes`);
      t.equal(cost.emails, 0, `${what}: no email`);
      t.ok(cost.statements <= 20, `${what}: ${cost.statements} statements`);
    });
  }
});

t.test('an allowed write hashes each different password once', async (t) => {
  const create = () => request({ method: 'POST', url: '/users', headers: creator.headers, payload: news(10) });
  const [created, ofCreated] = await costOf(app, create);
  t.equal(created.statusCode, 200);
  t.equal(ofCreated.hashes, 10);
  const login = { email: 'new-9@ours.example', password };
  t.equal((await service.post('/auth/login', login)).statusCode, 200);
  const keys = others.slice(0, 10);
  const samePassword = { keys, data: { password } };
  const [updated, ofUpdated] = await costOf(app, () =>
    request({ method: 'PATCH', url: '/users', headers: creator.headers, payload: samePassword }),
  );
  t.equal(updated.statusCode, 204);
  t.equal(ofUpdated.hashes, 1, 'identical passwords are hashed once');
});

t.test('invalid links and a disabled registration cost no hash', async (t) => {
  const token = (scope: LinkTokenScope) =>
    app.linkTokens.issue({ scope, userId: first, state: ['another state'] }, day);
  const cases: [url: string, payload: object, status: number][] = [
    ['/auth/password/reset', { token: token('password-reset'), password }, 403],
    ['/users/invite/accept', { token: token('invite'), password }, 400],
    ['/users/register/verify-email', { token: token('pending-registration'), password }, 400],
    ['/users/register', { email: 'new@example.com', password }, 204],
  ];
  for (const [url, payload, status] of cases) {
    const [response, cost] = await costOf(app, () => service.post(url, payload));
    t.equal(response.statusCode, status, `${url}: ${response.body}`);
    t.equal(cost.hashes, 0, `${url}: ${cost.hashes} hashes`);
    t.equal(cost.emails, 0, `${url}: no email`);
    t.ok(cost.statements <= 6, `${url}: ${cost.statements} statements`);
  }
});

/** An example value for a field. */
const exampleOf = (name: string, { format }: BodySchema): unknown => {
  if (name.includes('password')) return password;
  if (name.includes('email') || format === 'email') return 'someone@example.com';
  return format === 'uuid' || name === 'role' ? first : 'x';
};

/** Operations in which the password itself is the credential. */
const checksPassword = new Set(['login']);

t.test('no operation hashes a password for a caller without rights', async (t) => {
  const nobody = await createUserWithToken(app, { password: 'none' });
  const reading = new Set(['GET', 'HEAD', 'SEARCH']);
  const callers = [
    { what: 'anonymous', headers: {} },
    { what: 'a member', headers: nobody.headers },
  ];
  let count = 0;
  for (const { what, headers } of callers) {
    for (const { operationId, method, url, fields } of allOperations({ id: first })) {
      if (reading.has(method) || checksPassword.has(operationId)) continue;
      count++;
      const payload = Object.fromEntries([...fields].map(([name, schema]) => [name, exampleOf(name, schema)]));
      for (const body of [payload, [payload], { keys: others, data: { password } }]) {
        const [{ statusCode }, cost] = await costOf(app, () => request({ method, url, headers, payload: body }));
        t.equal(cost.hashes, 0, `${what}: ${operationId}: ${statusCode}: ${cost.hashes} hashes`);
        t.ok(cost.statements <= 12, `${what}: ${operationId}: ${statusCode}: ${cost.statements} statements`);
        if (statusCode >= 400) t.equal(cost.emails, 0, `${what}: ${operationId}: no email`);
      }
    }
  }
  t.ok(count >= 60, `${count} operations`);
});
