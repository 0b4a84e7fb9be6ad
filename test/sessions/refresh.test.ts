import { setTimeout as sleep } from 'node:timers/promises';
import { and, eq, sql } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { activity, sessions, users } from '../../db/schema.js';
import type { SessionMode } from '../../schemas/sessions.js';
import { userStatuses } from '../../schemas/users.js';
import { countStatements } from '../helpers/database/statements.js';
import { codeOf, startTestApp } from '../helpers/service/app.js';
import { day, minute, second } from '../helpers/service/clock.js';
import {
  type ClientSession,
  carry,
  claimsOf,
  cookieOf,
  logIn,
  modes,
  readMe,
  refresh,
  refreshCookie,
  sessionCookie,
  sessionOf,
} from '../helpers/users/sessions.js';
import { changeUser, createUser, lastAccessOf } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, clock, post } = service;

const lifetimes = { json: 7 * day, cookie: 7 * day, session: day };
const isRefused = async (t: Test, session: Pick<ClientSession, 'carrier'>, what: string) => {
  const response = await refresh(service, session);
  t.equal(response.statusCode, 401, what);
  t.equal(codeOf(response), 'INVALID_CREDENTIALS', what);
  return response;
};
const sessionRows = (userId: string) => app.db.select().from(sessions).where(eq(sessions.user, userId));

t.test('a refresh needs one SQL statement, and one more to update last_access', async (t) => {
  const session = await logIn(service, 'json');
  const count = countStatements(app);
  t.equal((await refresh(service, session)).statusCode, 200);
  t.ok(count() <= 2, `${count()}`);
});

t.test('each mode returns tokens in the place from which it reads them', async (t) => {
  t.test('mode json returns both tokens in the body and sets no cookie', async (t) => {
    const before = await logIn(service, 'json');
    const response = await refresh(service, before);
    t.equal(response.statusCode, 200);
    t.equal(response.headers['set-cookie'], undefined);
    const { data, ...rest } = response.json();
    t.strictSame(rest, {});
    t.strictSame(Object.keys(data).sort(), ['access_token', 'expires', 'refresh_token']);
    t.equal(data.expires, 15 * minute);
    t.match(data.refresh_token, /^[A-Za-z0-9_-]{64}$/);
    t.not(data.refresh_token, before.token);
  });

  t.test('mode cookie sets the refresh token as a cookie and returns the access token in the body', async (t) => {
    const before = await logIn(service, 'cookie');
    const response = await refresh(service, before);
    t.equal(response.statusCode, 200);
    t.strictSame(Object.keys(response.json().data).sort(), ['access_token', 'expires']);
    t.equal(response.json().data.expires, 15 * minute);
    t.equal(response.cookies.length, 1);
    const cookie = cookieOf(response, 'cookie');
    t.match(cookie, { httpOnly: true, path: '/', sameSite: 'Lax', maxAge: (7 * day) / second });
    t.match(cookie?.value, /^[A-Za-z0-9_-]{64}$/);
    t.notOk(cookie?.secure);
    t.not(cookie?.value, before.token);
  });

  t.test('mode session sets the access token as a cookie and returns only its lifetime in the body', async (t) => {
    const before = await logIn(service, 'session');
    clock.advance(second);
    const response = await refresh(service, before);
    t.equal(response.statusCode, 200);
    t.strictSame(response.json(), { data: { expires: day } });
    t.equal(response.cookies.length, 1);
    const cookie = cookieOf(response, 'session');
    t.match(cookie, { httpOnly: true, path: '/', sameSite: 'Lax', maxAge: day / second });
    t.notOk(cookie?.secure);
    t.not(cookie?.value, before.token);
  });
});

