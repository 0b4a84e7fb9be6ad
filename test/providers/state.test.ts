import t, { type Test } from 'tap';
import { sessions } from '../../db/schema.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { digestOfAccounts } from '../helpers/providers/provider-records.js';
import { refusedLogin } from '../helpers/providers/refused-logins.js';
import { begin, createVisitor, followRedirect, type Start, type Visitor } from '../helpers/providers/visitor.js';
import { startTestApp } from '../helpers/service/app.js';
import { minute, second } from '../helpers/service/clock.js';
import { administrator } from '../helpers/users/credentials.js';

const publicUrl = 'http://gatehouse.example.com';
const server = await startOauth2Server(t, { publicUrl, keys: ['alpha', 'beta'] });
const open = { ALLOW_PUBLIC_REGISTRATION: 'true' };
const testApp = await startTestApp(t, {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: 'alpha,beta',
  ...server.variables('alpha', open),
  ...server.variables('beta', open),
});
const { app, clock, get } = testApp;
const newVisitor = () => createVisitor(testApp, publicUrl);

let people = 0;
function newPerson() {
  const id = ++people;
  server.profile = { id, name: 'Ada', email: `ada-${id}@example.com` };
}

/** A login up to the redirect from the provider. The browser has not requested the callback yet. */
async function returned(key: 'alpha' | 'beta' = 'alpha', start: Start = { family: 'oauth' }, visitor = newVisitor()) {
  newPerson();
  const url = await begin(visitor, key, start);
  const callback = await followRedirect(url);
  const cookie = await visitor.cookies(callback);
  return { visitor, callback, cookie, state: new URL(url).searchParams.get('state') ?? '' };
}

const replaced = (callback: string, name: string, value: string) => {
  const url = new URL(callback);
  url.searchParams.set(name, value);
  return url.href;
};

/** The callback signs no user in and stores nothing. */
async function isRefused(t: Test, visit: () => ReturnType<Visitor['visit']>, what: string): Promise<void> {
  const before = await digestOfAccounts(app);
  refusedLogin(t, await visit(), 'INVALID_CREDENTIALS', what);
  t.equal(await digestOfAccounts(app), before, `${what}: nothing was stored`);
}

t.test('a state is valid only in the browser that started the login (CVE-2023-31999)', async (t) => {
  const [victim, thief] = [await returned(), await returned()];
  await isRefused(t, () => newVisitor().visit(victim.callback), 'a browser that has not started a login');
  await isRefused(t, () => thief.visitor.visit(victim.callback), 'a browser that has started its own login');
  t.equal((await victim.visitor.visit(victim.callback)).statusCode, 200, 'the right browser still signs in');
  const other = await returned();
  const mixed = replaced(thief.callback, 'code', new URL(other.callback).searchParams.get('code') ?? '');
  await isRefused(t, () => thief.visitor.visit(mixed), 'the code of another login, which PKCE protects');
});

t.test('the callback of another login does not end the login in progress', async (t) => {
  const { visitor, callback } = await returned();
  await isRefused(t, () => visitor.visit('/auth/login/alpha/callback?state=x&code=y'), 'a stray callback');
  await isRefused(
    t,
    () => visitor.visit('/auth/oauth/beta/callback?state=x&error=access_denied'),
    'a callback of another provider',
  );
  await isRefused(t, () => visitor.visit('/auth/login/alpha/callback'), 'a callback without parameters');
  t.equal((await visitor.visit(callback)).statusCode, 200);

  const [first, second] = [newVisitor(), newVisitor()];
  newPerson();
  const older = await followRedirect(await begin(first, 'alpha', { family: 'oauth' }));
  const newer = await followRedirect(await begin(first, 'alpha', { family: 'oauth' }));
  await isRefused(t, () => first.visit(older), 'the older of two tabs');
  t.equal((await first.visit(newer)).statusCode, 200, 'the newer one signs in');
  await isRefused(t, () => second.visit(newer), 'in another browser');
});

