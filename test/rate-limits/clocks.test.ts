// @suite not-everyday: sends many requests

import { eq } from 'drizzle-orm';
import t from 'tap';
import { loginAttempts, users } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { startTestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { loginsOf } from '../helpers/users/logins.js';
import { codeOfStep, stepOf } from '../helpers/users/totp.js';
import { nextStep, wrongCode } from '../helpers/users/two-factor.js';
import { createUser, storedUser } from '../helpers/users/users.js';

/** How far a clock is ahead, until it is corrected. */
const ahead = 50 * 60 * minute;
const maxLockMs = 15 * minute;

/** The service ends a lock, at the latest, after the longest possible lock. */
const secondsOf = (response: { headers: Record<string, unknown> }) => Number(response.headers['retry-after']);

t.test('a lock set while the clock was ahead lasts no longer than the longest possible lock', async (t) => {
  const service = await startTestApp(t);
  const { app, clock } = service;
  const { right, wrong } = loginsOf(service);
  for (const isKnown of [true, false]) {
    const account = await createUser(app);
    if (isKnown) t.equal((await right(account, '192.0.2.1')).statusCode, 200);
    clock.advance(ahead);
    for (let index = 0; index < 26; index++) await wrong(account, '192.0.2.1');
    refused(t, await right(account, '192.0.2.1'), 'REQUESTS_EXCEEDED', 'locked while the clock is ahead');
    clock.advance(-ahead);
    const locked = await right(account, '192.0.2.1');
    refused(t, locked, 'REQUESTS_EXCEEDED', 'still locked when the clock is corrected');
    t.ok(secondsOf(locked) > 0 && secondsOf(locked) <= maxLockMs / 1000, `${secondsOf(locked)} seconds`);
    clock.advance(10 * minute);
    const later = await right(account, '192.0.2.1');
    refused(t, later, 'REQUESTS_EXCEEDED', 'ten minutes later');
    t.ok(secondsOf(later) <= 5 * 60, `five minutes are left: ${secondsOf(later)} seconds`);
    clock.advance(5 * minute + 1_000);
    t.equal((await right(account, '192.0.2.1')).statusCode, 200, 'unlocked afterwards');
    if (isKnown) t.equal((await right(account, '192.0.2.9')).statusCode, 200, 'from any address');
  }
});

t.test('a lock set by another instance is shortened too', async (t) => {
  const service = await startTestApp(t);
  const { app, clock } = service;
  const { right, wrong } = loginsOf(service);
  const account = await createUser(app);
  for (let index = 0; index < 25; index++) await wrong(account, '192.0.2.1');
  await app.db.update(loginAttempts).set({ lockedUntil: new Date(clock.now().getTime() + ahead) });
  clock.advance(2_000);
  t.ok(secondsOf(await right(account, '192.0.2.1')) <= maxLockMs / 1000);
  t.ok(secondsOf(await right(account, '192.0.2.2')) <= maxLockMs / 1000, 'from another address');
  clock.advance(maxLockMs + 1_000);
  t.equal((await right(account, '192.0.2.1')).statusCode, 200);
});

t.test('a lock of one-time passwords is shortened too', async (t) => {
  const service = await startTestApp(t);
  const { app, clock, post } = service;
  const account = await createUser(app, { tfa: true });
  const { email, password } = account;
  const logIn = (otp: string) => post('/auth/login', { email, password, otp });
  clock.advance(ahead);
  for (let index = 0; index < 6; index++) await logIn(wrongCode(stepOf(clock.now())));
  clock.advance(-ahead);
  const locked = await logIn(codeOfStep(nextStep(service)));
  refused(t, locked, 'REQUESTS_EXCEEDED', 'still locked');
  t.ok(secondsOf(locked) <= maxLockMs / 1000, `${secondsOf(locked)} seconds`);
  clock.advance(maxLockMs + 1_000);
  t.equal((await logIn(codeOfStep(nextStep(service)))).statusCode, 200);
});

t.test('the step of a code that was used while the clock was ahead is corrected too', async (t) => {
  const service = await startTestApp(t);
  const { app, clock, post } = service;
  const account = await createUser(app, { tfa: true });
  const { email, password } = account;
  const logIn = () => post('/auth/login', { email, password, otp: codeOfStep(stepOf(clock.now())) });
  clock.advance(ahead);
  t.equal((await logIn()).statusCode, 200);
  clock.advance(-ahead);
  refused(t, await logIn(), 'INVALID_OTP', 'earlier codes are treated as used');
  const { tfaLastStep } = await storedUser(app, account.id);
  t.ok((tfaLastStep ?? 0) - stepOf(clock.now()) <= 30, 'no longer than the longest lock');
  clock.advance(maxLockMs + minute);
  t.equal((await logIn()).statusCode, 200);
  t.equal((await app.db.select().from(users).where(eq(users.id, account.id))).length, 1);
});
