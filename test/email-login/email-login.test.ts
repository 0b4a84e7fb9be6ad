import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { emailCodes, settings } from '../../db/schema.js';
import { recorded } from '../helpers/database/activity.js';
import { refused } from '../helpers/http/refusals.js';
import { codeIn, findCode, linkIn, mailsTo, otherCode } from '../helpers/mail/mails.js';
import { createVisitor, type Visitor } from '../helpers/providers/visitor.js';
import { startTestApp, type TestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { assertUnchanged } from '../helpers/users/rights.js';
import { modes, readMe, sessionOf } from '../helpers/users/sessions.js';
import { codeOfStep } from '../helpers/users/totp.js';
import { nextStep } from '../helpers/users/two-factor.js';
import { changeUser, createUser, type NewUser, storedUser } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, clock, post } = service;
await app.db.update(settings).set({ emailLogin: true });

const browser = (to: TestApp = service) => createVisitor(to, to.app.config.PUBLIC_URL);
const call = ({ send }: Visitor, url: string, payload: object) => send({ method: 'POST', url, payload });
const ask = (visitor: Visitor, email: string, more: object = {}) =>
  call(visitor, '/auth/email/request', { email, ...more });
const enter = (visitor: Visitor, email: string, code: string, more: object = {}) =>
  call(visitor, '/auth/email', { email, code, ...more });
const open = (token: string, more: object = {}, visitor = browser()) =>
  call(visitor, '/auth/email', { token, ...more });

/** The code and the token in the latest email with a code. A notice may follow it. */
async function received(email: string, to: TestApp = service) {
  const mail = (await mailsTo(to.app, email)).findLast(findCode);
  if (!mail) throw new Error(`There is no email to ${email}.`);
  const token = /token=/.test(mail.text) ? (linkIn(mail).searchParams.get('token') ?? '') : '';
  return { mail, code: codeIn(mail), token };
}

/** A user who has requested a code in a browser. */
async function requested(columns: NewUser = {}) {
  const user = await createUser(app, columns);
  const visitor = browser();
  const { statusCode, body } = await ask(visitor, user.email);
  if (statusCode !== 204) throw new Error(`The request failed: ${statusCode} ${body}`);
  return { user, visitor, ...(await received(user.email)) };
}

const isRefused = (t: Test, response: Awaited<ReturnType<typeof enter>>, what: string) =>
  refused(t, response, 'INVALID_CREDENTIALS', what);

t.test('a code signs the user in, in every mode, and verifies the address', async (t) => {
  for (const mode of modes) {
    const { user, visitor, code, mail } = await requested();
    t.equal((await storedUser(app, user.id)).emailVerifiedAt, null);
    t.match(mail.html, code);
    t.match(mail.subject, code);
    const response = await enter(visitor, user.email.toUpperCase(), code, { mode });
    const session = sessionOf(mode, response);
    t.equal((await readMe(service, session)).json().data.id, user.id, mode);
    t.ok((await storedUser(app, user.id)).emailVerifiedAt);
    const [event] = await recorded(app, response.headers['x-request-id']);
    t.match(event, { action: 'login', user: user.id, outcome: 'success' });
    isRefused(t, await enter(visitor, user.email, code), 'a code that was used');
  }
});

t.test('the link signs the user in, in any browser, once', async (t) => {
  const { user, visitor, code, token, mail } = await requested();
  const link = linkIn(mail);
  t.equal(link.href, `${app.config.PUBLIC_URL}/account/email-login?token=${token}`);
  t.equal((await open(token)).statusCode, 200);
  t.ok((await storedUser(app, user.id)).emailVerifiedAt);
  isRefused(t, await open(token), 'a link that was used');
  isRefused(t, await enter(visitor, user.email, code), 'the code of a link that was used');
});

