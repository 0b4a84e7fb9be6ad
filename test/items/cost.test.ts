// @suite not-everyday: measures what queries cost

import qs from 'qs';
import t, { type Test } from 'tap';
import { permissions, users } from '../../db/schema.js';
import { engine } from '../helpers/database/databases.js';
import { bearer, codeOf, startTestApp } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { createUser } from '../helpers/users/users.js';

const { app, request } = await startTestApp(t);
const member = bearer('token-of-a-member-of-the-staff');
const administrator = bearer('token-of-an-administrator');
/** A policy with every permission on users that can be granted. */
const staff = await createPolicy(app);
for (const action of ['create', 'read', 'update', 'delete'] as const) {
  await app.db.insert(permissions).values({ policy: staff, collection: 'users', action, fields: ['*'] });
}
for (const collection of ['roles', 'policies']) {
  await app.db.insert(permissions).values({ policy: staff, collection, action: 'read', fields: ['*'] });
}
const role = await createRole(app, { policies: [staff] });
await createUser(app, { token: 'token-of-a-member-of-the-staff', role });
await createUser(app, {
  token: 'token-of-an-administrator',
  policies: [await createPolicy(app, { adminAccess: true })],
});

type Query = Record<string, unknown>;

/** Every operation that accepts a query. */
const operations: Record<string, (query: Query, headers: object) => ReturnType<typeof request>> = {
  list: (query, headers) => {
    const json = Object.fromEntries(
      Object.entries(query).map(([name, value]) => [name, name === 'filter' ? JSON.stringify(value) : value]),
    );
    return request({ method: 'GET', url: `/users?${qs.stringify(json)}`, headers: { ...headers } });
  },
  SEARCH: (query, headers) => request({ method: 'SEARCH', url: '/users', headers: { ...headers }, payload: { query } }),
  update: (query, headers) =>
    request({ method: 'PATCH', url: '/users', headers: { ...headers }, payload: { query, data: { title: 'x' } } }),
  delete: (query, headers) => request({ method: 'DELETE', url: '/users', headers: { ...headers }, payload: { query } }),
};

const never = { title: { _contains: 'no one has this title' } };
const repeated = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

/** Checks that the query is rejected for members, with the limit in the reason, and accepted for administrators. */
async function isBounded(t: Test, query: Query, bound: number, names = Object.keys(operations)) {
  for (const name of names) {
    const refused = await operations[name]?.(query, member);
    t.equal(refused?.statusCode, 400, `${name}: ${refused?.body}`);
    t.equal(refused && codeOf(refused), 'INVALID_QUERY');
    t.match(refused?.json().errors[0].extensions.reason, new RegExp(`\\b${bound}\\b`), 'the reason names the limit');
    const allowed = await operations[name]?.(query, administrator);
    t.match(allowed?.statusCode, /^20[04]$/, `${name} for an administrator: ${allowed?.body}`);
  }
}

async function isAllowed(t: Test, query: Query, names = Object.keys(operations)) {
  for (const name of names) {
    const allowed = await operations[name]?.(query, member);
    t.match(allowed?.statusCode, /^20[04]$/, `${name}: ${allowed?.body}`);
  }
}

t.test('a filter has at most 50 conditions, however they are grouped', async (t) => {
  const flat = (count: number) => ({ filter: { _and: [...repeated(count - 1, never), { title: 'x' }] } });
  await isAllowed(t, flat(50));
  await isBounded(t, flat(51), 50);
  const inOne = { title: { _contains: 'no one has this title', _ncontains: 'y' } };
  await isBounded(t, { filter: { _and: repeated(26, inOne) } }, 50);
  const nested = { policies: { _some: { name: { _eq: 'no policy has this name' } } } };
  await isAllowed(t, { filter: { _and: repeated(50, nested) } });
  await isBounded(t, { filter: { _and: repeated(51, nested) } }, 50);
  const groups = repeated(100, { _or: [{ _and: [] }] });
  await isAllowed(t, { filter: { _and: [never, ...groups] } });
});

t.test('a filter has at most 500 values', async (t) => {
  const listed = (...counts: number[]) => ({
    filter: { _and: counts.map((count) => ({ title: { _in: repeated(count, 'no one has this title') } })) },
  });
  await isAllowed(t, listed(500));
  await isBounded(t, listed(501), 500);
  await isBounded(t, listed(250, 251), 500);
  await isAllowed(t, listed(250, 250));
});

t.test('conditions in permission rules are not counted', async (t) => {
  const headers = bearer('token-of-somebody-with-rules');
  const policy = await createPolicy(app);
  const rule = { _or: [...repeated(60, never), { id: { _nnull: true } }] };
  await app.db
    .insert(permissions)
    .values({ policy, collection: 'users', action: 'read', fields: ['id', 'title'], permissions: rule });
  await createUser(app, { token: 'token-of-somebody-with-rules', policies: [policy] });
  const response = await operations.SEARCH?.({ filter: { _or: repeated(50, never) } }, headers);
  t.equal(response?.statusCode, 200, 'the query is accepted');
});

t.test('a list has at most 1000 rows', async (t) => {
  await app.db
    .insert(users)
    .values(Array.from({ length: 1_010 }, (_, index) => ({ email: `many-${index}@example.com`, title: 'many' })));
  await isBounded(t, { limit: 1001, fields: 'id' }, 1000, ['list', 'SEARCH']);
  for (const name of ['list', 'SEARCH']) {
    const cut = await operations[name]?.({ limit: -1, fields: 'id' }, member);
    t.equal(cut?.json().data.length, 1000, `${name} is truncated`);
    const all = await operations[name]?.({ limit: -1, fields: 'id' }, administrator);
    t.ok(all?.json().data.length > 1010, `${name} returns all rows to an administrator`);
  }
  const many = { filter: { title: { _eq: 'many' } } };
  for (const name of ['update', 'delete']) {
    const refused = await operations[name]?.(many, member);
    // The embedded engine allows fewer items per request anyway.
    const code = engine === 'embedded' ? 'INVALID_PAYLOAD' : 'INVALID_QUERY';
    t.equal(refused && codeOf(refused), code, `${name} never applies to a part of the rows: ${refused?.body}`);
    const some = await operations[name]?.({ ...many, limit: 5, sort: 'email' }, member);
    t.match(some?.statusCode, /^20[04]$/, `${name} of a few rows`);
  }
  const { data } = (await operations.list?.({ 'aggregate[count]': '*', ...many }, administrator))?.json() ?? {};
  t.strictSame(data, [{ count: 1000 }], 'the other rows still exist');
});

t.test('aggregate and groupBy have at most 20 columns, and each name is counted once', async (t) => {
  const texts = ['email', 'first_name', 'last_name', 'location', 'title', 'description', 'language', 'status'];
  const twenty = {
    aggregate: { min: texts, max: texts, count: ['*', 'id', 'id', 'id'] },
    groupBy: ['status', 'title', 'status'],
  };
  await isAllowed(t, twenty, ['list', 'SEARCH']);
  await isBounded(t, { ...twenty, groupBy: ['status', 'title', 'language'] }, 20, ['list', 'SEARCH']);
  for (const headers of [member, administrator]) {
    const names = repeated(1000, 'email');
    const aggregate = { count: names, countDistinct: names, min: names, max: names };
    const response = await operations.SEARCH?.({ aggregate, groupBy: repeated(900, 'status') }, headers);
    t.equal(response?.statusCode, 200, `4 × 1000 names: ${response?.body.slice(0, 200)}`);
  }
});
