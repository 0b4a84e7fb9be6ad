import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { activeHours, activity, loginAttempts, users } from '../../db/schema.js';
import { watchPlans } from '../helpers/database/plans.js';
import { refused } from '../helpers/http/refusals.js';
import { startWithAdmin } from '../helpers/http/writing.js';
import { day, hour, minute } from '../helpers/service/clock.js';
import { createPolicy, createRole, policyWith } from '../helpers/users/rights.js';
import { logIn, refresh } from '../helpers/users/sessions.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

/** A Wednesday, and the first day of a month. */
const beginning = new Date('2040-02-01T10:00:00Z');

interface Interval {
  start: string;
  active_users: number | null;
  sign_ins: number;
  [series: string]: unknown;
}

/** A service whose clock shows `beginning`, and an administrator whose requests do not count as uses of the API in that time. */
async function start(t: Test, variables: Record<string, string> = {}) {
  const service = await startWithAdmin(t, variables);
  const { app, clock, get } = service;
  clock.advance(beginning.getTime() - clock.now().getTime() + minute);
  const policy = await createPolicy(app, { adminAccess: true });
  const { headers } = await createUserWithToken(app, { policies: [policy], lastAccess: new Date('2050-01-01') });
  await app.db.delete(activeHours);
  const read = async (query = '') => {
    const response = await get(`/statistics?${query}`, headers);
    t.equal(response.statusCode, 200, response.body);
    return response.json().data as {
      from: string;
      to: string;
      estimated: boolean;
      intervals: Interval[];
      total_users: number;
      attention: Record<string, { count: number; estimated: boolean }>;
    };
  };
  /** The intervals with at least one number that is not 0, without those numbers. */
  const counted = async (query: string) =>
    (await read(query)).intervals
      .map((interval) =>
        Object.fromEntries(Object.entries(interval).filter(([, value]) => value !== 0 && value !== null)),
      )
      .filter((interval) => Object.keys(interval).length > 1);
  return { ...service, headers, read, counted };
}

const at = (text: string) => `${text}.000Z`;

t.test('logins, failures, and active users are counted in each interval', async (t) => {
  const service = await start(t);
  const { app, clock, post, counted } = service;
  const [ada, bob] = [await createUser(app), await createUser(app, { tfa: true })];
  const logins = async (user: { email: string; password: string }, times: number) => {
    for (let index = 0; index < times; index++) await post('/auth/login', user);
  };
  await logins(ada, 2);
  await logins({ ...ada, password: 'wrong' }, 1);
  await post('/auth/login', { email: 'nobody@example.com', password: 'wrong' });
  // The password is right, but the code is missing. That is the first step of a login.
  await post('/auth/login', bob);
  await post('/auth/login', { ...bob, otp: '000000' });
  clock.advance(hour);
  await logins(ada, 1);
  clock.advance(day);
  await logins(ada, 1);
  const { carrier } = await logIn(service, 'json', await createUser(app));
  clock.advance(4 * day);
  // Monday: a refresh is a use, but not a login.
  t.equal((await refresh(service, { carrier })).statusCode, 200);
  // Uses are written in the background: three of Ada, and two of the other user.
  while ((await app.db.$count(activeHours)) < 5) await sleep(10);

  const period = 'from=2040-01-30&to=2040-03-01';
  const expected = {
    hour: [
      { start: at('2040-02-01T10:00:00'), active_users: 1, sign_ins: 2, failed_sign_ins: 3 },
      { start: at('2040-02-01T11:00:00'), active_users: 1, sign_ins: 1 },
      { start: at('2040-02-02T11:00:00'), active_users: 2, sign_ins: 2 },
      { start: at('2040-02-06T11:00:00'), active_users: 1 },
    ],
    day: [
      { start: at('2040-02-01T00:00:00'), active_users: 1, sign_ins: 3, failed_sign_ins: 3 },
      { start: at('2040-02-02T00:00:00'), active_users: 2, sign_ins: 2 },
      { start: at('2040-02-06T00:00:00'), active_users: 1 },
    ],
    week: [
      { start: at('2040-01-30T00:00:00'), active_users: 2, sign_ins: 5, failed_sign_ins: 3 },
      { start: at('2040-02-06T00:00:00'), active_users: 1 },
    ],
    month: [{ start: at('2040-02-01T00:00:00'), active_users: 2, sign_ins: 5, failed_sign_ins: 3 }],
  };
  const check = async (what: string) => {
    for (const [interval, intervals] of Object.entries(expected)) {
      const query = interval === 'hour' ? 'from=2040-02-01&to=2040-02-10' : period;
      t.strictSame(await counted(`${query}&interval=${interval}`), intervals, `${interval}: ${what}`);
    }
  };
  await check('before any row is linked');
  await app.activityChain.link();
  await check('before the rows are counted');
  const uncounted = (await app.db.$count(activity)) + (await app.db.$count(activeHours));
  t.ok(uncounted > 0);
  const plans = watchPlans(app);
  t.teardown(() => plans.stop());
  t.ok((await plans.during(() => app.statistics.count())) > 0);
  await t.resolves(plans.check(), 'no table is read completely');
  t.equal(await app.db.$count(activeHours), 0);
  await check('after the rows are counted');
  t.equal(await app.statistics.count(), 0, 'nothing is left to count');
  await app.db.delete(activity);
  await check('after the rows have been removed');
});