for (const mode of modes) {
  t.test(`mode ${mode}: a refresh extends a session by its full lifetime`, async (t) => {
    const user = await createUser(app);
    let session = await logIn(service, mode, user);
    const { session: id } = claimsOf(session.accessToken);
    for (let round = 0; round < 3; round++) {
      clock.advance(lifetimes[mode] - minute);
      session = sessionOf(mode, await refresh(service, session));
      t.equal(claimsOf(session.accessToken).session, id, 'it is still the same session');
      const me = await readMe(service, session);
      t.equal(me.json().data.id, user.id, 'the new token belongs to the same user');
    }
    t.equal((await sessionRows(user.id)).length, 1);
  });

  t.test(`mode ${mode}: an access token states when it was issued and when it expires`, async (t) => {
    const before = await logIn(service, mode);
    clock.advance(minute);
    const { iat, exp } = claimsOf(sessionOf(mode, await refresh(service, before)).accessToken);
    // The service computes the expiry first. Both times are whole seconds, so the next second may have started when the
    // token is signed.
    const lifetime = (mode === 'session' ? day : 15 * minute) / second;
    const lasts = Number(exp) - Number(iat);
    t.ok(lasts === lifetime || lasts === lifetime - 1, `${lasts} seconds`);
    t.ok(Math.abs(Number(iat) - clock.now().getTime() / second) < 5, 'the token states when it was issued');
  });

  t.test(`mode ${mode}: an expired session cannot be refreshed`, async (t) => {
    const session = await logIn(service, mode);
    clock.advance(lifetimes[mode] + second);
    const response = await isRefused(t, session, 'refresh');
    t.strictSame(response.cookies, []);
  });

  t.test(`mode ${mode}: only an active user can refresh (CVE-2026-43983)`, async (t) => {
    for (const status of userStatuses.filter((status) => status !== 'active')) {
      const user = await createUser(app);
      const session = await logIn(service, mode, user);
      await changeUser(app, user.id, { status });
      const response = await refresh(service, session);
      t.equal(response.statusCode, 401, status);
      t.match(
        codeOf(response),
        status === 'suspended' ? /^(INVALID_CREDENTIALS|USER_SUSPENDED)$/ : 'INVALID_CREDENTIALS',
      );
      t.same(response.json().data, undefined);
    }
  });

  t.test(`mode ${mode}: the session of a deleted user cannot be refreshed`, async (t) => {
    const user = await createUser(app);
    const session = await logIn(service, mode, user);
    await app.db.delete(users).where(eq(users.id, user.id));
    await isRefused(t, session, 'refresh');
  });

  t.test(`mode ${mode}: a session that was logged out cannot be refreshed`, async (t) => {
    const session = await logIn(service, mode);
    await post('/auth/logout', session.carrier.payload, session.carrier.headers);
    await isRefused(t, session, 'refresh');
  });

  t.test(`mode ${mode}: a missing token returns 400, even if other places contain tokens`, async (t) => {
    const [json, cookie, session] = await Promise.all(modes.map((mode) => logIn(service, mode)));
    const places = {
      json: { payload: { refresh_token: json?.token }, cookie: '' },
      cookie: { payload: {}, cookie: `${refreshCookie}=${cookie?.token}` },
      session: { payload: {}, cookie: `${sessionCookie}=${session?.token}` },
    };
    const others = Object.entries(places)
      .filter(([name]) => name !== mode)
      .map(([, place]) => place);
    const response = await post('/auth/refresh', Object.assign({ mode }, ...others.map(({ payload }) => payload)), {
      cookie: others
        .map(({ cookie }) => cookie)
        .filter(Boolean)
        .join('; '),
    });
    t.equal(response.statusCode, 400);
    t.equal(codeOf(response), 'INVALID_PAYLOAD');
    t.type(response.json().errors[0].extensions.reason, 'string');
    t.strictSame(response.cookies, []);
  });

  t.test(`mode ${mode}: an empty token is treated as missing`, async (t) => {
    const { payload, headers } = carry(mode, '');
    const response = await post('/auth/refresh', payload, headers);
    t.equal(response.statusCode, 400);
    t.equal(codeOf(response), 'INVALID_PAYLOAD');
  });
}

