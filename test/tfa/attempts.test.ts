import { eq } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { buildApp } from '../../app.js';
import { sessions } from '../../db/schema.js';
import { engine } from '../helpers/database/databases.js';
import { refused } from '../helpers/http/refusals.js';
import { codeOf, startTestApp, testConfig } from '../helpers/service/app.js';
import { minute, second } from '../helpers/service/clock.js';
import { codeOfStep, stepOf } from '../helpers/users/totp.js';
import { nextStep, ownSecretPolicy, wrongCode } from '../helpers/users/two-factor.js';
import { changeUser, createSignedInUser, type SignedInUser } from '../helpers/users/users.js';

const service = await startTestApp(t, { REAUTHENTICATION_PERIOD: '30d' });
const { app, clock, database, get } = service;
const own = await ownSecretPolicy(app);
const holder = () => createSignedInUser(service, { tfa: true, policies: [own] });

const rightCode = () => codeOfStep(stepOf(clock.now()));
const wrong = () => wrongCode(stepOf(clock.now()));

/** Sends wrong codes one after another, each of which must be rejected as wrong. */
async function fail(ada: SignedInUser, times: number) {
  for (let done = 0; done < times; done++) {
    const response = await ada.login(wrong());
    if (codeOf(response) !== 'INVALID_OTP') throw new Error(`Attempt ${done + 1}: ${response.body}`);
  }
}

/** Checks that a response reports a lock with about this many seconds left. */
function isLocked(t: Test, response: LightMyRequestResponse, lasts: number, what: string): void {
  refused(t, response, 'REQUESTS_EXCEEDED', what);
  const { limit, reset } = response.json().errors[0].extensions;
  t.equal(limit, 5, `${what}: limit`);
  t.match(reset, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, `${what}: reset`);
  const seconds = Number(response.headers['retry-after']);
  const left = (new Date(reset).getTime() - clock.now().getTime()) / second;
  t.ok(seconds >= left && seconds < left + 2, `${what}: Retry-After ${seconds} matches the remaining time, ${left}`);
  // The clock keeps running, and a slow machine takes longer.
  t.ok(left <= lasts && left > lasts - 5, `${what}: ${left} of ${lasts} seconds are left`);
}

t.test('five wrong codes cause a lock of increasing length, but never a permanent one (CVE-2024-32868)', async (t) => {
  const ada = await holder();
  nextStep(service);
  await fail(ada, 4);
  t.equal((await ada.row()).tfaLockedUntil, null, 'four wrong codes cause no lock');
  await fail(ada, 1);
  for (const seconds of [30, 60, 120, 240, 480, 900, 900, 900]) {
    const before = await ada.row();
    isLocked(t, await ada.login(rightCode()), seconds, 'a correct code');
    isLocked(t, await ada.login(wrong()), seconds, 'a wrong code');
    t.strictSame(await ada.row(), before, 'attempts during the lock change nothing, and do not extend it');
    clock.advance(seconds * second - 5 * second);
    isLocked(t, await ada.login(rightCode()), 5, 'shortly before its end');
    clock.advance(5 * second);
    await fail(ada, 1);
  }
  clock.advance(15 * minute);
  t.equal((await ada.login(rightCode())).statusCode, 200, 'after the lock, a correct code works');
  t.match(await ada.row(), { tfaFailures: 0, tfaLockedUntil: null });
  nextStep(service);
  await fail(ada, 4);
  nextStep(service);
  t.equal((await ada.login(rightCode())).statusCode, 200, 'the count has restarted');

  await changeUser(app, ada.id, { tfaFailures: 2_000_000, tfaLockedUntil: null });
  await fail(ada, 1);
  isLocked(t, await ada.login(wrong()), 900, 'after millions of failures');
});

t.test('requests that do not verify a code are not counted as attempts', async (t) => {
  const ada = await holder();
  const bob = await holder();
  nextStep(service);
  for (let done = 0; done < 8; done++) {
    refused(t, await ada.login(), 'INVALID_OTP', 'the first step of a login in two steps');
    refused(t, await ada.login(''), 'INVALID_PAYLOAD', 'an empty code');
    refused(t, await ada.login(wrong(), { password: 'wrong' }), 'INVALID_CREDENTIALS', 'a wrong password');
    refused(t, await ada.disable({}), 'INVALID_PAYLOAD', 'disable without a code');
    refused(t, await ada.renewCodes({ password: 'wrong', otp: wrong() }), 'INVALID_CREDENTIALS', 'renew');
  }
  t.equal((await ada.row()).tfaFailures, 0);
  await fail(bob, 5);
  t.equal((await ada.login(rightCode())).statusCode, 200, 'the lock of another user');
  refused(t, await bob.login(), 'INVALID_OTP', 'a lock is reported only in response to a code');
  refused(
    t,
    await bob.login(rightCode(), { password: 'wrong' }),
    'INVALID_CREDENTIALS',
    'and only if the password is correct',
  );
});

