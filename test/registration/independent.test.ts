// @suite not-everyday: tries hundreds of cases

import { eq } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { deleteExpiredRegistrations } from '../../db/queries/registration/registrations.js';
import { registrations, settings, users } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { linkIn, mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { startTestApp } from '../helpers/service/app.js';
import { day } from '../helpers/service/clock.js';
import { refusesBadTokens } from '../helpers/tokens/link-tokens.js';
import { assertUnchanged, createPolicy } from '../helpers/users/rights.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

/** Registrations of the same address are independent of each other. The owner confirms one of them on a page. */

const allowed = 'https://app.example.com/verify';
const service = await startTestApp(t, {
  USER_REGISTER_URL_ALLOW_LIST: allowed,
  REGISTRATION_ANSWER_TIME: '1ms',
  PASSWORD_REJECT_COMMON: 'false',
});
const { app, post, get, request, clock } = service;
await app.db.update(settings).set({ publicRegistration: true });
const { headers: asAdmin } = await createUserWithToken(app, {
  policies: [await createPolicy(app, { adminAccess: true })],
});

let count = 0;
const address = () => `independent-${++count}@example.com`;
const found = async (email: string) => (await app.db.select().from(users).where(eq(users.email, email)))[0];
const pendingOf = async (email: string) =>
  app.db.$count(registrations, eq(registrations.user, (await found(email))?.id ?? ''));

/** A client that stores the registration cookie, as a browser does. */
function browser() {
  let cookie: string | undefined;
  const keep = (response: LightMyRequestResponse) => {
    const [set] = [response.headers['set-cookie']].flat();
    if (set !== undefined) cookie = /Max-Age=0|Expires=Thu, 01 Jan 1970/.test(set) ? undefined : set.split(';')[0];
    return response;
  };
  const headers = () => (cookie === undefined ? {} : { cookie });
  return {
    get cookie() {
      return cookie;
    },
    register: async (body: object) => keep(await post('/users/register', body, headers())),
    confirm: async (token: string, password?: string) =>
      keep(await post('/users/register/verify-email', { token, ...(password && { password }) }, headers())),
    open: (token: string) => get(`/account/verify-email?token=${token}`, headers()),
  };
}

/** Registers in a browser. @returns the token in the email */
async function registered(own: ReturnType<typeof browser>, body: { email: string; password: string }) {
  const before = (await mailsTo(app, body.email)).length;
  t.equal((await own.register(body)).statusCode, 204);
  t.equal((await mailsTo(app, body.email)).length, before + 1);
  return tokenFor(app, body.email);
}

const logsIn = async (email: string, password: string) =>
  (await post('/auth/login', { email, password })).statusCode === 200;

const theirs = {
  password: 'the password of a stranger',
  first_name: 'Your card was charged 499 USD',
  last_name: 'Mallory',
};
const mine = { password: 'the password of the owner', first_name: 'Ada', last_name: 'Lovelace' };

t.test(
  'only the owner’s password is valid, whatever the order of registrations and whichever email is opened',
  async (t) => {
    const orders = [
      'owner',
      'attacker',
      'owner attacker',
      'attacker owner',
      'attacker owner attacker',
      'owner attacker owner',
    ];
    for (const order of orders) {
      const parties = order.split(' ');
      for (const [opened, by] of parties.entries()) {
        // The owner opens the email in the browser in which they registered, or in another one.
        for (const place of ['the same browser', 'another browser']) {
          const what = `${order}: email ${opened + 1}, sent for the ${by}, opened in ${place}`;
          const email = address();
          const own = browser();
          const foreign = browser();
          const tokens: string[] = [];
          for (const party of parties) {
            tokens.push(
              party === 'owner'
                ? await registered(own, { email, ...mine })
                : await registered(foreign, { email, ...theirs }),
            );
          }
          const token = tokens[opened] ?? '';
          const reader = place === 'the same browser' ? own : browser();
          const first = await reader.confirm(token);
          const isOneClick = by === 'owner' && place === 'the same browser';
          t.equal(first.statusCode, isOneClick ? 204 : 400, what);
          if (!isOneClick) {
            t.match(await found(email), { status: 'unverified' }, what);
            t.equal((await reader.confirm(token, mine.password)).statusCode, 204, what);
          }
          t.ok(await logsIn(email, mine.password), what);
          t.notOk(await logsIn(email, theirs.password), what);
          const names =
            by === 'owner' ? { firstName: 'Ada', lastName: 'Lovelace' } : { firstName: null, lastName: null };
          t.match(await found(email), { status: 'active', emailVerifiedAt: clock.now(), ...names }, what);
          for (const other of tokens) {
            refused(
              t,
              await browser().confirm(other, theirs.password),
              'INVALID_PAYLOAD',
              `${what}: no other link works`,
            );
            refused(t, await get(`/users/register/verify-email?token=${other}`), 'INVALID_PAYLOAD', what);
          }
          t.equal(await pendingOf(email), 0);
        }
      }
    }
  },
);

t.test('an HttpOnly cookie identifies the browser that registered', async (t) => {
  const answers = [
    await post('/users/register', { email: address(), password: mine.password }),
    await post('/users/register', { email: (await createUser(app)).email, password: mine.password }),
    await post('/users/register', { email: address(), password: 'x' }),
  ];
  for (const { headers } of answers) {
    const [set = ''] = [headers['set-cookie']].flat();
    t.match(set, /^gatehouse_registration=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/);
  }
  const secure = await startTestApp(t, { PUBLIC_URL: 'https://accounts.example.com', REGISTRATION_ANSWER_TIME: '1ms' });
  const { headers } = await secure.post('/users/register', { email: address(), password: mine.password });
  t.match(String(headers['set-cookie']), /^__Host-gatehouse_registration=.*; Path=\/; HttpOnly; Secure; SameSite=Lax$/);

  const email = address();
  const own = browser();
  const token = await registered(own, { email, ...mine });
  const [stored] = await app.db
    .select()
    .from(registrations)
    .where(eq(registrations.user, (await found(email))?.id ?? ''));
  t.match(stored?.browserHash, /^[0-9a-f]{64}$/);
  t.notOk(own.cookie?.includes(stored?.browserHash ?? ''), 'the value is stored as a hash');
  const { cookie = '' } = own;
  const name = cookie.split('=')[0];
  for (const wrong of [`${name}=`, `${name}=x`, `${name}=${stored?.browserHash}`, `${name}=${'x'.repeat(43)}`]) {
    const answer = await post('/users/register/verify-email', { token }, { cookie: wrong });
    refused(t, answer, 'INVALID_PAYLOAD', wrong);
  }
  const planted = `${name}=${'x'.repeat(43)}; ${cookie}`;
  t.equal(
    (await post('/users/register/verify-email', { token }, { cookie: planted })).statusCode,
    204,
    'beside a planted cookie',
  );
});

t.test('a password chosen on the page must follow the password rules', async (t) => {
  const email = address();
  const token = await registered(browser(), { email, ...theirs });
  await assertUnchanged(t, app, 'refused', async () => {
    const short = await browser().confirm(token, 'short');
    t.match(short.json().errors[0].extensions, { code: 'FAILED_VALIDATION', field: 'password', type: 'too_short' });
    refused(t, await browser().confirm(token, '$argon2id$v=19$m=1,t=1,p=1$x$y'), 'INVALID_PAYLOAD', 'a hash');
    for (const body of [{}, { token, password: '' }, { token, password: 7 }, { token, extra: 1 }, { token: 7 }]) {
      refused(t, await post('/users/register/verify-email', body), 'INVALID_PAYLOAD', JSON.stringify(body));
    }
  });
  t.equal((await browser().confirm(token, mine.password)).statusCode, 204);
});

t.test('the registering browser can choose another password, and the names are kept', async (t) => {
  const email = address();
  const own = browser();
  const token = await registered(own, { email, ...mine });
  t.equal((await own.confirm(token, 'another password of the owner')).statusCode, 204);
  t.ok(await logsIn(email, 'another password of the owner'));
  t.notOk(await logsIn(email, mine.password));
  t.match(await found(email), { firstName: 'Ada' });
});

t.test('of 20 simultaneous confirmations, by either operation, one succeeds', async (t) => {
  const email = address();
  const tokens = [await registered(browser(), { email, ...mine }), await registered(browser(), { email, ...theirs })];
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => {
      const token = tokens[index % 2] ?? '';
      return index % 4 < 2
        ? browser().confirm(token, `the password number ${index}`)
        : get(`/users/register/verify-email?token=${token}`);
    }),
  );
  t.equal(answers.filter(({ statusCode }) => statusCode === 204).length, 1);
  for (const answer of answers) if (answer.statusCode !== 204) refused(t, answer, 'INVALID_PAYLOAD', 'another request');
});

