import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import * as oidc from 'openid-client';
import t from 'tap';
import { hashToken } from '../../plugins/tokens/refresh-tokens.js';
import { startProvider } from '../helpers/applications/applications.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin } from '../helpers/http/writing.js';
import { allOperations, configOf } from '../helpers/openapi/operations.js';
import { bearer } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { createPolicy, policyWith } from '../helpers/users/rights.js';
import { createUser } from '../helpers/users/users.js';

const api = 'https://api.example.com/';
const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Applications call the service's own API for their users (capabilities 9 and 10). */
t.test('an access token of an application is accepted by the API for its scopes', async (t) => {
  const provider = await startProvider(t);
  const { app, url, clock, request } = provider;
  await provider.addResource({ identifier: api, scopes: ['orders:read'] });
  const all = ['openid', 'offline_access', 'users:read', 'users:update', 'users:create', 'roles:*', '*', 'orders:read'];
  const client = await provider.addClient({ scopes: all, resources: [api] });
  const config = await provider.discover(client);

  const call = (token: string, method: Method, path: string, payload?: object) =>
    request({ method, url: path, headers: bearer(token), ...(payload ? { payload } : {}) });
  const asAdministrator = async (method: Method, path: string, payload?: object) => {
    const response = await request({ method, url: path, headers: asAdmin, ...(payload ? { payload } : {}) });
    if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${response.body}`);
  };
  const permissions = [
    { collection: 'users', action: 'read' as const, fields: ['id', 'email', 'first_name', 'role'] },
    { collection: 'users', action: 'update' as const, fields: ['first_name'] },
    { collection: 'roles', action: 'read' as const, fields: ['*'] },
  ];
  const policy = await policyWith(app, permissions);
  /** Signs a new user in. */
  const begin = async (scope: string, by = config) => {
    const { id, email, password } = await createUser(app, { policies: [policy] });
    const browser = await provider.browser({ email, password });
    return { id, email, password, browser, tokens: await browser.signIn(by, { scope }) };
  };
  const admin = await provider.browser(administrator);
  const tokenOfAdmin = async (scope: string) => (await admin.signIn(config, { scope })).access_token;

  t.test('what the user may do, and a scope names', async (t) => {
    const { id, email, tokens } = await begin('openid users:read');
    const token = tokens.access_token;
    t.match(token, /^gat_[\w-]{43}$/);
    t.match((await call(token, 'GET', `/users/${id}`)).json(), { data: { id, email } });
    t.match((await call(token, 'GET', '/users/me?fields=email')).json(), { data: { email } });
    t.match((await call(token, 'GET', '/users/me/profile')).json(), { data: { email } });
    t.equal((await request({ method: 'GET', url: `/users/me?access_token=${token}` })).statusCode, 200);
    refused(t, await call(token, 'PATCH', `/users/${id}`, { first_name: 'Ada' }), 'FORBIDDEN', 'another action');
    const other = await call(token, 'GET', '/roles');
    refused(t, other, 'FORBIDDEN', 'another collection');
    t.equal(other.json().errors[0].extensions.reason, 'This requires the scope roles:read.');
    refused(t, await call(token, 'GET', '/users?fields=role.name'), 'FORBIDDEN', 'a related collection');
    refused(t, await call(token, 'GET', `/users?filter={"role":{"name":"a"}}`), 'FORBIDDEN', 'a filter');
    refused(t, await call(token, 'GET', '/users?fields=last_page'), 'FORBIDDEN', 'a field that the user cannot read');

    const wide = (await begin('* openid')).tokens.access_token;
    t.equal((await call(wide, 'GET', '/users?fields=role.name')).statusCode, 200);
    t.equal((await call(wide, 'PATCH', `/users/${id}`, { first_name: 'Ada' })).statusCode, 200);
    refused(t, await call(wide, 'PATCH', `/users/${id}`, { last_name: 'L' }), 'FORBIDDEN', 'not a right of the user');
    refused(t, await call(wide, 'GET', '/activity'), 'FORBIDDEN', 'only for administrators');
    const blind = (await begin('openid users:update')).tokens.access_token;
    const written = await call(blind, 'PATCH', `/users/${id}`, { first_name: 'Bea' });
    t.equal(written.statusCode, 204, 'without the scope to read, the result is not returned');
  });

  t.test('a scope limits administrators, too', async (t) => {
    const token = await tokenOfAdmin('openid users:read');
    const found = await call(token, 'GET', '/users?fields=*&limit=1');
    t.equal(found.json().data[0].provider, 'default');
    for (const path of ['/users?fields=role.name', '/users?fields=policies.name', '/activity', '/settings', '/mails'])
      refused(t, await call(token, 'GET', path), 'FORBIDDEN', path);
    refused(t, await call(token, 'PATCH', '/settings', { project_name: 'X' }), 'FORBIDDEN', 'settings');
    refused(t, await call(token, 'POST', '/users', { email: 'a@example.com' }), 'FORBIDDEN', 'create');
    t.equal((await call(await tokenOfAdmin('openid *'), 'GET', '/users?fields=role.name')).statusCode, 200);
    t.notOk('checks' in (await call(token, 'GET', '/server/health')).json(), 'no scope is for details of the service');
    t.equal((await call(token, 'GET', '/server/info')).statusCode, 200, 'public operations still work');
    const mine = await call(await tokenOfAdmin('openid roles:* *'), 'GET', '/permissions/me');
    t.match(mine.json().data.users.read, { access: 'full' });
  });

  t.test('an operation without a scope, or with another one, is refused', async (t) => {
    const [wide, narrow] = [await tokenOfAdmin('openid *'), await tokenOfAdmin('openid roles:*')];
    const without: string[] = [];
    for (const { operationId, method, url: path } of allOperations({ id: randomUUID() })) {
      const { access, scope } = configOf(app, operationId);
      if (access === 'anonymous') continue;
      if (scope === undefined) without.push(operationId);
      const token = scope === undefined ? wide : narrow;
      if (scope?.startsWith('roles:')) continue;
      refused(t, await call(token, method, path), 'FORBIDDEN', operationId);
    }
    for (const name of ['changeMyPassword', 'listMySessions', 'listPasskeys', 'listMyGrants', 'exportAccount'])
      t.ok(without.includes(name), name);
  });

  t.test('it cannot do what requires a fresh session, or change how its user signs in', async (t) => {
    const token = await tokenOfAdmin('openid *');
    const administrators = await createPolicy(app, { adminAccess: true });
    const { id } = await createUser(app);
    const { id: second } = await createUser(app, { policies: [administrators] });
    const attempts: [Method, string, object][] = [
      ['PATCH', '/users/me', { password: 'a new password for the administrator' }],
      ['PATCH', '/users/me', { token: 'x'.repeat(40) }],
      ['PATCH', '/users/me', { email: 'new@example.com' }],
      ['PATCH', `/users/${id}`, { policies: [administrators] }],
      ['PATCH', `/users/${second}`, { password: 'a new password for the administrator' }],
      ['POST', `/users/${second}/tfa/disable`, {}],
      ['POST', '/users', { email: 'b@example.com', password: 'the password of b', policies: [administrators] }],
      ['PATCH', '/settings', { public_registration: true }],
      ['POST', '/clients', { name: 'X', type: 'confidential', redirect_uris: ['https://x.example.com/'] }],
    ];
    for (const [method, path, body] of attempts) {
      const response = await call(token, method, path, body);
      refused(t, response, 'FORBIDDEN', `${method} ${path} ${JSON.stringify(body)}`);
      t.match(response.json().errors[0].extensions.reason, /requires a session/);
    }
    t.equal((await call(token, 'PATCH', `/users/${id}`, { first_name: 'Ada' })).statusCode, 200);
  });

  t.test('other tokens of the provider are not accepted', async (t) => {
    const { tokens, browser } = await begin('openid offline_access');
    const forApi = await browser.signIn(config, { scope: 'openid', resource: api });
    const program = await provider.discover(
      await provider.addClient({ scopes: ['users:read'], grant_types: ['client_credentials'], redirect_uris: [] }),
    );
    const { access_token: ofProgram } = await oidc.clientCredentialsGrant(program, { scope: 'users:read' });
    const DPoP = oidc.getDPoPHandle(config, await oidc.randomDPoPKeyPair());
    const verifier = oidc.randomPKCECodeVerifier();
    const back = await browser.authorize(
      oidc.buildAuthorizationUrl(config, {
        redirect_uri: 'https://app.example.com/callback',
        scope: 'openid users:read',
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }),
    );
    const bound = await oidc.authorizationCodeGrant(config, back, { pkceCodeVerifier: verifier }, undefined, { DPoP });
    const usable = (await begin('openid users:read')).tokens.access_token;
    const unusable = {
      'without a scope for the API': tokens.access_token,
      'an ID token': tokens.id_token ?? '',
      'a refresh token': tokens.refresh_token ?? '',
      'for another resource': forApi.access_token,
      'without a user': ofProgram,
      'bound to a key': bound.access_token,
      shortened: usable.slice(0, -1),
      unknown: `gat_${'A'.repeat(43)}`,
    };
    for (const [name, token] of Object.entries(unusable))
      for (const path of ['/users/me', '/server/info'])
        refused(t, await call(token, 'GET', path), 'INVALID_CREDENTIALS', `${name}: ${path}`);
    t.match((await call(bound.access_token, 'GET', '/users/me')).json().errors[0].message, /without DPoP/);
    t.equal((await call(usable, 'GET', '/users/me')).statusCode, 200);
  });

  t.test('whatever ends it does so on the next request', async (t) => {
    const scope = 'openid users:read';
    const ends = async (
      name: string,
      end: (started: Awaited<ReturnType<typeof begin>> & { client: string }) => Promise<unknown>,
      code: 'INVALID_CREDENTIALS' | 'FORBIDDEN' = 'INVALID_CREDENTIALS',
      values: object = {},
    ) => {
      const made = await provider.addClient({ scopes: ['openid', 'users:read', 'roles:read'], ...values });
      const started = await begin(scope, await provider.discover(made));
      const read = () => call(started.tokens.access_token, 'GET', '/users/me');
      t.equal((await read()).statusCode, 200, name);
      await end({ ...started, client: made.id });
      refused(t, await read(), code, name);
    };
    await ends('suspension', ({ id }) => asAdministrator('PATCH', `/users/${id}`, { status: 'suspended' }));
    await ends('deletion', ({ id }) => asAdministrator('DELETE', `/users/${id}`));
    await ends('the end of its sessions', ({ id }) => asAdministrator('DELETE', `/users/${id}/sessions`));
    await ends('sign-out', ({ browser }) => browser.fetch(`${url}/account/sign-out`, { method: 'POST' }));
    await ends('the end of the client', ({ client: id }) => asAdministrator('DELETE', `/clients/${id}`));
    await ends('no scope left', ({ client: id }) =>
      asAdministrator('PATCH', `/clients/${id}`, { scopes: ['openid', 'roles:read'] }),
    );
    await ends('no own scopes at all', ({ client: id }) =>
      asAdministrator('PATCH', `/clients/${id}`, { scopes: null }),
    );
    await ends('revocation', async ({ tokens, client: id }) => {
      await app.db.execute(sql`delete from oauth_records where hash = ${hashToken(tokens.access_token)}`);
      return id;
    });
    await ends(
      'a withdrawn grant',
      async ({ browser }) => {
        const { data } = (await (await browser.fetch(`${url}/users/me/grants`)).json()) as { data: { id: string }[] };
        await browser.fetch(`${url}/users/me/grants/${data[0]?.id}`, { method: 'DELETE' });
      },
      'INVALID_CREDENTIALS',
      { first_party: false },
    );
    await ends('its expiry', async () => clock.advance(16 * 60_000));
    const strict = await createPolicy(app, { enforceTfa: true });
    await ends(
      'a policy that requires a second factor',
      ({ id }) => asAdministrator('PATCH', `/users/${id}`, { policies: [policy, strict] }),
      'FORBIDDEN',
    );
  });

  t.test('a service that acts for the user', async (t) => {
    const exchanging = { type: 'confidential', grant_types: [tokenExchange], redirect_uris: [] };
    const agent = await provider.addClient({ ...exchanging, scopes: ['users:read'], resources: [api] });
    const by = await provider.discover(agent);
    const { id, browser } = await begin('openid');
    const source = await browser.signIn(config, { scope: 'orders:read', resource: api });
    const exchange = (token: string) =>
      oidc.genericGrantRequest(by, tokenExchange, { subject_token: token, subject_token_type: accessTokenType });
    const one = (await exchange(source.access_token)).access_token;
    const two = (await exchange(one)).access_token;
    const works = async () => (await call(two, 'GET', `/users/${id}`)).statusCode;
    t.equal(await works(), 200);

    const setFormerClient = (value: string | null) =>
      app.db.execute(sql`update oauth_records set client = coalesce(${value}, client)
        where hash = (select parent from oauth_records where hash = ${hashToken(one)})`);
    await setFormerClient('https://agent.example.net/client.json');
    t.equal(await works(), 401, 'a client that nobody registered is not allowed');
    await asAdministrator('PATCH', '/settings', { unregistered_clients: 'any' });
    t.equal(await works(), 200, 'it is allowed');

    await oidc.tokenRevocation(config, source.access_token);
    t.equal(await works(), 401, 'it ends with its source');
  });
});
