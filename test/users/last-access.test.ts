import { setTimeout as sleep } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import t from 'tap';
import { writeUsesOfSessions, writeUsesOfUsers } from '../../db/queries/sessions/last-used.js';
import { sessions, userUses } from '../../db/schema.js';
import { engine } from '../helpers/database/databases.js';
import { watchPlans } from '../helpers/database/plans.js';
import { hearStatements } from '../helpers/database/statements.js';
import { startTestApp } from '../helpers/service/app.js';
import { createPolicy } from '../helpers/users/rights.js';
import { logIn, refresh } from '../helpers/users/sessions.js';
import { changeUser, createUser, createUserWithToken, lastAccessOf } from '../helpers/users/users.js';

/** The service stores access times after the response, and combines many of them in one statement. */

const service = await startTestApp(t);
const { app, clock } = service;
const minute = 60_000;

const lastAccess = async (id: string) => (await lastAccessOf(app, id))?.getTime() ?? null;

t.test('simultaneous refreshes are stored in few statements, each with its own time', async (t) => {
  const people = await Promise.all(Array.from({ length: 30 }, () => createUser(app)));
  const held = [];
  for (const person of people) held.push(await logIn(service, 'json', person));
  clock.advance(minute);
  // The first one is stored immediately, which starts a pause.
  const [first, ...others] = held;
  if (first) await refresh(service, first);
  const sent: string[] = [];
  const stop = hearStatements(app, ({ text }) => sent.push(text));
  const before = clock.now().getTime();
  for (const { statusCode } of await Promise.all(others.map((session) => refresh(service, session))))
    t.equal(statusCode, 200);
  const noted = async () => (await Promise.all(people.slice(1).map(({ id }) => lastAccess(id)))).map(Number);
  for (let tries = 0; tries < 500 && Math.min(...(await noted())) < before; tries++) await sleep(10);
  stop();
  const now = clock.now().getTime();
  t.ok((await noted()).every((at) => at >= before && at <= now));
  const writings = sent.filter((text) => /update "user_uses"[^;]*last_access/.test(text)).length;
  t.ok(writings > 0 && writings <= 10, `${writings} statements for 29 refreshes`);
});

t.test('the last access of a user is updated only after a minimum interval', async (t) => {
  const [now, before] = [new Date('2030-01-01T12:00:00Z'), new Date('2030-01-01T11:59:00Z')];
  const cases = [
    ['never seen before', null, now],
    ['seen long ago', new Date('2029-01-01T00:00:00Z'), now],
    ['seen just before the threshold', new Date(before.getTime() - 1), now],
    ['seen at the threshold', before, before],
    ['seen later', new Date('2031-01-01T00:00:00Z'), new Date('2031-01-01T00:00:00Z')],
  ] as const;
  const made = await Promise.all(cases.map(([, at]) => createUser(app, { lastAccess: at })));
  const bystander = await createUser(app, { lastAccess: null });
  const uses = new Map(made.map(({ id }) => [id, { now, before }]));
  uses.set('00000000-0000-4000-8000-000000000000', { now, before });
  const plans = watchPlans(app);
  t.strictSame(await plans.during(() => writeUsesOfUsers(app.db, uses)), []);
  await t.resolves(plans.check(), 'without reading all users');
  plans.stop();
  for (const [index, [what, , expected]] of cases.entries())
    t.equal(await lastAccess(made[index]?.id ?? ''), expected.getTime(), what);
  t.equal(await lastAccess(bystander.id), null);
  t.strictSame(await writeUsesOfUsers(app.db, new Map()), []);
});