t.test('an invalid token is rejected', async (t) => {
  const fresh = async () => registered(browser(), { email: address(), ...mine });
  const user = await createUser(app);
  await post('/auth/password/request', { email: user.email });
  const others = [await tokenFor(app, user.email)];
  const take = (token: string) => browser().confirm(token, mine.password);
  await refusesBadTokens(t, service, { take, fresh, others, lifetime: 7 * day });
});

t.test('links are permanently invalid after a change of status or address, or after deletion', async (t) => {
  const patch = (id: string, payload: object) =>
    request({ method: 'PATCH', url: `/users/${id}`, payload, headers: asAdmin });
  const ends: Record<string, (id: string) => Promise<unknown>> = {
    activated: (id) => patch(id, { status: 'active' }),
    suspended: (id) => patch(id, { status: 'suspended' }),
    archived: (id) => patch(id, { status: 'archived' }),
    'activated in a bulk update': (id) =>
      request({
        method: 'PATCH',
        url: '/users',
        payload: { keys: [id], data: { status: 'active' } },
        headers: asAdmin,
      }),
    'moved to another address': (id) => patch(id, { email: address() }),
  };
  for (const [what, end] of Object.entries(ends)) {
    const email = address();
    const token = await registered(browser(), { email, ...mine });
    const id = (await found(email))?.id ?? '';
    await end(id);
    t.equal(await app.db.$count(registrations, eq(registrations.user, id)), 0, what);
    refused(t, await browser().confirm(token, mine.password), 'INVALID_PAYLOAD', what);
    await patch(id, { status: 'unverified', email });
    refused(t, await browser().confirm(token, mine.password), 'INVALID_PAYLOAD', `${what}, then reverted`);
    refused(t, await get(`/users/register/verify-email?token=${token}`), 'INVALID_PAYLOAD', `${what}, then reverted`);
  }
  const email = address();
  const token = await registered(browser(), { email, ...mine });
  await patch((await found(email))?.id ?? '', { status: 'unverified', title: 'Countess' });
  await request({ method: 'DELETE', url: `/users/${(await found(email))?.id}`, headers: asAdmin });
  refused(t, await browser().confirm(token, mine.password), 'INVALID_PAYLOAD', 'deleted');

  const kept = address();
  const good = await registered(browser(), { email: kept, ...mine });
  await patch((await found(kept))?.id ?? '', { status: 'unverified', title: 'Countess' });
  t.equal(
    (await browser().confirm(good, mine.password)).statusCode,
    204,
    'an update that changes neither leaves the link valid',
  );
});

