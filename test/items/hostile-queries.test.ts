// @suite not-everyday: tries hundreds of cases

import { sql } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import qs from 'qs';
import t, { type Test } from 'tap';
import { userPolicies, users } from '../../db/schema.js';
import { countStatements } from '../helpers/database/statements.js';
import { bearer, codeOf, startTestApp } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { createUser, setLastAccess } from '../helpers/users/users.js';

const { app, request } = await startTestApp(t);
const headers = bearer('token-of-the-admin');
// This id sorts first, so that the administrator is in the first part of every list.
const id = '00000000-0000-4000-8000-000000000000';
await createUser(app, { id, token: 'token-of-the-admin', policies: [await createPolicy(app, { adminAccess: true })] });
const policy = await createPolicy(app);
const team = await createRole(app, { policies: [policy] });
// The administrator of the first start has a random id, and therefore a random place in the lists.
await app.db.update(users).set({ role: team });
/** Creates users with the same role and policy, so that every part of a list has the same relations to follow. */
const addMembers = (count: number) =>
  app.db.execute(
    sql`with members as (
        insert into ${users} (email, role)
        select gen_random_uuid() || '@example.com', ${team}::uuid from generate_series(1, ${count}::integer)
        returning id
      )
      insert into ${userPolicies} ("user", policy) select id, ${policy}::uuid from members`,
  );
await addMembers(60);
const statements = countStatements(app);

type Query = Record<string, unknown>;
const get = (query: string) => request({ method: 'GET', url: `/users?${query}`, headers });
const list = (query: Query) => get(qs.stringify(query));
const search = (query: Query) => request({ method: 'SEARCH', url: '/users', headers, payload: { query } });
await get('limit=1');

const times: number[] = [];
/** Checks that the response is one of those allowed, and records how long it took. */
async function answers(
  t: Test,
  ask: () => Promise<LightMyRequestResponse>,
  allowed: readonly string[],
  what: string,
): Promise<void> {
  const start = performance.now();
  const response = await ask();
  times.push(performance.now() - start);
  const got = response.statusCode === 200 ? 'OK' : `${response.statusCode} ${codeOf(response)}`;
  if (!allowed.includes(got)) t.fail(`${what.slice(0, 200)}: ${got}, expected ${allowed.join(' or ')}`);
}
const bad = ['400 INVALID_QUERY'];
const malformed = ['400 INVALID_QUERY', '400 INVALID_PAYLOAD'];
const unknown = ['403 FORBIDDEN'];
const refused = [...bad, ...unknown];
const fine = ['OK'];

const injections = [
  "'",
  "' or '1'='1",
  "'; drop table users; --",
  '" or ""="',
  '") or 1=1 --',
  "\\'; select pg_sleep(5); --",
  '1; select pg_sleep(5)',
  "') union select password from users --",
  '$$; select pg_sleep(5); $$',
  '$1',
  'id) from users; --',
  'password"',
  '"id"',
  'sessions.id',
  '%27%20or%201=1',
  '/**/or/**/1=1',
  "E'\\x27'",
  'U&"\\0064"',
  "a'||(select password from users limit 1)||'",
  '{"$ne":null}',
  '(a+)+$',
  '^(.*)*$',
  '[[:alpha:]]*',
  '{x}',
];
const inherited = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '__defineGetter__',
];
const inside = [
  'password',
  'token_hash',
  'tfa_last_step',
  'firstName',
  'ctid',
  'xmin',
  'tableoid',
  'sessions',
  't0',
  '*',
];