t.test('sign-ups, locks, and password resets are counted', async (t) => {
  const service = await start(t);
  const { app, post, counted, request, headers } = service;
  await request({
    method: 'PATCH',
    url: '/settings',
    headers,
    payload: { public_registration: true, auth_login_attempts: 3 },
  });
  t.equal(
    (await post('/users/register', { email: 'new@example.com', password: 'a long and new password' })).statusCode,
    204,
  );
  const user = await createUser(app);
  for (let index = 0; index < 4; index++) await post('/auth/login', { ...user, password: 'wrong' });
  const [found] = await counted('interval=day&from=2040-02-01&to=2040-02-02');
  t.match(found, { sign_ups: 1, failed_sign_ins: 4, lockouts: 1 });
});

t.test('a period covers whole intervals in UTC', async (t) => {
  const { read, clock } = await start(t);
  const boundsOf = async (query: string) => {
    const { from, to, intervals } = await read(query);
    t.equal(intervals[0]?.start, from, query);
    return [from, to, intervals.length];
  };
  t.strictSame(await boundsOf(''), [at('2040-01-03T00:00:00'), at('2040-02-02T00:00:00'), 30], 'the default');
  t.strictSame(await boundsOf('interval=hour'), [at('2040-01-31T11:00:00'), at('2040-02-01T11:00:00'), 24]);
  t.strictSame(await boundsOf('interval=week'), [at('2039-11-14T00:00:00'), at('2040-02-06T00:00:00'), 12]);
  t.strictSame(await boundsOf('interval=month'), [at('2039-03-01T00:00:00'), at('2040-03-01T00:00:00'), 12]);
  const moments: [query: string, from: string, to: string, count: number][] = [
    [
      'interval=hour&from=2040-02-01T09:59:59.999Z&to=2040-02-01T10:00:00Z',
      '2040-02-01T09:00:00',
      '2040-02-01T10:00:00',
      1,
    ],
    [
      'interval=hour&from=2040-02-01T09:59:59.999Z&to=2040-02-01T10:00:00.001Z',
      '2040-02-01T09:00:00',
      '2040-02-01T11:00:00',
      2,
    ],
    ['interval=hour&from=2040-02-01T00:30%2B02:00&to=2040-02-01', '2040-01-31T22:00:00', '2040-02-01T00:00:00', 2],
    ['interval=day&from=2040-02-28&to=2040-03-01', '2040-02-28T00:00:00', '2040-03-01T00:00:00', 2],
    [
      'interval=week&from=2040-02-05T23:59:59Z&to=2040-02-06T00:00:01Z',
      '2040-01-30T00:00:00',
      '2040-02-13T00:00:00',
      2,
    ],
    ['interval=month&from=2039-12-31&to=2040-01-01T00:00:01Z', '2039-12-01T00:00:00', '2040-02-01T00:00:00', 2],
    ['interval=month&from=1977-09-01&to=2040-03-01', '1977-09-01T00:00:00', '2040-03-01T00:00:00', 750],
    ['interval=month&from=0001-01-01&to=0001-02-01', '0001-01-01T00:00:00', '0001-02-01T00:00:00', 1],
  ];
  for (const [query, from, to, count] of moments) t.strictSame(await boundsOf(query), [at(from), at(to), count], query);
  clock.advance(-minute);
  t.strictSame((await boundsOf('interval=hour'))[1], at('2040-02-01T11:00:00'), 'now is the beginning of an hour');
});

