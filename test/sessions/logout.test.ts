import { eq } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { sessions } from '../../db/schema.js';
import { bearer, codeOf, startTestApp, type TestApp } from '../helpers/service/app.js';
import { day, minute, second } from '../helpers/service/clock.js';
import { administrator } from '../helpers/users/credentials.js';
import {
  type ClientSession,
  carry,
  cookieOf,
  logIn,
  logOut,
  modes,
  readMe,
  refresh,
  refreshCookie,
  sessionCookie,
  sessionOf,
} from '../helpers/users/sessions.js';
import { changeUser, createUser } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, clock, post } = service;

const isAlive = async (t: Test, session: ClientSession, what: string) =>
  t.equal((await readMe(service, session)).statusCode, 200, what);

const isDead = async (t: Test, session: ClientSession, what: string) => {
  const me = await readMe(service, session);
  t.equal(me.statusCode, 401, what);
  t.equal(codeOf(me), 'INVALID_CREDENTIALS', what);
  const refreshed = await refresh(service, session);
  t.equal(refreshed.statusCode, 401, `${what}: refresh`);
  t.equal(codeOf(refreshed), 'INVALID_CREDENTIALS', `${what}: refresh`);
};

for (const mode of modes) {
  t.test(`mode ${mode}: a logout revokes all tokens of its session, and no other session`, async (t) => {
    const user = await createUser(app);
    const first = await logIn(service, mode, user);
    const others = [await logIn(service, mode, user), await logIn(service, mode)];
    // An access token issued before the latest refresh also belongs to the session.
    const session = sessionOf(mode, await refresh(service, first));
    await isAlive(t, first, 'the token from before the refresh');
    await isAlive(t, session, 'the session');

    const response = await logOut(service, session);
    t.equal(response.statusCode, 204);
    t.equal(response.body, '');
    t.equal(response.headers['content-type'], undefined);

    await isDead(t, session, 'the session');
    await isDead(t, first, 'the token from before the refresh');
    for (const other of others) await isAlive(t, other, 'another session');
    for (const other of others) t.equal((await refresh(service, other)).statusCode, 200);
    t.equal((await app.db.select().from(sessions).where(eq(sessions.user, user.id))).length, 1);
  });

  t.test(`mode ${mode}: an unknown token ends no session`, async (t) => {
    const bystander = await logIn(service, mode);
    for (const token of ['A'.repeat(64), 'x', 'a.b.c', `${bystander.token.slice(0, -2)}AA`]) {
      // In mode `session`, the request also sends a valid token in the header. A cookie that is the only credential
      // would have to be valid.
      const extraHeaders = mode === 'session' ? (await logIn(service, 'json')).headers : {};
      const { payload, headers } = carry(mode, token);
      const response = await post('/auth/logout', payload, { ...headers, ...extraHeaders });
      t.equal(response.statusCode, 204, token);
    }
    await isAlive(t, bystander, 'no other user is logged out');
  });

  t.test(`mode ${mode}: a missing token returns 400, even if other places contain tokens`, async (t) => {
    const held = [await logIn(service, 'json'), await logIn(service, 'cookie'), await logIn(service, 'session')];
    const others = held.filter((session) => session.mode !== mode);
    const cookie = others.flatMap(({ carrier }) => carrier.headers.cookie ?? []).join('; ');
    const payload = Object.assign({}, ...others.map(({ carrier }) => carrier.payload), { mode });
    for (const body of [payload, { mode }]) {
      const response = await post('/auth/logout', body, { cookie });
      t.equal(response.statusCode, 400);
      t.equal(codeOf(response), 'INVALID_PAYLOAD');
      t.type(response.json().errors[0].extensions.reason, 'string');
    }
    for (const session of held) await isAlive(t, session, `the session of mode ${session.mode}`);
  });

  t.test(`mode ${mode}: simultaneous logouts all return 204`, async (t) => {
    const session = await logIn(service, mode);
    // The cookie is valid only for the first of these requests.
    const extraHeaders = mode === 'session' ? (await logIn(service, 'json')).headers : {};
    const { payload, headers } = session.carrier;
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => post('/auth/logout', payload, { ...headers, ...extraHeaders })),
    );
    t.strictSame([...new Set(responses.map(({ statusCode }) => statusCode))], [204]);
    await isDead(t, session, 'the session');
  });

  t.test(`mode ${mode}: a simultaneous refresh does not revive the session`, async (t) => {
    const user = await createUser(app);
    for (let round = 0; round < 10; round++) {
      const session = await logIn(service, mode, user);
      const [refreshed, loggedOut] = await Promise.all([refresh(service, session), logOut(service, session)]);
      t.equal(loggedOut.statusCode, 204);
      t.match(String(refreshed.statusCode), /^(200|401)$/);
      if (refreshed.statusCode === 200) await isDead(t, sessionOf(mode, refreshed), 'the successor');
      await isDead(t, session, 'the session');
    }
    t.equal((await app.db.select().from(sessions).where(eq(sessions.user, user.id))).length, 0);
  });
}