t.test('the last use of a session is stored with its address and user agent', async (t) => {
  const person = await createUser(app);
  const [one, other] = [await logIn(service, 'json', person), await logIn(service, 'json', person)];
  const stored = async () =>
    (await app.db.select().from(sessions).where(eq(sessions.user, person.id))).map((row) => ({
      at: row.lastUsedAt.getTime(),
      ip: row.ip,
      userAgent: row.userAgent,
    }));
  const ids = (await app.db.select({ id: sessions.id }).from(sessions).where(eq(sessions.user, person.id))).map(
    ({ id }) => id,
  );
  t.ok(one && other && ids.length === 2);
  const now = new Date(clock.now().getTime() + 10 * minute);
  const use = { now, before: now, ip: '2001:db8::9', userAgent: 'a "quoted" agent\\ of 😀' };
  const plans = watchPlans(app);
  const written = () => writeUsesOfSessions(app.db, new Map(ids.map((id) => [id, use])));
  t.strictSame(await plans.during(written), []);
  await t.resolves(plans.check());
  plans.stop();
  const { ip, userAgent } = use;
  t.strictSame(
    await stored(),
    [1, 2].map(() => ({ at: now.getTime(), ip, userAgent })),
  );
  const earlier = { now: new Date(now.getTime() - 1), before: now, ip: null, userAgent: null };
  t.strictSame(await writeUsesOfSessions(app.db, new Map(ids.map((id) => [id, earlier]))), []);
  t.strictSame(
    await stored(),
    [1, 2].map(() => ({ at: now.getTime(), ip, userAgent })),
    'an earlier time is ignored',
  );
});

const skip = engine === 'embedded' && 'there is only one connection';

t.test('a user that another transaction has locked delays nothing, and is stored later', { skip }, async (t) => {
  const [held, free] = [await createUser(app, { lastAccess: null }), await createUser(app, { lastAccess: null })];
  const session = await logIn(service, 'json', held);
  await changeUser(app, held.id, { lastAccess: null });
  const use = { now: clock.now(), before: clock.now() };
  await app.db.transaction(async (tx) => {
    await tx.select().from(userUses).where(eq(userUses.user, held.id)).for('update');
    const left = await writeUsesOfUsers(app.db, new Map([held, free].map(({ id }) => [id, use])));
    t.strictSame(left, [held.id]);
    t.equal(await lastAccess(free.id), use.now.getTime(), 'the other users are stored');
    t.equal((await refresh(service, session)).statusCode, 200, 'a refresh does not wait either');
    await sleep(300);
    t.equal(await lastAccess(held.id), null);
  });
  for (let tries = 0; tries < 500 && (await lastAccess(held.id)) === null; tries++) await sleep(10);
  t.ok(Number(await lastAccess(held.id)) >= use.now.getTime(), 'it is stored when the lock is released');
});

t.test('a search reads the last access only of the users that it returns', async (t) => {
  const policy = await createPolicy(app, { adminAccess: true });
  const { headers } = await createUserWithToken(app, { policies: [policy], lastAccess: clock.now() });
  const people = await Promise.all(
    Array.from({ length: 5 }, (_, hours) =>
      createUser(app, { lastName: 'Findable', lastAccess: new Date(clock.now().getTime() - hours * 60 * minute) }),
    ),
  );
  const expected = people.map(({ id }) => id);
  const find = async (query: string) => {
    const sent: string[] = [];
    const stop = hearStatements(app, ({ text }) => sent.push(text));
    const { data } = (await service.get(`/users?search=findable&fields=id,last_access&${query}`, headers)).json();
    stop();
    const [list = ''] = sent.filter((text) => text.includes('"users" "t0"'));
    return { found: data as { id: string; last_access: string }[], isJoined: /join "user_uses"/.test(list) };
  };
  // Otherwise, PostgreSQL would join the table for every user who matches, before it sorts them.
  const byKey = await find('sort=id&limit=3');
  t.strictSame(
    byKey.found.map(({ id }) => id),
    [...expected].sort().slice(0, 3),
  );
  for (const { id, last_access } of byKey.found) t.equal(new Date(last_access).getTime(), await lastAccess(id));
  t.equal(byKey.isJoined, false);
  const byUse = await find('sort=-last_access&limit=3');
  t.strictSame(
    byUse.found.map(({ id }) => id),
    expected.slice(0, 3),
  );
  t.equal(byUse.isJoined, true, 'the order needs it');
});
