// @suite not-everyday: sends many requests

import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import t from 'tap';
import { knownNetworks, settings } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { median } from '../helpers/measurements/statistics.js';
import { isLong } from '../helpers/runner/long.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { day, minute } from '../helpers/service/clock.js';
import { countChecks, loginsOf } from '../helpers/users/logins.js';
import { changeUser, createSignedInUser, createUser, deleteUser } from '../helpers/users/users.js';

t.test('the networks from which a user has logged in', async (t) => {
  const service = await startTestApp(t);
  const { app, clock } = service;
  const { right, wrong } = loginsOf(service);
  const networksOf = async (user: string) =>
    (await app.db.select().from(knownNetworks).where(eq(knownNetworks.user, user)))
      .map(({ network }) => network)
      .sort();

  t.test('each network is stored once', async (t) => {
    const ada = await createUser(app);
    await wrong(ada, '192.0.2.9');
    await Promise.all(Array.from({ length: 5 }, () => right(ada, '192.0.2.1')));
    await right(ada, '2001:db8:1:2:3:4:5:6');
    t.strictSame(await networksOf(ada.id), ['192.0.2.1', '2001:db8:1:2::']);
    await deleteUser(app, ada.id);
    t.strictSame(await networksOf(ada.id), [], 'deleted with the user');
  });

  t.test('with a second factor, a correct password alone does not store the network', async (t) => {
    const holder = await createSignedInUser(service, { tfa: true });
    refused(t, await holder.login(), 'INVALID_OTP', 'the first step');
    t.strictSame(await networksOf(holder.id), []);
  });

  t.test('only the latest twenty networks, from the last ninety days, are kept', async (t) => {
    const ada = await createUser(app);
    for (let index = 0; index < 23; index++) {
      t.equal((await right(ada, `192.0.2.${100 + index}`)).statusCode, 200);
      clock.advance(minute);
    }
    const kept = await networksOf(ada.id);
    t.equal(kept.length, 20);
    t.notOk(kept.includes('192.0.2.102'));
    t.ok(kept.includes('192.0.2.103') && kept.includes('192.0.2.122'));
    clock.advance(89 * day);
    await right(ada, '192.0.2.110');
    clock.advance(2 * day);
    await app.lockouts.deleteExpired();
    t.strictSame(await networksOf(ada.id), ['192.0.2.110']);
  });
});

t.test('one address cannot try many accounts that have never logged in from it', async (t) => {
  const service = await startTestApp(t, { RATE_LIMITER_ENABLED: 'true', RATE_LIMITER_POINTS: '1000000' });
  const { app, clock } = service;
  const { right, wrong, logIn } = loginsOf(service);
  const office = '192.0.2.1';
  const ada = await createUser(app);
  const bob = await createUser(app);
  t.equal((await right(ada, office)).statusCode, 200);
  for (let index = 1; index < 300; index++) {
    const response = await logIn(`victim-${index}@example.com`, 'Password123!', office);
    if (response.statusCode !== 401) throw new Error(response.body);
  }
  refused(t, await logIn('another@example.com', 'Password123!', office), 'REQUESTS_EXCEEDED', 'an unknown account');
  refused(t, await right(bob, office), 'REQUESTS_EXCEEDED', 'a known account without a login from there');
  t.equal((await right(ada, office)).statusCode, 200, 'a user with an earlier login from there can log in');
  refused(
    t,
    await wrong(ada, office),
    'REQUESTS_EXCEEDED',
    'a wrong password for that account gets the same error as any other',
  );
  t.equal((await right(bob, '192.0.2.2')).statusCode, 200, 'another address');
  clock.advance(15 * minute);
  t.equal((await right(bob, office)).statusCode, 200, 'a quarter of an hour later');
});

