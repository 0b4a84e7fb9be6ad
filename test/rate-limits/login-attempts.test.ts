// @suite not-everyday: hashes hundreds of passwords

import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { loginAttempts } from '../../db/schema.js';
import { linkStateOf } from '../../plugins/mail/recipients.js';
import { refused } from '../helpers/http/refusals.js';
import { codeOf, startTestApp } from '../helpers/service/app.js';
import { day, second } from '../helpers/service/clock.js';
import { loginsOf } from '../helpers/users/logins.js';
import { ownSecretPolicy } from '../helpers/users/two-factor.js';
import { createSignedInUser, createUser, storedUser } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, clock } = service;
const { logIn, right, wrong, allow } = loginsOf(service);

const home = '192.0.2.1';
const stranger = '198.51.100.1';

/** Makes wrong guesses one after another, each of which must be rejected as wrong. */
async function fail(who: { email: string }, times: number, from: (index: number) => string = () => stranger) {
  for (let done = 0; done < times; done++) {
    const response = await wrong(who, from(done));
    if (codeOf(response) !== 'INVALID_CREDENTIALS') throw new Error(`Guess ${done + 1}: ${response.body}`);
  }
}

/** Checks that a response reports a lock with about this many seconds left. */
function isLocked(t: Test, response: LightMyRequestResponse, lasts: number, what: string, limit = 25): void {
  refused(t, response, 'REQUESTS_EXCEEDED', what);
  const { extensions } = response.json().errors[0];
  t.equal(extensions.limit, limit, `${what}: limit`);
  const seconds = Number(response.headers['retry-after']);
  const left = (new Date(extensions.reset).getTime() - clock.now().getTime()) / second;
  t.ok(seconds >= left && seconds < left + 3, `${what}: Retry-After ${seconds} matches the remaining time, ${left}`);
  t.ok(left <= lasts && left > lasts - 5, `${what}: ${left} of ${lasts} seconds are left`);
}

t.test('after 25 wrong guesses the account is locked, for increasing periods, but never permanently', async (t) => {
  const ada = await createUser(app);
  await fail(ada, 25);
  for (const seconds of [30, 60, 120, 240, 480, 900, 900]) {
    isLocked(t, await right(ada, stranger), seconds, 'the correct password');
    isLocked(t, await wrong(ada, stranger), seconds, 'a wrong password');
    clock.advance(seconds * second - 4 * second);
    isLocked(t, await right(ada, stranger), 4, 'attempts during the lock do not extend it');
    clock.advance(4 * second);
    await fail(ada, 1);
  }
  t.equal((await storedUser(app, ada.id)).status, 'active', 'the user is not suspended');
  clock.advance(900 * second);
  t.equal((await right(ada, stranger)).statusCode, 200, 'after the lock, the correct password works');
  await fail(ada, 24);
  t.equal((await right(ada, stranger)).statusCode, 200, 'the count has restarted');
});