t.test('a state is valid only for the provider of its login (GHSA-x445-f3h2-j279)', async (t) => {
  const { visitor, callback, cookie, state } = await returned('alpha');
  const moved = callback.replace('/alpha/', '/beta/');
  await isRefused(t, () => visitor.visit(moved), 'at the callback of another provider');
  await isRefused(t, () => get(moved.slice(publicUrl.length), { cookie }), 'with the cookies of the login');

  const other = await returned('beta', { family: 'oauth' }, visitor);
  await isRefused(t, () => visitor.visit(replaced(other.callback, 'state', state)), 'a browser with both logins');
  const swapped = other.cookie.replaceAll(other.state, state);
  await isRefused(
    t,
    () => get(replaced(other.callback, 'state', state).slice(publicUrl.length), { cookie: swapped }),
    'in the cookie of the other login',
  );

  const [login, elsewhere] = [newVisitor(), new URLSearchParams()];
  const begun = new URL(await begin(login, 'alpha', { family: 'oauth' }));
  for (const [name, value] of begun.searchParams) elsewhere.set(name, value.replace('alpha', 'beta'));
  const right = await followRedirect(`${begun.origin}${begun.pathname}?${elsewhere}`);
  t.match(right, '/auth/login/beta/callback');
  await isRefused(t, () => login.visit(right), 'even if the other provider issued its code for this login');

  const renamed = cookie.replaceAll('alpha', 'beta');
  await isRefused(t, () => get(moved.slice(publicUrl.length), { cookie: renamed }), 'in a renamed cookie');
});

t.test('a state can be used only once (CVE-2020-15222, CVE-2025-46815)', async (t) => {
  server.acceptsReusedCodes = true;
  t.teardown(() => {
    server.acceptsReusedCodes = false;
  });
  const { visitor, callback, cookie } = await returned();
  t.equal((await visitor.visit(callback)).statusCode, 200);
  await isRefused(t, () => visitor.visit(callback), 'again in the same browser');
  const path = callback.slice(publicUrl.length);
  await isRefused(t, () => get(path, { cookie }), 'again with the original cookies');
  await isRefused(t, () => get(path.replace('/login/', '/oauth/'), { cookie }), 'again on the other callback route');
  await isRefused(t, () => get(path.replace(/code=\w+/, 'code=another'), { cookie }), 'again with another code');

  t.test('only one of twenty simultaneous callbacks succeeds', async (t) => {
    const { callback, cookie } = await returned();
    const count = await app.db.$count(sessions);
    const path = callback.slice(publicUrl.length);
    const responses = await Promise.all(Array.from({ length: 20 }, () => get(path, { cookie })));
    const losers = responses.filter(({ statusCode }) => statusCode !== 200);
    t.equal(losers.length, 19);
    for (const response of losers) refusedLogin(t, response, 'INVALID_CREDENTIALS', 'a duplicate callback');
    t.equal(await app.db.$count(sessions), count + 1);
  });

  t.test('a state cannot be used again after a failed login', async (t) => {
    const { visitor, callback, cookie, state } = await returned();
    const denied = `/auth/login/alpha/callback?${new URLSearchParams({ error: 'access_denied', state })}`;
    await isRefused(t, () => visitor.visit(denied), 'denied');
    await isRefused(t, () => get(callback.slice(publicUrl.length), { cookie }), 'a successful callback after that');
  });
});

t.test('a state expires after five minutes', async (t) => {
  const [early, late] = [await returned(), await returned()];
  clock.advance(4 * minute + 50 * second);
  t.equal((await early.visitor.visit(early.callback)).statusCode, 200, 'just in time');
  clock.advance(11 * second);
  const path = late.callback.slice(publicUrl.length);
  await isRefused(t, () => get(path, { cookie: late.cookie }), 'too late');
});

t.test('a callback requires the cookie, and exactly one state and one code', async (t) => {
  const { callback, cookie, state } = await returned();
  const path = callback.slice(publicUrl.length);
  await isRefused(t, () => get(path), 'no cookie');
  await isRefused(t, () => get(path, { cookie: cookie.replaceAll(state, '') }), 'an empty cookie');
  for (const value of ['', 'x', 'null', '{}', 'a.b.c', '%00', state.slice(1), `${state}x`, state.toUpperCase()]) {
    await isRefused(
      t,
      () => get(replaced(callback, 'state', value).slice(publicUrl.length), { cookie }),
      `state ${value.slice(0, 10)}`,
    );
  }
  await isRefused(t, () => get(path.replace(/[&?]state=[^&]*/, ''), { cookie }), 'no state');
  await isRefused(t, () => get(`${path}&state=${state}`, { cookie }), 'the state twice');
  await isRefused(t, () => get(path.replace('state=', 'state[]='), { cookie }), 'a list of states');
  await isRefused(t, () => get(path.replace('code=', 'code[]='), { cookie }), 'a list of codes');
  await isRefused(t, () => get(`${path}&code=x`, { cookie }), 'two codes');
});