t.test('opening the page of a link shows whose it is, and does not use it', async (t) => {
  const { user, token } = await requested();
  const opened = async (of: string) => {
    const { statusCode, body } = await service.get(`/account/email-login?token=${of}`);
    t.equal(statusCode, 200);
    const data = JSON.parse(/id="page-data">(.*?)<\/script>/s.exec(body)?.[1] ?? '{}') as { link?: object };
    return data.link;
  };
  for (let times = 0; times < 2; times++) t.strictSame(await opened(token), { email: user.email });
  t.equal((await storedUser(app, user.id)).emailVerifiedAt, null);
  t.equal((await open(token)).statusCode, 200);
  t.strictSame(await opened(token), { reason: 'INVALID_CREDENTIALS' }, 'a link that was used');
  t.strictSame(await opened(`${token}x`), { reason: 'INVALID_TOKEN' }, 'not a token');
  const other = await requested();
  await app.db.update(settings).set({ emailLogin: false });
  t.strictSame(await opened(other.token), { reason: 'FORBIDDEN' }, 'turned off');
  await app.db.update(settings).set({ emailLogin: true });
});

t.test('the code is of no use outside the browser that requested it', async (t) => {
  const { user, visitor, code } = await requested();
  const other = await requested();
  isRefused(t, await enter(browser(), user.email, code), 'a browser without a cookie');
  isRefused(t, await enter(other.visitor, user.email, code), 'a browser that requested another code');
  isRefused(t, await enter(other.visitor, other.user.email, code), 'the code of another user');
  isRefused(t, await enter(browser(), user.email, code, { binding: 'x'.repeat(32) }), 'a binding of the caller');
  const cookie = (await visitor.cookies('/')).split('=')[1] ?? '';
  isRefused(t, await enter(browser(), user.email, code, { binding: cookie }), 'the cookie as a binding');
  t.equal((await enter(visitor, user.email, code)).statusCode, 200);
});

t.test('the cookie is as strict as possible', async (t) => {
  const { email } = await createUser(app);
  const [plain] = (await ask(browser(), email)).cookies;
  t.match(plain, { name: 'gatehouse_email_login', httpOnly: true, sameSite: 'Lax', path: '/', maxAge: 600 });
  const secured = await startTestApp(t, { PUBLIC_URL: 'https://accounts.example.com' });
  await secured.app.db.update(settings).set({ emailLogin: true });
  const [secure] = (await ask(browser(secured), email)).cookies;
  t.match(secure, { name: '__Host-gatehouse_email_login', httpOnly: true, secure: true, path: '/' });
  t.notOk(secure?.domain);
});

t.test('an app without cookies sends the same binding with both requests', async (t) => {
  const { email } = await createUser(app);
  const binding = randomBytes(24).toString('base64url');
  const response = await post('/auth/email/request', { email, binding });
  t.strictSame([response.statusCode, response.cookies], [204, []]);
  const { code } = await received(email);
  isRefused(t, await post('/auth/email', { email, code }), 'no binding');
  isRefused(t, await post('/auth/email', { email, code, binding: `${binding}x` }), 'another binding');
  t.equal((await post('/auth/email', { email, code, binding })).statusCode, 200);
  for (const bad of ['x'.repeat(31), 'x'.repeat(1025), 7, null, ['x'.repeat(32)]]) {
    refused(t, await post('/auth/email/request', { email, binding: bad }), 'INVALID_PAYLOAD', JSON.stringify(bad));
  }
});

t.test(
  'five wrong codes void the code and not the link, and only those from the browser that requested it',
  async (t) => {
    const far = await requested();
    for (let by = 1; by <= 8; by++)
      isRefused(t, await enter(browser(), far.user.email, otherCode(far.code, by)), 'elsewhere');
    for (let by = 1; by <= 4; by++)
      isRefused(t, await enter(far.visitor, far.user.email, otherCode(far.code, by)), 'here');
    t.equal((await enter(far.visitor, far.user.email, far.code)).statusCode, 200, 'after four wrong codes');

    const { user, visitor, code, token } = await requested();
    const guesses = Array.from({ length: 5 }, (_, index) => enter(visitor, user.email, otherCode(code, index + 1)));
    for (const response of await Promise.all(guesses)) isRefused(t, response, 'a wrong code');
    isRefused(t, await enter(visitor, user.email, code), 'the code, after five wrong ones');
    t.equal((await open(token)).statusCode, 200, 'the link, after five wrong codes');
    await ask(visitor, user.email);
    t.equal((await enter(visitor, user.email, (await received(user.email)).code)).statusCode, 200, 'a new code');
  },
);

t.test('of twenty concurrent uses of a request, one succeeds', async (t) => {
  const { user, visitor, code, token } = await requested();
  const uses = Array.from({ length: 20 }, (_, index) =>
    index % 2 === 0 ? enter(visitor, user.email, code) : open(token),
  );
  const statuses = (await Promise.all(uses)).map(({ statusCode }) => statusCode).sort();
  t.strictSame(statuses, [200, ...Array(19).fill(401)]);
});

