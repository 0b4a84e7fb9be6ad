// @suite not-everyday: invites thousands of users

import { request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { eq, like, sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { roles, users } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { engine, schemas } from '../helpers/database/databases.js';
import { hearStatements, type Sent } from '../helpers/database/statements.js';
import { refused } from '../helpers/http/refusals.js';
import { slowness } from '../helpers/measurements/slowness.js';
import { isLong } from '../helpers/runner/long.js';
import { startTestApp } from '../helpers/service/app.js';
import { assertUnchanged, createPolicy, createRole, policyWith } from '../helpers/users/rights.js';
import { createUserWithToken } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, post } = service;
const role = await createRole(app);
const [administrators] = await app.db.select().from(roles).where(eq(roles.name, 'Administrator'));
const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
const inviting = { collection: 'users', action: 'create' as const, fields: ['email', 'role', 'status'] };
const desk = await createUserWithToken(app, {
  role: await createRole(app, { policies: [await policyWith(app, [inviting])] }),
});

let lists = 0;
/** Unused addresses. */
const newAddresses = (count: number) => {
  const list = ++lists;
  return Array.from({ length: count }, (_, index) => `bulk-${list}-${index}@example.com`);
};
const invite = (email: string[], to = role, headers = admin.headers) =>
  post('/users/invite', { email, role: to }, headers);

/** Returns the statements sent during some work, except those that record last use in the background. */
async function sentDuring<T>(work: () => Promise<T>): Promise<[result: T, statements: Sent[]]> {
  const statements: Sent[] = [];
  const stop = hearStatements(app, (statement) => {
    if (!/with used as/.test(statement.text)) statements.push(statement);
  });
  try {
    return [await work(), statements];
  } finally {
    stop();
  }
}

const invitedAmong = (list: number) => app.db.$count(users, like(users.email, `bulk-${list}-%`));
const jobsOf = async (list: number) => {
  // Compared here instead of in a join, because the planner underestimates the number of rows just written.
  const found = await app.db
    .select({ id: users.id })
    .from(users)
    .where(like(users.email, `bulk-${list}-%`));
  const ids = new Set(found.map(({ id }) => id));
  const jobs = await rows<{ user: string }>(
    app.db,
    sql`select data ->> 'user' as "user" from ${sql.raw(schemas.queue)}.job where name = 'mail'`,
  );
  return jobs.filter(({ user }) => ids.has(user)).length;
};

/** The number of addresses in the largest request. */
const most = isLong ? 10_000 : 2_000;

t.test('the number of statements does not grow with the number of addresses', async (t) => {
  const counts = new Map<number, number>();
  for (const count of [1, 100, most]) {
    const heap = process.memoryUsage().heapUsed;
    const start = performance.now();
    const [answer, statements] = await sentDuring(() => invite(newAddresses(count)));
    t.equal(answer.statusCode, 204, answer.body);
    counts.set(count, statements.length);
    t.comment(`${count} addresses: ${statements.length} statements, ${Math.round(performance.now() - start)} ms`);
    t.ok(process.memoryUsage().heapUsed - heap < 150e6, 'memory is bounded');
    t.equal(await invitedAmong(lists), count);
    t.equal(await jobsOf(lists), count, 'one email per address');
  }
  t.ok((counts.get(1) ?? 0) <= 8, `${counts.get(1)} statements`);
  for (const [count, statements] of counts) {
    // The embedded engine works in batches of 50, each with as many statements as a single address.
    const batches = engine === 'embedded' ? Math.ceil(count / 50) : 1;
    t.ok(statements <= batches * (counts.get(1) ?? 0), `${count} addresses: ${statements} statements`);
  }

  t.test('the number of statements does not grow for repeated invitations either', async (t) => {
    const list = newAddresses(41);
    await invite(list);
    const other = await createRole(app);
    const [one, single] = await sentDuring(() => invite(list.slice(0, 1), other));
    const [all, many] = await sentDuring(() => invite(list.slice(1), other));
    t.strictSame([one.statusCode, all.statusCode], [204, 204]);
    t.ok(many.length <= single.length, `${many.length} statements instead of ${single.length}`);
    t.equal(await app.db.$count(users, eq(users.role, other)), 41);
    t.equal(await jobsOf(lists), 82);
  });
});

t.test('callers who are not administrators can invite at most 100 users per request', async (t) => {
  t.equal((await invite(newAddresses(100), role, desk.headers)).statusCode, 204);
  await assertUnchanged(t, app, 'too many', async () => {
    for (const count of [101, 10_000]) {
      const [answer, statements] = await sentDuring(() => invite(newAddresses(count), role, desk.headers));
      refused(t, answer, 'INVALID_PAYLOAD', `${count}`);
      t.match(answer.json().errors[0].extensions.reason, '100');
      t.ok(statements.length <= 4, `${statements.length} statements`);
    }
  });
});

t.test('a denied request costs the same for 1 address as for 100, and sends no email', async (t) => {
  const target = administrators?.id ?? '';
  await assertUnchanged(t, app, 'refused', async () => {
    const counts = [];
    for (const count of [1, 100]) {
      const [answer, statements] = await sentDuring(() => invite(newAddresses(count), target, desk.headers));
      refused(t, answer, 'FORBIDDEN', `${count}`);
      t.notOk(
        statements.some(({ text }) => /insert into (pgboss|"users")|^begin/i.test(text)),
        'nothing was written, not even in a transaction that was rolled back',
      );
      // The denied request is recorded after the response is sent, so this statement may arrive too late to be seen.
      counts.push(statements.filter(({ text }) => !/insert into "activity"/.test(text)).length);
    }
    const [one = 0, hundred = 0] = counts;
    // The statements may include a late one from an earlier request.
    t.ok(hundred <= 6 && hundred <= one + 1, `${counts} statements`);
  });
  // The last address in alphabetical order.
  const pending = ['zz-pending@example.com'];
  await invite(pending, target);
  await assertUnchanged(t, app, 'one address belongs to an administrator', async () => {
    const [answer, statements] = await sentDuring(() => invite([...newAddresses(99), ...pending], role, desk.headers));
    refused(t, answer, 'FORBIDDEN', 'an administrator who is already invited');
    t.notOk(statements.some(({ text }) => /insert into (pgboss|"users")/i.test(text)));
  });
});

/**
 * The milliseconds that this process worked during a request, scaled to a machine of the usual speed. The work of
 * other processes is not included.
 */
async function waitOf(work: () => Promise<unknown>): Promise<number> {
  const before = slowness();
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const taken = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return Math.min(taken, (user + system) / 1000) / Math.max(before, slowness());
}

/** Sends 40 regular requests while the service processes others. @returns the duration of the slowest */
async function serveHonest(t: Test, others: Promise<unknown>[]): Promise<number> {
  let isOver = false;
  const all = Promise.all(others).then((answers) => {
    isOver = true;
    return answers;
  });
  let longest = 0;
  let meanwhile = 0;
  for (let index = 0; index < 40; index++) {
    if (!isOver) meanwhile++;
    const wait = await waitOf(async () => {
      t.equal((await service.get('/users/me', admin.headers)).statusCode, 200);
    });
    longest = Math.max(longest, wait);
    await sleep(5);
  }
  await all;
  t.comment(`${meanwhile} of 40 requests ran meanwhile; the slowest took ${Math.round(longest)} ms`);
  return longest;
}

t.test('regular requests stay fast while denied callers try to invite up to 10,000 users each', async (t) => {
  const target = administrators?.id ?? '';
  const payloads = Array.from({ length: 10 }, (_, index) => newAddresses(index % 2 ? 100 : 10_000));
  const longest = await serveHonest(
    t,
    payloads.map((list) => invite(list, target, desk.headers)),
  );
  t.ok(longest < 250 * slowness(), `${Math.round(longest)} ms`);
});

t.test(`regular requests stay fast while an administrator invites ${most} users`, async (t) => {
  const longest = await serveHonest(t, [invite(newAddresses(most))]);
  t.ok(longest < 250 * slowness(), `${Math.round(longest)} ms`);
  t.equal(await invitedAmong(lists), most);
});

t.test('an invitation stops when the client disconnects', async (t) => {
  const server = await startTestApp(t);
  const caller = await createUserWithToken(server.app, {
    policies: [await createPolicy(server.app, { adminAccess: true })],
  });
  await server.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = server.app.server.address() as AddressInfo;
  const body = JSON.stringify({ email: newAddresses(10_000), role: await createRole(server.app) });
  const headers = { ...caller.headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const sent = httpRequest({ host: '127.0.0.1', port, path: '/users/invite', method: 'POST', headers });
  const stop = hearStatements(server.app, ({ text }) => {
    if (/insert into "users"/.test(text)) sent.destroy();
  });
  await new Promise<void>((resolve) => {
    sent.on('error', () => resolve());
    sent.on('response', () => resolve());
    sent.end(body);
  });
  const count = () => server.app.db.$count(users, like(users.email, `bulk-${lists}-%`));
  let [before, after] = [-1, await count()];
  while (before !== after) {
    await sleep(500);
    [before, after] = [after, await count()];
  }
  stop();
  if (engine === 'embedded') t.ok(after < 5_000, `${after} of 10,000 were invited, in complete batches`);
  else t.equal(after, 0, 'no user was invited');
});

t.test('without a role, a request that is refused invites nobody again', async (t) => {
  const pending = newAddresses(120);
  t.equal((await invite(pending)).statusCode, 204);
  await assertUnchanged(t, app, 'one address is new', async () => {
    const email = [...pending, 'zz-new@example.com'];
    refused(t, await post('/users/invite', { email }, admin.headers), 'INVALID_PAYLOAD', 'a role is required');
  });
  t.equal((await post('/users/invite', { email: pending }, admin.headers)).statusCode, 204);
});
