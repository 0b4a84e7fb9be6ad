import { eq } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { settings, userPolicies, users } from '../../db/schema.js';
import { hashToken } from '../../plugins/tokens/refresh-tokens.js';
import { refused } from '../helpers/http/refusals.js';
import { linkIn, mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { day } from '../helpers/service/clock.js';
import { refusesBadTokens } from '../helpers/tokens/link-tokens.js';
import { assertUnchanged, createRole, policyWith } from '../helpers/users/rights.js';
import { logIn, modes, refresh } from '../helpers/users/sessions.js';
import { changeUser, createUser } from '../helpers/users/users.js';

const allowed = 'https://app.example.com/verify';
const service = await startTestApp(t, { USER_REGISTER_URL_ALLOW_LIST: allowed, REGISTRATION_ANSWER_TIME: '20ms' });
const { app, post, get, clock } = service;
const password = 'the password of a newcomer';
const role = await createRole(app);

const set = (values: Partial<typeof settings.$inferInsert>) => app.db.update(settings).set(values);
const register = (body: object) => post('/users/register', body);
const verify = (token: string, headers = {}) =>
  get(`/users/register/verify-email?token=${encodeURIComponent(token)}`, headers);
const found = async (email: string) => (await app.db.select().from(users).where(eq(users.email, email)))[0];
let count = 0;
const address = () => `newcomer-${++count}@example.com`;

t.test('registration is closed by default, and the response does not reveal it', async (t) => {
  const email = address();
  await assertUnchanged(t, app, 'closed', async () => {
    const answer = await register({ email, password });
    t.equal(answer.statusCode, 204);
    t.equal(answer.body, '');
  });
  t.strictSame(await mailsTo(app, email), []);
  await set({ publicRegistration: true, publicRegistrationRole: role });
});

t.test('an anonymous caller registers, verifies the address, and logs in', async (t) => {
  const email = address();
  const body = { email, password, first_name: 'Ada', last_name: 'Lovelace' };
  t.equal((await register({ ...body, role: 'x', status: 'active', token: 'x'.repeat(20) })).statusCode, 204);
  const waiting = { status: 'unverified', role, firstName: null, lastName: null, password: null, tokenHash: null };
  t.match(await found(email), waiting, 'before verification, the row has no user input except the address');
  refused(t, await post('/auth/login', { email, password }), 'INVALID_CREDENTIALS', 'not yet verified');

  const [mail] = await mailsTo(app, email);
  const link = linkIn(mail ?? { text: '' });
  t.equal(link.href.split('?')[0], `${app.config.PUBLIC_URL}/account/verify-email`);
  t.notMatch(mail?.text, /Ada|Lovelace/);
  t.equal((await get(`${link.pathname}${link.search}`)).statusCode, 200);
  t.match(await found(email), { status: 'unverified' }, 'a program that opens the link changes nothing');
  t.equal((await verify(link.searchParams.get('token') ?? '')).statusCode, 204);
  const verified = { status: 'active', firstName: 'Ada', lastName: 'Lovelace', emailVerifiedAt: clock.now() };
  t.match(await found(email), verified);
  t.equal((await post('/auth/login', { email, password })).statusCode, 200);
  const token = link.searchParams.get('token') ?? '';
  refused(t, await verify(token), 'INVALID_PAYLOAD', 'used');
  await changeUser(app, (await found(email))?.id ?? '', { status: 'unverified' });
  refused(t, await verify(token), 'INVALID_PAYLOAD', 'used, even if the user is unverified again');
});

t.test('an address is verified only by the link sent to it (CVE-2026-27946, CVE-2026-54693)', async (t) => {
  const email = address();
  const token = `static-token-of-${email}`;
  const answer = await register({ email, password, status: 'active', email_verified: true, verified: true, token });
  t.strictSame([answer.statusCode, answer.body], [204, ''], 'no field in the request verifies the address');
  const user = await found(email);
  t.match(user, { status: 'unverified', tokenHash: null });
  const id = user?.id ?? '';
  // The rights of an ordinary user to their own row, and credentials from before.
  const ownRow = await policyWith(app, [
    { collection: 'users', action: 'read', fields: ['*'], permissions: { id: { _eq: '$CURRENT_USER' } } },
    { collection: 'users', action: 'update', fields: ['*'], permissions: { id: { _eq: '$CURRENT_USER' } } },
  ]);
  await changeUser(app, id, {
    tokenHash: hashToken(token),
    status: 'active',
    password: await app.passwords.hash(password),
  });
  await app.db.insert(userPolicies).values({ user: id, policy: ownRow });
  const held = await Promise.all(modes.map((mode) => logIn(service, mode, { email, password })));
  await changeUser(app, id, { status: 'unverified' });
  const ways = [bearer(token), ...held.map(({ headers }) => headers)];
  await assertUnchanged(t, app, 'everything else', async () => {
    for (const headers of ways) {
      for (const data of [{ status: 'active' }, { email: `x${email}` }, { email_verified: true }, { verified: true }]) {
        for (const [url, payload] of [
          ['/users/me', data],
          [`/users/${id}`, data],
          ['/users', { keys: [id], data }],
          ['/users', [{ id, ...data }]],
        ] as const) {
          const { statusCode } = await service.request({ method: 'PATCH', url, payload, headers });
          t.equal(statusCode, 401, `${url} ${JSON.stringify(data)}`);
        }
      }
      t.equal((await get('/users/me', headers)).statusCode, 401, 'and nothing can be read');
    }
    for (const session of held) t.equal((await refresh(service, session)).statusCode, 401, session.mode);
  });
  refused(t, await post('/auth/login', { email, password }), 'INVALID_CREDENTIALS', 'login');
  await post('/auth/password/request', { email });
  const kinds = (await mailsTo(app, email)).map((mail) => linkIn(mail).pathname);
  t.strictSame(new Set(kinds), new Set(['/account/verify-email']), 'no other kind of link is sent');
  t.equal((await verify(await tokenFor(app, email))).statusCode, 204);
  t.match(await found(email), { status: 'active' });
});

t.test('in a browser, the verification link redirects to a page', async (t) => {
  const email = address();
  await register({ email, password });
  const token = await tokenFor(app, email);
  const browser = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };
  const ok = await verify(token, browser);
  t.equal(ok.statusCode, 302);
  t.equal(ok.headers.location, '/account/verified');
  t.match(await found(email), { status: 'active' });
  t.equal((await verify(token, browser)).headers.location, '/account/verified?reason=INVALID_PAYLOAD');
  t.equal((await verify('x', browser)).headers.location, '/account/verified?reason=INVALID_TOKEN');
});

