import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { recorded } from '../helpers/database/activity.js';
import { hearStatements } from '../helpers/database/statements.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { changeUser, createUser, createUserWithToken, type TestUser } from '../helpers/users/users.js';

/** The audit log says why credentials were not accepted. The client does not learn it, from the response or from the work done for it. */

const service = await startWithAdmin(t);
const { app, get, post } = service;
const password = 'the correct password';

async function accountIn(state: string): Promise<{ email: string; password: string; id: string | null }> {
  const account = await createUser(app);
  const set = (columns: Parameters<typeof changeUser>[2]) => changeUser(app, account.id, columns);
  switch (state) {
    case 'unknown_user':
      return { email: 'nobody@example.com', password, id: null };
    case 'wrong_password':
      return { ...account, password: 'a wrong password' };
    case 'no_password':
      await set({ password: null });
      return account;
    case 'only a provider':
      await set({ provider: 'github', externalIdentifier: account.id });
      return account;
    default:
      await set({ status: state });
      return account;
  }
}

const cases = [
  ['unknown_user', 'unknown_user'],
  ['wrong_password', 'wrong_password'],
  ['no_password', 'no_password'],
  ['only a provider', 'no_password'],
  ...['suspended', 'unverified', 'invited', 'draft', 'archived'].map((status) => [status, status]),
] as const;

t.test('every failed login has a reason, with the same response and the same statements', async (t) => {
  const seen = new Set<string>();
  for (const [state = '', reason = ''] of cases) {
    const { email, password, id } = await accountIn(state);
    const sent: string[] = [];
    const stop = hearStatements(app, ({ text }) => sent.push(text));
    const response = await post('/auth/login', { email, password });
    stop();
    t.equal(response.statusCode, 401, state);
    const { date, 'x-request-id': requestId, 'server-timing': _, ...headers } = response.headers;
    t.ok(date);
    // Rows get their position in the chain in the background.
    const own = sent.filter(
      (text) => !/position|advisory|pgboss/.test(text) || text.includes('jsonb_populate_recordset(null::"activity"'),
    );
    seen.add(JSON.stringify([response.body, headers, own.filter((text) => !text.startsWith('update "activity"'))]));
    t.match(await recorded(app, requestId), [{ action: 'login', outcome: 'failure', reason, item: id }], state);
    t.notMatch(response.body, reason);
  }
  t.equal(seen.size, 1, [...seen].join('\n\n'));
});

t.test('administrators query the reason like any other field; other users cannot', async (t) => {
  const found = await get('/activity?filter={"reason":{"_eq":"suspended"}}&fields=action,reason', asAdmin);
  t.strictSame(found.json().data, [{ action: 'login', reason: 'suspended' }]);
  const groups = await get('/activity?aggregate={"count":"*"}&groupBy=reason', asAdmin);
  t.equal(groups.statusCode, 200);
  const member = await createUserWithToken(app, {
    role: await createRole(app, { policies: [await createPolicy(app, { appAccess: true })] }),
  });
  t.equal((await get('/activity?fields=reason', member.headers)).statusCode, 403);

  const { email, password } = await createUser(app);
  const { access_token: token } = (await post('/auth/login', { email, password })).json().data;
  const headers = bearer(token);
  const body = { password: 'another long password', current_password: 'a wrong password' };
  t.equal((await post('/users/me/password', body, headers)).statusCode, 401);
  const exported = await get('/users/me/export', headers);
  t.match(exported.json().data.activity, [{ outcome: 'failure', code: 'INVALID_CREDENTIALS' }, { outcome: 'success' }]);
  t.notMatch(exported.body, /wrong_password/);
});

t.test('the signature covers the reason', async (t) => {
  await app.activityChain.link();
  t.match(await app.verifyActivity(), { isIntact: true });
  await app.db.execute(sql`update activity set reason = null where reason = 'archived'`);
  t.match(await app.verifyActivity(), { isIntact: false, fault: /was altered/ });
});

t.test('refused codes, links, and changes have a reason, too', async (t) => {
  const { app, post, request } = await startTestApp(t);
  const reasons = async (response: { headers: Record<string, unknown> }) =>
    (await recorded(app, response.headers['x-request-id'])).map(({ reason }) => reason);
  const { email, password } = await createUser(app, { tfa: true });
  t.strictSame(await reasons(await post('/auth/login', { email, password })), ['missing_code']);
  t.strictSame(await reasons(await post('/auth/login', { email, password, otp: '12' })), ['wrong_code']);

  const account = await createUser(app);
  await resetWith(t, app, post, account);
  const suspended = await createUser(app);
  await post('/auth/password/request', { email: suspended.email });
  const token = await tokenFor(app, suspended.email);
  await changeUser(app, suspended.id, { status: 'suspended' });
  const reset = await post('/auth/password/reset', { token, password: 'a new password, quite long' });
  t.strictSame(await reasons(reset), ['suspended']);

  const { access_token: accessToken } = (
    await post('/auth/login', { email: account.email, password: newPassword })
  ).json().data;
  const change = await request({
    method: 'POST',
    url: '/users/me/password',
    headers: { authorization: `Bearer ${accessToken}` },
    payload: { password: 'another new password', current_password: 'a wrong password' },
  });
  t.equal(change.statusCode, 401);
  t.strictSame(await reasons(change), ['wrong_password']);
});

const newPassword = 'a new password, quite long';

/** Resets the password, and uses the link again. */
async function resetWith(
  t: Test,
  app: Parameters<typeof recorded>[0],
  post: typeof service.post,
  account: Pick<TestUser, 'email'>,
): Promise<void> {
  await post('/auth/password/request', { email: account.email });
  const payload = { token: await tokenFor(app, account.email), password: newPassword };
  t.equal((await post('/auth/password/reset', payload)).statusCode, 204);
  const again = await post('/auth/password/reset', payload);
  t.match(await recorded(app, again.headers['x-request-id']), [{ code: 'FORBIDDEN', reason: 'void_link' }]);
}