t.test('all operations that accept codes share one count (CVE-2025-64102)', async (t) => {
  const ada = await holder();
  nextStep(service);
  const session = await ada.signIn(rightCode());
  await fail(ada, 1);
  refused(t, await ada.disable({ otp: wrong() }), 'INVALID_PAYLOAD', 'disable');
  refused(t, await ada.renewCodes({ otp: wrong() }), 'INVALID_OTP', 'recovery codes');
  refused(t, await ada.login('aaaa-aaaa-aaaa-aaaa'), 'INVALID_OTP', 'login by a recovery code');
  refused(t, await ada.disable({ otp: 'nonsense' }, session), 'INVALID_PAYLOAD', 'in any form, in any session');
  for (const send of [
    () => ada.login(wrong()),
    () => ada.disable({ otp: wrong() }),
    () => ada.disable({ otp: wrong() }, session),
    () => ada.renewCodes({ otp: wrong() }),
  ]) {
    isLocked(t, await send(), 30, 'locked');
  }
  t.equal((await ada.renewCodes({ password: ada.password })).statusCode, 200, 'a password is not a code');
  t.equal((await get('/users/me', session)).statusCode, 200, 'existing sessions continue');
  clock.advance(30 * second);
  t.equal((await ada.disable({ otp: rightCode() })).statusCode, 204);
});

t.test('parallel guesses have no advantage over sequential ones', async (t) => {
  const ada = await holder();
  nextStep(service);
  const answers = await Promise.all(Array.from({ length: 40 }, () => ada.login(wrong())));
  const codes = answers.map(codeOf);
  t.equal(codes.filter((code) => code === 'INVALID_OTP').length, 5, 'five codes are checked');
  t.equal(codes.filter((code) => code === 'REQUESTS_EXCEEDED').length, 35);
  t.equal((await ada.row()).tfaFailures, 5);
  clock.advance(30 * second);
  const later = (await Promise.all(Array.from({ length: 20 }, () => ada.disable({ otp: wrong() })))).map(codeOf);
  t.equal(later.filter((code) => code === 'INVALID_PAYLOAD').length, 1, 'after a lock, one code');
});

t.test(
  'two instances that share a database count attempts together',
  { skip: engine !== 'postgres' && 'requires a database server' },
  async (t) => {
    const twin = await buildApp(testConfig(), { clock: clock.now, database: database.location });
    t.teardown(() => twin.close());
    const everywhere = (ada: SignedInUser, otp: string) =>
      Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          (index % 2 === 0 ? app : twin).inject({
            method: 'POST',
            url: '/auth/login',
            payload: { email: ada.email, password: ada.password, otp },
          }),
        ),
      );

    const guesser = await holder();
    nextStep(service);
    const guesses = await everywhere(guesser, wrong());
    t.equal(guesses.filter((response) => codeOf(response) === 'INVALID_OTP').length, 5, 'guesses are counted together');

    const sessionsOf = ({ id }: SignedInUser) => app.db.$count(sessions, eq(sessions.user, id));
    const ada = await holder();
    const adas = await sessionsOf(ada);
    const otp = codeOfStep(nextStep(service));
    const winners = (await everywhere(ada, otp)).filter(({ statusCode }) => statusCode === 200);
    t.equal(winners.length, 1, 'a code works only once');
    t.equal(await sessionsOf(ada), adas + 1);

    const bob = await holder();
    const bobs = await sessionsOf(bob);
    const [code = ''] = (await bob.renewCodes({ password: bob.password })).json().data;
    const entered = (await everywhere(bob, code)).filter(({ statusCode }) => statusCode === 200);
    t.equal(entered.length, 1, 'a recovery code works only once');
    t.equal(await bob.codesLeft(), 9);
    t.equal(await sessionsOf(bob), bobs + 1);
  },
);