for (const mode of ['json', 'cookie'] as const) {
  t.test(`mode ${mode}: a second logout succeeds`, async (t) => {
    const session = await logIn(service, mode);
    for (let round = 0; round < 3; round++) t.equal((await logOut(service, session)).statusCode, 204);
  });

  t.test(`mode ${mode}: a replaced token still logs out its session`, async (t) => {
    const first = await logIn(service, mode);
    const session = sessionOf(mode, await refresh(service, first));
    t.equal((await logOut(service, first)).statusCode, 204);
    await isDead(t, session, 'the session');
  });

  t.test(`mode ${mode}: an expired token, or one of a suspended user, still logs out its session`, async (t) => {
    const user = await createUser(app);
    const session = await logIn(service, mode, user);
    clock.advance(8 * day);
    t.equal((await logOut(service, session)).statusCode, 204);
    const other = await logIn(service, mode, user);
    await changeUser(app, user.id, { status: 'suspended' });
    t.equal((await logOut(service, other)).statusCode, 204);
    t.strictSame(await app.db.select().from(sessions).where(eq(sessions.user, user.id)), []);
  });
}

t.test('mode session: the cookie of a session that has ended, expired or never existed is cleared', async (t) => {
  const session = await logIn(service, 'session');
  t.equal((await logOut(service, session)).statusCode, 204);
  const again = await logOut(service, session);
  t.equal(again.statusCode, 204);
  t.match(cookieOf(again, 'session'), { value: '', path: '/' });

  const expired = await logIn(service, 'session');
  clock.advance(day + second);
  const late = await logOut(service, expired);
  t.equal(late.statusCode, 204);
  t.match(cookieOf(late, 'session'), { value: '', path: '/' });

  const forged = await logOut(service, { carrier: carry('session', 'of.no.session') });
  t.equal(forged.statusCode, 204);
  t.match(cookieOf(forged, 'session'), { value: '', path: '/' });
});

t.test('an unusable token in the header is rejected, as on any other route', async (t) => {
  const session = await logIn(service, 'json');
  const response = await post('/auth/logout', { refresh_token: session.token }, bearer('of-nobody'));
  t.equal(codeOf(response), 'INVALID_CREDENTIALS');
  await isAlive(t, session, 'the session');
});

t.test('the old cookie of a refreshed session logs it out during the grace period', async (t) => {
  const old = await logIn(service, 'session');
  const session = sessionOf('session', await refresh(service, old));
  t.equal((await logOut(service, old)).statusCode, 204);
  await isDead(t, session, 'the session');
});

