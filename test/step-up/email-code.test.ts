import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { rows } from '../../db/statements.js';
import { recorded } from '../helpers/database/activity.js';
import { refused } from '../helpers/http/refusals.js';
import { codeIn, mailsTo } from '../helpers/mail/mails.js';
import { startTestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { makeStale, openSession } from '../helpers/users/sessions.js';
import { rfcSecret } from '../helpers/users/totp.js';
import { createUser, createUserWithToken, type NewUser } from '../helpers/users/users.js';

/** Users who have no password prove their identity with a code from an email. The setting `email_login` is off. */

const service = await startTestApp(t);
const { app, clock, post, request } = service;

type Headers = Record<string, string>;
const ask = (headers: Headers, body: object = {}) => post('/auth/email/request', body, headers);
const prove = (headers: Headers, body: object) => post('/auth/reauthenticate', body, headers);
const unlink = (headers: Headers) =>
  request({ method: 'DELETE', url: `/users/me/identities/${randomUUID()}`, headers });

const queuedMails = async () =>
  (await rows(app.db, sql`select from ${sql.identifier(app.databaseConnection.schemas.queue)}.job`)).length;

const codeTo = async (email: string) => {
  const { text } = (await mailsTo(app, email)).at(-1) ?? { text: '' };
  return { code: codeIn({ text }), text };
};

/** A user whose session is stale. By default, they have no password. */
async function stale(columns: NewUser = {}) {
  const user = await createUser(app, { password: null, ...columns });
  const headers = await openSession(app, user.id);
  await makeStale(app, user.id);
  return { ...user, headers };
}

t.test('a code makes the session in which it was requested fresh, once', async (t) => {
  for (const columns of [{}, { provider: 'github', externalIdentifier: randomUUID() }]) {
    const { id, email, headers } = await stale(columns);
    const other = await openSession(app, id);
    await makeStale(app, id);
    const error = await unlink(headers);
    refused(t, error, 'REAUTHENTICATION_REQUIRED', 'a stale session');
    t.strictSame(error.json().errors[0].extensions.methods, ['email']);

    const response = await ask(headers);
    t.strictSame([response.statusCode, response.cookies], [204, []]);
    const [event] = await recorded(app, response.headers['x-request-id']);
    t.match(event, { action: 'email_login_request', user: id, item: id });
    const { code, text } = await codeTo(email);
    t.notMatch(text, /token=/, 'no link');
    refused(t, await prove(other, { code }), 'INVALID_CREDENTIALS', 'another session of the same user');
    refused(t, await prove((await stale()).headers, { code }), 'INVALID_CREDENTIALS', 'another user');
    refused(t, await prove(headers, { code: '1' }), 'INVALID_CREDENTIALS', 'a wrong code');
    t.equal((await prove(headers, { code })).statusCode, 204);
    refused(t, await unlink(headers), 'FORBIDDEN', 'a fresh session, but no such identity');
    refused(t, await prove(headers, { code }), 'INVALID_CREDENTIALS', 'a code that was used');
    refused(t, await post('/auth/email', { email, code }), 'FORBIDDEN', 'the code cannot sign the user in');
  }
});

t.test('five wrong codes void the request, and it ends after ten minutes', async (t) => {
  const { email, headers } = await stale();
  await ask(headers);
  const { code } = await codeTo(email);
  for (let guess = 0; guess < 5; guess++)
    refused(t, await prove(headers, { code: 'x' }), 'INVALID_CREDENTIALS', 'wrong');
  refused(t, await prove(headers, { code }), 'INVALID_CREDENTIALS', 'void');
  await ask(headers);
  const { code: second } = await codeTo(email);
  clock.advance(10 * minute);
  refused(t, await prove(headers, { code: second }), 'INVALID_CREDENTIALS', 'expired');
  for (const bad of [Number(code), [code], '', '1'.repeat(65), null]) {
    refused(t, await prove(headers, { code: bad }), 'INVALID_PAYLOAD', JSON.stringify(bad));
  }
});

t.test('users who have another proof in this service get no code', async (t) => {
  const cases = {
    'a password': await stale({ password: await app.passwords.hash('a password of a user') }),
    'no address': await stale({ email: null as never }),
  };
  for (const [what, { id, headers }] of Object.entries(cases)) {
    const before = await queuedMails();
    t.equal((await ask(headers)).statusCode, 204, what);
    t.equal(await queuedMails(), before, what);
    refused(t, await prove(headers, { code: '123456' }), 'INVALID_CREDENTIALS', `${what}: ${id}`);
  }
  const id = randomUUID();
  const careful = await stale({ id, tfaSecret: app.tfaSecrets.seal(rfcSecret.base32, id) });
  t.equal((await ask(careful.headers)).statusCode, 204);
  t.strictSame(await mailsTo(app, careful.email), [], 'two-factor authentication');
});

t.test('a code is only for sessions, and a password that was set voids it', async (t) => {
  const { headers } = await createUserWithToken(app, {});
  refused(t, await ask(headers), 'FORBIDDEN', 'a static token');
  refused(t, await ask({}), 'INVALID_PAYLOAD', 'an anonymous caller');
  const user = await stale();
  for (const more of [{ redirect: '/account' }, { binding: 'x'.repeat(32) }]) {
    refused(t, await ask(user.headers, more), 'INVALID_PAYLOAD', JSON.stringify(more));
  }
  refused(t, await ask(user.headers, { email: user.email }), 'FORBIDDEN', 'a code to sign in, which is turned off');
});