t.test('a request ends after ten minutes', async (t) => {
  const late = await requested();
  clock.advance(9 * minute);
  t.equal((await enter(late.visitor, late.user.email, late.code)).statusCode, 200);
  const { user, visitor, code, token } = await requested();
  clock.advance(10 * minute);
  isRefused(t, await enter(visitor, user.email, code), 'an expired code');
  isRefused(t, await open(token), 'an expired link');
  const { email } = await createUser(app);
  await ask(browser(), email);
  clock.advance(10 * minute);
  t.strictSame(await mailsTo(app, email), [], 'an email that would arrive too late is not sent');
});

t.test('a new request, and a change of the account, void the previous request', async (t) => {
  const { user, visitor, code, token } = await requested();
  await ask(visitor, user.email);
  const { code: newer } = await received(user.email);
  if (newer !== code) isRefused(t, await enter(visitor, user.email, code), 'the previous code');
  isRefused(t, await open(token), 'the previous link');
  t.equal((await enter(visitor, user.email, newer)).statusCode, 200);

  for (const change of [
    { email: 'moved@example.com' },
    { password: 'x' },
    { status: 'suspended' },
    { provider: 'x' },
  ]) {
    const { user, visitor, code, token } = await requested();
    await changeUser(app, user.id, change);
    const { email } = await storedUser(app, user.id);
    isRefused(t, await enter(visitor, email ?? '', code), JSON.stringify(change));
    isRefused(t, await open(token), JSON.stringify(change));
  }
});

t.test('an email that was delayed does not replace a newer code', async (t) => {
  const { email } = await createUser(app);
  const appBinding = randomBytes(24).toString('base64url');
  await app.mail.enqueue(app.db, {
    ...{
      kind: 'email_login',
      email,
      url: 'https://app.example.com',
      binding: app.emailCodes.bindingHashes(['app', appBinding])[0],
    },
    requestedAt: new Date(clock.now().getTime() - minute).toISOString(),
  });
  await post('/auth/email/request', { email, binding: appBinding });
  const codes = (await mailsTo(app, email)).map(codeIn);
  const statuses = [];
  for (const code of codes) {
    statuses.push((await post('/auth/email', { email, code, binding: appBinding })).statusCode);
  }
  t.equal(statuses.filter((status) => status === 200).length, 1);
});

t.test('a request from another browser does not affect a request, its code, or its link', async (t) => {
  const mine = await requested();
  const { email } = mine.user;
  const strangers = Array.from({ length: 5 }, () => browser());
  for (const stranger of strangers) {
    await ask(stranger, email);
    await mailsTo(app, email);
    for (let by = 1; by <= 5; by++) isRefused(t, await enter(stranger, email, otherCode(mine.code, by)), 'a guess');
  }
  await post('/auth/email/request', { email, binding: 'x'.repeat(32) });
  const stored = await app.db.select().from(emailCodes).where(eq(emailCodes.user, mine.user.id));
  await mailsTo(app, email);
  t.equal(
    (await app.db.select().from(emailCodes).where(eq(emailCodes.user, mine.user.id))).length,
    7,
    'one per browser',
  );
  t.equal(stored.length, 6, 'before the last email was sent');
  await app.lockouts.unlock(app.db, mine.user);
  t.equal((await enter(mine.visitor, email, mine.code)).statusCode, 200, 'the code');

  const other = await requested();
  for (const stranger of strangers) await ask(stranger, other.user.email);
  await mailsTo(app, other.user.email);
  t.equal((await open(other.token)).statusCode, 200, 'the link');
});

t.test('the code is compared with the requests of all cookies that the browser sends', async (t) => {
  const { user, visitor, code } = await requested();
  const planted = `gatehouse_email_login=${randomBytes(32).toString('base64url')}`;
  const login = await service.request({
    method: 'POST',
    url: '/auth/email',
    payload: { email: user.email, code },
    headers: { cookie: `${planted}; ${await visitor.cookies('/')}` },
  });
  t.equal(login.statusCode, 200);
});

