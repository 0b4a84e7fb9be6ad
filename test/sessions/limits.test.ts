import { setTimeout as sleep } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { sessions } from '../../db/schema.js';
import { engine } from '../helpers/database/databases.js';
import { countStatements } from '../helpers/database/statements.js';
import { codeOf, startTestApp, type TestApp } from '../helpers/service/app.js';
import { day, hour, minute, second } from '../helpers/service/clock.js';
import { decodeJwt } from '../helpers/tokens/jwt.js';
import { claimsOf, cookieOf, logIn, modes, readMe, refresh, sessionOf } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

const skip = engine === 'embedded' && 'PostgreSQL only';
const rowsOf = ({ app }: TestApp, user: string) => app.db.select().from(sessions).where(eq(sessions.user, user));

t.test('a session ends SESSION_MAX_AGE after its login, no matter how often it is refreshed', async (t) => {
  const service = await startTestApp(t, { SESSION_MAX_AGE: '3d', REFRESH_TOKEN_TTL: '2d', SESSION_COOKIE_TTL: '2d' });
  const { clock } = service;
  for (const mode of modes) {
    const user = await createUser(service.app);
    let session = await logIn(service, mode, user);
    const began = (await rowsOf(service, user.id))[0]?.createdAt.getTime() ?? 0;
    const leftAt = () => began + 3 * day - clock.now().getTime();
    clock.advance(30 * hour);
    session = sessionOf(mode, await refresh(service, session));
    clock.advance(30 * hour);

    const response = await refresh(service, session);
    const { expires } = response.json().data;
    session = sessionOf(mode, response);
    const near = (t: Test, actual: number, expected: number, what: string) =>
      t.ok(Math.abs(actual - expected) <= 10 * second, `${mode}: ${what}: ${actual} ms, not ${expected} ms`);
    const [row] = await rowsOf(service, user.id);
    near(t, row?.expiresAt.getTime() ?? 0, began + 3 * day, 'the row');
    if (mode === 'session') near(t, expires, leftAt(), 'the access token');
    else t.equal(expires, 15 * minute);
    if (mode !== 'json') near(t, Number(cookieOf(response, mode)?.maxAge) * second, leftAt(), 'the cookie');
    const again = await refresh(service, session);
    session = sessionOf(mode, again);

    clock.advance(leftAt() - 10 * minute);
    session = sessionOf(mode, await refresh(service, session));
    const { iat, exp } = claimsOf(session.accessToken);
    near(t, (Number(exp) - Number(iat)) * second, 10 * minute, 'no access token is valid for longer');
    t.equal((await readMe(service, session)).statusCode, 200);
    clock.advance(10 * minute + second);
    const late = await refresh(service, session);
    t.equal(codeOf(late), 'INVALID_CREDENTIALS');
    t.equal((await readMe(service, session)).statusCode, 401);
  }
});

t.test('the limit also applies to sessions created before it was lowered, and 0 means no limit', async (t) => {
  const service = await startTestApp(t, { SESSION_MAX_AGE: '0', REFRESH_TOKEN_TTL: '900d' });
  let session = await logIn(service, 'json');
  for (let year = 0; year < 3; year++) {
    service.clock.advance(400 * day);
    session = sessionOf('json', await refresh(service, session));
  }
  await service.app.db.update(sessions).set({ createdAt: service.clock.now() });
  const strict = await startTestApp(t, { SESSION_MAX_AGE: '1h' });
  const begun = await logIn(strict, 'json');
  await strict.app.db.update(sessions).set({ createdAt: new Date(strict.clock.now().getTime() - 2 * hour) });
  t.equal((await refresh(strict, begun)).statusCode, 401);
});

