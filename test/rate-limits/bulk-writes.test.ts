// @suite not-everyday: writes many rows

import { eq, like } from 'drizzle-orm';
import t from 'tap';
import { policies, roles, sessions, userPolicies, users } from '../../db/schema.js';
import { engine } from '../helpers/database/databases.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, patch, remove, startWithAdmin } from '../helpers/http/writing.js';
import { costOf } from '../helpers/measurements/costs.js';
import { worstBlock } from '../helpers/measurements/worst-block.js';
import { createPolicy } from '../helpers/users/rights.js';

/** Writing many items takes as many statements as writing one, and does not block the event loop for long. */

const most = engine === 'embedded' ? 300 : 10_000;
const counts = [1, 100, most];
/** Milliseconds, on a machine of normal speed. */
const maxBlockMs = 250;

const service = await startWithAdmin(t, { MAX_PAYLOAD_SIZE: '10mb' });
const { app, post } = service;
const policy = await createPolicy(app);
const other = await createPolicy(app);

interface Step {
  what: string;
  send(count: number): ReturnType<typeof post>;
  hashes?: number;
  /** Whether the users are notified. */
  notifies?: true;
}

let list = 0;
let ids: string[] = [];
const named = (count: number, make: (name: string) => object) =>
  Array.from({ length: count }, (_, index) => make(`many-${list}-${index}`));
const create = async (path: string, items: object[]) => {
  const response = await post(`${path}?fields=id`, items, asAdmin);
  if (response.statusCode === 200) ids = response.json().data.map(({ id }: { id: string }) => id);
  return response;
};
const sameData = (path: string, data: object) => () => patch(service, `${path}?fields=id`, { keys: ids, data });
const each = (path: string, make: (index: number) => object) => () =>
  patch(
    service,
    `${path}?fields=id`,
    ids.map((id, index) => ({ id, ...make(index) })),
  );
const byQuery = (path: string, filter: object, data: object) => () =>
  patch(service, `${path}?fields=id`, { query: { filter, limit: -1 }, data });
/** Different columns for each item, with more combinations than there could be prepared statements. */
const mixed = (index: number) =>
  Object.fromEntries(
    ['first_name', 'last_name', 'title', 'location', 'description', 'language', 'last_page', 'appearance']
      .filter((_, bit) => (index + 1) & (1 << bit))
      .map((name) => [name, `${index}`]),
  );

const steps: Step[] = [
  {
    what: 'create users',
    send: (count) =>
      create(
        '/users',
        named(count, (name) => ({
          email: `${name}@example.com`,
          provider: 'github',
          external_identifier: name,
          policies: [policy],
        })),
      ),
  },
  { what: 'update users with the same values', send: sameData('/users', { title: 'all', policies: [policy, other] }) },
  { what: 'update each user', send: each('/users', mixed) },
  {
    what: 'update each address and token',
    send: each('/users', (index) => ({
      email: `moved-${list}-${index}@example.com`,
      token: `the-token-of-a-user-${list}-${index}-abcdefgh`,
    })),
    notifies: true,
  },
  {
    what: 'update links of each user',
    send: each('/users', (index) => ({ policies: index % 2 ? [policy] : [policy, other] })),
  },
  {
    what: 'update users by query',
    send: (count) =>
      count > 0
        ? byQuery('/users', { email: { _starts_with: `moved-${list}-` } }, { description: 'x' })()
        : create('', []),
  },
  {
    what: 'set one password',
    send: sameData('/users', { password: 'one password for all of them' }),
    hashes: 1,
    notifies: true,
  },
  { what: 'suspend users', send: sameData('/users', { status: 'suspended' }) },
  { what: 'delete users', send: () => remove(service, '/users', ids) },
  {
    what: 'create roles',
    send: (count) =>
      create(
        '/roles',
        named(count, (name) => ({ name, policies: [policy, other] })),
      ),
  },
  { what: 'update each role', send: each('/roles', (index) => ({ policies: index % 2 ? [] : [other] })) },
  { what: 'delete roles', send: () => remove(service, '/roles', { keys: ids }) },
  {
    what: 'create policies',
    send: (count) =>
      create(
        '/policies',
        named(count, (name) => ({ name })),
      ),
  },
  {
    what: 'update each policy',
    send: each('/policies', (index) => (index % 2 ? { icon: 'x' } : { description: 'x' })),
  },
  { what: 'delete policies', send: () => remove(service, '/policies', ids) },
  {
    what: 'create permissions',
    send: (count) =>
      create(
        '/permissions',
        named(count, () => ({ policy, collection: 'users', action: 'read', fields: ['id'] })),
      ),
  },
  { what: 'update each permission', send: each('/permissions', (index) => ({ fields: [`f${index}`] })) },
  { what: 'delete permissions', send: () => remove(service, '/permissions', ids) },
];

