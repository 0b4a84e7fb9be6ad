import { eq } from 'drizzle-orm';
import t from 'tap';
import { users } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { linkIn, mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { startTestApp } from '../helpers/service/app.js';
import { day, hour } from '../helpers/service/clock.js';
import { refusesBadTokens } from '../helpers/tokens/link-tokens.js';
import { assertUnchanged, createRole } from '../helpers/users/rights.js';
import { logIn, modes, readMe } from '../helpers/users/sessions.js';
import { changeUser, createUser } from '../helpers/users/users.js';

const allowed = 'https://app.example.com/reset?from=mail#form';
const service = await startTestApp(t, { PASSWORD_RESET_URL_ALLOW_LIST: allowed });
const { app, post } = service;
const fresh = 'an entirely new password';

const ask = (email: string, more: object = {}) => post('/auth/password/request', { email, ...more });
const reset = (token: string, password = fresh) => post('/auth/password/reset', { token, password });
const stored = async (id: string) => (await app.db.select().from(users).where(eq(users.id, id)))[0];

t.test('a reset replaces the password and ends every session (CVE-2026-22706, CVE-2024-21635)', async (t) => {
  const user = await createUser(app, { email: 'Grace.Hopper@Example.com', firstName: 'Grace' });
  const sessions = await Promise.all(modes.map((mode) => logIn(service, mode, user)));
  const answer = await ask('grace.hopper@EXAMPLE.com');
  t.equal(answer.statusCode, 204);
  t.equal(answer.body, '');

  const [mail, ...more] = await mailsTo(app, 'Grace.Hopper@Example.com');
  t.ok(mail, 'the email is sent to the stored address, not to the spelling in the request');
  t.strictSame(more, []);
  const link = linkIn(mail ?? { text: '' });
  t.equal(link.href.split('?')[0], `${app.config.PUBLIC_URL}/account/reset-password`);
  const token = link.searchParams.get('token') ?? '';
  t.equal((await reset(token)).statusCode, 204);

  for (const session of sessions) t.equal((await readMe(service, session)).statusCode, 401);
  refused(t, await post('/auth/login', user), 'INVALID_CREDENTIALS', 'the old password');
  t.equal((await post('/auth/login', { email: user.email, password: fresh })).statusCode, 200);
  refused(t, await reset(token, 'yet another password'), 'FORBIDDEN', 'a used token');
});

t.test('an email is sent only to an active user who logs in with a password', async (t) => {
  const nobody = [
    'nobody@example.com',
    (await createUser(app, { status: 'suspended' })).email,
    (await createUser(app, { status: 'invited' })).email,
    (await createUser(app, { status: 'unverified' })).email,
    (await createUser(app, { provider: 'github', externalIdentifier: 'x' })).email,
    'not an address at all',
    '',
    `${'a'.repeat(500)}@example.com`,
    'a@example.com, b@example.com',
    'a@example.com\r\nBcc: b@example.com',
  ];
  const before = (await mailsTo(app, '')).length;
  for (const email of nobody) {
    const answer = await ask(email);
    if (email === '') refused(t, answer, 'INVALID_PAYLOAD', 'no address');
    else t.equal(answer.statusCode, 204, email);
    if (email) t.strictSame(await mailsTo(app, email), [], email);
  }
  t.equal((await mailsTo(app, '')).length, before);
  for (const email of [undefined, null, 7, ['a@example.com'], {}]) {
    refused(t, await post('/auth/password/request', { email }), 'INVALID_PAYLOAD', JSON.stringify(email) ?? 'absent');
  }
});

t.test('the link leads only to allowed URLs', async (t) => {
  const { email } = await createUser(app);
  await assertUnchanged(t, app, 'a URL that is not on the allow list', async () => {
    for (const address of [email, 'nobody@example.com']) {
      refused(t, await ask(address, { reset_url: 'https://evil.example/reset' }), 'INVALID_PAYLOAD', address);
    }
  });
  t.equal((await ask(email, { reset_url: 'https://app.example.com/reset?own=1&token=mine#top' })).statusCode, 204);
  const [custom] = (await mailsTo(app, email)).map(linkIn);
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' };
  await post('/auth/password/request', { email }, headers);
  const [, standard] = (await mailsTo(app, email)).map(linkIn);
  t.equal(custom?.origin, 'https://app.example.com');
  t.equal(custom?.hash, '#top');
  t.equal(custom?.searchParams.get('own'), '1');
  t.equal(custom?.searchParams.getAll('token').length, 1, 'the token in the URL is replaced');
  t.equal(standard?.origin, new URL(app.config.PUBLIC_URL).origin, 'request headers have no effect');
});

t.test('an invalid token is rejected (CVE-2026-1529, CVE-2025-64708, CVE-2026-27840)', async (t) => {
  const other = await createUser(app, { email: 'invited@example.com', status: 'invited' });
  await app.db.transaction((tx) => app.mail.enqueue(tx, { kind: 'invite', user: other.id, url: 'https://a.example/' }));
  const anotherKind = await tokenFor(app, other.email);
  await refusesBadTokens(t, service, {
    take: (token) => reset(token),
    fresh: async () => {
      const { email } = await createUser(app);
      await ask(email);
      return tokenFor(app, email);
    },
    others: [anotherKind],
    lifetime: day,
  });
  for (const body of [
    {},
    { token: 'x' },
    { password: fresh },
    { token: 7, password: fresh },
    { token: '', password: fresh },
  ]) {
    refused(t, await post('/auth/password/reset', body), 'INVALID_PAYLOAD', JSON.stringify(body));
  }
});

t.test('a link becomes invalid when the account changes', async (t) => {
  const changes = {
    'another password': { password: 'a hash' },
    'another address': { email: 'elsewhere@example.com' },
    suspended: { status: 'suspended' },
    'another provider': { provider: 'github', externalIdentifier: 'y' },
  };
  for (const [what, change] of Object.entries(changes)) {
    const user = await createUser(app);
    await ask(user.email);
    const token = await tokenFor(app, user.email);
    await changeUser(app, user.id, change);
    await assertUnchanged(t, app, what, async () => refused(t, await reset(token), 'FORBIDDEN', what));
  }
  const gone = await createUser(app);
  await ask(gone.email);
  const token = await tokenFor(app, gone.email);
  await app.db.delete(users).where(eq(users.id, gone.id));
  refused(t, await reset(token), 'FORBIDDEN', 'the user is deleted');

  const twice = await createUser(app);
  await ask(twice.email);
  const first = await tokenFor(app, twice.email);
  service.clock.advance(hour);
  await ask(twice.email);
  const second = await tokenFor(app, twice.email);
  t.equal((await reset(first)).statusCode, 204);
  refused(t, await reset(second), 'FORBIDDEN', 'the other link of the same user');
  const role = await createRole(app);
  const moved = await createUser(app);
  await ask(moved.email);
  const kept = await tokenFor(app, moved.email);
  await changeUser(app, moved.id, { role, firstName: 'New' });
  t.equal((await reset(kept)).statusCode, 204, 'other changes do not affect the link');
});

t.test('a rejected password does not use up the link', async (t) => {
  const user = await createUser(app);
  await ask(user.email);
  const token = await tokenFor(app, user.email);
  await assertUnchanged(t, app, 'rejected passwords', async () => {
    refused(t, await reset(token, 'short'), 'FAILED_VALIDATION', 'too short');
    refused(t, await reset(token, 'iloveyou1'), 'FAILED_VALIDATION', 'too_common');
    refused(t, await reset(token, ''), 'INVALID_PAYLOAD', 'empty');
    refused(t, await reset(token, 'x'.repeat(1_025)), 'INVALID_PAYLOAD', 'too long');
  });
  t.equal((await reset(token, 'correct horse battery staple '.repeat(36).slice(0, 1_024))).statusCode, 204);
  t.equal((await stored(user.id))?.status, 'active');
});

t.test(
  'of fifty simultaneous requests with the same token, only one succeeds (GHSA-hc7v-rggr-4hvx, GHSA-hc7v-x88r-fmh4)',
  async (t) => {
    const user = await createUser(app);
    await ask(user.email);
    const token = await tokenFor(app, user.email);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, number) => reset(token, `the password of number ${number}`)),
    );
    const winners = answers.flatMap(({ statusCode }, number) => (statusCode === 204 ? [number] : []));
    t.equal(winners.length, 1);
    for (const answer of answers) if (answer.statusCode !== 204) refused(t, answer, 'FORBIDDEN', 'the other requests');
    const password = `the password of number ${winners[0]}`;
    t.equal((await post('/auth/login', { email: user.email, password })).statusCode, 200);
  },
);
