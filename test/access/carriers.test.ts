import { connect } from 'node:net';
import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { ConfigError, loadConfig } from '../../plugins/platform/config.js';
import { hashToken } from '../../plugins/tokens/refresh-tokens.js';
import type { ErrorCode } from '../../schemas/errors.js';
import { userStatuses } from '../../schemas/users.js';
import { countStatements } from '../helpers/database/statements.js';
import { clearedCookies, sessionCookie, setCookies } from '../helpers/http/cookies.js';
import { refused } from '../helpers/http/refusals.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { day, minute } from '../helpers/service/clock.js';
import { accessTokenKey, decodeJwt, signJwt } from '../helpers/tokens/jwt.js';
import { administrator } from '../helpers/users/credentials.js';
import { changeUser, createUser, createUserWithToken } from '../helpers/users/users.js';

const { app, clock, post, get, request } = await startTestApp(t);

/** Logs in once in mode `json` and once in mode `session`, and returns the tokens. */
async function logIn(account: { email: string; password: string }) {
  const json = await post('/auth/login', account);
  const session = await post('/auth/login', { ...account, mode: 'session' });
  return {
    access: json.json().data.access_token as string,
    refresh: json.json().data.refresh_token as string,
    session: setCookies(session).gatehouse_session_token?.value ?? '',
  };
}

const [ann, bob] = [await createUserWithToken(app), await createUserWithToken(app)];
const [annTokens, bobTokens] = [await logIn(ann), await logIn(bob)];

interface Presented {
  query?: string;
  headers?: Record<string, string>;
}

/** A route that requires a user, and public routes with and without a body. */
const routes = {
  'GET /users/me': ({ query = '', headers }: Presented) => get(`/users/me${query}`, headers),
  'POST /auth/login': ({ query = '', headers }: Presented) => post(`/auth/login${query}`, administrator, headers),
  'GET /server/info': ({ query = '', headers }: Presented) => get(`/server/info${query}`, headers),
};
const isPublic = (name: string) => name !== 'GET /users/me';

/** Sends credentials to every route, and expects them to authenticate the given user (null: no user). */
async function seenAs(t: Test, presented: Presented, user: { id: string } | null, what: string) {
  for (const [name, ask] of Object.entries(routes)) {
    const response = await ask(presented);
    if (user === null && !isPublic(name)) refused(t, response, 'INVALID_CREDENTIALS', `${what}: ${name}`);
    else t.equal(response.statusCode, 200, `${what}: ${name}`);
    if (user && !isPublic(name)) t.equal(response.json().data?.id, user.id, `${what}: the user`);
    t.strictSame(clearedCookies(response), [], `${what}: clears no cookie`);
  }
}

/** Sends credentials to every route, including public ones, and expects the same error from all of them. */
async function refusedEverywhere(t: Test, presented: Presented, code: ErrorCode, what: string, cleared: string[] = []) {
  for (const [name, ask] of Object.entries(routes)) {
    const response = await ask(presented);
    refused(t, response, code, `${what}: ${name}`);
    t.strictSame(clearedCookies(response), cleared, `${what}: cookies cleared by ${name}`);
    t.equal(Object.keys(setCookies(response)).length, cleared.length, `${what}: no other cookie from ${name}`);
  }
}

/** Sends unusable cookies. Public routes ignore them, and other routes reject them. */
async function ignoredOnPublicRoutes(
  t: Test,
  headers: Record<string, string>,
  code: ErrorCode,
  what: string,
  cleared: string[] = [],
) {
  for (const [name, ask] of Object.entries(routes)) {
    const response = await ask({ headers });
    if (isPublic(name)) t.equal(response.statusCode, 200, `${what}: ${name}`);
    else refused(t, response, code, `${what}: ${name}`);
    t.strictSame(clearedCookies(response), cleared, `${what}: cookies cleared by ${name}`);
    t.equal(Object.keys(setCookies(response)).length, cleared.length, `${what}: no other cookie from ${name}`);
  }
}