t.test('the number of statements does not grow with the number of items', async (t) => {
  const found = new Map<string, number[]>();
  // The first run is not measured, because it compiles schemas.
  for (const { send } of steps) await send(1);
  for (const count of counts) {
    list++;
    for (const { what, send, hashes = 0, notifies } of steps) {
      if (what === 'suspend users') await signInAll();
      const [[response, cost], blocked] = await worstBlock(() => costOf(app, () => send(count)));
      t.equal(response.statusCode, response.body === '' ? 204 : 200, `${what}: ${response.body.slice(0, 200)}`);
      if (what === 'suspend users') t.equal(await app.db.$count(sessions), 0, 'their sessions have ended');
      if (what === 'update links of each user' && count > 1) {
        const links = await app.db.$count(userPolicies, eq(userPolicies.policy, other));
        t.equal(links, Math.ceil(count / 2), 'each user has their own links');
      }
      found.set(what, [...(found.get(what) ?? []), cost.statements]);
      t.comment(`${count}: ${what}: ${cost.statements} statements, ${Math.round(blocked)} ms`);
      t.equal(cost.hashes, hashes, `${count}: ${what}: ${cost.hashes} hashes`);
      t.ok(notifies ? cost.emails <= 1 : cost.emails === 0, `${count}: ${what}: ${cost.emails} statements for emails`);
      t.ok(blocked < maxBlockMs, `${count}: ${what}: blocked for ${Math.round(blocked)} ms at most`);
    }
  }
  for (const [what, numbers] of found) {
    const [one = 0, , many = 0] = numbers;
    // The items of a large response are read in parts of 500.
    t.ok(many <= one + Math.ceil(most / 500), `${what}: ${numbers} statements`);
  }
});

/** Creates two sessions for each user. */
async function signInAll(): Promise<void> {
  const now = app.clock();
  const rows = ids.flatMap((user) => [0, 1].map(() => ({ user, expiresAt: new Date(now.getTime() + 1e6) })));
  for (let start = 0; start < rows.length; start += 1_000) {
    await app.db.insert(sessions).values(
      rows.slice(start, start + 1_000).map((row) => ({
        ...row,
        createdAt: now,
        lastUsedAt: now,
      })),
    );
  }
}

t.test('each row gets its own values', async (t) => {
  await create('/users', [
    { email: 'one@example.com', provider: 'x', title: 'kept', tags: ['a'] },
    { email: 'two@example.com', provider: 'x', title: 'kept', tags: ['b'] },
    { email: 'three@example.com', provider: 'x' },
  ]);
  const [one, two, three] = ids;
  const response = await patch(service, '/users?fields=title,tags,first_name', [
    { id: three, first_name: 'Three' },
    { id: one, title: null, tags: ['c', 'd'] },
    { id: two, tags: null },
  ]);
  t.strictSame(response.json().data, [
    { title: null, tags: null, first_name: 'Three' },
    { title: null, tags: ['c', 'd'], first_name: null },
    { title: 'kept', tags: null, first_name: null },
  ]);
});

t.test(
  'the embedded engine accepts fewer items per request',
  { skip: engine !== 'embedded' && 'embedded engine only' },
  async (t) => {
    const roleCount = await app.db.$count(roles);
    const tooMany = named(most + 1, (name) => ({ name, email: `${name}@example.com`, provider: 'x' }));
    const keys = tooMany.map(() => policy);
    for (const response of [
      await post('/users', tooMany, asAdmin),
      await post('/roles', { data: tooMany }, asAdmin),
      await patch(service, '/users', { keys, data: { title: 'x' } }),
      await patch(
        service,
        '/policies',
        keys.map((id) => ({ id, icon: 'x' })),
      ),
      await remove(service, '/permissions', { keys: keys.map((_, index) => index) }),
    ]) {
      refused(t, response, 'INVALID_PAYLOAD', 'too many items');
      t.match(response.json().errors[0].extensions.reason, '300');
    }
    t.equal(await app.db.$count(users, like(users.email, `many-%`)), 0);
    t.equal(await app.db.$count(roles), roleCount);
    t.equal(await app.db.$count(policies, like(policies.icon, 'x')), 0);
  },
);