t.test('an invalid name is rejected wherever a name may be used (CVE-2026-39356)', async (t) => {
  for (const name of [...injections, ...inherited, ...inside]) {
    // A comma or a dot separates names; none of the parts is a valid name.
    const places: Record<string, Query> = {
      filter: { filter: { [name]: { _eq: 'x' } } },
      scalar: { filter: { [name]: 'x' } },
      nested: { filter: { role: { [name]: { _eq: 'x' } } } },
      listed: { filter: { policies: { _some: { [name]: { _eq: 'x' } } } } },
      grouped: { filter: { _or: [{ [name]: { _eq: 'x' } }] } },
      sort: { sort: name === '*' ? '-*' : name },
      descending: { sort: `-${name}` },
      sorted: { sort: `role.${name}` },
      groupBy: { aggregate: { count: '*' }, groupBy: name },
      aggregated: { aggregate: { min: name } },
      operator: { filter: { email: { [`_${name}`]: 'x' } } },
      function: { aggregate: { [name]: '*' } },
      ...(name === '*' ? {} : { fields: { fields: name }, field: { fields: `role.${name}` } }),
      meta: { meta: name === '*' ? 'x' : name },
    };
    for (const [place, query] of Object.entries(places)) {
      const [asJson, asObject] = [{ ...query, filter: JSON.stringify(query.filter) }, structuredOf(query)];
      await answers(t, () => search(query), [...refused, '400 INVALID_PAYLOAD'], `SEARCH ${place} ${name}`);
      await answers(t, () => get(asObject), refused, `GET ${place} ${name}`);
      if (query.filter) await answers(t, () => list(asJson), refused, `GET as JSON ${place} ${name}`);
    }
  }
  const [found] = (await get('aggregate[count]=*')).json().data;
  t.equal(found.count, 62, 'the data is unchanged');
});

/** Writes the query with brackets, including names that the stringifier would omit or read as paths. */
function structuredOf(query: Query): string {
  const write = (value: unknown, path: string): string[] => {
    if (typeof value !== 'object' || value === null) {
      return [`${encodeURIComponent(path)}=${encodeURIComponent(String(value))}`];
    }
    return Object.entries(value).flatMap(([name, part]) => write(part, path === '' ? name : `${path}[${name}]`));
  };
  return write(query, '').join('&');
}

t.test('the same texts are accepted as values', async (t) => {
  const operators = [
    '_eq',
    '_neq',
    '_contains',
    '_ncontains',
    '_icontains',
    '_starts_with',
    '_iends_with',
    '_nends_with',
  ];
  for (const value of [...injections, ...inherited]) {
    for (const operator of operators) {
      const filter = { filter: { first_name: { [operator]: value } } };
      await answers(t, () => search(filter), fine, `${operator} ${value}`);
    }
    await answers(t, () => search({ filter: { email: { _in: [value, value] } } }), fine, `_in ${value}`);
    await answers(t, () => list({ search: value }), fine, `search ${value}`);
    for (const field of ['id', 'role', 'last_access', 'email_notifications']) {
      await answers(t, () => list({ filter: { [field]: { _eq: value } } }), bad, `${field} ${value}`);
    }
    for (const name of ['limit', 'offset', 'page']) {
      await answers(t, () => list({ [name]: value }), bad, `${name} ${value}`);
    }
  }
  const { data } = (await list({ filter: { email: { _eq: "' or '1'='1" } } })).json();
  t.strictSame(data, []);
});

t.test('a value of another type is rejected everywhere', async (t) => {
  const values: unknown[] = [{}, { a: 1 }, [[]], [{}], [[[['x']]]], { __proto__x: 1 }];
  for (const value of values) {
    const what = JSON.stringify(value);
    for (const name of ['fields', 'sort', 'meta', 'search', 'limit', 'offset', 'page']) {
      await answers(t, () => search({ [name]: value }), bad, `${name} ${what}`);
    }
    for (const operator of ['_eq', '_neq', '_contains', '_null', '_empty', '_in', '_nin']) {
      await answers(t, () => search({ filter: { email: { [operator]: value } } }), refused, `${operator} ${what}`);
    }
    for (const operator of ['_gt', '_between', '_eq']) {
      await answers(
        t,
        () => search({ filter: { last_access: { [operator]: value } } }),
        refused,
        `${operator} ${what}`,
      );
    }
  }
  for (const value of [5, 'x', true, [], [{}], '[]', '"x"', '{', 'null', '{"email":', '﻿{}']) {
    const isText = typeof value === 'string';
    await answers(t, () => (isText ? list({ filter: value }) : search({ filter: value })), bad, `filter ${value}`);
    if (!Array.isArray(value)) await answers(t, () => search({ filter: { _and: value } }), bad, `_and ${value}`);
    await answers(t, () => search({ aggregate: value }), bad, `aggregate ${value}`);
  }
  for (const payload of [[], [{}], { query: [] }, { query: 'x' }, { query: 5 }, { query: null }]) {
    const ask = () => request({ method: 'SEARCH', url: '/users', headers, payload });
    await answers(t, ask, malformed, `body ${JSON.stringify(payload)}`);
  }
  t.pass('all of them are rejected');
});