t.test('the user of a registered address is notified of a new registration, without the entered text', async (t) => {
  for (const status of ['active', 'invited', 'suspended', 'draft', 'archived'] as const) {
    for (const provider of ['default', 'github']) {
      const email = address();
      await createUser(app, { email, status, provider });
      const before = await found(email);
      t.equal((await browser().register({ email: email.toUpperCase(), ...theirs })).statusCode, 204);
      t.strictSame(await found(email), before);
      t.equal(await pendingOf(email), 0);
      const mails = await mailsTo(app, email);
      t.equal(mails.length, status === 'active' ? 1 : 0, status);
      for (const { text, html } of mails) {
        for (const part of [text, html]) {
          t.match(part, `${app.config.PUBLIC_URL}/account/login`);
          const hasLink = part.includes(`${app.config.PUBLIC_URL}/account/forgot-password`);
          t.equal(hasLink, provider === 'default', 'only users who sign in with a password get a reset link');
          t.notMatch(part, /Mallory|charged|stranger|token=/);
          t.notOk(part.includes(email.toUpperCase()));
        }
      }
    }
  }
});

t.test('an email to an unverified address contains no name or other user input', async (t) => {
  const email = address();
  await browser().register({ email, ...theirs });
  await post('/users/register/resend', { email });
  await post('/auth/password/request', { email });
  const invited = address();
  await post('/users', { email: invited, first_name: 'Mallory', status: 'active' }, asAdmin);
  await post('/auth/password/request', { email: invited });
  const mails = [...(await mailsTo(app, email)), ...(await mailsTo(app, invited))];
  t.equal(mails.length, 4);
  for (const mail of mails) t.notMatch(mail.subject + mail.text + mail.html, /Mallory|charged/);
});