t.test('logins to unknown accounts are counted, and get the same responses, like those to known ones', async (t) => {
  await allow(3);
  const story = async (email: string) => {
    const told: unknown[] = [];
    for (const from of [stranger, stranger, '203.0.113.5', stranger, '203.0.113.6', home]) {
      const { statusCode, headers, body } = await logIn(email, 'a wrong guess', from);
      told.push([statusCode, Object.keys(headers).sort(), body.replace(/"reset":"[^"]*"/, '')]);
    }
    return told;
  };
  const expected = await story('nobody@example.com');
  t.match(expected, [[401], [401], [401], [429], [429], [429]]);
  for (const [what, columns] of Object.entries({
    'an active user': {},
    'a suspended user': { status: 'suspended' },
    'a user without a password': { password: null },
    'a user of another provider': { provider: 'github' },
  })) {
    const { email } = await createUser(app, columns);
    t.strictSame(await story(email), expected, what);
  }
  await allow(25);
});

t.test('all spellings of an account share one counter (CVE-2025-24806)', async (t) => {
  await allow(4);
  await createUser(app, { email: 'Mixed.Case@Example.com' });
  const spellings = [
    'mixed.case@example.com',
    'MIXED.CASE@EXAMPLE.COM',
    'Mixed.Case@Example.com',
    'mIXED.cASE@eXAMPLE.COM',
  ];
  for (const email of spellings) refused(t, await wrong({ email }, stranger), 'INVALID_CREDENTIALS', email);
  for (const email of [...spellings, 'mixed.CASE@example.com']) {
    refused(t, await right({ email }, stranger), 'REQUESTS_EXCEEDED', email);
  }
  for (const email of [
    ' mixed.case@example.com',
    'mixed.case@example.com ',
    'ｍixed.case@example.com',
    'mixed.case@exampſe.com',
  ]) {
    refused(t, await right({ email }, '203.0.113.1'), 'INVALID_PAYLOAD', `${JSON.stringify(email)} is invalid`);
  }
  await allow(25);
});

t.test('an attacker cannot lock the owner of an account out', async (t) => {
  const ada = await createUser(app);
  t.equal((await right(ada, home)).statusCode, 200);
  const stranger = (index: number) => `198.51.100.${index}`;
  await fail(ada, 25, stranger);
  isLocked(t, await right(ada, '203.0.113.1'), 30, 'from any network without an earlier login, however many there are');
  t.equal((await right(ada, home)).statusCode, 200, 'the owner can log in from a known network');
  t.equal((await right(ada, `::ffff:${home}`)).statusCode, 200, 'however the address is written');

  await fail(ada, 24, () => home);
  t.equal((await right(ada, home)).statusCode, 200, 'the owner has a separate count');
  await fail(ada, 25, () => home);
  isLocked(t, await right(ada, home), 30, 'the separate count is also limited');
  clock.advance(30 * second);
  t.equal((await right(ada, home)).statusCode, 200);

  const bob = await createUser(app);
  t.equal((await right(bob, '2001:db8:1:2::1')).statusCode, 200);
  await fail(bob, 25, stranger);
  t.equal((await right(bob, '2001:db8:1:2:ffff::7')).statusCode, 200, 'from the same /64');
  isLocked(t, await right(bob, '2001:db8:1:3::1'), 30, 'but not from the next /64');
});

t.test('an attack on one account does not affect another', async (t) => {
  const [ada, bob] = [await createUser(app), await createUser(app)];
  await fail(ada, 25);
  isLocked(t, await right(ada, stranger), 30, 'hers');
  t.equal((await right(bob, stranger)).statusCode, 200, 'the other account, from the same address');
});

t.test('a user who can read the emails of a locked account can log in', async (t) => {
  const ada = await createUser(app);
  await fail(ada, 25, (index) => `198.51.100.${index}`);
  isLocked(t, await right(ada, home), 30, 'locked');
  const token = app.linkTokens.issue(await resetOf(ada.id), day);
  const password = 'another password, just as long';
  const payload = { token, password };
  const reset = await service.request({ method: 'POST', url: '/auth/password/reset', remoteAddress: home, payload });
  t.equal(reset.statusCode, 204);
  t.equal((await logIn(ada.email, password, home)).statusCode, 200, 'with the new password');
  await fail(ada, 25, (index) => `198.51.101.${index}`);
  t.equal((await logIn(ada.email, password, home)).statusCode, 200, 'again, from the same network');
});

const resetOf = async (userId: string) => {
  return { scope: 'password-reset', userId, state: linkStateOf(await storedUser(app, userId)) } as const;
};

t.test('a user who accepts an invitation can log in, despite earlier guesses', async (t) => {
  const email = 'invited@example.com';
  await fail({ email }, 25);
  const { id } = await createUser(app, { email, status: 'invited', password: null });
  const token = app.linkTokens.issue({ ...(await resetOf(id)), scope: 'invite' }, day);
  const password = 'a password, long enough for anybody';
  const payload = { token, password };
  const accepted = await service.request({ method: 'POST', url: '/users/invite/accept', remoteAddress: home, payload });
  t.equal(accepted.statusCode, 204);
  t.equal((await logIn(email, password, home)).statusCode, 200);
});

t.test('many simultaneous correct logins are never counted as guesses', async (t) => {
  await allow(3);
  const ada = await createUser(app);
  const answers = await Promise.all(Array.from({ length: 60 }, () => right(ada, stranger)));
  t.ok(answers.every(({ statusCode }) => statusCode === 200));
  await allow(25);
});

t.test('requests that are not wrong guesses are not counted', async (t) => {
  await allow(2);
  const holder = await createSignedInUser(service, { tfa: true });
  for (let done = 0; done < 5; done++) refused(t, await holder.login(), 'INVALID_OTP', 'the first of two steps');

  const ada = await createUser(app);
  const { verify } = app.passwords;
  app.passwords.verify = async () => {
    throw new Error('The queue is full.');
  };
  for (let done = 0; done < 5; done++) t.equal((await right(ada, stranger)).statusCode, 500, 'not verified');
  app.passwords.verify = verify;
  t.equal((await right(ada, stranger)).statusCode, 200);
  for (let done = 0; done < 5; done++) {
    refused(t, await logIn(ada.email, '', stranger), 'INVALID_PAYLOAD', 'a malformed request');
  }
  t.equal((await right(ada, stranger)).statusCode, 200);
  await allow(25);
});

t.test('every operation that verifies the password of an account counts attempts (CVE-2025-64102)', async (t) => {
  await allow(4);
  const ada = await createSignedInUser(service);
  const holder = await createSignedInUser(service, { tfa: true, policies: [await ownSecretPolicy(app)] });
  refused(t, await wrong(ada, '127.0.0.1'), 'INVALID_CREDENTIALS', 'login');
  for (let done = 0; done < 3; done++) {
    refused(t, await ada.generate({ password: 'a wrong guess' }), 'INVALID_CREDENTIALS', 'generate');
  }
  refused(t, await ada.generate({ password: ada.password }), 'REQUESTS_EXCEEDED', 'generate, with the correct one');
  refused(t, await right(ada, '127.0.0.1'), 'REQUESTS_EXCEEDED', 'login, with the correct one');
  for (let done = 0; done < 4; done++) {
    await holder.renewCodes({ password: 'a wrong guess' });
  }
  refused(t, await holder.renewCodes({ password: holder.password }), 'REQUESTS_EXCEEDED', 'recovery codes');
  clock.advance(30 * second);
  t.equal((await ada.generate({ password: ada.password })).statusCode, 200);
  await allow(25);
});

t.test('null as auth_login_attempts disables the limit', async (t) => {
  await allow(null);
  const ada = await createUser(app);
  await fail(ada, 60);
  t.equal((await right(ada, stranger)).statusCode, 200);
  await allow(25);
});

t.test('old attempts are no longer counted, and are deleted', async (t) => {
  const ada = await createUser(app);
  await fail(ada, 24);
  clock.advance(day);
  await fail(ada, 24);
  clock.advance(day);
  t.equal((await right(ada, stranger)).statusCode, 200, 'whether or not they have been deleted');
  await fail({ email: 'nobody-at-all@example.com' }, 3);
  t.ok((await app.db.$count(loginAttempts)) > 2);
  clock.advance(day);
  await app.lockouts.deleteExpired();
  t.equal(await app.db.$count(loginAttempts), 0);
});

t.test('stored attempts contain no addresses', async (t) => {
  const email = 'somebody.who.mistyped@example.com';
  await fail({ email }, 1);
  const kept = JSON.stringify(await app.db.select().from(loginAttempts));
  t.notMatch(kept, /somebody|198\.51/);
  t.match(kept, /"[0-9a-f]{64}"/);
});
