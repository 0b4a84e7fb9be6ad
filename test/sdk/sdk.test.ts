// @suite embedded-only: hardly depends on the engine

import {
  type AuthenticationData,
  type AuthenticationMode,
  authentication,
  createDirectus,
  memoryStorage,
  readMe,
  rest,
  serverInfo,
  serverPing,
  staticToken,
  withToken,
} from '@directus/sdk';
import makeFetchCookie from 'fetch-cookie';
import t, { type Test } from 'tap';
import { checkedFetch } from '../helpers/openapi/document.js';
import { startTestApp } from '../helpers/service/app.js';
import { minute, second } from '../helpers/service/clock.js';
import { administrator } from '../helpers/users/credentials.js';
import { createPolicy } from '../helpers/users/rights.js';
import { modes, refreshCookie, sessionCookie } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

const { app, clock } = await startTestApp(t);
const url = await app.listen({ host: '127.0.0.1', port: 0 });
const ownToken = 'a-static-token-for-the-sdk';
const reader = await createUser(app, { token: ownToken, policies: [await createPolicy(app, { appAccess: true })] });

const quiet = { log: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const me = () => readMe({ fields: ['id', 'email', 'policies'] });

/** The SDK as an application sets it up, in its own browser, that is, with its own cookie jar. */
function browser(mode: AuthenticationMode, autoRefresh = false, msRefreshBeforeExpires = 0) {
  const jar = new makeFetchCookie.toughCookie.CookieJar();
  const fetchWithCookies = makeFetchCookie(checkedFetch, jar);
  const storage = memoryStorage();
  const client = createDirectus(url, { globals: { fetch: fetchWithCookies, logger: quiet } })
    .with(authentication(mode, { autoRefresh, msRefreshBeforeExpires, credentials: 'include', storage }))
    .with(rest({ credentials: 'include' }));
  const cookies = async () => (await jar.getCookies(url)).map(({ key }) => key);
  const cookie = async (name: string) => (await jar.getCookies(url)).find(({ key }) => key === name)?.value;
  return { client, storage, cookies, cookie };
}

/** The error that the SDK throws for an error response. */
async function failure(promise: Promise<unknown>) {
  try {
    await promise;
  } catch (error) {
    return error as { errors: { message: string; extensions: { code: string } }[]; response: Response };
  }
  throw new Error('The request should have failed.');
}

async function isRefused(t: Test, promise: Promise<unknown>, status: number, code: string) {
  const { errors, response } = await failure(promise);
  t.equal(response.status, status);
  t.equal(errors.length, 1);
  t.type(errors[0]?.message, 'string');
  t.equal(errors[0]?.extensions.code, code);
}

const lifetimes = { json: 900_000, cookie: 900_000, session: 86_400_000 };
/** The cookies that a browser stores for a session in each mode. */
const held = { json: [], cookie: [refreshCookie], session: [sessionCookie] };

for (const mode of modes) {
  t.test(`authentication('${mode}'): a user can log in, read their account, refresh, and log out`, async (t) => {
    const { client, cookies, cookie, storage } = browser(mode);
    await isRefused(t, client.request(me()), 401, 'INVALID_CREDENTIALS');

    const login = await client.login(administrator.email, administrator.password);
    t.equal(login.expires, lifetimes[mode]);
    t.strictSame(await cookies(), held[mode]);
    const token = await client.getToken();
    if (mode === 'session') t.notOk(token, 'the token is only in its cookie');
    else t.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
    t.equal(Boolean((await storage.get())?.refresh_token), mode === 'json');

    const first = await client.request(me());
    t.strictSame(Object.keys(first).sort(), ['email', 'id', 'policies']);
    t.equal(first.email, administrator.email);
    t.equal((await client.request(readMe())).status, 'active', 'all fields by default');

    const before = await state();
    const refreshed = await client.refresh();
    t.equal(refreshed.expires, login.expires);
    t.not(await state(), before, 'the tokens are new');
    t.strictSame(await cookies(), held[mode]);
    t.strictSame(await client.request(me()), first);
    t.equal((await client.refresh()).expires, login.expires, 'a second time');
    t.strictSame(await client.request(me()), first);

    const last = await client.getToken();
    const lastCookie = await cookie(sessionCookie);
    await client.logout();
    t.equal(await client.getToken(), null);
    t.strictSame(await cookies(), [], 'no cookie is left');
    await isRefused(t, client.request(me()), 401, 'INVALID_CREDENTIALS');
    await isRefused(t, client.refresh(), 400, 'INVALID_PAYLOAD');
    const revoked = last ?? lastCookie;
    if (!revoked) return t.fail('there is no token');
    const other = createDirectus(url, { globals: { fetch: checkedFetch } }).with(rest());
    await isRefused(t, other.request(withToken(revoked, me())), 401, 'INVALID_CREDENTIALS');

    async function state() {
      const { refresh_token } = (await storage.get()) ?? {};
      return JSON.stringify([refresh_token, await cookie(refreshCookie), await cookie(sessionCookie)]);
    }
  });

  t.test(`authentication('${mode}'): a failed login starts no session`, async (t) => {
    const { client, cookies } = browser(mode);
    await isRefused(t, client.login(administrator.email, 'not the password'), 401, 'INVALID_CREDENTIALS');
    await isRefused(t, client.login('nobody@example.com', administrator.password), 401, 'INVALID_CREDENTIALS');
    await isRefused(t, client.login('no address', administrator.password), 400, 'INVALID_PAYLOAD');
    await isRefused(t, client.login(administrator.email, ''), 400, 'INVALID_PAYLOAD');
    t.strictSame(await cookies(), []);
    t.notOk(await client.getToken());
  });

  t.test(`authentication('${mode}'): two browsers of one user have separate sessions`, async (t) => {
    const [one, other] = [browser(mode), browser(mode)];
    await one.client.login(reader.email, reader.password);
    await other.client.login(reader.email, reader.password);
    await one.client.logout();
    t.equal((await other.client.request(me())).id, reader.id);
    t.equal((await other.client.refresh()).expires, lifetimes[mode]);
  });
}

t.test('with autoRefresh, a session outlives its access token', async (t) => {
  for (const mode of ['json', 'cookie'] as const) {
    // The SDK's timer fires 300 milliseconds after each login and refresh.
    const { client } = browser(mode, true, 15 * minute - 300);
    await client.login(reader.email, reader.password);
    const first = await client.getToken();
    clock.advance(10 * minute);
    const deadline = Date.now() + 10 * second;
    while ((await client.getToken()) === first && Date.now() < deadline)
      await new Promise((done) => setTimeout(done, 50));
    client.stopRefreshing();
    clock.advance(6 * minute);
    const other = createDirectus(url, { globals: { fetch: checkedFetch } }).with(rest());
    await isRefused(t, other.request(withToken(first ?? '', me())), 401, 'TOKEN_EXPIRED');
    t.equal((await client.request(me())).id, reader.id, mode);
  }
});

t.test('staticToken() authenticates as the user of the token', async (t) => {
  const client = createDirectus(url, { globals: { fetch: checkedFetch } })
    .with(staticToken(ownToken))
    .with(rest());
  t.equal(await client.getToken(), ownToken);
  const user = await client.request(readMe({ fields: ['id', 'email', 'token'] }));
  t.strictSame(user, { id: reader.id, email: reader.email, token: '**********' });
  await client.setToken('a-token-of-nobody');
  await isRefused(t, client.request(me()), 401, 'INVALID_CREDENTIALS');
  await isRefused(t, client.request(serverInfo()), 401, 'INVALID_CREDENTIALS');
});

t.test('a session continues in another process that has its stored tokens', async (t) => {
  const { client, storage } = browser('json');
  await client.login(reader.email, reader.password);
  const kept: AuthenticationData | null = await storage.get();
  const other = browser('json');
  await other.storage.set(kept);
  t.equal((await other.client.request(me())).id, reader.id);
  t.ok((await other.client.refresh()).access_token);
});

t.test('serverPing() and serverInfo() work', async (t) => {
  const client = createDirectus(url, { globals: { fetch: checkedFetch } }).with(rest());
  t.equal(await client.request(serverPing()), 'pong');
  t.match(await client.request(serverInfo()), { project: { project_name: 'Gatehouse' } });
});