/** A token with the same claims that has already expired. */
function expired(token: string): string {
  const now = Math.floor(clock.now().getTime() / 1000);
  return signJwt(accessTokenKey(app), { ...decodeJwt(token).claims, iat: now - 1000, exp: now - 10 });
}

const forged = (token: string) => `${token.slice(0, -10)}AAAAAAAAAA`;

t.test('a request without credentials is anonymous', (t) => seenAs(t, {}, null, 'nothing'));

t.test('a token in the Authorization header authenticates its user', async (t) => {
  const { access, session } = annTokens;
  for (const [what, token] of Object.entries({ access, session, static: ann.token })) {
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
      await seenAs(t, { headers: { authorization: `${scheme} ${token}` } }, ann, `${what} with ${scheme}`);
    }
  }
});

t.test('an Authorization header without a supported scheme and exactly one token is ignored', async (t) => {
  const { access } = annTokens;
  const headers = [
    '',
    access,
    'Bearer',
    'Bearer ',
    `Bearer  ${access}`,
    `Bearer ${access} more`,
    `Bearer\t${access}`,
    `Bearer:${access}`,
    `Bearer=${access}`,
    `BearerToken ${access}`,
    `Token ${access}`,
    `JWT ${access}`,
    `Basic ${Buffer.from(`${administrator.email}:${administrator.password}`).toString('base64')}`,
    `Basic ${access}`,
    'Digest username="admin"',
    `Basic YTpi, Bearer ${access}`,
  ];
  for (const authorization of headers) {
    await seenAs(t, { headers: { authorization } }, null, JSON.stringify(authorization.slice(0, 20)));
  }
});

t.test('a token in the query authenticates its user', async (t) => {
  const { access, session } = annTokens;
  for (const [what, token] of Object.entries({ access, session, static: ann.token })) {
    await seenAs(t, { query: `?access_token=${token}` }, ann, what);
  }
  await seenAs(t, { query: `?fields=id&access_token=${access}&x=1` }, ann, 'among other parameters');
  await seenAs(t, { query: `?ACCESS_TOKEN=${access}&token=${access}&accessToken=${access}` }, null, 'other names');
});

t.test('an access_token that is repeated or is not a string is rejected', async (t) => {
  const { access } = annTokens;
  const queries = [
    `?access_token=${access}&access_token=${access}`,
    `?access_token=&access_token=${access}`,
    `?access_token[]=${access}`,
    `?access_token[0]=${access}`,
    `?access_token[token]=${access}`,
  ];
  for (const query of queries) await refusedEverywhere(t, { query }, 'INVALID_PAYLOAD', query.slice(0, 20));
});

t.test('a token in the session cookie authenticates its user', async (t) => {
  await seenAs(t, { headers: sessionCookie(annTokens.session) }, ann, 'session');
  const among = `other=1; gatehouse_session_token=${annTokens.session}; gatehouse_refresh_token=x`;
  await seenAs(t, { headers: { cookie: among } }, ann, 'among other cookies');
  const others = `gatehouse_refresh_token=${annTokens.session}; access_token=${annTokens.access}; Gatehouse_Session_Token=x`;
  await seenAs(t, { headers: { cookie: others } }, null, 'under another name');
  await seenAs(t, { headers: { cookie: 'gatehouse_session_token=' } }, null, 'empty');
});

t.test('credentials in both the query and the header are rejected, whatever they contain', async (t) => {
  const tokens = [annTokens.access, ann.token, 'rubbish'];
  for (const inQuery of tokens) {
    for (const inHeader of tokens) {
      const presented = { query: `?access_token=${inQuery}`, headers: bearer(inHeader) };
      await refusedEverywhere(t, presented, 'INVALID_PAYLOAD', 'two carriers');
    }
  }
  const all = { ...bearer(annTokens.access), ...sessionCookie(annTokens.session) };
  const query = `?access_token=${annTokens.access}`;
  await refusedEverywhere(t, { query, headers: all }, 'INVALID_PAYLOAD', 'three carriers');
});

