import { eq, sql } from 'drizzle-orm';
import t from 'tap';
import { userUses } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { schemas } from '../helpers/database/databases.js';
import { refused } from '../helpers/http/refusals.js';
import { linkTo, mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { startTestApp, type TestApp } from '../helpers/service/app.js';
import { day, minute } from '../helpers/service/clock.js';
import { loginsOf } from '../helpers/users/logins.js';
import { openSession } from '../helpers/users/sessions.js';
import { changeUser, createUser, deleteUser, type NewUser, storedUser } from '../helpers/users/users.js';

/** Notices of suspicious sign-ins, and the link in every notice. */

const service = await startTestApp(t, { REGISTRATION_ANSWER_TIME: '1ms' });
const { app, clock, post, get, request } = service;
const { right, wrong, logIn, allow } = loginsOf(service);

const subjects = async (email: string, to: TestApp = service) =>
  (await mailsTo(to.app, email)).map(({ subject }) => subject);

const devicesOf = async (user: string) =>
  (await app.db.select().from(userUses).where(eq(userUses.user, user)))[0]?.devices ?? [];

const logInWith = (agent: string, { email, password }: { email: string; password: string }, remoteAddress: string) =>
  request({
    method: 'POST',
    url: '/auth/login',
    payload: { email, password },
    headers: { 'user-agent': agent },
    remoteAddress,
  });

let networks = 0;
const newNetwork = () => `198.51.100.${++networks}`;

t.test('a sign-in from a new network sends a notice, at most once an hour', async (t) => {
  const user = await createUser(app);
  const [home, away] = [newNetwork(), newNetwork()];
  t.equal((await right(user, home)).statusCode, 200);
  await right(user, home);
  t.strictSame(await subjects(user.email), [], 'the first sign-in of a user, and the same network again');
  await right(user, away);
  t.strictSame(await subjects(user.email), ['New sign-in to Gatehouse']);
  await right(user, away);
  await right(user, newNetwork());
  t.equal((await subjects(user.email)).length, 1, 'a known network, and a new one within the hour');
  clock.advance(61 * minute);
  await right(user, newNetwork());
  t.equal((await subjects(user.email)).length, 2, 'after an hour');
});

t.test('a sign-in with a new kind of device sends a notice, and an update of the browser does not', async (t) => {
  const user = await createUser(app);
  const from = newNetwork();
  const use = async (agent: string, network = from) => {
    t.equal((await logInWith(agent, user, network)).statusCode, 200, agent);
    clock.advance(61 * minute);
    return (await devicesOf(user.id)).join(' | ');
  };
  const sent = async () => (await subjects(user.email)).length;
  const firefox = (version: number) =>
    `Mozilla/5.0 (X11; Linux x86_64; rv:${version}.0) Gecko/20100101 Firefox/${version}.0`;
  const safari =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1';

  t.equal(await use(firefox(128)), 'Firefox, Linux');
  t.equal(await use(firefox(140)), 'Firefox, Linux');
  t.equal(await sent(), 0, 'the first sign-in, and the same browser in a new version');
  t.equal(await use(safari), 'Safari, iOS | Firefox, Linux');
  t.equal(await sent(), 1, 'a new device');
  const text = (await mailsTo(app, user.email)).at(-1)?.text ?? '';
  t.match(text, 'from a network or with a device that you have not used before');
  t.match(text, 'Safari, iOS');
  t.equal(await use(firefox(141)), 'Firefox, Linux | Safari, iOS');
  t.equal(await sent(), 1, 'a known device');
  await use('curl/8.5.0', newNetwork());
  t.equal(await sent(), 2, 'one email for a new device on a new network');

  for (let count = 1; count <= 10; count++) await use(`program-${count}/1.0`);
  t.equal((await devicesOf(user.id)).length, 10, 'only the last ten are stored');
  t.equal((await devicesOf(user.id))[0], 'program-10');
});

t.test('no device is new if none is known, or if the client does not say what it is', async (t) => {
  const user = await createUser(app);
  const from = newNetwork();
  for (const agent of ['', 'curl/8.5.0', '']) t.equal((await logInWith(agent, user, from)).statusCode, 200, agent);
  t.strictSame(await devicesOf(user.id), ['curl']);
  t.strictSame(await subjects(user.email), []);
});

t.test('a wrong code after the correct password sends a notice', async (t) => {
  const user = await createUser(app, { tfa: true });
  const from = newNetwork();
  const attempt = (password: string, otp?: string) => logIn(user.email, password, from, otp ? { otp } : {});
  t.equal((await attempt(user.password)).json().errors[0].extensions.code, 'INVALID_OTP');
  await attempt('a wrong guess', '000000');
  t.strictSame(await subjects(user.email), [], 'a missing code, and a wrong password');
  await attempt(user.password, '000000');
  t.strictSame(await subjects(user.email), ['A sign-in to Gatehouse failed because of a wrong code']);
  await attempt(user.password, '000000');
  t.equal((await subjects(user.email)).length, 1, 'once an hour');
});

t.test('many failed sign-ins send a notice, and the service does the same for an unknown address', async (t) => {
  await allow(3);
  const user = await createUser(app);
  const queued = async () => {
    const [{ count } = { count: 0 }] = await rows<{ count: number }>(
      app.db,
      sql`select count(*)::integer as count from ${sql.raw(schemas.queue)}.job where name = 'mail'`,
    );
    return count;
  };
  const failing = async (email: string) => {
    const before = await queued();
    const from = newNetwork();
    for (let tries = 0; tries < 3; tries++) await wrong({ email }, from);
    return (await queued()) - before;
  };
  t.equal(await failing(user.email), 1);
  t.equal(await failing('nobody@example.com'), 1);
  t.strictSame(await subjects(user.email), ['Repeated failed sign-ins to Gatehouse']);
  t.strictSame(await subjects('nobody@example.com'), []);
  await changeUser(app, user.id, { status: 'suspended' });
  clock.advance(61 * minute);
  await failing(user.email);
  t.equal((await subjects(user.email)).length, 1, 'not to users who are not active');
  await allow(25);
});

/** A user with a session who has received a notice. */
async function notified(columns: NewUser = {}) {
  const user = await createUser(app, columns);
  const headers = await openSession(app, user.id);
  await app.db.transaction((tx) =>
    app.activity.record(tx, { userId: user.id, client: { ...anyClient, userAgent: null } }, [
      { action: 'lock', collection: 'users', item: user.id },
    ]),
  );
  const link = await linkTo(app, 'not-me', user.email);
  return { ...user, headers, link, token: new URL(link, app.config.PUBLIC_URL).searchParams.get('token') ?? '' };
}
const anyClient = {
  ip: '192.0.2.1',
  network: '192.0.2.1',
  requestId: 'a-test',
  abandoned: new AbortController().signal,
};

const secure = (token: string) => post('/account/not-me', { token });

t.test('the link in a notice ends all sessions and starts a password reset, only after a click', async (t) => {
  const user = await notified();
  const page = await get(user.link);
  t.equal(page.statusCode, 200);
  t.notMatch(page.body, user.email);
  t.equal((await get('/users/me', user.headers)).statusCode, 200, 'opening the page changes nothing');
  await post('/users/me/email', { email: 'attacker@example.com' }, user.headers);
  const token = await tokenFor(app, 'attacker@example.com');
  t.equal((await secure(user.token)).statusCode, 204);
  t.equal((await get('/users/me', user.headers)).statusCode, 401);
  const mails = await mailsTo(app, user.email);
  t.match(mails.at(-1)?.subject, 'Reset your Gatehouse password');
  t.match(mails.at(-1)?.text, '/account/reset-password?token=');
  refused(t, await post('/users/me/email/confirm', { token }), 'FORBIDDEN', 'the pending change of address');

  const other = await notified();
  await changeUser(app, other.id, { password: null, email: `moved-${other.email}` });
  t.equal((await secure(other.token)).statusCode, 204, 'also after an attacker has changed the account');
  t.equal((await get('/users/me', other.headers)).statusCode, 401);
  t.equal((await storedUser(app, other.id)).status, 'active');
});

t.test('each link in a notice works once', async (t) => {
  const user = await notified();
  const mails = (await mailsTo(app, user.email)).length;
  const clicks = await Promise.all(Array.from({ length: 8 }, () => secure(user.token)));
  t.strictSame(clicks.map(({ statusCode }) => statusCode).sort(), [204, ...Array(7).fill(403)], 'of eight clicks');
  const later = await openSession(app, user.id);
  refused(t, await secure(user.token), 'FORBIDDEN', 'a link that was used');
  t.equal((await get('/users/me', later)).statusCode, 200, 'the new session continues');
  t.equal((await mailsTo(app, user.email)).length, mails + 1, 'one reset email');

  clock.advance(61 * minute);
  await app.activity.record(app.db, { userId: user.id, client: { ...anyClient, userAgent: null } }, [
    { action: 'lock', collection: 'users', item: user.id },
    { action: 'password_change', collection: 'users', item: user.id, changed: ['password'] },
  ]);
  const links = new Set(
    (await mailsTo(app, user.email)).flatMap(({ text }) => text.match(/(?<=not-me\?token=)\S+/g) ?? []),
  );
  t.equal(links.size, 3);
  const unused = [...links].filter((token) => token !== user.token);
  for (const token of unused) t.equal((await secure(token)).statusCode, 204, 'the link of another notice');
  t.equal((await get('/users/me', later)).statusCode, 401);
});

t.test('the link does nothing else, and cannot be forged', async (t) => {
  const user = await notified();
  refused(
    t,
    await post('/auth/password/reset', { token: user.token, password: 'an entirely new password' }),
    'FORBIDDEN',
    'a reset',
  );
  refused(t, await secure(`${user.token.slice(0, -4)}AAAA`), 'INVALID_TOKEN', 'a forged token');
  refused(t, await secure('x'), 'INVALID_TOKEN', 'not a token');
  await post('/auth/password/request', { email: user.email });
  refused(t, await secure(await tokenFor(app, user.email)), 'FORBIDDEN', 'a token for a reset');
  const foreign = await post('/account/not-me', { token: user.token }, { origin: 'https://evil.example' });
  refused(t, foreign, 'FORBIDDEN', 'another site');
  t.equal((await get('/users/me', user.headers)).statusCode, 200);

  const gone = await notified();
  await deleteUser(app, gone.id);
  refused(t, await secure(gone.token), 'FORBIDDEN', 'a deleted user');
  const other = await notified({ provider: 'github', externalIdentifier: 'someone' });
  const before = await subjects(other.email);
  t.equal((await secure(other.token)).statusCode, 204);
  t.strictSame(await subjects(other.email), before, 'no reset for users of a provider');
  clock.advance(8 * day);
  refused(t, await secure(user.token), 'TOKEN_EXPIRED', 'an expired link');
});

t.test('EMAIL_SECURITY_NOTICES=false turns these notices off', async (t) => {
  const quiet = await startTestApp(t, { EMAIL_SECURITY_NOTICES: 'false' });
  const user = await createUser(quiet.app);
  const logins = loginsOf(quiet);
  await logins.right(user, '198.51.100.1');
  t.equal((await logins.right(user, '198.51.100.2')).statusCode, 200);
  t.strictSame(await subjects(user.email, quiet), []);
});
