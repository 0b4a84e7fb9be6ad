import * as oidc from 'openid-client';
import t from 'tap';
import { startProvider } from '../helpers/applications/applications.js';
import { asAdmin } from '../helpers/http/writing.js';

/** Whatever ends the access of an application does so on its next request. */
t.test('what ends the tokens of an application', async (t) => {
  const provider = await startProvider(t);
  const { app, clock } = provider;
  const asAdministrator = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    const response = await provider.request({ method, url, headers: asAdmin, ...(payload ? { payload } : {}) });
    if (response.statusCode >= 300) throw new Error(`${method} ${url}: ${response.body}`);
    return response;
  };
  const trusted = await provider.discover(await provider.addClient());
  const other = await provider.discover(await provider.addClient({ first_party: false }));
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
    const works = async () => ({
      userinfo: await oidc.fetchUserInfo(config, tokens.access_token, id).then(
        () => true,
        () => false,
      ),
      introspection: (await oidc.tokenIntrospection(config, tokens.access_token)).active,
      refresh: await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '').then(
        () => true,
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
    clock.advance(app.config.SESSION_COOKIE_TTL + 1_000);
    t.equal((await online.works()).refresh, false);
    t.equal((await offline.works()).refresh, true);
  });
});