t.test('the response is the same, whatever the result of a registration (CVE-2024-41952)', async (t) => {
  const taken = await createUser(app);
  const suspended = await createUser(app, { status: 'suspended' });
  const cases: Record<string, { body: object; with?: Partial<typeof settings.$inferInsert> }> = {
    'the address of a suspended user': { body: { email: suspended.email, password } },
    'a short password': { body: { email: address(), password: 'short' } },
    'a common password': { body: { email: address(), password: 'iloveyou1' } },
    'a password the policy rejects': { body: { email: address(), password }, with: { authPasswordPolicy: '/^\\d+$/' } },
    'an address that the filter excludes': {
      body: { email: address(), password },
      with: { publicRegistrationEmailFilter: { email: { _ends_with: '@example.org' } } },
    },
  };
  const headersOf = ({ headers }: LightMyRequestResponse) => {
    const { 'x-request-id': _id, date: _date, 'set-cookie': cookie, ...others } = headers;
    return { ...others, cookie: String(cookie).replace(/=[\w-]{43};/, '=…;') };
  };
  const looksLike = (one: LightMyRequestResponse, other: LightMyRequestResponse, what: string) => {
    t.strictSame([other.statusCode, other.body], [one.statusCode, one.body], what);
    t.strictSame(headersOf(other), headersOf(one), what);
  };
  const open = await register({ email: address(), password });
  t.strictSame([open.statusCode, open.body], [204, '']);
  for (const [what, { body, with: values }] of Object.entries(cases)) {
    if (values) await set(values);
    await assertUnchanged(t, app, what, async () => looksLike(open, await register(body), what));
    await set({ authPasswordPolicy: null, publicRegistrationEmailFilter: null });
  }
  looksLike(open, await register({ email: taken.email.toUpperCase(), password }), 'the address of an active user');
  const wanted = 'somebody@example.org';
  await set({ publicRegistrationEmailFilter: { email: { _ends_with: '@example.org' } } });
  await register({ email: wanted, password });
  t.match(await found(wanted), { status: 'unverified' });
  await set({ publicRegistrationEmailFilter: null });
  t.equal((await mailsTo(app, taken.email)).length, 1, 'only the user of the address is notified');
  t.strictSame(await mailsTo(app, suspended.email), []);
});

t.test('a pending user must still verify the address after verification is turned off for new users', async (t) => {
  const email = address();
  await register({ email, password: 'the password of somebody else' });
  t.equal((await mailsTo(app, email)).length, 1);
  await set({ publicRegistrationVerifyEmail: false });
  await register({ email, password });
  await set({ publicRegistrationVerifyEmail: true });
  t.match(await found(email), { status: 'unverified' });
  t.equal((await mailsTo(app, email)).length, 2, 'another email is sent');
  t.equal((await verify(await tokenFor(app, email))).statusCode, 204);
  t.equal((await post('/auth/login', { email, password })).statusCode, 200);
});

