import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { rows } from '../../db/statements.js';
import { schemas } from '../helpers/database/databases.js';
import { countStatements } from '../helpers/database/statements.js';
import { adminToken, asAdmin, patch, startWithAdmin } from '../helpers/http/writing.js';
import { mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { completeLogin, createVisitor, followRedirect } from '../helpers/providers/visitor.js';
import { startTestApp, type TestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { createRole, policyWith } from '../helpers/users/rights.js';
import { openSession } from '../helpers/users/sessions.js';
import { codeOfStep, rfcSecret } from '../helpers/users/totp.js';
import { nextStep } from '../helpers/users/two-factor.js';
import {
  changeUser,
  createSignedInUser,
  createUser,
  createUserWithToken,
  type NewUser,
} from '../helpers/users/users.js';

/** Which changes send a security notice, and to which address (ASVS 6.3.7). */

const publicUrl = 'http://gatehouse.example.com';
const server = await startOauth2Server(t, { publicUrl, keys: ['alpha'] });
const service = await startTestApp(t, {
  ADMIN_TOKEN: adminToken,
  PUBLIC_URL: publicUrl,
  REGISTRATION_ANSWER_TIME: '1ms',
  // Users' own addresses change immediately. For confirmed changes, see test/users/email-change.test.ts.
  EMAIL_CHANGE_CONFIRMATION: 'false',
  AUTH_PROVIDERS: 'alpha',
  ...server.variables('alpha', { LABEL: 'Alpha Inc.', ALLOW_PUBLIC_REGISTRATION: 'true', SYNC_USER_INFO: 'true' }),
});
const { app, get, post, request } = service;
const { id: adminId } = (await get('/users/me?fields=id', asAdmin)).json().data;

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
const fresh = 'an entirely new password';
const notMe = `${publicUrl}/account/not-me`;
const newEmail = () => `${randomUUID()}@example.com`;
const ownRow = (app: TestApp['app']) =>
  policyWith(
    app,
    [{ collection: 'users', action: 'update', fields: ['*'], permissions: { id: { _eq: '$CURRENT_USER' } } }],
    { appAccess: true },
  );
const ownRights = await ownRow(app);

/** Creates a user who may change their own account, and a function that does so. */
async function createEditor(columns: NewUser = {}) {
  const holder = await createUserWithToken(app, {
    policies: [ownRights],
    firstName: 'Ada',
    emailVerifiedAt: new Date(),
    ...columns,
  });
  // A session, because their static token may not change their credentials.
  const user = { ...holder, headers: await openSession(app, holder.id) };
  const change = (payload: object, headers: Record<string, string> = {}) =>
    request({ method: 'PATCH', url: '/users/me', payload, headers: { ...user.headers, ...headers } });
  return { ...user, change };
}

interface Job {
  kind: string;
  user: string;
  email: string;
  changes: string[];
  isOwn: boolean;
}

/** Removes the waiting notices from the queue, and returns them in the order in which they were written. */
async function waiting({ app }: Pick<TestApp, 'app'> = service): Promise<Job[]> {
  const found = await rows<{ data: Job }>(
    app.db,
    sql`with gone as (delete from ${sql.raw(schemas.queue)}.job where name = 'mail' returning data, state, created_on)
      select data from gone where state = 'created' and data ->> 'kind' = 'notice' order by created_on`,
  );
  return found.map(({ data }) => data);
}

/** The changes in the notices to one address. */
const changesTo = async (email: string) =>
  (await waiting()).filter((job) => job.email === email).map(({ changes }) => changes.join());

t.test('security notices report changes to credentials', async (t) => {
  t.beforeEach(async () => {
    await waiting();
  });

  t.test('a notice of a new password says when it changed, with which device, and what to do', async (t) => {
    const user = await createEditor({ language: 'de-DE', emailNotifications: false });
    const moment = app.clock();
    t.equal((await user.change({ password: fresh, title: 'Dr.' }, { 'user-agent': firefox })).statusCode, 200);
    const [mail, ...more] = await mailsTo(app, user.email);
    t.strictSame(more, [], 'one email, whatever else was changed, and although notifications are off');
    t.match(mail, { subject: 'Ihr Passwort für Gatehouse wurde geändert', language: 'de-DE' });
    for (const part of [mail?.text ?? '', mail?.html ?? '']) {
      t.match(part, 'Guten Tag Ada,');
      t.match(part, 'Gerät: Firefox, Linux');
      t.match(part, `Wann: ${moment.getUTCDate()}. `);
      t.match(part, ` ${moment.toISOString().slice(11, 16)} UTC`);
      t.match(part, `${publicUrl}/account/not-me?token=`);
      t.notMatch(part, 'reset-password', 'the link sets no password');
      t.notOk(part.includes(fresh) || part.includes(user.token), 'no secret');
    }
  });

  t.test('a password set by a link, or by an administrator, sends a notice', async (t) => {
    const { id, email } = await createUser(app);
    await post('/auth/password/request', { email });
    await post('/auth/password/reset', { token: await tokenFor(app, email), password: fresh });
    const [, reset] = await mailsTo(app, email);
    t.match(reset?.subject, 'Your Gatehouse password was changed');
    t.notMatch(reset?.text, 'reset-password?token=');

    await patch(
      service,
      `/users/${id}`,
      { password: 'and another, by an administrator' },
      { ...asAdmin, 'user-agent': firefox },
    );
    const [, , byAdmin] = await mailsTo(app, email);
    t.match(byAdmin?.text, 'By: an administrator of Gatehouse');
    t.notMatch(byAdmin?.text, /Firefox|If this was you/, 'nothing about the administrator’s device');
  });

  t.test('a new address sends a notice to the old one, without the new one', async (t) => {
    const user = await createEditor();
    const email = newEmail();
    await user.change({ email });
    t.strictSame(await mailsTo(app, email), []);
    const [mail, ...more] = await mailsTo(app, user.email);
    t.strictSame(more, []);
    t.match(mail?.subject, 'The email address of your Gatehouse account was changed');
    for (const part of [mail?.text ?? '', mail?.html ?? '']) {
      t.notOk(part.includes(email), 'the old mailbox may belong to another person by now');
      t.notMatch(part, 'forgot-password', 'the old address can no longer request a password reset');
      t.match(part, 'contact an administrator');
    }
    await user.change({ email: email.toUpperCase() });
    await user.change({ email: email.toUpperCase() });
    t.strictSame(await waiting(), [], 'the same address in capitals');

    await patch(service, `/users/${user.id}`, { email: newEmail() });
    t.match(await waiting(), [{ user: user.id, email: email.toUpperCase(), changes: ['email_changed'], isOwn: false }]);
  });

  t.test('several changes in one request send one email, to the old address', async (t) => {
    const user = await createEditor();
    await user.change({ password: fresh, email: newEmail(), token: randomUUID() });
    t.match(await waiting(), [
      { email: user.email, changes: ['password_changed', 'email_changed', 'token_set'], url: notMe },
    ]);
  });

  t.test('a notice goes to the address at the time of the change', async (t) => {
    const user = await createEditor();
    await user.change({ password: fresh });
    await user.change({ email: newEmail() });
    await app.db.execute(sql`delete from users where id = ${user.id}::uuid`);
    const subjects = (await mailsTo(app, user.email)).map(({ subject }) => subject);
    t.equal(subjects.length, 2, 'although the account has been deleted since');
  });

  t.test('changes to two-factor authentication send notices', async (t) => {
    const person = await createSignedInUser(service, { policies: [ownRights] });
    await person.enable({ secret: rfcSecret.base32, otp: codeOfStep(nextStep(service)) });
    t.strictSame(await changesTo(person.email), ['tfa_enabled']);
    t.equal((await person.renewCodes({ password: person.password })).statusCode, 200);
    t.strictSame(await changesTo(person.email), [], 'the first codes are part of the setup');
    t.equal((await person.renewCodes({ password: person.password })).statusCode, 200);
    t.strictSame(await changesTo(person.email), ['recovery_codes_made'], 'further ones are not');
    await person.disable({ otp: codeOfStep(nextStep(service)) });
    t.strictSame(await changesTo(person.email), ['tfa_disabled']);

    const holder = await createSignedInUser(service, { tfa: true, policies: [ownRights] });
    const codes: string[] = (await holder.renewCodes({ password: holder.password })).json().data;
    t.strictSame(await changesTo(holder.email), ['recovery_codes_made']);
    t.equal((await holder.login(codes[0])).statusCode, 200);
    t.strictSame(await changesTo(holder.email), ['recovery_code_used']);
    t.equal((await holder.login(codes[0])).statusCode, 401);
    t.equal((await holder.login(codeOfStep(nextStep(service)))).statusCode, 200);
    const alerts = (await waiting()).map(({ changes }) => changes.join());
    t.strictSame(alerts, ['wrong_code'], 'a code used again is wrong; no notice of a regular login');
    t.equal((await holder.disable({ otp: codes[1] })).statusCode, 204);
    t.strictSame(await changesTo(holder.email), ['recovery_code_used,tfa_disabled'], 'in one email');

    await changeUser(app, holder.id, { tfaSecret: app.tfaSecrets.seal(rfcSecret.base32, holder.id) });
    const off = () => post(`/users/${holder.id}/tfa/disable`, {}, asAdmin);
    t.equal((await off()).statusCode, 204);
    t.match(await waiting(), [{ email: holder.email, changes: ['tfa_disabled'], isOwn: false }]);
    t.equal((await off()).statusCode, 204);
    t.strictSame(await waiting(), [], 'it was already disabled');
  });

  t.test('linking and unlinking a provider account sends notices', async (t) => {
    server.profile = { id: 'octo-1', name: 'Mona', email: newEmail() };
    const { email, password } = await createUser(app);
    const visitor = createVisitor(service, publicUrl);
    const payload = { email, password, mode: 'session' };
    await visitor.send({ method: 'POST', url: '/auth/login', payload, headers: { 'user-agent': firefox } });
    const link = () => completeLogin(visitor, 'alpha', { link: true }, followRedirect);
    await link();
    await link();
    const [mail, ...more] = await mailsTo(app, email);
    t.strictSame(more, [], 'one email: the second time, it was already linked');
    t.equal(mail?.subject, 'Alpha Inc. was connected to your Gatehouse account');
    const [identity] = (await visitor.visit('/users/me/identities')).json().data;
    await visitor.send({ method: 'DELETE', url: `/users/me/identities/${identity.id}` });
    t.match(await waiting(), [{ email, changes: ['provider_unlinked'], provider: 'Alpha Inc.' }]);
  });

  t.test('a provider account changed by an administrator sends a notice', async (t) => {
    const { id, email } = await createUser(app);
    const moved = { provider: 'alpha', external_identifier: 'octo-2' };
    await patch(service, `/users/${id}`, moved);
    t.match(
      await waiting(),
      [{ email, changes: ['provider_changed'], url: notMe }],
      'users of a provider can end their sessions, too',
    );
    await patch(service, `/users/${id}`, moved);
    t.strictSame(await waiting(), [], 'no notice of an unchanged value');
  });

  t.test('an address updated from the provider sends a notice', async (t) => {
    const [email, next] = [newEmail(), newEmail()];
    const visitor = createVisitor(service, publicUrl);
    server.profile = { id: 'octo-3', name: 'Mona', email };
    await completeLogin(visitor, 'alpha', { family: 'oauth' }, followRedirect);
    t.strictSame(await waiting(), [], 'the account was created');
    await completeLogin(visitor, 'alpha', { family: 'oauth' }, followRedirect);
    t.strictSame(await waiting(), [], 'a login');
    server.profile = { id: 'octo-3', name: 'Mona', email: next };
    await completeLogin(visitor, 'alpha', { family: 'oauth' }, followRedirect);
    t.match(await waiting(), [{ email, changes: ['email_changed'], isOwn: true }]);
  });

  t.test('setting or replacing a static token sends a notice', async (t) => {
    const { id, email } = await createUser(app);
    const write = (token: string | null) => patch(service, `/users/${id}`, { token });
    const [one, other] = [randomUUID(), randomUUID()];
    await write(null);
    t.strictSame(await waiting(), [], 'there was no token');
    await write(one);
    t.strictSame(await changesTo(email), ['token_set']);
    await write(one);
    t.strictSame(await waiting(), [], 'the same token');
    await write('**********');
    t.strictSame(await waiting(), [], 'the masked value');
    await write(other);
    t.strictSame(await changesTo(email), ['token_set']);
    await write(null);
    t.strictSame(await waiting(), [], 'removed: it can no longer be used to sign in');
  });

  t.test('other changes, and changes to accounts that are not active, send no notice', async (t) => {
    const role = await createRole(app);
    const user = await createEditor();
    await user.change({ title: 'Dr.', language: 'fr-FR', email_notifications: false });
    await user.change({});
    t.equal((await user.change({ password: 'short' })).statusCode, 400);
    const { email, password } = user;
    const login = (await post('/auth/login', { email, password })).json().data;
    await post('/auth/refresh', { refresh_token: login.refresh_token });
    await post('/auth/password/request', { email });
    await patch(service, `/users/${user.id}`, { role, status: 'active' });

    await post('/users', { email: newEmail(), password: fresh, token: randomUUID() }, asAdmin);
    await post('/users', [{ email: newEmail(), password: fresh }], asAdmin);
    await patch(service, '/settings', { public_registration: true, public_registration_role: role });
    const registered = newEmail();
    await post('/users/register', { email: registered, password: fresh });
    await get(`/users/register/verify-email?token=${await tokenFor(app, registered)}`);
    const invited = newEmail();
    await post('/users/invite', { email: invited, role }, asAdmin);
    await post('/users/invite/accept', { token: await tokenFor(app, invited), password: fresh });

    for (const status of ['draft', 'invited', 'unverified', 'suspended', 'archived']) {
      const { id } = await createUser(app, { status });
      await patch(service, `/users/${id}`, { password: fresh, email: newEmail() });
      await patch(service, `/users/${id}`, { password: fresh, status: 'active' });
    }
    const leaving = await createUser(app);
    await patch(service, `/users/${leaving.id}`, { password: fresh, status: 'archived' });
    const { id } = await createUser(app);
    await changeUser(app, id, { email: null });
    await patch(service, `/users/${id}`, { password: fresh, email: newEmail() });
    t.strictSame(await waiting(), []);
  });

  t.test('a change that is rolled back sends no notice', async (t) => {
    const user = await createUser(app);
    const response = await patch(service, '/users', [
      { id: user.id, password: fresh, email: newEmail() },
      { id: adminId, status: 'suspended' },
    ]);
    t.equal(response.statusCode, 422);
    t.strictSame(await waiting(), []);
  });

  t.test('a bulk update notifies each user, in the same transaction and with few statements', async (t) => {
    const people = await Promise.all(Array.from({ length: 12 }, () => createUser(app)));
    const count = countStatements(app);
    const change = async (some: typeof people) => {
      const before = count();
      const keys = some.map(({ id }) => id);
      t.equal((await patch(service, '/users?fields=id', { keys, data: { password: fresh } })).statusCode, 200);
      return count() - before;
    };
    const forOne = await change(people.slice(0, 1));
    await waiting();
    t.equal(await change(people), forOne, 'as many statements as for one user');
    const written = await rows<{ xmin: string }>(
      app.db,
      sql`select distinct xmin::text from ${sql.raw(schemas.queue)}.job where name = 'mail'`,
    );
    t.equal(written.length, 1, 'in one transaction');
    const notices = await waiting();
    t.strictSame(notices.map(({ email }) => email).sort(), people.map(({ email }) => email).sort());
    t.ok(notices.every(({ changes, isOwn }) => changes.join() === 'password_changed' && !isOwn));
  });

  t.test('administrators can list waiting notices', async (t) => {
    const user = await createEditor();
    await user.change({ password: fresh });
    const { data } = (await get('/mails?limit=1', asAdmin)).json();
    t.match(data, [{ kind: 'notice', state: 'waiting', user: user.id, email: user.email }]);
  });

  t.test('without password login, a notice has the link that ends all sessions', async (t) => {
    const other = await startWithAdmin(t, { AUTH_DISABLE_DEFAULT: 'true' });
    const { id, email } = await createUser(other.app);
    await patch(other, `/users/${id}`, { token: randomUUID() });
    t.match(await waiting(other), [
      { email, changes: ['token_set'], url: `${other.app.config.PUBLIC_URL}/account/not-me` },
    ]);
  });

  t.test('EMAIL_SECURITY_NOTICES=false sends no notices', async (t) => {
    const other = await startWithAdmin(t, { EMAIL_SECURITY_NOTICES: 'false' });
    const { id } = await createUser(other.app);
    t.equal((await patch(other, `/users/${id}`, { password: fresh, email: newEmail() })).statusCode, 200);
    t.strictSame(await waiting(other), []);
  });

  t.test('an attacker cannot flood a mailbox by claiming its address', async (t) => {
    const other = await startWithAdmin(t, { RATE_LIMITER_MAIL_ENABLED: 'true' });
    const policies = [await ownRow(other.app)];
    const attack = async (email: string, times: number) => {
      const { id } = await createUser(other.app, { policies, email });
      const headers = await openSession(other.app, id);
      for (let time = 0; time < times; time++) {
        const payload = { token: `${id}-${time + 1}` };
        t.equal((await other.request({ method: 'PATCH', url: '/users/me', payload, headers })).statusCode, 200);
      }
      return id;
    };
    const one = await attack('victim@example.com', 25);
    const sent = async (email: string) =>
      (await mailsTo(other.app, email)).filter(({ text }) => /not-me/.test(text)).length;
    t.equal(await sent('victim@example.com'), 20, 'the limit for 15 minutes');
    const dropped = (await other.get('/mails?state=dropped', asAdmin)).json().data;
    t.equal(dropped.length, 5);
    t.match(dropped[0], { kind: 'notice', limit: 'notices', email: 'victim@example.com', reason: String });
    await attack('victim+2@example.com', 1);
    t.equal(await sent('victim+2@example.com'), 1, 'another address has its own limit');
    for (let asked = 0; asked < 25; asked++) await other.post('/auth/password/request', { email: 'other@example.com' });
    await attack('other@example.com', 1);
    t.equal(await sent('other@example.com'), 1, 'links requested by anonymous callers do not use up the limit');
    await patch(other, `/users/${one}`, { password: fresh });
    t.equal(await sent('victim@example.com'), 21, 'changes by administrators still send notices');
    other.clock.advance(15 * minute);
    const headers = await openSession(other.app, one);
    const later = await other.request({ method: 'PATCH', url: '/users/me', payload: { token: randomUUID() }, headers });
    t.equal(later.statusCode, 200);
    t.equal(await sent('victim@example.com'), 22, '15 minutes later');
  });
});