t.test('an empty access_token or a header with another scheme is treated as missing', async (t) => {
  const { access, session } = annTokens;
  const basic = { authorization: 'Basic YTpi' };
  for (const empty of ['?access_token=', '?access_token', '?access_token=&fields=id']) {
    await seenAs(t, { query: empty }, null, empty);
    await seenAs(t, { query: empty, headers: bearer(access) }, ann, `${empty} and a header`);
    await seenAs(t, { query: empty, headers: sessionCookie(session) }, ann, `${empty} and a cookie`);
  }
  await seenAs(t, { query: `?access_token=${access}`, headers: basic }, ann, 'another scheme and the query');
  await seenAs(t, { headers: { ...basic, ...sessionCookie(session) } }, ann, 'another scheme and a cookie');
});

t.test('the session cookie is ignored if the query or the header contains a credential', async (t) => {
  const carriers: Presented[] = [{ query: `?access_token=${bobTokens.access}` }, { headers: bearer(bobTokens.access) }];
  for (const cookie of [annTokens.session, 'rubbish', expired(annTokens.session)]) {
    for (const { query, headers } of carriers) {
      const presented = { headers: { ...headers, ...sessionCookie(cookie) }, ...(query ? { query } : {}) };
      await seenAs(t, presented, bob, 'the other carrier');
    }
  }
  const usable = sessionCookie(annTokens.session);
  await refusedEverywhere(t, { query: '?access_token=rubbish', headers: usable }, 'INVALID_CREDENTIALS', 'bad query');
  await refusedEverywhere(t, { headers: { ...bearer('rubbish'), ...usable } }, 'INVALID_CREDENTIALS', 'bad header');
});

t.test('a static token is valid only while its user is active', async (t) => {
  for (const status of userStatuses) {
    const { token, id } = await createUserWithToken(app, { status });
    for (const presented of [{ headers: bearer(token) }, { query: `?access_token=${token}` }]) {
      if (status === 'active') await seenAs(t, presented, { id }, status);
      else await refusedEverywhere(t, presented, 'INVALID_CREDENTIALS', status);
    }
  }

  const holder = await createUserWithToken(app);
  await seenAs(t, { headers: bearer(holder.token) }, holder, 'before');
  await changeUser(app, holder.id, { status: 'suspended' });
  await refusedEverywhere(
    t,
    { headers: bearer(holder.token) },
    'INVALID_CREDENTIALS',
    'suspended: rejected on the next request',
  );
  await changeUser(app, holder.id, { status: 'active', tokenHash: hashToken('another-token') });
  await refusedEverywhere(t, { headers: bearer(holder.token) }, 'INVALID_CREDENTIALS', 'replaced: now rejected');
  await changeUser(app, holder.id, { tokenHash: null });
  await refusedEverywhere(t, { headers: bearer('another-token') }, 'INVALID_CREDENTIALS', 'removed');

  const external = await createUserWithToken(app, { provider: 'github', password: null });
  await seenAs(t, { headers: bearer(external.token) }, external, 'a user of another provider');
});

t.test('a static token must match exactly, and its hash is not accepted (CVE-2022-31142)', async (t) => {
  const { token } = ann;
  const others = [token.toUpperCase(), `${token}x`, token.slice(0, -1), hashToken(token), 'null', 'undefined', '0'];
  for (const other of others) await refusedEverywhere(t, { headers: bearer(other) }, 'INVALID_CREDENTIALS', other);
});

t.test('any other text is treated as an unknown static token', async (t) => {
  const tokens = {
    'a refresh token': annTokens.refresh,
    'two dots': '..',
    'three parts': 'a.b.c',
    quotes: "'or'1'='1",
    percent: '%25',
    'a long text': 'x'.repeat(8000),
    'a Latin-1 character': '\xe9',
  };
  for (const [what, token] of Object.entries(tokens)) {
    await refusedEverywhere(t, { headers: bearer(token) }, 'INVALID_CREDENTIALS', `${what}, in the header`);
    const query = `?access_token=${encodeURIComponent(token)}`;
    await refusedEverywhere(t, { query }, 'INVALID_CREDENTIALS', `${what}, in the query`);
  }
  for (const query of ['?access_token=%00', '?access_token=%ff', '?access_token=%', '?access_token=%ed%a0%80']) {
    await refusedEverywhere(t, { query }, 'INVALID_CREDENTIALS', query);
  }
});

