import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { sessions } from '../../db/schema.js';
import { clearedCookies } from '../helpers/http/cookies.js';
import { refused } from '../helpers/http/refusals.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { createPolicy } from '../helpers/users/rights.js';
import { type ClientSession, claimsOf, logIn, modes, readMe, refresh, sessionOf } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, clock, get, post, request } = service;

interface Listed {
  id: string;
  device: string | null;
  user_agent: string | null;
  address: string | null;
  created_at: string;
  last_used_at: string;
  expires_at: string;
  current: boolean;
}

const idOf = ({ accessToken }: ClientSession) => String(claimsOf(accessToken).session);
const end = (url: string, headers: Record<string, string>) => request({ method: 'DELETE', url, headers });
const stored = (user: string) => app.db.select().from(sessions).where(eq(sessions.user, user));

async function list(headers: Record<string, string>, url = '/users/me/sessions'): Promise<Listed[]> {
  const response = await get(url, headers);
  if (response.statusCode !== 200) throw new Error(`Listing failed: ${response.body}`);
  return response.json().data;
}

/** A user with a session in each mode and a static token. */
async function signedInEverywhere() {
  const token = `static-token-${randomUUID()}`;
  const user = await createUser(app, { token });
  const held: ClientSession[] = [];
  for (const mode of modes) held.push(await logIn(service, mode, user));
  const [json, cookie, session] = held as [ClientSession, ClientSession, ClientSession];
  return { user, held, json, cookie, session, staticToken: bearer(token) };
}

/** A session that has ended can neither authenticate a request nor be refreshed. */
async function isDead(t: Test, session: ClientSession, what: string) {
  refused(t, await readMe(service, session), 'INVALID_CREDENTIALS', `${what}: the access token`);
  refused(t, await refresh(service, session), 'INVALID_CREDENTIALS', `${what}: the refresh`);
}

/** Times are compared approximately, because the test clock keeps running and machines can be slow. */
function isAbout(t: Test, moment: string | undefined, expected: number) {
  const difference = Math.abs(Date.parse(moment ?? '') - expected);
  t.ok(difference < 15_000, `${moment} is about ${new Date(expected).toISOString()}`);
}

async function isAlive(t: Test, session: ClientSession, what: string) {
  t.equal((await readMe(service, session)).statusCode, 200, what);
}

t.test('users can list their sessions from each of them', async (t) => {
  const { user, held } = await signedInEverywhere();
  for (const asking of held) {
    const listed = await list(asking.headers);
    t.strictSame(listed.map(({ id }) => id).sort(), held.map(idOf).sort(), `listed in mode ${asking.mode}`);
    t.strictSame(
      listed.filter(({ current }) => current).map(({ id }) => id),
      [idOf(asking)],
      'the current session is marked',
    );
  }
  const [one] = await list(held[0]?.headers ?? {});
  t.strictSame(Object.keys(one ?? {}).sort(), [
    'address',
    'applications',
    'created_at',
    'current',
    'device',
    'expires_at',
    'id',
    'last_used_at',
    'user_agent',
  ]);
  const { body } = await get('/users/me/sessions', held[0]?.headers);
  const secrets = [...(await stored(user.id)).map(({ tokenHash }) => tokenHash), ...held.map(({ token }) => token)];
  for (const secret of secrets.filter((text) => text !== null)) t.notOk(body.includes(secret), 'no token and no hash');
});

t.test('a listed session shows its device, address and times', async (t) => {
  const user = await createUser(app);
  const agents = {
    'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0': 'Firefox, Linux',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1':
      'Safari, iOS',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36 Edg/138.0.0.0':
      'Microsoft Edge, Windows',
    'curl/8.5.0': 'curl',
    'Mozilla/5.0': null,
    '<script>alert(1)</script>': null,
    '((((((((((((((((': null,
  };
  for (const [agent, device] of Object.entries(agents)) {
    const begun = clock.now().getTime();
    const response = await request({
      method: 'POST',
      url: '/auth/login',
      payload: { email: user.email, password: user.password },
      headers: { 'user-agent': agent },
      remoteAddress: '2001:db8::7',
    });
    const session = sessionOf('json', response);
    const mine = (await list(session.headers)).find(({ current }) => current);
    t.match(mine, { device, user_agent: agent, address: '2001:db8::7' }, agent);
    isAbout(t, mine?.created_at, begun);
    isAbout(t, mine?.last_used_at, begun);
    isAbout(t, mine?.expires_at, begun + 7 * 24 * 60 * minute);
    clock.advance(minute);
  }
  const nameless = await request({
    method: 'POST',
    url: '/auth/login',
    payload: { email: user.email, password: user.password },
    headers: { 'user-agent': '' },
  });
  const [latest] = await list(sessionOf('json', nameless).headers);
  t.match(latest, { device: null, user_agent: null, current: true }, 'the most recently used session comes first');
});

t.test('a refreshed session stays one session, and shows where it was last used', async (t) => {
  const { held, json } = await signedInEverywhere();
  const before = (await list(json.headers)).find(({ current }) => current);
  clock.advance(5 * minute);
  const response = await request({
    method: 'POST',
    url: '/auth/refresh',
    payload: json.carrier.payload,
    headers: { 'user-agent': 'curl/8.5.0' },
    remoteAddress: '192.0.2.9',
  });
  const next = sessionOf('json', response);
  const listed = await list(next.headers);
  t.equal(listed.length, held.length);
  const after = listed.find(({ current }) => current);
  t.match(after, { id: before?.id, created_at: before?.created_at, address: '192.0.2.9', device: 'curl' });
  isAbout(t, after?.last_used_at, Date.parse(before?.last_used_at ?? '') + 5 * minute);
});