t.test('a HEAD request does not use up the link', async (t) => {
  const email = address();
  await register({ email, password });
  const token = await tokenFor(app, email);
  for (const headers of [{}, { accept: 'text/html' }]) {
    const url = `/users/register/verify-email?token=${token}`;
    const answer = await app.inject({ method: 'HEAD', url, headers });
    t.equal(answer.statusCode, 204);
  }
  t.match(await found(email), { status: 'unverified' });
  t.equal((await verify(token)).statusCode, 204);
});

t.test('the link works despite the cookie of an ended session', async (t) => {
  const email = address();
  await register({ email, password });
  const headers = { accept: 'text/html', cookie: 'gatehouse_session_token=no-such-token' };
  const answer = await verify(await tokenFor(app, email), headers);
  t.equal(answer.statusCode, 302);
  t.equal(new URL(String(answer.headers.location), 'http://x').search, '');
  t.match(await found(email), { status: 'active' });
});

t.test('a verification URL that is too long returns INVALID_PAYLOAD', async (t) => {
  const email = address();
  const { origin, pathname } = new URL(allowed);
  const withQuery = (length: number) => `${allowed}?${'x'.repeat(length)}`;
  t.equal((await register({ email, password, verification_url: withQuery(200) })).statusCode, 204);
  await assertUnchanged(t, app, 'too long', async () => {
    for (const url of [withQuery(201), withQuery(3000), `${origin}${'/.'.repeat(1024)}${pathname}`]) {
      refused(t, await register({ email: address(), password, verification_url: url }), 'INVALID_PAYLOAD', 'too long');
    }
  });
});

t.test('without verification, the user is active immediately', async (t) => {
  await set({ publicRegistrationVerifyEmail: false });
  const email = address();
  await register({ email, password });
  t.strictSame(await mailsTo(app, email), []);
  t.equal((await post('/auth/login', { email, password })).statusCode, 200);
  await set({ publicRegistrationVerifyEmail: true });
});

t.test('an invalid request returns INVALID_PAYLOAD, whether or not the address is known', async (t) => {
  const email = address();
  const bad = [
    {},
    { email },
    { password },
    { email: 'x', password },
    { email: [email], password },
    { email, password: '' },
    { email, password: 7 },
    { email, password: 'x'.repeat(1_025) },
    { email, password, first_name: 7 },
    { email, password, first_name: 'x'.repeat(51) },
    { email, password, verification_url: 'https://evil.example/verify' },
    { email, password, verification_url: '' },
  ];
  const known = await createUser(app);
  await assertUnchanged(t, app, 'refused', async () => {
    for (const body of bad) refused(t, await register(body), 'INVALID_PAYLOAD', JSON.stringify(body).slice(0, 60));
    const url = { email: known.email, password, verification_url: 'https://evil.example/verify' };
    refused(t, await register(url), 'INVALID_PAYLOAD', 'the same for a known address');
  });
  t.equal((await register({ email, password, verification_url: allowed })).statusCode, 204);
  t.equal(linkIn((await mailsTo(app, email))[0] ?? { text: '' }).origin, 'https://app.example.com');
});

t.test('an invalid token is rejected (CVE-2026-1529, CVE-2025-64708, CVE-2026-27840)', async (t) => {
  const fresh = async () => {
    const email = address();
    await register({ email, password });
    return tokenFor(app, email);
  };
  const user = await createUser(app);
  await post('/auth/password/request', { email: user.email });
  const others = [await tokenFor(app, user.email)];
  await refusesBadTokens(t, service, { take: (token) => verify(token), fresh, others, lifetime: 7 * day });
  refused(t, await get('/users/register/verify-email'), 'INVALID_TOKEN', 'no token');
  refused(t, await get('/users/register/verify-email?token='), 'INVALID_TOKEN', 'empty');
});

t.test('of 50 simultaneous verifications, one succeeds (GHSA-hc7v-rggr-4hvx, GHSA-hc7v-x88r-fmh4)', async (t) => {
  const email = address();
  await register({ email, password });
  const token = await tokenFor(app, email);
  const answers = await Promise.all(Array.from({ length: 50 }, () => verify(token)));
  t.equal(answers.filter(({ statusCode }) => statusCode === 204).length, 1);
  for (const answer of answers) if (answer.statusCode !== 204) refused(t, answer, 'INVALID_PAYLOAD', 'another request');
});
