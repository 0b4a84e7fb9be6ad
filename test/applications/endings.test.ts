import * as oidc from 'openid-client';
import t from 'tap';
import { fails, startProvider } from '../helpers/applications/applications.js';
import { asAdmin } from '../helpers/http/writing.js';
import { hour } from '../helpers/service/clock.js';

const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** Whatever ends the access of an application does so on its next request. */
t.test('what ends the tokens of an application', async (t) => {
  // Access tokens outlive a session that merely expires, unless they end with it.
  const provider = await startProvider(t, { SESSION_COOKIE_TTL: '1h' });
  const { clock } = provider;
  const access_token_ttl = '2h';
  const asAdministrator = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    const response = await provider.request({ method, url, headers: asAdmin, ...(payload ? { payload } : {}) });
    if (response.statusCode >= 300) throw new Error(`${method} ${url}: ${response.body}`);
    return response;
  };
  const trusted = await provider.discover(await provider.addClient({ access_token_ttl }));
  const other = await provider.discover(await provider.addClient({ first_party: false, access_token_ttl }));
  let users = 0;
  const createUser = async () => {
    const user = { email: `user${++users}@example.com`, password: 'the password of a user' };
    const { data } = (await asAdministrator('POST', '/users', user)).json();
    return { ...user, id: data.id as string };
  };
  /** Signs a new user in to a client. @returns whether its tokens still work, each in its own way */
  const begin = async (config = trusted, scope = 'openid offline_access') => {
    const user = await createUser();
    const { id, ...credentials } = user;
    const browser = await provider.browser(credentials);
    const tokens = await browser.signIn(config, { scope });
    if (tokens.refresh_token === undefined) throw new Error('There is no refresh token.');
    let refreshToken = tokens.refresh_token;
    const works = async () => ({
      userinfo: await oidc.fetchUserInfo(config, tokens.access_token, id).then(
        () => true,
        () => false,
      ),
      introspection: (await oidc.tokenIntrospection(config, tokens.access_token)).active,
      refresh: await oidc.refreshTokenGrant(config, refreshToken).then(
        ({ refresh_token: next = '' }) => {
          refreshToken = next;
          return true;
        },
        () => false,
      ),
    });
    return { user, browser, tokens, works };
  };
  const all = { userinfo: true, introspection: true, refresh: true };
  const none = { userinfo: false, introspection: false, refresh: false };

  const endings: Record<string, (started: Awaited<ReturnType<typeof begin>>) => Promise<unknown>> = {
    suspension: ({ user }) => asAdministrator('PATCH', `/users/${user.id}`, { status: 'suspended' }),
    deletion: ({ user }) => asAdministrator('DELETE', `/users/${user.id}`),
    'a new password': ({ user }) =>
      asAdministrator('PATCH', `/users/${user.id}`, { password: 'another password of a user' }),
    'the end of all sessions': ({ user }) => asAdministrator('DELETE', `/users/${user.id}/sessions`),
    logout: ({ browser }) => browser.fetch(`${provider.url}/account/sign-out`, { method: 'POST' }),
  };
  for (const [name, end] of Object.entries(endings)) {
    t.test(name, async (t) => {
      const started = await begin();
      t.strictSame(await started.works(), all);
      await end(started);
      t.strictSame(await started.works(), none);
    });
  }

  t.test('a withdrawn grant ends only the access of that client', async (t) => {
    const { user, browser, works } = await begin(other);
    const elsewhere = await browser.signIn(trusted, { scope: 'openid' });
    t.strictSame(await works(), all);
    const list = await browser.fetch(`${provider.url}/users/me/grants`);
    const { data } = (await list.json()) as { data: { id: string }[] };
    t.equal(data.length, 1, 'first-party clients are not listed');
    const withdrawn = await browser.fetch(`${provider.url}/users/me/grants/${data[0]?.id}`, { method: 'DELETE' });
    t.equal(withdrawn.status, 204);
    t.strictSame(await works(), none);
    t.ok(await oidc.fetchUserInfo(trusted, elsewhere.access_token, user.id));
  });

  t.test('users see the access that they have given, in the list and in the export of their data', async (t) => {
    const [notes, search] = ['https://notes.example.com', 'https://search.example.com'];
    await provider.addResource({ identifier: notes, name: 'Notes', scopes: ['notes:read', 'notes:write'] });
    await provider.addResource({ identifier: search, name: 'Search', scopes: [] });
    const logo_uri = 'https://app.example.com/logo.png';
    const client = await provider.addClient({ first_party: false, resources: [notes, search], logo_uri });
    const { id: _id, ...credentials } = await createUser();
    const browser = await provider.browser(credentials);
    await browser.signIn(await provider.discover(client), { scope: 'openid email' });
    await browser.signIn(await provider.discover(client), { scope: 'notes:read', resource: notes });
    await browser.signIn(await provider.discover(client), { scope: '', resource: search });
    await browser.signIn(trusted, { scope: 'openid' });
    const read = async (path: string) => {
      const response = await browser.fetch(`${provider.url}/users/me/${path}`);
      // biome-ignore lint/suspicious/noExplicitAny: the assertions describe what it contains.
      return ((await response.json()) as { data: any }).data;
    };
    const [grant, ...others] = await read('grants');
    t.strictSame(others, [], 'first-party clients are not listed');
    t.match(grant, { client: { id: client.id, name: 'An app', logo_uri }, scopes: ['email', 'openid'] });
    t.match(grant.last_used_at, /^20\d\d-/);
    t.strictSame(
      grant.resources.toSorted((a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name)),
      [
        { identifier: notes, name: 'Notes', scopes: ['notes:read'] },
        { identifier: search, name: 'Search', scopes: [] },
      ],
    );
    const exported = (await read('export')).grants as (typeof grant)[];
    t.strictSame(
      exported.filter(({ id }) => id === grant.id),
      [grant],
    );
    t.equal(exported.length, 2, 'the export contains all that is stored');
  });

  t.test('a session that merely expires ends only what was not issued for offline_access', async (t) => {
    const online = await begin(trusted, 'openid');
    const offline = await begin();
    t.strictSame([await online.works(), await offline.works()], [all, all]);
    clock.advance(hour + 1_000);
    t.strictSame([await online.works(), await offline.works()], [none, all]);
  });

  t.test('an exchanged token ends with the session of its source, unless that is for offline_access', async (t) => {
    const api = 'https://api.example.com';
    await provider.addResource({ identifier: api, scopes: ['orders:read'], access_token_ttl });
    const shop = await provider.discover(await provider.addClient({ resources: [api] }));
    const exchanging = { grant_types: [tokenExchange], redirect_uris: [], resources: [api], access_token_ttl };
    const agent = await provider.discover(await provider.addClient(exchanging));
    const { id: _id, ...credentials } = await createUser();
    const browser = await provider.browser(credentials);
    const exchange = (subject_token: string, parameters: Record<string, string> = {}) =>
      oidc.genericGrantRequest(agent, tokenExchange, {
        subject_token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        ...parameters,
      });
    const isActive = async (token: string) => (await oidc.tokenIntrospection(agent, token)).active;
    const cases: { source: string; exchanged: string; isOffline: boolean }[] = [];
    for (const isOffline of [false, true]) {
      const scope = `openid orders:read${isOffline ? ' offline_access' : ''}`;
      const { access_token: source } = await browser.signIn(shop, { scope, resource: api });
      const general = await exchange(source);
      t.notMatch(general.scope, 'offline_access', 'it has no refresh token');
      await fails(t, exchange(source, { scope: 'openid offline_access' }), 'invalid_scope');
      const chained = await exchange(general.access_token);
      const forApi = await exchange(source, { resource: api });
      for (const { access_token: exchanged } of [general, chained, forApi])
        cases.push({ source, exchanged, isOffline });
    }
    for (const { source, exchanged } of cases)
      t.strictSame([await isActive(source), await isActive(exchanged)], [true, true]);
    clock.advance(hour + 1_000);
    for (const { source, exchanged, isOffline } of cases)
      t.strictSame([await isActive(source), await isActive(exchanged)], [isOffline, isOffline]);
    clock.advance(hour - 1_500);
    for (const { source, isOffline } of cases)
      if (isOffline) await fails(t, exchange(source), 'invalid_request', 'less than a second is left');
  });
});