t.test('an address with too many wrong passwords does not learn who logs in from there', async (t) => {
  const service = await startTestApp(t, { RATE_LIMITER_ENABLED: 'true', RATE_LIMITER_POINTS: '1000000' });
  const { app, clock } = service;
  const { right, wrong, logIn } = loginsOf(service);
  const office = '192.0.2.1';
  const [known, locked, elsewhere] = [await createUser(app), await createUser(app), await createUser(app)];
  const suspended = await createUser(app);
  for (const account of [known, locked, suspended]) t.equal((await right(account, office)).statusCode, 200);
  t.equal((await right(elsewhere, '192.0.2.2')).statusCode, 200);
  await changeUser(app, suspended.id, { status: 'suspended' });
  for (let index = 0; index < 25; index++) refused(t, await wrong(locked, office), 'INVALID_CREDENTIALS', 'a guess');
  refused(t, await wrong(locked, office), 'REQUESTS_EXCEEDED', 'locked');
  for (let index = 0; index < 275; index++) await logIn(`victim-${index}@example.com`, 'Password123!', office);

  const kinds: Record<string, () => ReturnType<typeof logIn>> = {
    'an account with logins from there': () => wrong(known, office),
    'a locked account': () => wrong(locked, office),
    'a suspended account': () => right(suspended, office),
    'an account with logins from elsewhere, with the correct password': () => right(elsewhere, office),
    'an account with logins from elsewhere': () => wrong(elsewhere, office),
    'no account': () => logIn('nobody@example.com', 'Password123!', office),
  };
  const times = new Map<string, number[]>(Object.keys(kinds).map((kind) => [kind, []]));
  const seen = new Set<string>();
  const resets: number[] = [];
  for (let round = 0; round < (isLong ? 15 : 7); round++) {
    for (const [kind, ask] of Object.entries(kinds)) {
      const start = performance.now();
      const response = await ask();
      times.get(kind)?.push(performance.now() - start);
      refused(t, response, 'REQUESTS_EXCEEDED', kind);
      const [{ message, extensions }] = response.json().errors;
      const { reset, ...others } = extensions;
      resets.push(Date.parse(reset));
      const { 'x-request-id': _id, date: _date, 'retry-after': _left, ...headers } = response.headers;
      seen.add(JSON.stringify({ headers, message, others }));
    }
  }
  t.equal(seen.size, 1, 'the same status, headers and body');
  t.ok(Math.max(...resets) - Math.min(...resets) < 50, 'the same reset');
  const medians = [...times.values()].map(median);
  const shown = medians.map((time) => Math.round(time));
  t.ok(Math.max(...medians) - Math.min(...medians) < 30, `in the same time: ${shown} ms`);

  t.equal((await right(known, office)).statusCode, 200, 'the correct password of a known account works');
  refused(t, await right(locked, office), 'REQUESTS_EXCEEDED', 'unless it is locked');
  // The first lock takes 30 seconds. On a slow machine it ends during the rounds above, and a longer one follows.
  clock.advance(5 * minute);
  t.equal((await right(locked, office)).statusCode, 200);
  const checked = countChecks(app);
  for (let index = 0; index < 10; index++) await right(elsewhere, office);
  t.equal(checked(), 0, 'no hash is computed for accounts without logins from there');
  await wrong(known, office);
  t.equal(checked(), 1);
  clock.advance(15 * minute);
  t.equal((await right(elsewhere, office)).statusCode, 200, 'a quarter of an hour later');
});

t.test('the limit applies wherever a password is required', async (t) => {
  const service = await startTestApp(t, { RATE_LIMITER_ENABLED: 'true', RATE_LIMITER_POINTS: '1000000' });
  const { app, request } = service;
  const { right, logIn } = loginsOf(service);
  const [office, home] = ['192.0.2.1', '192.0.2.2'];
  const account = await createUser(app);
  const headers = bearer((await right(account, home)).json().data.access_token);
  for (let index = 0; index < 300; index++) await logIn(`victim-${index}@example.com`, 'Password123!', office);
  const generate = (password: string, remoteAddress: string) =>
    request({ method: 'POST', url: '/users/me/tfa/generate', remoteAddress, headers, payload: { password } });
  const checked = countChecks(app);
  for (const password of ['wrong', account.password]) {
    refused(t, await generate(password, office), 'REQUESTS_EXCEEDED', 'from an address that is new to the account');
  }
  t.equal(checked(), 0);
  t.equal((await generate(account.password, home)).statusCode, 200, 'from a network with earlier logins');
  t.equal((await right(account, home)).statusCode, 200);
  refused(t, await generate('wrong', home), 'INVALID_CREDENTIALS', 'a wrong password from there is verified');
});