t.test('the default mode is json with a token in the body, and cookie without one', async (t) => {
  t.test('with a token in the body, the default mode is json, even if both cookies are present', async (t) => {
    const [json, cookie] = [await logIn(service, 'json'), await logIn(service, 'cookie')];
    const response = await post(
      '/auth/refresh',
      { refresh_token: json.token },
      { cookie: `${refreshCookie}=${cookie.token}` },
    );
    t.equal(claimsOf(sessionOf('json', response).accessToken).session, claimsOf(json.accessToken).session);
    t.strictSame(response.cookies, []);
    t.equal((await refresh(service, cookie)).statusCode, 200, 'the session in the cookie is unaffected');
  });

  t.test('without a token in the body, the default mode is cookie, even if a session cookie is present', async (t) => {
    const [cookie, session] = [await logIn(service, 'cookie'), await logIn(service, 'session')];
    const response = await post('/auth/refresh', undefined, {
      cookie: `${sessionCookie}=${session.token}; ${refreshCookie}=${cookie.token}`,
    });
    t.equal(claimsOf(sessionOf('cookie', response).accessToken).session, claimsOf(cookie.accessToken).session);
    t.equal(cookieOf(response, 'session'), undefined);
  });

  t.test('without a mode, a session cookie alone returns 400, because there is no refresh cookie', async (t) => {
    const { headers } = await logIn(service, 'session');
    t.equal(codeOf(await post('/auth/refresh', {}, headers)), 'INVALID_PAYLOAD');
  });

  t.test('mode cookie uses the token in the cookie, even if the body contains another one', async (t) => {
    const [json, cookie] = [await logIn(service, 'json'), await logIn(service, 'cookie')];
    const response = await post('/auth/refresh', { mode: 'cookie', refresh_token: json.token }, cookie.carrier.headers);
    t.equal(claimsOf(sessionOf('cookie', response).accessToken).session, claimsOf(cookie.accessToken).session);
    t.equal((await refresh(service, json)).statusCode, 200, 'the token in the body is unaffected');
  });

  t.test('mode json never falls back to a valid cookie', async (t) => {
    const cookie = await logIn(service, 'cookie');
    const payload = { mode: 'json', refresh_token: 'A'.repeat(64) };
    t.equal(codeOf(await post('/auth/refresh', payload, cookie.carrier.headers)), 'INVALID_CREDENTIALS');
    t.equal((await refresh(service, cookie)).statusCode, 200);
  });

  t.test('mode session does not accept tokens of other modes in the session cookie', async (t) => {
    for (const mode of ['json', 'cookie'] as const) {
      const { token, accessToken } = await logIn(service, mode);
      await isRefused(t, { carrier: carry('session', token) }, `the refresh token of mode ${mode}`);
      await isRefused(t, { carrier: carry('session', accessToken) }, `the access token of mode ${mode}`);
      t.equal((await refresh(service, { carrier: carry(mode, token) })).statusCode, 200, 'the session is unaffected');
    }
  });

  t.test('modes json and cookie do not accept an access token', async (t) => {
    const { token } = await logIn(service, 'session');
    await isRefused(t, { carrier: carry('json', token) }, 'json');
    await isRefused(t, { carrier: carry('cookie', token) }, 'cookie');
  });

  t.test('mode session does not accept a static token, because it belongs to no session', async (t) => {
    const token = 'the static token of somebody';
    await createUser(app, { token });
    await isRefused(t, { carrier: carry('session', encodeURIComponent(token)) }, 'static token');
  });
});

t.test('an invalid body returns 400', async (t) => {
  const { token } = await logIn(service, 'json');
  const bodies: object[] = [
    { refresh_token: token, mode: 'jwt' },
    { refresh_token: token, mode: 'JSON' },
    { refresh_token: token, mode: '' },
    { refresh_token: token, mode: null },
    { refresh_token: token, mode: ['json'] },
    { refresh_token: 1, mode: 'json' },
    { refresh_token: null, mode: 'json' },
    { refresh_token: [token] },
    { refresh_token: { token } },
    { refresh_token: `${token}\0` },
    { mode: 'json' },
    [],
    {},
  ];
  for (const body of bodies) {
    const response = await post('/auth/refresh', body);
    t.equal(response.statusCode, 400, JSON.stringify(body));
    t.equal(codeOf(response), 'INVALID_PAYLOAD', JSON.stringify(body));
  }
  for (const [type, payload] of [
    ['application/x-www-form-urlencoded', `refresh_token=${token}&mode=json`],
    ['text/plain', JSON.stringify({ refresh_token: token })],
    ['application/json', '{"refresh_token":'],
    ['application/json', `"${token}"`],
  ] as const) {
    const response = await service.request({
      method: 'POST',
      url: '/auth/refresh',
      headers: { 'content-type': type },
      payload,
    });
    t.equal(response.statusCode, 400, type);
    t.equal(codeOf(response), 'INVALID_PAYLOAD', type);
  }
  t.equal(
    (await post('/auth/refresh', { refresh_token: token })).statusCode,
    200,
    'none of these requests has used up the token',
  );
});