for (const mode of modes) {
  t.test(`mode ${mode}: a token that was replaced twice, or before the grace period, has no effect`, async (t) => {
    const first = await logIn(service, mode);
    const second_ = sessionOf(mode, await refresh(service, first));
    const third = sessionOf(mode, await refresh(service, second_));
    t.equal((await logOut(service, first)).statusCode, 204, 'two generations old');
    await isAlive(t, third, 'the session');
    clock.advance(11 * second);
    t.equal((await logOut(service, second_)).statusCode, 204, 'after the grace period');
    await isAlive(t, third, 'the session');
    t.equal((await logOut(service, third)).statusCode, 204);
    await isDead(t, third, 'the session');
  });
}

t.test('if several cookies have the same name, the valid ones are refreshed and logged out', async (t) => {
  for (const mode of ['cookie', 'session'] as const) {
    const name = mode === 'cookie' ? refreshCookie : sessionCookie;
    const first = await logIn(service, mode);
    const second_ = sessionOf(mode, await refresh(service, first));
    clock.advance(11 * second);
    // A browser may first send an old cookie, with a domain that is no longer configured. It must not end a session.
    const both = `${name}=x; ${name}=${first.token}; ${name}=${second_.token}; ${name}=a.b.c`;
    const third = sessionOf(mode, await post('/auth/refresh', { mode }, { cookie: both }));
    await isAlive(t, third, mode);
    const other = await logIn(service, mode);
    const jar = `${name}=y; ${name}=${other.token}; ${name}=${third.token}`;
    t.equal((await post('/auth/logout', { mode }, { cookie: jar })).statusCode, 204);
    await isDead(t, third, mode);
    await isDead(t, other, `${mode}: the other session`);
  }
});

t.test('mode session cannot end a session with a token of another mode', async (t) => {
  const json = await logIn(service, 'json');
  const response = await logOut(service, { carrier: carry('session', json.accessToken) });
  t.equal(response.statusCode, 204);
  t.match(cookieOf(response, 'session'), { value: '' }, 'the misplaced cookie is cleared');
  await isAlive(t, json, 'the session of mode json');
});

t.test('the default mode is json with a token in the body, and cookie without one', async (t) => {
  const json = await logIn(service, 'json');
  const cookie = await logIn(service, 'cookie');
  const headers = cookie.carrier.headers;
  t.equal((await post('/auth/logout', { refresh_token: json.token }, headers)).statusCode, 204);
  await isDead(t, json, 'json');
  await isAlive(t, cookie, 'cookie');

  const another = await logIn(service, 'json');
  const both = { mode: 'cookie', refresh_token: another.token };
  t.equal((await post('/auth/logout', both, headers)).statusCode, 204);
  await isDead(t, cookie, 'cookie');
  await isAlive(t, another, 'json');

  const third = await logIn(service, 'cookie');
  t.equal((await post('/auth/logout', undefined, third.carrier.headers)).statusCode, 204);
  await isDead(t, third, 'cookie, without a body');

  const session = await logIn(service, 'session');
  t.equal(codeOf(await post('/auth/logout', {}, session.headers)), 'INVALID_PAYLOAD');
  await isAlive(t, session, 'session');
});

t.test('an invalid body returns 400 and ends no session', async (t) => {
  const session = await logIn(service, 'json');
  const { token } = session;
  const bodies = [
    { refresh_token: token, mode: 'jwt' },
    { refresh_token: token, mode: '' },
    { refresh_token: token, mode: null },
    { refresh_token: 1 },
    { refresh_token: [token] },
    { refresh_token: null, mode: 'json' },
    { refresh_token: '', mode: 'json' },
    { refresh_token: `${token}\0` },
    [token],
    {},
  ];
  for (const body of bodies) {
    const response = await post('/auth/logout', body);
    t.equal(response.statusCode, 400, JSON.stringify(body));
    t.equal(codeOf(response), 'INVALID_PAYLOAD', JSON.stringify(body));
  }
  await isAlive(t, session, 'the session');
});