t.test('numbers and dates out of range are rejected', async (t) => {
  const integers = [
    '-2',
    '1.5',
    '1e2',
    '0x10',
    'NaN',
    'Infinity',
    '-Infinity',
    '9'.repeat(16),
    '9'.repeat(400),
    '1 2',
    '٣',
  ];
  for (const value of integers) {
    for (const name of ['limit', 'offset', 'page']) {
      await answers(t, () => list({ [name]: value }), bad, `${name}=${value}`);
    }
  }
  for (const value of [1e308, -1e308, 2 ** 53, 0.5, -2]) {
    for (const name of ['limit', 'offset', 'page']) {
      await answers(t, () => search({ [name]: value }), bad, `${name} ${value}`);
    }
    const ask = () =>
      request({ method: 'SEARCH', url: '/permissions', headers, payload: { query: { filter: { id: value } } } });
    await answers(t, ask, value === -2 ? fine : bad, `id ${value}`);
  }
  for (const value of ['999999999999999', '9007199254740991'.slice(0, 15)]) {
    for (const name of ['limit', 'offset', 'page']) {
      await answers(t, () => list({ [name]: value }), fine, `${name}=${value}`);
    }
  }
  const wrong = [
    '0000-01-01',
    '0000-12-31T23:59:59Z',
    '0001-01-01T00:00:00+14:00',
    '9999-12-31T23:59:59-14:00',
    '10000-01-01',
    '+275760-09-13T00:00:00Z',
    '-000001-01-01T00:00:00Z',
    '275760-09-13',
    '2023-02-29',
    '2023-02-30T00:00:00Z',
    '2023-04-31',
    '2023-00-10',
    '2023-13-01',
    '2023-01-00',
    '2023-01-32',
    '2023-01-01T25:00:00Z',
    '2023-01-01T00:60:00Z',
    '2023-01-01T00:00:61Z',
    '2023-01-01T00:00:00+99:99',
    '2023-1-1',
    '20230101',
    '1700000000000',
    'infinity',
    '-infinity',
    'epoch',
    'now',
    'yesterday',
    '$NOW(',
    '$NOW()',
    '$NOW(1)',
    '$NOW(day)',
    '$NOW(1 fortnight)',
    '$NOW(1.5 days)',
    '$NOW(--1 day)',
    '$NOW(-3000 years)',
    '$NOW(9000 years)',
    '$NOW(999999999 years)',
    '$NOW(999999999999999 ms)',
    '$now',
    '$CURRENT_USER',
    '$constructor',
  ];
  for (const value of wrong) {
    for (const operator of ['_eq', '_gt', '_in']) {
      await answers(t, () => search({ filter: { last_access: { [operator]: value } } }), bad, `${operator} ${value}`);
    }
    await answers(t, () => search({ filter: { last_access: { _between: ['2020-01-01', value] } } }), bad, value);
  }
  for (const value of ['0001-01-01', '9999-12-31T23:59:59.999Z', '2024-02-29', '2023-01-01T00:00:00.123456789+14:00']) {
    await answers(t, () => list({ filter: { last_access: { _gt: value } } }), fine, value);
  }
  t.pass('all of them are rejected');
});

t.test('unusual encodings of names and values cause no error other than a rejection', async (t) => {
  const urls: [string, readonly string[]][] = [
    ['filter[email]=%00', bad],
    ['filter[email][_in]=a,%00', bad],
    ['filter[%00]=x', unknown],
    ['search=a%00b', bad],
    ['sort=%00', unknown],
    ['fields=%00', unknown],
    ['meta=%00', bad],
    ['filter=%7B%22email%22%3A%22%5Cu0000%22%7D', bad],
    ['filter=%7B%22email%22%3A%22%5Cud800%22%7D', bad],
    ['filter=%7B%22%5Cud800%22%3A1%7D', unknown],
    ['filter[email]=%ED%A0%80', fine],
    ['filter[email]=%FF%FE', fine],
    ['filter[email]=%', fine],
    ['filter[email]=%F0%9F%92%A5', fine],
    ['%', fine],
    ['filter', fine],
    ['filter[', unknown],
    ['filter[email', unknown],
    ['filter]email[=x', fine],
    ['filter[email]]=x', fine],
    ['filter[[email]]=x', refused],
    ['filter[][]=x', refused],
    ['filter[email][_eq]=a&filter[email][_eq]=b', bad],
    ['filter[email]=a&filter={}', refused],
    ['limit=1&limit=1', bad],
    ['limit[]=1', bad],
    ['limit[a]=1', bad],
    ['page[__proto__]=1', bad],
    ['search[toString]=1', bad],
    ['__proto__[filter]=x&constructor[prototype][limit]=x', fine],
  ];
  for (const [url, allowed] of urls) await answers(t, () => get(url), allowed, url);
  for (const value of ['\ud800', 'a\0', '\udfff\ud800']) {
    await answers(
      t,
      () => search({ filter: { email: value } }),
      ['400 INVALID_PAYLOAD'],
      'a text that cannot be stored',
    );
    await answers(
      t,
      () => search({ filter: { [value]: 'x' } }),
      ['400 INVALID_PAYLOAD'],
      'a name that cannot be stored',
    );
  }
  t.notOk(({} as Query).filter, 'no prototype was changed');
  t.notOk(({} as Query).limit);
});