t.test('an unusable session cookie is cleared unless it has only expired, and public routes ignore it', async (t) => {
  const cleared = ['gatehouse_session_token'];
  const { session } = annTokens;
  await ignoredOnPublicRoutes(t, sessionCookie('rubbish'), 'INVALID_CREDENTIALS', 'rubbish', cleared);
  await ignoredOnPublicRoutes(t, sessionCookie(forged(session)), 'INVALID_TOKEN', 'forged', cleared);
  await ignoredOnPublicRoutes(t, sessionCookie(expired(session)), 'TOKEN_EXPIRED', 'expired');

  const account = await createUser(app);
  const tokens = await logIn(account);
  await changeUser(app, account.id, { status: 'suspended' });
  await ignoredOnPublicRoutes(t, sessionCookie(tokens.session), 'INVALID_CREDENTIALS', 'suspended', cleared);

  const carriers: [Presented, string][] = [
    [{ headers: bearer('rubbish') }, 'header'],
    [{ query: '?access_token=rubbish' }, 'query'],
    [{ headers: { ...bearer('rubbish'), ...sessionCookie(session) } }, 'header, with a good cookie'],
    [{ headers: { ...bearer('rubbish'), ...sessionCookie('rubbish') } }, 'header, with a bad cookie'],
  ];
  for (const [presented, what] of carriers) await refusedEverywhere(t, presented, 'INVALID_CREDENTIALS', what);
});

t.test('the service clears a cookie with the attributes that it used to set it', async (t) => {
  const attributesOf = (response: LightMyRequestResponse) =>
    setCookies(response).gatehouse_session_token?.attributes.filter((text) => !/^(Max-Age|Expires)/.test(text));
  const given = attributesOf(await post('/auth/login', { ...administrator, mode: 'session' }));
  t.ok(given?.includes('Path=/'));
  t.strictSame(
    attributesOf(await get('/server/info', sessionCookie('rubbish'))),
    given,
    'otherwise a browser would keep it',
  );
});

t.test('a login replaces an unusable cookie', async (t) => {
  const response = await post('/auth/login', { ...administrator, mode: 'session' }, sessionCookie('rubbish'));
  t.equal(response.statusCode, 200);
  t.strictSame(clearedCookies(response), []);
  t.match(setCookies(response).gatehouse_session_token?.value, /^[\w-]+\.[\w-]+\.[\w-]+$/);
});

t.test('if a request has several session cookies, the valid one is used, whatever their order', async (t) => {
  const own = `gatehouse_session_token=${annTokens.session}`;
  // Cookies that a page on a sibling domain can set: garbage, and tokens that look like ours.
  const planted = [
    'x',
    '',
    'a.b.c',
    '"quoted"',
    '%E0%A4%A',
    forged(annTokens.session),
    forged(bobTokens.session),
    expired(bobTokens.session),
    annTokens.access.slice(0, -1),
  ].map((value) => `gatehouse_session_token=${value}`);
  for (const one of planted) {
    for (const cookie of [`${one}; ${own}`, `${own}; ${one}`, `theme=dark; ${one}; ${own}; ${one}`]) {
      await seenAs(t, { headers: { cookie } }, ann, cookie.slice(0, 60));
    }
  }
  await seenAs(t, { headers: { cookie: [...planted, own].join('; ') } }, ann, 'all of them together');
  const many = Array.from({ length: 19 }, (_, index) => `gatehouse_session_token=a.b.${index}`);
  await seenAs(t, { headers: { cookie: [...many, own].join(';') } }, ann, 'many cookies');
  const others = 'xgatehouse_session_token=x; gatehouse_session_token_2=x';
  await seenAs(t, { headers: { cookie: `${others}; ${own}; ${others}` } }, ann, 'similar names');
});

