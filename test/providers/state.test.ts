import t, { type Test } from 'tap';
import { sessions } from '../../db/schema.js';
import { admin, startTestApp } from '../helpers/app.js';
import { minute, second } from '../helpers/clock.js';
import { startOauth2Server } from '../helpers/oauth2-server.js';
import { digestOfAccounts } from '../helpers/provider-records.js';
import { refusedLogin } from '../helpers/refused-logins.js';
import { begin, createVisitor, passThrough, type Start, type Visitor } from '../helpers/visitor.js';

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

/** Somebody who has come back from the provider, but not yet asked for what the provider has sent them to. */
async function returned(key: 'alpha' | 'beta' = 'alpha', start: Start = { family: 'oauth' }, visitor = newVisitor()) {
  newPerson();
  const url = await begin(visitor, key, start);
  const callback = await passThrough(url);
  const cookie = await visitor.cookies(callback);
  return { visitor, callback, cookie, state: new URL(url).searchParams.get('state') ?? '' };
}

const replaced = (callback: string, name: string, value: string) => {
  const url = new URL(callback);
  url.searchParams.set(name, value);
  return url.href;
};

/** No such callback signs anybody in, or stores anything. */
async function isRefused(t: Test, visit: () => ReturnType<Visitor['visit']>, what: string): Promise<void> {
  const before = await digestOfAccounts(app);
  refusedLogin(t, await visit(), 'INVALID_CREDENTIALS', what);
  t.equal(await digestOfAccounts(app), before, `${what}: nothing was stored`);
}

t.test('a state is good for the browser that it was made for (CVE-2023-31999)', async (t) => {
  const [victim, thief] = [await returned(), await returned()];
  await isRefused(t, () => newVisitor().visit(victim.callback), 'a browser that has begun nothing');
  await isRefused(t, () => thief.visitor.visit(victim.callback), 'a browser that has begun a login of its own');
  t.equal((await victim.visitor.visit(victim.callback)).statusCode, 200, 'whose it is, is signed in all the same');
  const other = await returned();
  const mixed = replaced(thief.callback, 'code', new URL(other.callback).searchParams.get('code') ?? '');
  await isRefused(t, () => thief.visitor.visit(mixed), 'the code of somebody else, which PKCE guards');
});

t.test('what comes back for another login leaves the one alone that is under way', async (t) => {
  const { visitor, callback } = await returned();
  await isRefused(t, () => visitor.visit('/auth/login/alpha/callback?state=x&code=y'), 'a stray one');
  await isRefused(
    t,
    () => visitor.visit('/auth/oauth/beta/callback?state=x&error=access_denied'),
    'of another provider',
  );
  await isRefused(t, () => visitor.visit('/auth/login/alpha/callback'), 'one that says nothing');
  t.equal((await visitor.visit(callback)).statusCode, 200);

  const [first, second] = [newVisitor(), newVisitor()];
  newPerson();
  const older = await passThrough(await begin(first, 'alpha', { family: 'oauth' }));
  const newer = await passThrough(await begin(first, 'alpha', { family: 'oauth' }));
  await isRefused(t, () => first.visit(older), 'the older of two tabs');
  t.equal((await first.visit(newer)).statusCode, 200, 'the newer one is signed in');
  await isRefused(t, () => second.visit(newer), 'once');
});

t.test('a state is good for the provider that it was made for (GHSA-x445-f3h2-j279)', async (t) => {
  const { visitor, callback, cookie, state } = await returned('alpha');
  const moved = callback.replace('/alpha/', '/beta/');
  await isRefused(t, () => visitor.visit(moved), 'at the callback of another');
  await isRefused(t, () => get(moved.slice(publicUrl.length), { cookie }), 'with all the cookies there are');

  const other = await returned('beta', { family: 'oauth' }, visitor);
  await isRefused(t, () => visitor.visit(replaced(other.callback, 'state', state)), 'in a browser that has begun both');
  const swapped = other.cookie.replaceAll(other.state, state);
  await isRefused(
    t,
    () => get(replaced(other.callback, 'state', state).slice(publicUrl.length), { cookie: swapped }),
    'under the name of the other',
  );

  const [login, elsewhere] = [newVisitor(), new URLSearchParams()];
  const begun = new URL(await begin(login, 'alpha', { family: 'oauth' }));
  for (const [name, value] of begun.searchParams) elsewhere.set(name, value.replace('alpha', 'beta'));
  const right = await passThrough(`${begun.origin}${begun.pathname}?${elsewhere}`);
  t.match(right, '/auth/login/beta/callback');
  await isRefused(t, () => login.visit(right), 'even if the other has made its code for this very login');

  const renamed = cookie.replaceAll('alpha', 'beta');
  await isRefused(t, () => get(moved.slice(publicUrl.length), { cookie: renamed }), 'in a cookie of another name');
});