t.test('an unknown token returns 401', async (t) => {
  const garbage = [
    'A'.repeat(64),
    '_'.repeat(64),
    'x',
    'A'.repeat(63),
    'A'.repeat(65),
    'ä'.repeat(64),
    'a b',
    '.'.repeat(64),
  ];
  for (const token of garbage) {
    await isRefused(t, { carrier: carry('json', token) }, token);
    await isRefused(t, { carrier: carry('cookie', encodeURIComponent(token)) }, token);
  }
  await isRefused(t, { carrier: carry('json', 'A'.repeat(500_000)) }, 'half a million characters');
  const session = await logIn(service, 'cookie');
  await isRefused(t, { carrier: carry('json', ` ${session.token}`) }, 'a leading space');
  await isRefused(t, { carrier: carry('json', `${session.token}\n`) }, 'a trailing line break');
  await isRefused(t, { carrier: carry('json', session.token.toLowerCase()) }, 'different letter case');
});

/** What a client holds after a refresh. It is the same for each repetition of that refresh. */
const heldAfter = (mode: SessionMode, response: LightMyRequestResponse) => {
  const { token } = sessionOf(mode, response);
  if (mode !== 'session') return token;
  const { session, generation, exp } = claimsOf(token);
  return JSON.stringify({ session, generation, exp });
};
const reuseOf = async (session: ClientSession) => {
  const { session: id } = claimsOf(session.accessToken);
  return app.db
    .select()
    .from(activity)
    .where(and(eq(activity.action, 'refresh_reused'), eq(activity.item, String(id))));
};