t.test('a request without a refresh is recorded too, once a minute', async (t) => {
  const { json, session } = await signedInEverywhere();
  const use = async (remoteAddress: string) => {
    await request({ method: 'GET', url: '/users/me', headers: session.headers, remoteAddress });
    // It is stored after the response has been sent, normally within a tenth of a second.
    await new Promise((resolve) => setTimeout(resolve, 300));
    return (await list(json.headers)).find(({ id }) => id === idOf(session));
  };
  const before = await use('192.0.2.1');
  t.not(before?.address, '192.0.2.1', 'not updated within a minute');
  clock.advance(2 * minute);
  const after = await use('192.0.2.2');
  t.equal(after?.address, '192.0.2.2');
  isAbout(t, after?.last_used_at, clock.now().getTime());
});

t.test('an expired session is not listed, and cannot be ended', async (t) => {
  const { user, held, json, session } = await signedInEverywhere();
  await app.db
    .update(sessions)
    .set({ expiresAt: clock.now() })
    .where(eq(sessions.id, idOf(session)));
  t.equal((await list(json.headers)).length, held.length - 1);
  refused(t, await end(`/users/me/sessions/${idOf(session)}`, json.headers), 'FORBIDDEN', 'expired');
  t.equal((await stored(user.id)).length, held.length);
});

t.test('ending a session takes effect with the next request, in every mode', async (t) => {
  for (const mode of modes) {
    const { held, staticToken } = await signedInEverywhere();
    const [victim] = held.filter((session) => session.mode === mode);
    const [asking, ...others] = held.filter((session) => session.mode !== mode);
    if (!victim || !asking) return t.fail('no session');
    const response = await end(`/users/me/sessions/${idOf(victim).toUpperCase()}`, asking.headers);
    t.equal(response.statusCode, 204, response.body);
    t.equal(response.body, '');
    t.strictSame(clearedCookies(response), [], 'ending another session does not clear the caller’s cookies');
    await isDead(t, victim, mode);
    for (const session of [asking, ...others]) await isAlive(t, session, `${session.mode} continues`);
    t.equal((await get('/users/me', staticToken)).statusCode, 200);
    refused(t, await end(`/users/me/sessions/${idOf(victim)}`, asking.headers), 'FORBIDDEN', 'a second time');
  }
});

t.test('ending the current session clears its cookie', async (t) => {
  const { json, session } = await signedInEverywhere();
  const response = await end(`/users/me/sessions/${idOf(session)}`, session.headers);
  t.equal(response.statusCode, 204, response.body);
  t.strictSame(clearedCookies(response), ['gatehouse_session_token']);
  await isDead(t, session, 'current');
  await isAlive(t, json, 'another');
});

t.test('ending all other sessions keeps the current one', async (t) => {
  const bystander = await signedInEverywhere();
  for (const mode of modes) {
    const { held } = await signedInEverywhere();
    const [asking] = held.filter((session) => session.mode === mode);
    if (!asking) return t.fail('no session');
    t.equal((await end('/users/me/sessions', asking.headers)).statusCode, 204);
    for (const session of held.filter((session) => session !== asking)) await isDead(t, session, session.mode);
    await isAlive(t, asking, mode);
    t.equal((await end('/users/me/sessions', asking.headers)).statusCode, 204, 'there may be no other session');
  }
  for (const session of bystander.held) await isAlive(t, session, `a bystander, ${session.mode}`);
});

t.test('a static token belongs to no session', async (t) => {
  const { held, staticToken } = await signedInEverywhere();
  const listed = await list(staticToken);
  t.equal(listed.length, held.length);
  t.notOk(listed.some(({ current }) => current));
  t.equal((await end('/users/me/sessions', staticToken)).statusCode, 204);
  for (const session of held) await isDead(t, session, session.mode);
  t.strictSame(await list(staticToken), []);
});

t.test('no user can list or end the sessions of another user (GHSA-6w4q-23cf-j9jp)', async (t) => {
  const [one, other] = [await signedInEverywhere(), await signedInEverywhere()];
  const ids = one.held.map(idOf);
  t.notOk((await list(other.json.headers)).some(({ id }) => ids.includes(id)));
  for (const id of [...ids, randomUUID(), 'me', '%00', "' or 1=1", `${ids[0]}x`, '0'.repeat(40_000)]) {
    const url = `/users/me/sessions/${encodeURIComponent(id)}`;
    refused(t, await end(url, other.json.headers), 'FORBIDDEN', id.slice(0, 40));
  }
  for (const session of one.held) await isAlive(t, session, session.mode);
});

t.test('anonymous callers, and users who still have to set up TFA, cannot use the routes', async (t) => {
  const urls = ['/users/me/sessions', `/users/me/sessions/${randomUUID()}`];
  for (const url of urls) refused(t, await end(url, {}), 'INVALID_CREDENTIALS', `DELETE ${url}`);
  refused(t, await get('/users/me/sessions'), 'INVALID_CREDENTIALS', 'GET');
  const user = await createUser(app, { policies: [await createPolicy(app, { enforceTfa: true })] });
  const { headers } = await logIn(service, 'json', user);
  refused(t, await get('/users/me/sessions', headers), 'FORBIDDEN', 'two-factor authentication must be set up first');
});

t.test('a session that ends during a refresh stays ended', async (t) => {
  for (let round = 0; round < 10; round++) {
    const { user, json, cookie } = await signedInEverywhere();
    const [refreshed] = await Promise.all([
      post('/auth/refresh', json.carrier.payload),
      end(`/users/me/sessions/${idOf(json)}`, cookie.headers),
    ]);
    if (refreshed.statusCode === 200) await isDead(t, sessionOf('json', refreshed), 'the successor');
    await isDead(t, json, 'the session');
    t.notOk((await stored(user.id)).some(({ id }) => id === idOf(json)));
  }
});