t.test('a state is good once (CVE-2020-15222, CVE-2025-46815)', async (t) => {
  server.takesCodesAgain = true;
  t.teardown(() => {
    server.takesCodesAgain = false;
  });
  const { visitor, callback, cookie } = await returned();
  t.equal((await visitor.visit(callback)).statusCode, 200);
  await isRefused(t, () => visitor.visit(callback), 'again in the same browser');
  const path = callback.slice(publicUrl.length);
  await isRefused(t, () => get(path, { cookie }), 'again with the cookies that the browser had then');
  await isRefused(t, () => get(path.replace('/login/', '/oauth/'), { cookie }), 'again on the other family of routes');
  await isRefused(t, () => get(path.replace(/code=\w+/, 'code=another'), { cookie }), 'again with another code');

  t.test('even if twenty come at once', async (t) => {
    const { callback, cookie } = await returned();
    const count = await app.db.$count(sessions);
    const path = callback.slice(publicUrl.length);
    const responses = await Promise.all(Array.from({ length: 20 }, () => get(path, { cookie })));
    const losers = responses.filter(({ statusCode }) => statusCode !== 200);
    t.equal(losers.length, 19);
    for (const response of losers) refusedLogin(t, response, 'INVALID_CREDENTIALS', 'a loser');
    t.equal(await app.db.$count(sessions), count + 1);
  });

  t.test('even if the login has failed', async (t) => {
    const { visitor, callback, cookie, state } = await returned();
    const denied = `/auth/login/alpha/callback?${new URLSearchParams({ error: 'access_denied', state })}`;
    await isRefused(t, () => visitor.visit(denied), 'denied');
    await isRefused(t, () => get(callback.slice(publicUrl.length), { cookie }), 'and then not, after all');
  });
});

t.test('a state is good for five minutes', async (t) => {
  const [early, late] = [await returned(), await returned()];
  clock.advance(4 * minute + 50 * second);
  t.equal((await early.visitor.visit(early.callback)).statusCode, 200, 'just before');
  clock.advance(11 * second);
  const path = late.callback.slice(publicUrl.length);
  await isRefused(t, () => get(path, { cookie: late.cookie }), 'too late');
});

t.test('without what the browser was given nothing goes', async (t) => {
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

t.test('a cookie of the same name that a neighboring host has set does not get in the way', async (t) => {
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

t.test('the state alone, which a log of URLs shows, signs nobody in', async (t) => {
  const { callback, cookie, state } = await returned();
  const path = callback.slice(publicUrl.length);
  const foreign = (await returned()).cookie.match(/gatehouse_provider_verifier=[^;]+/)?.[0];
  const stolen = `gatehouse_provider_state=${state}`;
  const before = server.asked.length;
  await isRefused(t, () => get(path, { cookie: `${stolen}; ${foreign}` }), 'the verifier of another login');
  t.equal(server.asked.length, before, 'the provider is not asked, which may not know PKCE');
  t.not((await get(path, { cookie })).statusCode, 200, 'and the state is spent');
});

t.test('a state cannot be made, or changed', async (t) => {
  const { callback, cookie, state } = await returned();
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  /** Turns the highest bit of what a character stands for, so that no decoder can overlook it. */
  const turned = (character: string) => {
    const value = alphabet.indexOf(character);
    return value < 0 ? 'A' : (alphabet[value ^ 32] ?? 'A');
  };
  const both = (changed: string) =>
    get(replaced(callback, 'state', changed).slice(publicUrl.length), { cookie: cookie.replaceAll(state, changed) });
  t.ok(cookie.includes(state), 'the cookie has the very state');
  const before = await digestOfAccounts(app);
  let accepted = 0;
  for (let index = 0; index < state.length; index++) {
    const changed = state.slice(0, index) + turned(state[index] ?? '') + state.slice(index + 1);
    const onlyState = await get(replaced(callback, 'state', changed).slice(publicUrl.length), { cookie });
    if (onlyState.statusCode !== 401) accepted++;
    if ((await both(changed)).statusCode !== 401) accepted++;
  }
  t.equal(accepted, 0, `none of ${state.length} turned bits passes, alone or in the cookie too`);
  for (const length of [0, 1, 16, state.length - 16, state.length - 1]) {
    await isRefused(t, () => both(state.slice(0, length)), `cut down to ${length} characters`);
  }
  t.equal(await digestOfAccounts(app), before);
});

t.test('what else the service has sealed is no state', async (t) => {
  const { callback, cookie, state } = await returned();
  const { data } = (await testApp.post('/auth/login', admin)).json();
  for (const token of [data.access_token, data.refresh_token, app.tfaSecrets.seal('a secret', 'somebody')]) {
    const path = replaced(callback, 'state', token).slice(publicUrl.length);
    await isRefused(t, () => get(path, { cookie: cookie.replaceAll(state, encodeURIComponent(token)) }), 'a token');
  }
  for (const headers of [{ authorization: `Bearer ${state}` }, { cookie: `gatehouse_session_token=${state}` }]) {
    t.ok([401, 403].includes((await get('/users/me', headers)).statusCode), 'nor is a state a token');
  }
});

t.test('of two logins that one browser has begun, the later one goes through', async (t) => {
  const visitor = newVisitor();
  await returned('alpha', { family: 'oauth' }, visitor);
  const later = await returned('beta', { family: 'oauth' }, visitor);
  t.equal((await visitor.visit(later.callback)).statusCode, 200);
});