for (const mode of modes) {
  t.test(`mode ${mode}: during the grace period, a repeated refresh returns the same successor`, async (t) => {
    const user = await createUser(app);
    const first = await logIn(service, mode, user);
    const response = await refresh(service, first);
    const successor = sessionOf(mode, response);
    t.not(successor.token, first.token);
    for (let round = 0; round < 3; round++) {
      clock.advance(3 * second);
      const again = await refresh(service, first);
      t.equal(again.statusCode, 200);
      t.equal(heldAfter(mode, again), heldAfter(mode, response), 'the same successor');
      t.strictSame(Object.keys(again.json().data), Object.keys(response.json().data));
      t.equal(again.json().data.expires, response.json().data.expires);
      t.equal((await readMe(service, sessionOf(mode, again))).statusCode, 200, 'the access token works');
    }
    t.equal((await sessionRows(user.id)).length, 1);
    t.equal((await sessionRows(user.id))[0]?.generation, 1);
    t.equal((await refresh(service, successor)).statusCode, 200, 'the successor can be refreshed');
  });

  t.test(`mode ${mode}: repeating a refresh does not extend the grace period`, async (t) => {
    const first = await logIn(service, mode);
    const successor = sessionOf(mode, await refresh(service, first));
    for (let step = 0; step < 2; step++) {
      clock.advance(4 * second);
      t.equal((await refresh(service, first)).statusCode, 200);
    }
    clock.advance(4 * second);
    await isRefused(t, first, 'twelve seconds after the first refresh');
    t.equal((await readMe(service, successor)).statusCode, 401);
  });

  t.test(
    `mode ${mode}: during the grace period of the latest token, an older one is rejected without further effect`,
    async (t) => {
      const first = await logIn(service, mode);
      const successor = sessionOf(mode, await refresh(service, first));
      clock.advance(30 * second);
      const third = sessionOf(mode, await refresh(service, successor));
      const response = await isRefused(t, first, 'two generations old');
      t.strictSame(response.cookies, [], 'no cookie is cleared, because another tab may hold the new one');
      t.equal((await readMe(service, third)).statusCode, 200);
      t.equal((await refresh(service, successor)).statusCode, 200, 'the latest replaced token can still be used again');
      t.strictSame(await reuseOf(first), []);
      clock.advance(11 * second);
      await isRefused(t, first, 'after the grace period');
      t.equal((await readMe(service, third)).statusCode, 401, 'this ends the session');
      t.equal((await reuseOf(first)).length, 1);
    },
  );

  t.test(`mode ${mode}: reusing a token after the grace period ends its session, and no other`, async (t) => {
    const user = await createUser(app);
    const other = await logIn(service, mode, user);
    const first = await logIn(service, mode, user);
    const successor = sessionOf(mode, await refresh(service, first));
    clock.advance(11 * second);
    await isRefused(t, first, 'reuse');
    t.match(await reuseOf(first), [{ outcome: 'success', user: null }], 'the audit log records it');
    await isRefused(t, successor, 'the successor');
    t.equal((await readMe(service, successor)).statusCode, 401, 'its access token');
    t.equal((await readMe(service, first)).statusCode, 401, 'the earlier access token');
    t.equal((await readMe(service, other)).statusCode, 200, 'another session of the user continues');
    t.equal((await refresh(service, other)).statusCode, 200);
    t.equal((await sessionRows(user.id)).length, 1);
  });

  t.test(
    `mode ${mode}: 20 and 50 simultaneous refreshes all return one successor (CVE-2026-1035, GHSA-392p-2q2v-4372)`,
    async (t) => {
      for (const count of [20, 50]) {
        const user = await createUser(app);
        const session = await logIn(service, mode, user);
        const responses = await Promise.all(Array.from({ length: count }, () => refresh(service, session)));
        t.strictSame([...new Set(responses.map(({ statusCode }) => statusCode))], [200]);
        t.equal(
          new Set(responses.map((response) => heldAfter(mode, response))).size,
          1,
          `one successor for ${count} refreshes`,
        );
        const [response] = responses;
        if (!response) return;
        const successor = sessionOf(mode, response);
        t.equal((await readMe(service, successor)).statusCode, 200);
        t.equal((await refresh(service, successor)).statusCode, 200, 'the successor works');
        t.equal((await sessionRows(user.id)).length, 1);
        t.equal((await sessionRows(user.id))[0]?.generation, 2);
      }
    },
  );

  t.test(`mode ${mode}: a suspended user does not get the successor again`, async (t) => {
    const user = await createUser(app);
    const first = await logIn(service, mode, user);
    await refresh(service, first);
    await changeUser(app, user.id, { status: 'suspended' });
    await isRefused(t, first, 'suspended');
  });
}

t.test('a token of mode json can be refreshed in mode cookie, and vice versa', async (t) => {
  const json = await logIn(service, 'json');
  const cookie = sessionOf('cookie', await refresh(service, { carrier: carry('cookie', json.token) }));
  const again = sessionOf('json', await refresh(service, json));
  t.equal(again.token, cookie.token, 'also when the refresh is repeated');
});

t.test('a forged token never revokes a session', async (t) => {
  const first = await logIn(service, 'json');
  const current = sessionOf('json', await refresh(service, first));
  clock.advance(minute);
  // Changes one bit in each byte of the current token, and of a token whose reuse would revoke the session.
  for (const token of [first.token, current.token]) {
    const bytes = Buffer.from(token, 'base64url');
    const forgeries = Array.from(bytes, (byte, index) => {
      const forged = Buffer.from(bytes);
      forged[index] = byte ^ (1 << (index % 8));
      return forged.toString('base64url');
    });
    t.equal(forgeries.length, 48);
    for (const forgery of forgeries) {
      const response = await refresh(service, { carrier: carry('json', forgery) });
      if (codeOf(response) !== 'INVALID_CREDENTIALS') t.fail(`${forgery}: ${response.body}`);
    }
  }
  t.equal((await readMe(service, current)).statusCode, 200);
  const successor = await refresh(service, current);
  t.equal(successor.statusCode, 200, 'the current token still works');
});