/** An address in a /64 of its own, but in the same /48 as the others. */
const inSite = (number: number, site = '2001:db8:1') => `${site}:${number.toString(16)}::1`;

t.test('an IPv6 /48 can register 50 times as many addresses as one of its networks', async (t) => {
  const service = await startTestApp(t, { RATE_LIMITER_REGISTRATION_ENABLED: 'true' });
  await service.app.db.update(settings).set({ publicRegistration: true });
  let count = 0;
  const register = async (remoteAddress: string) => {
    const email = `person-${++count}@example.com`;
    const payload = { email, password: 'a long enough password' };
    return (await service.request({ method: 'POST', url: '/users/register', remoteAddress, payload })).statusCode;
  };
  for (let times = 0; times < 20; times++) await register(inSite(0));
  for (let number = 1; number < 50; number++) {
    for (let times = 0; times < 5; times++) {
      if ((await register(inSite(number))) !== 204) t.fail(`network ${number}, registration ${times}`);
    }
  }
  t.equal(await register(inSite(50)), 429, 'another network of the same /48');
  t.equal(await register(inSite(50, '2001:db8:2')), 204, 'another /48');
  t.equal(await register('192.0.2.1'), 204, 'IPv4');
  service.clock.advance(minute);
  t.equal(await register(inSite(50)), 204, 'a minute later');
});

t.test('all limits that are counted by address apply to an IPv6 /48, too', async (t) => {
  const { rateLimits } = (await startTestApp(t, { RATE_LIMITER_ENABLED: 'true', RATE_LIMITER_MAIL_ENABLED: 'true' }))
    .app;
  const mailFrom = async (network: string) =>
    (await rateLimits.exceededByMail({ kind: 'reset', to: `${randomUUID()}@example.com`, network })) === null;
  const limits: Record<string, [points: number, isWithin: (network: string) => Promise<boolean>]> = {
    'wrong passwords': [300, async (network) => (await rateLimits.countLogin(network)) === null],
    'requests for emails': [300, async (network) => (await rateLimits.admitMailRequest(network)) === 'yes'],
    emails: [30, mailFrom],
    'denied requests in the audit log': [300, async (network) => (await rateLimits.admitRefusal(network)) === 'yes'],
  };
  for (const [what, [points, isWithin]] of Object.entries(limits)) {
    let accepted = 0;
    for (let number = 0; number < 60; number++) {
      for (let times = 0; times < points; times++) if (await isWithin(inSite(number))) accepted++;
    }
    t.equal(accepted, 50 * points, what);
    t.ok(await isWithin('192.0.2.1'), 'IPv4');
  }
});

t.test('the networks of an IPv6 /48 share one turn for hashing passwords', async (t) => {
  const service = await startTestApp(t, { PASSWORD_HASH_CONCURRENCY: '1', PASSWORD_HASH_MAX_WAIT: '60s' });
  const { logIn } = loginsOf(service);
  const ended: string[] = [];
  const attempt = async (from: string) => {
    await logIn(`${randomUUID()}@example.com`, 'a wrong guess', from);
    ended.push(from);
  };
  await Promise.all([...Array.from({ length: 30 }, (_, number) => attempt(inSite(number))), attempt('192.0.2.1')]);
  t.ok(ended.indexOf('192.0.2.1') < 15, `position ${ended.indexOf('192.0.2.1')} of ${ended.length}`);
});