t.test('a login beyond SESSIONS_PER_USER ends the least recently used session', async (t) => {
  const service = await startTestApp(t, { SESSIONS_PER_USER: '3' });
  const { app, clock } = service;
  const [user, other] = [await createUser(app), await createUser(app)];
  const bystander = await logIn(service, 'json', other);
  const held = [];
  for (let count = 0; count < 3; count++) {
    held.push(await logIn(service, 'json', user));
    clock.advance(2 * minute);
  }
  const [first, second_, third] = held;
  if (!first || !second_ || !third) return;
  // Uses sessions in both ways: a refresh, and a request, whose time is stored after the response.
  const refreshed = sessionOf('json', await refresh(service, first));
  clock.advance(2 * minute);
  await readMe(service, second_);
  const lastUsed = async (session: typeof second_) => {
    const { session: id } = decodeJwt(session.accessToken).claims;
    return (await rowsOf(service, user.id)).find((row) => row.id === id)?.lastUsedAt.getTime() ?? 0;
  };
  const end = Date.now() + 5_000;
  while ((await lastUsed(second_)) < clock.now().getTime() - minute && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }

  const fourth = await logIn(service, 'session', user);
  t.equal((await rowsOf(service, user.id)).length, 3);
  t.equal((await readMe(service, third)).statusCode, 401, 'the session that was never used has ended');
  t.equal((await refresh(service, third)).statusCode, 401);
  for (const session of [refreshed, second_, fourth, bystander]) {
    t.equal((await readMe(service, session)).statusCode, 200);
  }
});

t.test('20 simultaneous logins leave SESSIONS_PER_USER sessions, all of them usable', async (t) => {
  const service = await startTestApp(t, { SESSIONS_PER_USER: '5' });
  const user = await createUser(service.app);
  const old = await logIn(service, 'json', user);
  service.clock.advance(minute);
  await Promise.all(Array.from({ length: 20 }, () => logIn(service, 'json', user)));
  t.equal((await rowsOf(service, user.id)).length, 5);
  t.equal((await readMe(service, old)).statusCode, 401);
  await service.app.db.delete(sessions).where(eq(sessions.user, user.id));
});

t.test('the limit also applies to logins that all start before any of them finishes', { skip }, async (t) => {
  const service = await startTestApp(t, { SESSIONS_PER_USER: '1', DATABASE_POOL_MAX: '10' });
  const { app, database } = service;
  const user = await createUser(app);
  const holder = postgres(database.url ?? '', { max: 1, onnotice: () => {} });
  t.teardown(() => holder.end());
  let started: Promise<unknown>[] = [];
  await holder.begin(async (tx) => {
    // A login waits for this lock before it stores its session.
    await tx`select from users where id = ${user.id} for no key update`;
    started = Array.from({ length: 2 }, () => logIn(service, 'json', user));
    const waiting = async () =>
      (await tx`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).count;
    for (let tries = 0; (await waiting()) < 2 && tries < 500; tries++) await sleep(20);
  });
  await Promise.all(started);
  t.equal((await rowsOf(service, user.id)).length, 1);
});

t.test(
  'expired sessions are not counted, and an instance whose clock is behind does not end its own sessions',
  async (t) => {
    const service = await startTestApp(t, { SESSIONS_PER_USER: '2' });
    const { app, clock } = service;
    const user = await createUser(app);
    const lasting = await logIn(service, 'json', user);
    clock.advance(hour);
    await logIn(service, 'session', user);
    clock.advance(day + minute);
    await logIn(service, 'json', user);
    t.equal((await readMe(service, sessionOf('json', await refresh(service, lasting)))).statusCode, 200);

    const ahead = new Date(clock.now().getTime() + day);
    await app.db.update(sessions).set({ lastUsedAt: ahead }).where(eq(sessions.user, user.id));
    t.equal((await readMe(service, await logIn(service, 'json', user))).statusCode, 200);
    t.equal((await rowsOf(service, user.id)).length, 2);
  },
);

t.test('a login of a user with many sessions needs as few SQL statements as the first login', async (t) => {
  const service = await startTestApp(t, { SESSIONS_PER_USER: '3' });
  const user = await createUser(service.app);
  await logIn(service, 'json', user);
  const counts = [];
  for (let login = 0; login < 6; login++) {
    const count = countStatements(service.app);
    await logIn(service, 'json', user);
    counts.push(count());
  }
  // Occasionally another statement runs in between, such as one of the audit log.
  t.ok(Math.min(...counts) === 3 && Math.max(...counts) <= 4, counts.join());
});