t.test('mode session: the old cookie works until the grace period ends', async (t) => {
  t.test('after that, other routes reject the old cookie but keep the session', async (t) => {
    const old = await logIn(service, 'session');
    const successor = sessionOf('session', await refresh(service, old));
    clock.advance(8 * second);
    t.equal((await readMe(service, old)).statusCode, 200);
    t.equal((await readMe(service, successor)).statusCode, 200);
    clock.advance(3 * second);
    const refused = await readMe(service, old);
    t.equal(codeOf(refused), 'INVALID_CREDENTIALS');
    t.match(cookieOf(refused, 'session'), { value: '' }, 'the old cookie is cleared');
    t.equal((await readMe(service, successor)).statusCode, 200, 'the session continues');
  });

  t.test('an older cookie is rejected during the grace period, but not cleared', async (t) => {
    const first = await logIn(service, 'session');
    const successor = sessionOf('session', await refresh(service, first));
    const third = sessionOf('session', await refresh(service, successor));
    const refused = await readMe(service, first);
    t.equal(codeOf(refused), 'INVALID_CREDENTIALS');
    t.strictSame(refused.cookies, [], 'the browser may already hold the latest cookie');
    t.equal((await readMe(service, third)).statusCode, 200);
  });

  t.test('a refresh with the old cookie after the grace period clears it', async (t) => {
    const old = await logIn(service, 'session');
    await refresh(service, old);
    clock.advance(11 * second);
    const response = await isRefused(t, old, 'after the grace period');
    t.match(cookieOf(response, 'session'), { value: '', path: '/', httpOnly: true });
  });

  // If the header contains a token, the cookie is not a credential, but it is refreshed anyway.
  t.test('the same rules apply to a request authenticated by another credential', async (t) => {
    const user = await createUser(app);
    const [old, expiring] = [await logIn(service, 'session', user), await logIn(service, 'session', user)];
    const refreshWithHeader = async ({ carrier }: Pick<ClientSession, 'carrier'>) => {
      const { headers } = await logIn(service, 'json');
      return post('/auth/refresh', carrier.payload, { ...carrier.headers, ...headers });
    };
    const response = await refreshWithHeader(old);
    t.equal(heldAfter('session', response), heldAfter('session', await refreshWithHeader(old)));
    const successor = sessionOf('session', response);
    const next = sessionOf('session', await refreshWithHeader(successor));
    await changeUser(app, user.id, { status: 'suspended' });
    t.equal((await refreshWithHeader(successor)).statusCode, 401, 'suspended, during the grace period');
    t.equal((await refreshWithHeader(next)).statusCode, 401, 'suspended, with the current token');
    await changeUser(app, user.id, { status: 'active' });

    clock.advance(11 * second);
    t.equal(codeOf(await refreshWithHeader(successor)), 'INVALID_CREDENTIALS', 'after the grace period');
    t.equal((await readMe(service, next)).statusCode, 401, 'the session has ended');

    clock.advance(day);
    t.equal((await refreshWithHeader(expiring)).statusCode, 401, 'expired');
    t.equal((await refreshWithHeader({ carrier: carry('session', 'rubbish') })).statusCode, 401, 'rubbish');
  });
});

t.test('a refresh that fails does not use up the token', async (t) => {
  await app.db.execute(sql`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$`);
  const user = await createUser(app);
  const held = await Promise.all(modes.map((mode) => logIn(service, mode, user)));
  const failures = {
    'the row cannot be written': {
      begin: sql`create trigger refuse before update on sessions for each row execute function refuse()`,
      end: sql`drop trigger refuse on sessions`,
    },
    'the row is written, but a later read fails': {
      begin: sql`alter table role_policies rename to role_policies_away`,
      end: sql`alter table role_policies_away rename to role_policies`,
    },
    'the commit itself fails': {
      begin: sql`create constraint trigger refuse after update on sessions deferrable initially deferred for each row execute function refuse()`,
      end: sql`drop trigger refuse on sessions`,
    },
  };
  for (const [what, { begin, end }] of Object.entries(failures)) {
    await app.db.execute(begin);
    const responses = await Promise.all(held.map((session) => refresh(service, session)));
    await app.db.execute(end);
    for (const [index, response] of responses.entries()) {
      t.equal(response.statusCode, 500, `${modes[index]}: ${what}`);
      t.equal(codeOf(response), 'INTERNAL_SERVER_ERROR');
      t.strictSame(response.cookies, []);
      t.notMatch(response.body, /not now|role_policies|sessions/);
    }
  }
  for (const session of held) {
    t.equal((await refresh(service, session)).statusCode, 200, `mode ${session.mode}: the token still works`);
  }
});