t.test('a logout requires no access token, but rejects an unusable one', async (t) => {
  const session = await logIn(service, 'json');
  clock.advance(16 * minute);
  const expired = await post('/auth/logout', session.carrier.payload, session.headers);
  t.equal(codeOf(expired), 'TOKEN_EXPIRED');
  const unknown = await post('/auth/logout', session.carrier.payload, bearer('nobody-has-this-token'));
  t.equal(codeOf(unknown), 'INVALID_CREDENTIALS');
  t.equal((await logOut(service, session)).statusCode, 204);
});

t.test('a logout clears only cookies of the service that the request contains', async (t) => {
  const clearedBy = async (service: TestApp, payload: object, cookie: string, headers: Record<string, string> = {}) => {
    const response = await service.post('/auth/logout', payload, { cookie, ...headers });
    t.equal(response.statusCode, 204);
    return response.cookies;
  };
  const names = (cookies: { name: string }[]) => cookies.map(({ name }) => name).sort();

  const json = await logIn(service, 'json');
  const cookie = await logIn(service, 'cookie');
  const session = await logIn(service, 'session');
  const jar = `${refreshCookie}=${cookie.token}; theme=dark; ${sessionCookie}=${session.token}`;
  t.strictSame(names(await clearedBy(service, json.carrier.payload, 'theme=dark')), []);
  t.strictSame(names(await clearedBy(service, json.carrier.payload, jar)), [refreshCookie, sessionCookie]);
  const cleared = await clearedBy(service, { mode: 'cookie' }, `${refreshCookie}=${cookie.token}; theme=dark`);
  t.strictSame(names(cleared), [refreshCookie]);
  t.strictSame(names(await clearedBy(service, { mode: 'session' }, `${sessionCookie}=${session.token}`)), [
    sessionCookie,
  ]);

  t.test('cookies are cleared with their original attributes, as browsers require', async (t) => {
    const configured = await startTestApp(t, {
      PUBLIC_URL: 'https://accounts.example.com',
      REFRESH_TOKEN_COOKIE_NAME: '__Secure-refresh',
      REFRESH_TOKEN_COOKIE_DOMAIN: 'example.com',
      REFRESH_TOKEN_COOKIE_SAME_SITE: 'none',
      SESSION_COOKIE_NAME: '__Secure-session',
      SESSION_COOKIE_DOMAIN: 'accounts.example.com',
      SESSION_COOKIE_SAME_SITE: 'strict',
    });
    const login = (mode: string) => configured.post('/auth/login', { ...administrator, mode });
    const attributes = ({ path, domain, secure, httpOnly, sameSite }: Record<string, unknown>) => ({
      path,
      domain,
      secure,
      httpOnly,
      sameSite,
    });
    const expected = {
      '__Secure-refresh': { path: '/', domain: 'example.com', secure: true, httpOnly: true, sameSite: 'None' },
      '__Secure-session': {
        path: '/',
        domain: 'accounts.example.com',
        secure: true,
        httpOnly: true,
        sameSite: 'Strict',
      },
    };
    for (const [mode, name] of [
      ['cookie', '__Secure-refresh'],
      ['session', '__Secure-session'],
    ] as const) {
      const set = (await login(mode)).cookies[0];
      t.equal(set?.name, name);
      t.strictSame(attributes({ ...set }), expected[name]);
      const refreshed = (await configured.post('/auth/refresh', { mode }, { cookie: `${name}=${set?.value}` }))
        .cookies[0];
      t.strictSame(attributes({ ...refreshed }), expected[name]);
      const [cleared, ...rest] = await clearedBy(configured, { mode }, `${name}=${refreshed?.value}`);
      t.strictSame(rest, []);
      t.equal(cleared?.name, name);
      t.equal(cleared?.value, '');
      t.ok(cleared?.maxAge === 0 || Number(cleared?.expires) <= Date.now(), 'it has expired');
      t.strictSame(attributes({ ...cleared }), expected[name]);
    }
  });
});