t.test('the latest email can be resent, also by requesting a password reset for an unverified address', async (t) => {
  for (const path of ['/users/register/resend', '/auth/password/request']) {
    const email = address();
    const own = browser();
    const first = await registered(own, { email, ...mine, verification_url: allowed } as typeof mine & {
      email: string;
    });
    clock.advance(1000);
    const second = await registered(browser(), { email, ...theirs });
    clock.advance(6 * day);
    t.equal((await post(path, { email: email.toUpperCase() })).statusCode, 204);
    const again = linkIn((await mailsTo(app, email))[2] ?? { text: '' });
    t.equal(`${again.origin}${again.pathname}`, `${app.config.PUBLIC_URL}/account/verify-email`, path);
    clock.advance(0.5 * day);
    refused(
      t,
      await browser().confirm(first),
      'INVALID_PAYLOAD',
      'the first link is still valid, and requires a password',
    );
    refused(t, await browser().confirm(second), 'INVALID_PAYLOAD', 'so is the second link');
    clock.advance(6 * day);
    refused(
      t,
      await browser().confirm(first, mine.password),
      'TOKEN_EXPIRED',
      'only the resent link is valid for longer',
    );
    t.equal((await browser().confirm(again.searchParams.get('token') ?? '', mine.password)).statusCode, 204);
    t.ok(await logsIn(email, mine.password));
    await post(path, { email });
    t.equal(
      (await mailsTo(app, email)).filter(({ text }) => text.includes('verify-email')).length,
      2,
      'no registration is pending',
    );
  }
  const email = address();
  await registered(browser(), { email, ...mine, verification_url: allowed } as typeof mine & { email: string });
  await post('/users/register/resend', { email });
  t.equal(
    linkIn((await mailsTo(app, email))[1] ?? { text: '' }).origin,
    'https://app.example.com',
    'a link to the same page',
  );
});

t.test('only pending registrations are resent, and the response does not reveal it', async (t) => {
  const user = await createUser(app);
  const answers = await Promise.all([user.email, address()].map((email) => post('/users/register/resend', { email })));
  for (const { statusCode, body } of answers) t.strictSame([statusCode, body], [204, '']);
  t.strictSame(await mailsTo(app, user.email), []);
  for (const body of [{}, { email: 'x' }, { email: 7 }, { email: user.email, extra: 1 }]) {
    refused(t, await post('/users/register/resend', body), 'INVALID_PAYLOAD', JSON.stringify(body));
  }
});

t.test('the number of registrations per address is bounded, and the owner can always register', async (t) => {
  const email = address();
  for (let index = 0; index < 103; index++) {
    clock.advance(1);
    await post('/users/register', { email, ...theirs });
  }
  t.equal(await pendingOf(email), 100);
  await mailsTo(app, email);
  const own = browser();
  clock.advance(1);
  t.equal((await own.register({ email, ...mine })).statusCode, 204);
  t.equal(await pendingOf(email), 100);
  t.equal((await own.confirm(await tokenFor(app, email))).statusCode, 204);
  t.ok(await logsIn(email, mine.password));
});

t.test('expired registrations are removed', async (t) => {
  const email = address();
  await registered(browser(), { email, ...mine });
  await deleteExpiredRegistrations(app.db, app.clock());
  t.equal(await pendingOf(email), 1);
  clock.advance(8 * day);
  await deleteExpiredRegistrations(app.db, app.clock());
  t.equal(await found(email), undefined, 'together with the user');
  const token = await registered(browser(), { email, ...mine });
  t.equal((await browser().confirm(token, mine.password)).statusCode, 204, 'the address can be registered again');
});

t.test('opening the page of the link shows what a confirmation requires, and changes nothing', async (t) => {
  const dataIn = ({ body }: LightMyRequestResponse) =>
    JSON.parse(/id="page-data">([^<]*)</.exec(body)?.[1] ?? '{}').link;
  const email = address();
  const own = browser();
  const token = await registered(own, { email, ...mine });
  await assertUnchanged(t, app, 'opened', async () => {
    t.strictSame(dataIn(await own.open(token)), { email, proof: 'none' });
    t.strictSame(dataIn(await browser().open(token)), { email, proof: 'password' });
    t.strictSame(dataIn(await browser().open(`${token}x`)), { reason: 'INVALID_TOKEN' });
    t.equal(dataIn(await get('/account/verify-email')), undefined);
    await request({ method: 'HEAD', url: `/account/verify-email?token=${token}` });
  });
  await own.confirm(token);
  t.strictSame(dataIn(await own.open(token)), { reason: 'INVALID_PAYLOAD' });
});