t.test('a request with many invalid session cookies causes only a few SQL statements', async (t) => {
  const cookie = Array.from({ length: 100 }, (_, index) => `gatehouse_session_token=nobody-${index}`).join('; ');
  const count = countStatements(app);
  refused(t, await get('/users/me', { cookie }), 'INVALID_CREDENTIALS', 'rejected');
  t.ok(count() <= 4, `${count()}`);
});

t.test('expired and forged access tokens are rejected on every route', async (t) => {
  for (const [token, code] of [
    [expired(annTokens.access), 'TOKEN_EXPIRED'],
    [forged(annTokens.access), 'INVALID_TOKEN'],
  ] as const) {
    await refusedEverywhere(t, { headers: bearer(token) }, code, 'header');
    await refusedEverywhere(t, { query: `?access_token=${token}` }, code, 'query');
  }
});

t.test('the credential is checked before the body', async (t) => {
  refused(t, await post('/auth/login', {}, bearer('rubbish')), 'INVALID_CREDENTIALS', 'body without fields');
  const headers = { 'content-type': 'application/json', ...bearer('rubbish') };
  const malformed = await request({ method: 'POST', url: '/auth/login', headers, payload: '{' });
  refused(t, malformed, 'INVALID_CREDENTIALS', 'malformed JSON');
  refused(t, await post('/auth/login', {}, bearer(ann.token)), 'INVALID_PAYLOAD', 'valid credential');
});

t.test('a valid credential in the request does not replace the login credentials', async (t) => {
  const response = await post('/auth/login', administrator, bearer(annTokens.access));
  const { claims } = decodeJwt(response.json().data.access_token);
  t.not(claims.id, ann.id);
  t.equal(claims.admin_access, true);
});

t.test('if a real connection sends two Authorization headers, the first applies, as in other servers', async (t) => {
  const address = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const lines = [`authorization: Bearer ${ann.token}`, `authorization: Bearer ${bob.token}`];
  const answer = await new Promise<string>((resolve, reject) => {
    let text = '';
    const socket = connect(Number(address.port), address.hostname, () =>
      socket.write(['GET /users/me HTTP/1.1', 'host: x', 'connection: close', ...lines, '', ''].join('\r\n')),
    );
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', reject).on('close', () => resolve(text));
  });
  t.match(answer, /^HTTP\/1\.1 200 /);
  t.ok(answer.includes(ann.id));
  t.notOk(answer.includes(bob.id));
});

t.test('access tokens expire 15 minutes after login, and session tokens after a day', async (t) => {
  const account = await createUser(app);
  const { access, session } = await logIn(account);
  clock.advance(14 * minute);
  await seenAs(t, { headers: bearer(access) }, account, 'access, in time');
  clock.advance(1 * minute);
  await refusedEverywhere(t, { headers: bearer(access) }, 'TOKEN_EXPIRED', 'access');
  await seenAs(t, { headers: sessionCookie(session) }, account, 'session, in time');
  clock.advance(day - 16 * minute);
  await seenAs(t, { headers: sessionCookie(session) }, account, 'session, still in time');
  clock.advance(1 * minute);
  await ignoredOnPublicRoutes(t, sessionCookie(session), 'TOKEN_EXPIRED', 'session');
});

t.test('ADMIN_TOKEN must be a valid header value of at least 32 characters', async (t) => {
  const load = (ADMIN_TOKEN: string) => loadConfig({ SECRET: 'x'.repeat(32), ADMIN_TOKEN });
  for (const token of [
    'with a space somewhere in the middle of it',
    'with-a-tab\tsomewhere-in-the-middle-of-it',
    'with-an-é-somewhere-in-the-middle-of-it',
    'with-only-31-characters-in-all.',
  ]) {
    t.throws(() => load(token), ConfigError, token);
  }
  const fitting = 'a-token+of/32=characters.~_works';
  t.equal(load(fitting).ADMIN_TOKEN, fitting);
});