t.test('a cookie of the same name from a neighboring host does not prevent the login', async (t) => {
  const { callback, cookie } = await returned();
  const other = await returned();
  const foreign = other.cookie.match(/gatehouse_provider_verifier=[^;]+/)?.[0];
  const planted = ['state=x', 'state=a.b.c', 'verifier=x', 'verifier=', `verifier=${'x'.repeat(43)}`]
    .map((pair) => `gatehouse_provider_${pair}`)
    .join('; ');
  const headers = { cookie: `${planted}; ${foreign}; ${cookie}; gatehouse_provider_verifier=y` };
  const response = await get(callback.slice(publicUrl.length), headers);
  t.equal(response.statusCode, 200);
});

t.test('the state alone, which a URL log reveals, signs no user in', async (t) => {
  const { callback, cookie, state } = await returned();
  const path = callback.slice(publicUrl.length);
  const foreign = (await returned()).cookie.match(/gatehouse_provider_verifier=[^;]+/)?.[0];
  const stolen = `gatehouse_provider_state=${state}`;
  const before = server.asked.length;
  await isRefused(t, () => get(path, { cookie: `${stolen}; ${foreign}` }), 'the verifier of another login');
  t.equal(server.asked.length, before, 'no request is sent to the provider, which may not support PKCE');
  t.not((await get(path, { cookie })).statusCode, 200, 'and the state cannot be used again');
});

t.test('a state cannot be forged or changed', async (t) => {
  const { callback, cookie, state } = await returned();
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  /** Flips the highest bit that a character encodes, so that no decoder can ignore the change. */
  const flipped = (character: string) => {
    const value = alphabet.indexOf(character);
    return value < 0 ? 'A' : (alphabet[value ^ 32] ?? 'A');
  };
  const both = (changed: string) =>
    get(replaced(callback, 'state', changed).slice(publicUrl.length), { cookie: cookie.replaceAll(state, changed) });
  t.ok(cookie.includes(state), 'the cookie contains the state');
  const before = await digestOfAccounts(app);
  let accepted = 0;
  for (let index = 0; index < state.length; index++) {
    const changed = state.slice(0, index) + flipped(state[index] ?? '') + state.slice(index + 1);
    const onlyState = await get(replaced(callback, 'state', changed).slice(publicUrl.length), { cookie });
    if (onlyState.statusCode !== 401) accepted++;
    if ((await both(changed)).statusCode !== 401) accepted++;
  }
  t.equal(accepted, 0, `none of ${state.length} flipped bits is accepted, in the URL alone or also in the cookie`);
  for (const length of [0, 1, 16, state.length - 16, state.length - 1]) {
    await isRefused(t, () => both(state.slice(0, length)), `truncated to ${length} characters`);
  }
  t.equal(await digestOfAccounts(app), before);
});

t.test('other tokens and sealed values of the service are not accepted as a state', async (t) => {
  const { callback, cookie, state } = await returned();
  const { data } = (await testApp.post('/auth/login', administrator)).json();
  for (const token of [data.access_token, data.refresh_token, app.tfaSecrets.seal('a secret', 'somebody')]) {
    const path = replaced(callback, 'state', token).slice(publicUrl.length);
    await isRefused(t, () => get(path, { cookie: cookie.replaceAll(state, encodeURIComponent(token)) }), 'a token');
  }
  for (const headers of [{ authorization: `Bearer ${state}` }, { cookie: `gatehouse_session_token=${state}` }]) {
    t.ok([401, 403].includes((await get('/users/me', headers)).statusCode), 'a state is not accepted as a token');
  }
});

t.test('of two logins that a browser has started, the later one succeeds', async (t) => {
  const visitor = newVisitor();
  await returned('alpha', { family: 'oauth' }, visitor);
  const later = await returned('beta', { family: 'oauth' }, visitor);
  t.equal((await visitor.visit(later.callback)).statusCode, 200);
});