t.test('a refresh updates last_access', async (t) => {
  for (const mode of modes) {
    const user = await createUser(app);
    const lastAccess = async () => (await lastAccessOf(app, user.id))?.getTime() ?? 0;
    const session = await logIn(service, mode, user);
    const atLogin = await lastAccess();
    clock.advance(5 * second);
    const before = clock.now().getTime();
    t.equal((await refresh(service, session)).statusCode, 200);
    const deadline = Date.now() + 5 * second;
    while ((await lastAccess()) === atLogin && Date.now() < deadline) await new Promise((done) => setTimeout(done, 10));
    t.ok((await lastAccess()) >= before, mode);
  }
});

t.test('a session stores the client of its last refresh, and its tokens only as hashes', async (t) => {
  const user = await createUser(app);
  const session = await logIn(service, 'json', user);
  const response = await service.request({
    method: 'POST',
    url: '/auth/refresh',
    payload: session.carrier.payload,
    headers: { 'user-agent': 'A browser' },
    remoteAddress: '203.0.113.7',
  });
  const [row] = await sessionRows(user.id);
  t.match(row, { ip: '203.0.113.7', userAgent: 'A browser', generation: 1 });
  t.match(row?.tokenHash, /^[0-9a-f]{64}$/);
  t.notMatch(JSON.stringify(row), response.json().data.refresh_token);

  // An address may contain a zone (RFC 4007), of any length if a proxy forwards it. A zone has no meaning on another
  // machine.
  const zoned = await service.request({
    method: 'POST',
    url: '/auth/refresh',
    payload: { refresh_token: response.json().data.refresh_token },
    remoteAddress: `fe80::1%${'z'.repeat(200)}`,
  });
  t.equal(zoned.statusCode, 200);
  t.equal((await sessionRows(user.id))[0]?.ip, 'fe80::1');
});

t.test('a refresh with an unusable credential fails, even if the refresh token is valid', async (t) => {
  const session = await logIn(service, 'json');
  const withHeader = (authorization: string) => post('/auth/refresh', session.carrier.payload, { authorization });
  t.equal(codeOf(await withHeader('Bearer nobody-has-this-token')), 'INVALID_CREDENTIALS');
  const expired = await logIn(service, 'json');
  clock.advance(16 * minute);
  t.equal(codeOf(await withHeader(`Bearer ${expired.accessToken}`)), 'TOKEN_EXPIRED');
  t.equal((await refresh(service, session)).statusCode, 200, 'none of these requests has used up the token');
});

t.test('a client that retries after a 503 keeps its session, however long the database stalls', async (t) => {
  const service = await startTestApp(t, { SESSION_REFRESH_GRACE_PERIOD: '2s' });
  const held = await Promise.all(modes.map((mode) => logIn(service, mode)));
  // The refresh succeeds, but the response is lost. The client retries during the grace period, while the database is
  // stalled.
  const before = await Promise.all(held.map((session) => refresh(service, session)));
  const stall = service.app.db.transaction(async (tx) => {
    await tx.execute(sql`lock table sessions in access exclusive mode`);
    await sleep(5.5 * second);
  });
  await sleep(100);
  await Promise.all(
    held.map(async (session, index) => {
      const statuses: number[] = [];
      for (;;) {
        const response = await refresh(service, session);
        statuses.push(response.statusCode);
        if (response.statusCode === 503) {
          const pause = Number(response.headers['retry-after']);
          t.ok(pause <= 1, 'at most half of the grace period');
          await sleep(pause * second);
          continue;
        }
        t.equal(response.statusCode, 200, `mode ${session.mode}: after ${statuses}`);
        const first = before[index];
        if (first) t.equal(heldAfter(session.mode, response), heldAfter(session.mode, first), 'the same successor');
        break;
      }
      t.ok(statuses.length > 2, `mode ${session.mode}: ${statuses}`);
    }),
  );
  await stall;
  await sleep(3 * second);
  for (const session of held)
    t.equal((await refresh(service, session)).statusCode, 401, 'rejected after the grace period');
});