t.test('the number of requests that are pending for a user is limited, and none of them is voided', async (t) => {
  const mine = await requested();
  const row = (await app.db.select().from(emailCodes).where(eq(emailCodes.user, mine.user.id)))[0];
  if (!row) throw new Error('The request is not stored.');
  const others = Array.from({ length: 49 }, () => ({
    ...row,
    id: randomUUID(),
    tokenHash: null,
    bindingHash: randomBytes(32).toString('hex'),
  }));
  await app.db.insert(emailCodes).values(others);
  const sent = (await mailsTo(app, mine.user.email)).length;
  await ask(browser(), mine.user.email);
  t.equal((await mailsTo(app, mine.user.email)).length, sent, 'a further browser gets no email');
  await ask(mine.visitor, mine.user.email);
  t.equal((await mailsTo(app, mine.user.email)).length, sent + 1, 'the same browser does');
  t.equal((await open((await received(mine.user.email)).token)).statusCode, 200);
  await ask(browser(), mine.user.email);
  t.equal(
    (await mailsTo(app, mine.user.email)).length,
    sent + 2,
    'so does one on a network that the user has signed in from',
  );
});

t.test('users with two-factor authentication also need a code from their app', async (t) => {
  const user = await createUser(app, { tfa: true });
  const visitor = browser();
  for (const way of ['code', 'link']) {
    await ask(visitor, user.email);
    const { code, token } = await received(user.email);
    const signIn = (more: object) =>
      way === 'code' ? enter(visitor, user.email, code, more) : open(token, more, visitor);
    const step = nextStep(service);
    for (const more of [{}, { otp: '000000' }, {}, {}, {}]) {
      refused(t, await signIn(more), 'INVALID_OTP', `${way}: ${JSON.stringify(more)}`);
    }
    t.equal((await signIn({ otp: codeOfStep(step) })).statusCode, 200, `${way}: INVALID_OTP does not use up the code`);
    isRefused(t, await signIn({ otp: codeOfStep(step + 1) }), `${way}: used`);
  }
});

t.test('an email is sent only to an active user who does not sign in through a provider', async (t) => {
  const nobody = [
    'nobody@example.com',
    (await createUser(app, { status: 'suspended' })).email,
    (await createUser(app, { status: 'invited' })).email,
    (await createUser(app, { status: 'unverified' })).email,
    (await createUser(app, { provider: 'github', externalIdentifier: 'x' })).email,
  ];
  for (const email of nobody) {
    const visitor = browser();
    t.equal((await ask(visitor, email)).statusCode, 204, email);
    t.strictSame(await mailsTo(app, email), [], email);
    isRefused(t, await enter(visitor, email, '000000'), email);
  }
  const { user } = await requested({ email: 'Grace.Hopper@Example.com', password: null });
  const visitor = browser();
  await ask(visitor, 'grace.hopper@EXAMPLE.com');
  const { mail, code } = await received('Grace.Hopper@Example.com');
  t.equal(mail.to, user.email, 'the stored address');
  t.equal((await enter(visitor, user.email, code)).statusCode, 200, 'a user without a password');
});

/** The data of the page that a link opens. */
const pageOf = async (token: string) => {
  const { body } = await service.get(`/account/email-login?token=${token}`);
  return JSON.parse(/id="page-data">(.*?)<\/script>/s.exec(body)?.[1] ?? '{}') as { link?: object };
};

t.test('the redirect is an account page without a query, and it is not in the email', async (t) => {
  const { email } = await createUser(app);
  t.equal((await ask(browser(), email, { redirect: '/account/security' })).statusCode, 204);
  const { mail, token } = await received(email);
  t.equal(linkIn(mail).href, `${app.config.PUBLIC_URL}/account/email-login?token=${token}`);
  t.notMatch(`${mail.subject}${mail.text}${mail.html}`, '/account/security');
  t.strictSame((await pageOf(token)).link, { email, redirect: '/account/security' }, 'the page knows it');
  const long = `/account/${'x'.repeat(255)}`;
  await assertUnchanged(t, app, 'a redirect that is not allowed', async () => {
    for (const redirect of [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      '/users',
      '/accountx',
      '/account/../users',
      '/account/security?a=1',
      '/account?',
      '/account?Locked!-Call-0800-666',
      '/account/security#call-0800-666',
      '/account/Locked!%20Call%200800',
      '/account/call 0800',
      '/account/0800-666',
      long,
      7,
    ]) {
      refused(t, await ask(browser(), email, { redirect }), 'INVALID_PAYLOAD', String(redirect));
    }
  });
});