t.test('an invalid or too long period is rejected', async (t) => {
  const { get, headers } = await start(t);
  for (const query of [
    'interval=minute',
    'interval=hour&interval=day',
    'from=yesterday',
    'from=2040-02-30',
    'from=1',
    'to=2040-13-01',
    'from=2040-02-01&from=2040-02-02',
    'from[_eq]=2040-02-01',
    'from=2040-02-01&to=2040-02-01',
    'from=2040-02-02&to=2040-02-01',
    'from=2050-01-01',
    'interval=hour&from=2040-01-01&to=2040-02-02',
    'interval=day&from=2038-01-01&to=2040-02-02',
    'interval=week&from=2000-01-01&to=2040-02-02',
    'interval=month&from=0001-01-01&to=9999-12-31',
    'interval=hour&from=0001-01-01&to=9999-12-31',
  ]) {
    refused(t, await get(`/statistics?${query}`, headers), 'INVALID_QUERY', query);
  }
});

type Permission = Parameters<typeof policyWith>[1][number];

t.test('a permission to read the whole audit log is enough, and a smaller one is not', async (t) => {
  const { app, get, clock } = await start(t);
  const send = async (permission: Permission, query = '') => {
    const policy = await policyWith(app, [permission], { appAccess: true });
    const { headers } = await createUserWithToken(app, { policies: [policy], lastAccess: clock.now() });
    return get(`/statistics${query}`, headers);
  };
  const reading: Permission = { collection: 'activity', action: 'read', fields: ['*'] };
  t.equal((await send(reading)).statusCode, 200);
  for (const [what, permission] of Object.entries<Permission>({
    'a rule': { ...reading, permissions: { action: { _eq: 'login' } } },
    'another collection': { ...reading, collection: 'users' },
    'another action': { ...reading, action: 'delete' },
  })) {
    refused(t, await send(permission), 'FORBIDDEN', what);
    refused(t, await send(permission, '?interval=nonsense'), 'FORBIDDEN', `${what}, before the query is evaluated`);
  }
});

t.test('what needs attention is counted', async (t) => {
  const service = await start(t);
  const { app, clock, post, headers, read } = service;
  const attention = async () => {
    const entries = Object.entries((await read()).attention);
    t.ok(entries.every(([, { estimated }]) => !estimated));
    return Object.fromEntries(entries.map(([name, { count }]) => [name, count]));
  };
  await app.db.update(users).set({ emailVerifiedAt: clock.now() });
  t.strictSame(await attention(), {
    failed_emails: 0,
    locked_accounts: 0,
    pending_invitations: 0,
    expired_invitations: 0,
    unverified_users: 0,
    // The first administrator, and the one of this test.
    administrators_without_second_factor: 2,
  });

  const role = await createRole(app);
  const invite = (...email: string[]) => post('/users/invite', { email, role }, headers);
  t.equal((await invite('a@example.com', 'b@example.com', 'c@example.com')).statusCode, 204);
  t.match(await attention(), { pending_invitations: 3, expired_invitations: 0 });
  clock.advance(8 * day);
  t.equal((await invite('b@example.com', 'd@example.com')).statusCode, 204);
  t.match(
    await attention(),
    { pending_invitations: 2, expired_invitations: 2 },
    'one of the expired ones is invited again',
  );

  await createUser(app);
  await createUser(app, { status: 'suspended' });
  await createUser(app, { email: null, provider: 'github', externalIdentifier: '1' });
  t.match(await attention(), { unverified_users: 1 }, 'only active users who have an address');

  const until = { lockedUntil: new Date(clock.now().getTime() + hour), lastAttemptAt: clock.now(), failures: 25 };
  await app.db.insert(loginAttempts).values([
    { key: 'one', account: 'one', ...until },
    { key: 'one from a network', account: 'one', ...until },
    { key: 'two', account: 'two', ...until, lockedUntil: clock.now() },
    { key: 'three', account: 'three', ...until, lockedUntil: null },
  ]);
  await createUser(app, { tfa: true, tfaLockedUntil: until.lockedUntil });
  t.match(await attention(), { locked_accounts: 2 });

  const policy = await createPolicy(app, { adminAccess: true });
  const parent = await createRole(app, { policies: [policy] });
  const child = await createRole(app, { parent });
  await createUser(app, { role: child });
  await createUser(app, { role: child, policies: [policy] });
  await createUser(app, { role: child, tfa: true });
  await createUser(app, { role: parent, status: 'suspended' });
  t.match(await attention(), { administrators_without_second_factor: 4 });
});
