import { eq, sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { sessions, users } from '../../db/schema.js';
import { userStatuses } from '../../schemas/users.js';
import { codeOf, startTestApp } from '../helpers/app.js';
import { day, minute, second } from '../helpers/clock.js';
import { changeUser, createUser } from '../helpers/records.js';
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
} from '../helpers/sessions.js';
import { countStatements } from '../helpers/statements.js';

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

t.test('it takes one statement, and one for the time of the last access', async (t) => {
  const session = await logIn(service, 'json');
  const count = countStatements(app);
  t.equal((await refresh(service, session)).statusCode, 200);
  t.ok(count() <= 2, `${count()}`);
});

t.test('each mode gives its tokens back where it took them from', async (t) => {
  t.test('json: in the body, and no cookie', async (t) => {
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

  t.test('cookie: the refresh token in its cookie, the access token in the body', async (t) => {
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

  t.test('session: the access token in its cookie, and only the lifetime in the body', async (t) => {
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
  t.test(`mode ${mode}: a refreshed session goes on, for its full lifetime again`, async (t) => {
    const user = await createUser(app);
    let session = await logIn(service, mode, user);
    const { session: id } = claimsOf(session.accessToken);
    for (let round = 0; round < 3; round++) {
      clock.advance(lifetimes[mode] - minute);
      session = sessionOf(mode, await refresh(service, session));
      t.equal(claimsOf(session.accessToken).session, id, 'it is still the same session');
      const me = await readMe(service, session);
      t.equal(me.json().data.id, user.id, 'and the new token is of the same user');
    }
    t.equal((await sessionRows(user.id)).length, 1);
  });

  t.test(`mode ${mode}: an access token says when it ends`, async (t) => {
    const before = await logIn(service, mode);
    clock.advance(minute);
    const { iat, exp } = claimsOf(sessionOf(mode, await refresh(service, before)).accessToken);
    t.equal(Number(exp) - Number(iat), (mode === 'session' ? day : 15 * minute) / second);
    t.ok(Math.abs(Number(iat) - clock.now().getTime() / second) < 5, 'and when it began');
  });

  t.test(`mode ${mode}: a session refused for its age is refused for good`, async (t) => {
    const session = await logIn(service, mode);
    clock.advance(lifetimes[mode] + second);
    const response = await refresh(service, session);
    t.equal(response.statusCode, 401);
    // A session cookie is an access token, and it is looked at before anything else (contract 1.2).
    t.equal(codeOf(response), mode === 'session' ? 'TOKEN_EXPIRED' : 'INVALID_CREDENTIALS');
    t.strictSame(response.cookies, []);
  });

  t.test(`mode ${mode}: only an active user refreshes (CVE-2026-43983)`, async (t) => {
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

  t.test(`mode ${mode}: the session of a user who is gone is gone`, async (t) => {
    const user = await createUser(app);
    const session = await logIn(service, mode, user);
    await app.db.delete(users).where(eq(users.id, user.id));
    await isRefused(t, session, 'refresh');
  });

  t.test(`mode ${mode}: a session that was logged out is gone`, async (t) => {
    const session = await logIn(service, mode);
    await post('/auth/logout', session.carrier.payload, session.carrier.headers);
    await isRefused(t, session, 'refresh');
  });

  t.test(`mode ${mode}: nothing at its place is 400, whatever stands elsewhere`, async (t) => {
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

  t.test(`mode ${mode}: an empty token is none`, async (t) => {
    const { payload, headers } = carry(mode, '');
    const response = await post('/auth/refresh', payload, headers);
    t.equal(response.statusCode, 400);
    t.equal(codeOf(response), 'INVALID_PAYLOAD');
  });
}

t.test('the mode is the one asked for, else json with a token in the body, else cookie', async (t) => {
  t.test('no mode, token in the body: json, even with both cookies present', async (t) => {
    const [json, cookie] = [await logIn(service, 'json'), await logIn(service, 'cookie')];
    const response = await post(
      '/auth/refresh',
      { refresh_token: json.token },
      { cookie: `${refreshCookie}=${cookie.token}` },
    );
    t.equal(claimsOf(sessionOf('json', response).accessToken).session, claimsOf(json.accessToken).session);
    t.strictSame(response.cookies, []);
    t.equal((await refresh(service, cookie)).statusCode, 200, 'the session in the cookie was left alone');
  });

  t.test('no mode, no token in the body: cookie, even with a session cookie present', async (t) => {
    const [cookie, session] = [await logIn(service, 'cookie'), await logIn(service, 'session')];
    const response = await post('/auth/refresh', undefined, {
      cookie: `${sessionCookie}=${session.token}; ${refreshCookie}=${cookie.token}`,
    });
    t.equal(claimsOf(sessionOf('cookie', response).accessToken).session, claimsOf(cookie.accessToken).session);
    t.equal(cookieOf(response, 'session'), undefined);
  });

  t.test('no mode and only a session cookie: 400, as there is no refresh cookie', async (t) => {
    const { headers } = await logIn(service, 'session');
    t.equal(codeOf(await post('/auth/refresh', {}, headers)), 'INVALID_PAYLOAD');
  });

  t.test('mode cookie with tokens in both places takes the one in the cookie', async (t) => {
    const [json, cookie] = [await logIn(service, 'json'), await logIn(service, 'cookie')];
    const response = await post('/auth/refresh', { mode: 'cookie', refresh_token: json.token }, cookie.carrier.headers);
    t.equal(claimsOf(sessionOf('cookie', response).accessToken).session, claimsOf(cookie.accessToken).session);
    t.equal((await refresh(service, json)).statusCode, 200, 'the one in the body was left alone');
  });

  t.test('mode json never falls back to a good cookie', async (t) => {
    const cookie = await logIn(service, 'cookie');
    const payload = { mode: 'json', refresh_token: 'A'.repeat(64) };
    t.equal(codeOf(await post('/auth/refresh', payload, cookie.carrier.headers)), 'INVALID_CREDENTIALS');
    t.equal((await refresh(service, cookie)).statusCode, 200);
  });

  t.test('mode session takes no refresh token of another mode out of the session cookie', async (t) => {
    for (const mode of ['json', 'cookie'] as const) {
      const { token, accessToken } = await logIn(service, mode);
      await isRefused(t, { carrier: carry('session', token) }, `the refresh token of mode ${mode}`);
      await isRefused(t, { carrier: carry('session', accessToken) }, `the access token of mode ${mode}`);
      t.equal((await refresh(service, { carrier: carry(mode, token) })).statusCode, 200, 'the session is left alone');
    }
  });

  t.test('modes json and cookie take no access token', async (t) => {
    const { token } = await logIn(service, 'session');
    await isRefused(t, { carrier: carry('json', token) }, 'json');
    await isRefused(t, { carrier: carry('cookie', token) }, 'cookie');
  });

  t.test('mode session takes no static token, which is no session', async (t) => {
    const token = 'the static token of somebody';
    await createUser(app, { token });
    await isRefused(t, { carrier: carry('session', encodeURIComponent(token)) }, 'static token');
  });
});

t.test('a body that is not acceptable is 400', async (t) => {
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
  t.equal((await post('/auth/refresh', { refresh_token: token })).statusCode, 200, 'none of it used the token up');
});

t.test('a token that is not ours is 401 and nothing else', async (t) => {
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
  await isRefused(t, { carrier: carry('json', ` ${session.token}`) }, 'a space before it');
  await isRefused(t, { carrier: carry('json', `${session.token}\n`) }, 'a line end after it');
  await isRefused(t, { carrier: carry('json', session.token.toLowerCase()) }, 'other letter case');
});

for (const mode of ['json', 'cookie'] as const) {
  t.test(`mode ${mode}: a refresh token works once`, async (t) => {
    const first = await logIn(service, mode);
    const second = sessionOf(mode, await refresh(service, first));
    const response = await isRefused(t, first, 'at once after');
    t.strictSame(response.cookies, [], 'no cookie is cleared: a second tab holds the new one');
    t.equal((await readMe(service, second)).statusCode, 200, 'nothing is revoked');
    t.equal((await readMe(service, first)).statusCode, 200, 'nor the access token of before');
    t.equal((await refresh(service, second)).statusCode, 200);
  });

  t.test(`mode ${mode}: reuse revokes nothing while the grace period lasts`, async (t) => {
    const first = await logIn(service, mode);
    const successor = sessionOf(mode, await refresh(service, first));
    clock.advance(8 * second);
    await isRefused(t, first, 'eight seconds after');
    const third = sessionOf(mode, await refresh(service, successor));
    await isRefused(t, first, 'two generations old, and still inside');
    await isRefused(t, successor, 'its successor, too');
    t.equal((await refresh(service, third)).statusCode, 200);
  });

  t.test(`mode ${mode}: reuse after the grace period revokes the family, and only that`, async (t) => {
    const user = await createUser(app);
    const other = await logIn(service, mode, user);
    const first = await logIn(service, mode, user);
    const successor = sessionOf(mode, await refresh(service, first));
    clock.advance(11 * second);
    await isRefused(t, first, 'reuse');
    await isRefused(t, successor, 'the successor');
    t.equal((await readMe(service, successor)).statusCode, 401, 'its access token');
    t.equal((await readMe(service, first)).statusCode, 401, 'the access token of before');
    t.equal((await readMe(service, other)).statusCode, 200, 'another session of the user goes on');
    t.equal((await refresh(service, other)).statusCode, 200);
    t.equal((await sessionRows(user.id)).length, 1);
  });

  t.test(`mode ${mode}: an old token revokes the family however fresh the latest rotation is`, async (t) => {
    const first = await logIn(service, mode);
    const second_ = sessionOf(mode, await refresh(service, first));
    clock.advance(11 * second);
    const third = sessionOf(mode, await refresh(service, second_));
    await isRefused(t, first, 'reuse');
    await isRefused(t, third, 'the latest');
    t.equal((await readMe(service, third)).statusCode, 401);
  });

  t.test(`mode ${mode}: of several old tokens each is judged by its own age`, async (t) => {
    let session = await logIn(service, mode);
    const chain = [session];
    for (let step = 0; step < 8; step++) {
      clock.advance(3 * second);
      session = sessionOf(mode, await refresh(service, session));
      chain.push(session);
    }
    // The token before the latest was replaced just now, the others 3, 6 and 9 seconds ago, the next one 12.
    for (const back of [1, 2, 3, 4]) await isRefused(t, chain.at(-1 - back) ?? session, `${back} back`);
    t.equal((await readMe(service, session)).statusCode, 200, 'inside the grace period nothing is revoked');
    await isRefused(t, chain.at(-6) ?? session, 'five back');
    t.equal((await readMe(service, session)).statusCode, 401, 'outside of it the family is');
  });

  t.test(
    `mode ${mode}: of 20 and of 50 refreshes at the same instant one succeeds (CVE-2026-1035, GHSA-392p-2q2v-4372)`,
    async (t) => {
      for (const count of [20, 50]) {
        const user = await createUser(app);
        const session = await logIn(service, mode, user);
        const responses = await Promise.all(Array.from({ length: count }, () => refresh(service, session)));
        const winners = responses.filter(({ statusCode }) => statusCode === 200);
        t.equal(winners.length, 1, `one of ${count}`);
        for (const loser of responses.filter((response) => response !== winners[0])) {
          if (codeOf(loser) !== 'INVALID_CREDENTIALS' || loser.cookies.length > 0) t.fail(loser.body);
        }
        const [winner] = winners;
        if (!winner) return;
        const successor = sessionOf(mode, winner);
        t.equal((await readMe(service, successor)).statusCode, 200, 'the losers revoked nothing');
        t.equal((await refresh(service, successor)).statusCode, 200, 'the successor works');
        t.equal((await sessionRows(user.id)).length, 1);
      }
    },
  );
}

t.test('a forged token never revokes anything', async (t) => {
  const first = await logIn(service, 'json');
  const current = sessionOf('json', await refresh(service, first));
  clock.advance(minute);
  // Both the token that counts and one whose reuse would be theft, with one bit changed in each of their bytes.
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
  t.equal(successor.statusCode, 200, 'the token that counts still does');
});

t.test('mode session: the old cookie lives on for the grace period', async (t) => {
  const sameSuccessor = (t: Test, a: ClientSession, b: ClientSession) => {
    const [one, other] = [claimsOf(a.token), claimsOf(b.token)];
    t.equal(one.session, other.session);
    t.equal(one.generation, other.generation);
    t.equal(one.exp, other.exp);
  };

  t.test('it works for requests until then, and not after', async (t) => {
    const old = await logIn(service, 'session');
    const successor = sessionOf('session', await refresh(service, old));
    clock.advance(8 * second);
    t.equal((await readMe(service, old)).statusCode, 200);
    t.equal((await readMe(service, successor)).statusCode, 200);
    clock.advance(3 * second);
    const refused = await readMe(service, old);
    t.equal(codeOf(refused), 'INVALID_CREDENTIALS');
    t.equal((await readMe(service, successor)).statusCode, 200, 'the successor works on');
  });

  t.test('refreshing it again inside gives the same successor', async (t) => {
    const old = await logIn(service, 'session');
    const successor = sessionOf('session', await refresh(service, old));
    t.not(claimsOf(old.token).generation, claimsOf(successor.token).generation);
    clock.advance(4 * second);
    const again = sessionOf('session', await refresh(service, old));
    clock.advance(4 * second);
    const third = sessionOf('session', await refresh(service, old));
    sameSuccessor(t, successor, again);
    sameSuccessor(t, successor, third);
    for (const session of [successor, again, third]) t.equal((await readMe(service, session)).statusCode, 200);
    t.equal((await refresh(service, successor)).statusCode, 200, 'the successor can be refreshed in turn');
  });

  t.test('20 at the same instant all give the same successor', async (t) => {
    const user = await createUser(app);
    const old = await logIn(service, 'session', user);
    const responses = await Promise.all(Array.from({ length: 20 }, () => refresh(service, old)));
    const successors = responses.map((response) => sessionOf('session', response));
    for (const successor of successors) sameSuccessor(t, successor, successors[0] ?? old);
    t.equal((await sessionRows(user.id)).length, 1);
    t.equal((await sessionRows(user.id))[0]?.generation, 1);
  });

  t.test('refreshing it after is 401, clears the dead cookie and revokes nothing', async (t) => {
    const old = await logIn(service, 'session');
    const successor = sessionOf('session', await refresh(service, old));
    clock.advance(11 * second);
    const response = await isRefused(t, old, 'after the grace period');
    t.match(cookieOf(response, 'session'), { value: '', path: '/', httpOnly: true });
    t.equal((await readMe(service, successor)).statusCode, 200);
    t.equal((await refresh(service, successor)).statusCode, 200);
  });

  t.test('refreshing again and again does not stretch the life of the old cookie', async (t) => {
    const old = await logIn(service, 'session');
    await refresh(service, old);
    for (let step = 0; step < 2; step++) {
      clock.advance(4 * second);
      t.equal((await refresh(service, old)).statusCode, 200);
    }
    clock.advance(4 * second);
    await isRefused(t, old, 'twelve seconds after the first refresh');
  });

  t.test('its user being suspended meanwhile ends it', async (t) => {
    const user = await createUser(app);
    const old = await logIn(service, 'session', user);
    await refresh(service, old);
    await changeUser(app, user.id, { status: 'suspended' });
    t.equal((await refresh(service, old)).statusCode, 401);
  });

  // With a token in the header the cookie is not looked at as a credential (contract 1.2), but it is refreshed all the same.
  t.test('all this holds for a request that is authenticated by something else, too', async (t) => {
    const user = await createUser(app);
    const [old, expiring] = [await logIn(service, 'session', user), await logIn(service, 'session', user)];
    const refreshBesides = async ({ carrier }: Pick<ClientSession, 'carrier'>) => {
      const { headers } = await logIn(service, 'json');
      return post('/auth/refresh', carrier.payload, { ...carrier.headers, ...headers });
    };
    const successor = sessionOf('session', await refreshBesides(old));
    sameSuccessor(t, successor, sessionOf('session', await refreshBesides(old)));
    clock.advance(11 * second);
    t.equal(codeOf(await refreshBesides(old)), 'INVALID_CREDENTIALS', 'after the grace period');
    t.equal((await readMe(service, successor)).statusCode, 200, 'nothing is revoked');

    const next = sessionOf('session', await refreshBesides(successor));
    await changeUser(app, user.id, { status: 'suspended' });
    t.equal((await refreshBesides(successor)).statusCode, 401, 'suspended, and inside the grace period');
    t.equal((await refreshBesides(next)).statusCode, 401, 'suspended, and current');
    await changeUser(app, user.id, { status: 'active' });

    clock.advance(day);
    t.equal((await refreshBesides(expiring)).statusCode, 401, 'expired');
    t.equal((await refreshBesides({ carrier: carry('session', 'rubbish') })).statusCode, 401, 'rubbish');
  });
});

t.test('a refresh that fails has used nothing up', async (t) => {
  await app.db.execute(sql`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$`);
  const user = await createUser(app);
  const held = await Promise.all(modes.map((mode) => logIn(service, mode, user)));
  const failures = {
    'the row cannot be written': {
      begin: sql`create trigger refuse before update on sessions for each row execute function refuse()`,
      end: sql`drop trigger refuse on sessions`,
    },
    'the row is written, and what is read after it cannot be': {
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

t.test('a refresh is a use of the API: last_access tells of it', async (t) => {
  for (const mode of modes) {
    const user = await createUser(app);
    const lastAccess = async () => {
      const [row] = await app.db.select({ at: users.lastAccess }).from(users).where(eq(users.id, user.id));
      return row?.at?.getTime() ?? 0;
    };
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

t.test('the session keeps where it was last refreshed from, and tokens only as hashes', async (t) => {
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

  // An address may carry a zone (RFC 4007), of any length when a proxy forwards it; it means nothing elsewhere.
  const zoned = await service.request({
    method: 'POST',
    url: '/auth/refresh',
    payload: { refresh_token: response.json().data.refresh_token },
    remoteAddress: `fe80::1%${'z'.repeat(200)}`,
  });
  t.equal(zoned.statusCode, 200);
  t.equal((await sessionRows(user.id))[0]?.ip, 'fe80::1');
});

t.test('a credential that cannot be used fails a refresh, however good the refresh token', async (t) => {
  const session = await logIn(service, 'json');
  const withHeader = (authorization: string) => post('/auth/refresh', session.carrier.payload, { authorization });
  t.equal(codeOf(await withHeader('Bearer nobody-has-this-token')), 'INVALID_CREDENTIALS');
  const expired = await logIn(service, 'json');
  clock.advance(16 * minute);
  t.equal(codeOf(await withHeader(`Bearer ${expired.accessToken}`)), 'TOKEN_EXPIRED');
  t.equal((await refresh(service, session)).statusCode, 200, 'none of it used the token up');
});