/** Nests a filter, such as `{role: {parent: {parent: … filter}}}`. */
const nest = (filter: Query, ...names: string[]) =>
  names.reduceRight<Query>((inner, name) => ({ [name]: inner }), filter);
const repeated = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

t.test('a query has limits of depth, length and number', async (t) => {
  const never = { email: { _eq: 'nobody' } };
  const deep = (levels: number, key: string) => {
    let filter: Query = never;
    for (let level = 1; level < levels; level++) filter = { [key]: [filter] };
    return filter;
  };
  for (const key of ['_and', '_or']) {
    await answers(t, () => search({ filter: deep(10, key) }), fine, `${key} of 10 levels`);
    await answers(t, () => search({ filter: deep(11, key) }), bad, `${key} of 11 levels`);
    const text = `${`{"${key}":[`.repeat(50_000)}{}${']}'.repeat(50_000)}`;
    await answers(t, () => list({ filter: text }), bad, `${key} of 50,000 levels`);
    const payload = `{"query":{"filter":${text}}}`;
    const json = { ...headers, 'content-type': 'application/json' };
    const ask = () => request({ method: 'SEARCH', url: '/users', headers: json, payload });
    await answers(t, ask, malformed, `${key} of 50,000 levels in a body`);
    await answers(t, () => get(`filter${`[${key}][0]`.repeat(200)}[email]=x`), refused, `${key} in brackets`);
  }
  await answers(
    t,
    () => search({ filter: nest({ name: 'x' }, 'role', ...repeated(8, 'parent')) }),
    fine,
    '10 relations',
  );
  await answers(
    t,
    () => search({ filter: nest({ name: 'x' }, 'role', ...repeated(9, 'parent')) }),
    bad,
    '11 relations',
  );
  for (let rounds = 1; rounds <= 4; rounds++) {
    const circle = repeated(rounds, ['role', 'users']).flat();
    await answers(t, () => search({ filter: nest(never, ...circle) }), fine, `a cycle of relations, ${rounds} times`);
    await answers(
      t,
      () => search({ filter: nest(never, ...repeated(rounds, ['policies', 'users']).flat()) }),
      fine,
      'm2m',
    );
    await answers(
      t,
      () => search({ sort: `${repeated(rounds, 'role.parent').join('.')}.name` }),
      [...fine, ...refused],
      'sort',
    );
    await answers(t, () => get(`fields=${circle.join('.')}.id`), rounds === 1 ? fine : bad, 'fields');
  }
  await answers(t, () => search({ sort: `role.${'parent.'.repeat(3)}name` }), fine, 'a sort of 5 levels');
  await answers(t, () => search({ sort: `role.${'parent.'.repeat(50_000)}name` }), bad, 'a sort of 50,000 levels');
  await answers(t, () => search({ fields: `role.${'parent.'.repeat(50_000)}name` }), bad, 'fields of 50,000 levels');
  await answers(t, () => search({ fields: '.'.repeat(900_000) }), refused, 'only dots');
  await answers(t, () => search({ fields: ','.repeat(900_000) }), fine, 'only commas');
  for (let levels = 1; levels <= 9; levels++) {
    await answers(t, () => get(`fields=${repeated(levels, '*').join('.')}`), [...fine, ...bad], `${levels} stars`);
  }
  await answers(t, () => search({ fields: repeated(10_000, 'id') }), bad, '10,000 fields');
  await answers(t, () => search({ fields: repeated(10_000, 'id').join() }), bad, '10,000 fields as CSV');
  await answers(t, () => search({ sort: repeated(10_000, 'id') }), bad, '10,000 sort keys');
  await answers(t, () => search({ meta: repeated(10_000, '*') }), bad, '10,000 metas');
  await answers(t, () => search({ aggregate: { count: repeated(10_000, 'id') } }), bad, '10,000 counts');
  await answers(t, () => search({ aggregate: { count: '*' }, groupBy: repeated(10_000, 'id') }), bad, '10,000 groups');
  await answers(t, () => search({ filter: { _or: repeated(999, never) } }), [...fine, ...bad], 'many conditions');
  await answers(t, () => search({ filter: { _or: repeated(20_000, never) } }), bad, 'too many conditions');
  await answers(t, () => search({ filter: { email: { _in: repeated(5000, 'a') } } }), fine, '5,000 values');
  await answers(t, () => search({ filter: { email: { _in: repeated(5001, 'a') } } }), bad, '5,001 values');
  const many = repeated(14, { email: { _in: repeated(5000, 'a') } });
  await answers(t, () => search({ filter: { _or: many } }), fine, 'more values than a statement has parameters');
  const long = 'x%_\\'.repeat(200_000);
  for (const operator of ['_eq', '_contains', '_icontains', '_ends_with', '_in']) {
    await answers(t, () => search({ filter: { description: { [operator]: long } } }), fine, `1 MB of ${operator}`);
  }
  await answers(t, () => search({ filter: { [long]: 1 } }), unknown, 'a name of 1 MB');
  await answers(t, () => search({ search: long }), bad, 'a search of 1 MB');
  await answers(
    t,
    () => search({ filter: { description: 'x'.repeat(2 ** 20) } }),
    ['400 INVALID_PAYLOAD'],
    'too large',
  );
  const many1 = `${repeated(3000, 'a=1').join('&')}&filter[email][_eq]=nobody`;
  t.strictSame((await get(many1)).json().data, [], 'a condition after 3,000 parameters applies');
});

t.test('the number of statements for a query does not grow with the number of rows in a part', async (t) => {
  const related = ['*.*', 'role.name,role.policies.name,role.users.email,policies.*'] as const;
  const relations = { [related[0]]: 2, [related[1]]: 4 };
  const count = async (query: string) => {
    const before = statements();
    const response = await get(query);
    t.equal(response.statusCode, 200);
    return { rows: response.json().data.length, statements: statements() - before };
  };
  // Prevents writes of last access times in the meantime.
  await setLastAccess(app, app.clock());
  const all = ['', ...related.map((fields) => `fields=${fields}`)];
  const first: Awaited<ReturnType<typeof count>>[] = [];
  for (const query of all) first.push(await count(query));
  await addMembers(60);
  for (const [index, query] of all.entries()) {
    const again = await count(query);
    t.ok(again.rows > (first[index]?.rows ?? again.rows), 'more rows than before');
    t.equal(again.statements, first[index]?.statements, `the same number of statements: ${query}`);
  }
  for (const fields of related) {
    // One statement to authenticate the caller, one for the rows, and one for each relation.
    const page = await count(`fields=${fields}`);
    t.equal(page.statements, 2 + relations[fields], fields);
    // A long list first reads the keys, and then the rows in parts of 100.
    const whole = await count(`fields=${fields}&limit=-1`);
    t.ok(whole.rows > 120);
    t.equal(whole.statements, 2 + Math.ceil(whole.rows / 100) + relations[fields], `limit=-1: ${fields}`);
  }
  t.equal(
    (await count('fields=id,role.name')).statements,
    2,
    'a related item with short values is read together with the row',
  );
  t.equal((await count('meta=*')).statements, 4, 'one statement for each requested count');
});

t.test('no query was slow', async (t) => {
  const sorted = times.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
  t.ok(at(0.5) < 100, `half of the responses take at most ${at(0.5)} ms`);
  t.ok(at(0.99) < 1000, `nearly all take at most ${at(0.99)} ms, even on a busy machine`);
  t.ok(at(1 - 1e-9) < 10_000, `the slowest takes at most ${at(1 - 1e-9)} ms`);
});