t.test('malformed bodies are rejected, and a wrong token like a wrong code', async (t) => {
  const { user, visitor, code, token } = await requested();
  const { email } = user;
  const bodies = [
    {},
    { email },
    { code },
    { email, code: Number(code) },
    { email, code: [code] },
    { email, code: null },
    { email, code: '' },
    { email, code: '1'.repeat(65) },
    { email: [email], code },
    { email, code, token },
    { token, binding: 'x'.repeat(32) },
    { token: [token] },
    { token: '' },
    { email, code, mode: 'none' },
    { email, code, otp: 1 },
    { email, code, user: user.id },
  ];
  for (const body of bodies) {
    refused(t, await call(visitor, '/auth/email', body), 'INVALID_PAYLOAD', JSON.stringify(body).slice(0, 99));
  }
  for (const body of [{ token: 'x' }, { token: 'x'.repeat(100_000) }, { token: `${token}x` }, { token: code }]) {
    isRefused(t, await call(visitor, '/auth/email', body), JSON.stringify(body).slice(0, 99));
  }
  isRefused(t, await enter(visitor, email, `x${code}`), 'a letter');
  isRefused(t, await enter(visitor, email, '%'), 'a pattern');
  refused(t, await post('/auth/email/request', {}), 'INVALID_PAYLOAD', 'an anonymous caller without an address');
  for (const wrongEmail of [null, 7, [email], 'no address', `${'a'.repeat(200)}@example.com`]) {
    refused(t, await post('/auth/email/request', { email: wrongEmail }), 'INVALID_PAYLOAD', String(wrongEmail));
  }
  t.equal((await enter(visitor, email, code)).statusCode, 200);
});

t.test('nothing works while the setting is off', async (t) => {
  const { user, visitor, code, token } = await requested();
  await app.db.update(settings).set({ emailLogin: false });
  await assertUnchanged(t, app, 'sign-in by email is off', async () => {
    refused(t, await ask(visitor, user.email), 'FORBIDDEN', 'the request');
    refused(t, await enter(visitor, user.email, code), 'FORBIDDEN', 'the code');
    refused(t, await open(token), 'FORBIDDEN', 'the link');
  });
  await app.db.update(settings).set({ emailLogin: true });
  t.equal((await open(token)).statusCode, 200);
});

t.test('a page of another site cannot sign a browser in', async (t) => {
  const { token } = await requested();
  for (const mode of ['cookie', 'session']) {
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    refused(t, await post('/auth/email', { token, mode }, headers), 'FORBIDDEN', mode);
  }
  t.equal((await open(token)).statusCode, 200);
});

t.test('wrong codes count as failed logins of the account, wherever they come from', async (t) => {
  await app.db.update(settings).set({ authLoginAttempts: 7 });
  const { user, visitor, code } = await requested();
  for (let by = 1; by <= 7; by++) isRefused(t, await enter(browser(), user.email, otherCode(code, by)), `guess ${by}`);
  refused(t, await enter(visitor, user.email, code), 'REQUESTS_EXCEEDED', 'the account is locked for a while');
  refused(t, await post('/auth/login', user), 'REQUESTS_EXCEEDED', 'also for the password');
  for (let by = 1; by <= 7; by++)
    isRefused(t, await enter(browser(), 'stranger@example.com', '1'), 'an unknown account');
  refused(t, await enter(browser(), 'stranger@example.com', '1'), 'REQUESTS_EXCEEDED', 'an unknown account');
  clock.advance(minute);
  t.equal((await enter(visitor, user.email, code)).statusCode, 200, 'after the lock');
  t.equal((await post('/auth/login', user)).statusCode, 200, 'a success resets the count');
  await app.db.update(settings).set({ authLoginAttempts: 25 });
});

t.test('the database contains neither codes nor tokens', async (t) => {
  const { user, code, token } = await requested();
  const stored = await app.db.select().from(emailCodes).where(eq(emailCodes.user, user.id));
  t.equal(stored.length, 1);
  t.notMatch(JSON.stringify(stored), token);
  const digest = (text: string) => createHash('sha256').update(text).digest('hex');
  for (const text of [code, `${user.id}${code}`, token]) t.notMatch(JSON.stringify(stored), digest(text));
});
