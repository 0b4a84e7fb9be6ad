import { randomUUID } from 'node:crypto';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import * as oidc from 'openid-client';
import t from 'tap';
import { fails, startProvider } from '../helpers/applications/applications.js';
import { minute } from '../helpers/service/clock.js';
import { administrator } from '../helpers/users/credentials.js';

const api = 'https://api.example.com/';
const other = 'https://other.example.com/';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

/** Attacks with tokens, secrets, and codes, without the user's browser. */
t.test('with tokens and secrets', async (t) => {
  const provider = await startProvider(t);
  const { url, clock } = provider;
  await provider.addResource({ identifier: api, scopes: ['orders:read', 'orders:write'], access_token_ttl: '5m' });
  await provider.addResource({ identifier: other, scopes: ['files:read'] });
  const web = await provider.addClient({ resources: [api] });
  const config = await provider.discover(web);
  const browser = await provider.browser(administrator);
  const offline = { scope: 'openid offline_access' };

  /** Sends a form to an endpoint below `/oauth`. */
  const send = async (path: string, form: Record<string, string>, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/oauth/${path}`, { method: 'POST', headers, body: new URLSearchParams(form) });
    const text = await response.text();
    const body = (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>;
    return { status: response.status, headers: response.headers, body };
  };
  const basic = (id: string, secret: string) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` });

  t.test('a refresh token is bound to its client', async (t) => {
    const { refresh_token: stolen = '' } = await browser.signIn(config, offline);
    const confidential = await provider.addClient();
    const open = await provider.addClient({ type: 'public' });
    await fails(t, oidc.refreshTokenGrant(await provider.discover(confidential), stolen), 'invalid_grant');
    await fails(t, oidc.refreshTokenGrant(await provider.discover(open), stolen), 'invalid_grant');
    const form = { grant_type: 'refresh_token', refresh_token: stolen };
    t.match(await send('token', { ...form, client_id: web.id }), { status: 401, body: { error: 'invalid_client' } });
    t.match(await send('token', { ...form, client_id: open.id }), { status: 400, body: { error: 'invalid_grant' } });
    t.ok((await oidc.refreshTokenGrant(config, stolen)).access_token, 'its own client can still use it');
  });

  t.test('a refresh gives neither more scopes nor another resource', async (t) => {
    const thirdParty = await provider.addClient({ first_party: false, resources: [api, other] });
    const its = await provider.discover(thirdParty);
    const { refresh_token: token = '' } = await browser.signIn(its, {
      scope: 'openid offline_access orders:read',
      resource: api,
      prompt: 'consent',
    });
    await fails(t, oidc.refreshTokenGrant(its, token, { scope: 'openid email' }), 'invalid_scope');
    await fails(t, oidc.refreshTokenGrant(its, token, { resource: api, scope: 'orders:write' }), 'invalid_scope');
    await fails(t, oidc.refreshTokenGrant(its, token, { resource: other }), 'invalid_target');
    const refreshed = await oidc.refreshTokenGrant(its, token, { resource: api });
    t.equal(decodeJwt(refreshed.access_token).scope, 'orders:read');
  });

  t.test(
    'a stolen refresh token is worthless after its user has signed out, and after its client has revoked it',
    async (t) => {
      for (const end of ['sign out', 'revoke'] as const) {
        const own = await provider.browser(administrator);
        const { refresh_token: token = '', access_token: access } = await own.signIn(config, offline);
        if (end === 'sign out') await own.fetch(`${url}/account/sign-out`, { method: 'POST' });
        else await oidc.tokenRevocation(config, token);
        await fails(t, oidc.refreshTokenGrant(config, token), 'invalid_grant');
        t.match(await oidc.tokenIntrospection(config, access), { active: false }, end);
      }
    },
  );

  t.test(
    'guesses of a secret are counted across all endpoints, and the correct one is refused meanwhile',
    async (t) => {
      const client = await provider.addClient({
        grant_types: ['client_credentials'],
        redirect_uris: [],
        resources: [api],
      });
      const grant = { grant_type: 'client_credentials', resource: api };
      const wrong = 'gcs_wrong';
      const guesses = [
        () => send('token', grant, basic(client.id, wrong)),
        () => send('token', { ...grant, client_id: client.id, client_secret: wrong }),
        () => send('introspect', { token: 'x' }, basic(client.id, wrong)),
        () => send('revoke', { token: 'x' }, basic(client.id, wrong)),
        () => send('par', { response_type: 'code' }, basic(client.id, wrong)),
        () => send('device', {}, basic(client.id, wrong)),
      ];
      const statuses: number[] = [];
      for (let round = 0; round < 5 && !statuses.includes(429); round++) {
        for (const guess of guesses) statuses.push((await guess()).status);
      }
      const allowed = statuses.indexOf(429);
      t.ok(allowed > 0 && allowed <= 25, `${statuses}`);
      t.ok(statuses.slice(0, allowed).every((status) => status === 401));
      const refused = await send('token', grant, basic(client.id, client.secret));
      t.equal(refused.status, 429, 'the correct secret');
      t.ok(Number(refused.headers.get('retry-after')) > 0);
      t.equal((await send('token', grant, basic(web.id, web.secret))).status, 400, 'other clients are not affected');
      clock.advance(60 * minute);
      t.equal((await send('token', grant, basic(client.id, client.secret))).status, 200);
    },
  );

  t.test('parallel guesses of a secret are counted as well', async (t) => {
    const { id } = await provider.addClient();
    const form = { grant_type: 'refresh_token', refresh_token: 'x' };
    const all = await Promise.all(Array.from({ length: 60 }, () => send('token', form, basic(id, 'gcs_wrong'))));
    t.ok(all.filter(({ status }) => status === 401).length <= 25, `${all.map(({ status }) => status)}`);
    t.ok(all.some(({ status }) => status === 429));
  });

  t.test('a client cannot authenticate as another, as none, or in a way that it does not use', async (t) => {
    const open = await provider.addClient({ type: 'public' });
    const form = { grant_type: 'refresh_token', refresh_token: 'x' };
    const attempts: [string, Record<string, string>, Record<string, string>?][] = [
      ['a confidential client without a secret', { client_id: web.id }],
      ['an empty secret', { client_id: web.id, client_secret: '' }],
      ['an unknown client', { client_id: randomUUID() }],
      ['the secret that the library knows', { client_id: web.id, client_secret: 'stored as hashes' }],
      ['an ID in another spelling', { client_id: web.id.toUpperCase(), client_secret: web.secret }],
      ['two clients', { client_id: open.id }, basic(web.id, web.secret)],
      ['two ways', { client_id: web.id, client_secret: web.secret }, basic(web.id, web.secret)],
      [
        'an assertion',
        {
          client_id: web.id,
          client_assertion: 'x.y.z',
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        },
      ],
    ];
    for (const [what, changes, headers] of attempts) {
      const { status, body } = await send('token', { ...form, ...changes }, headers);
      t.match(body.error, /^invalid_(?:client|request)$/, what);
      t.ok([400, 401].includes(status), what);
    }
    t.match(await send('introspect', { token: 'x', client_id: open.id }), { body: { active: false } });
  });

  t.test('passwords of users are not accepted in exchange for tokens, and neither are other grants', async (t) => {
    const { email: username, password } = administrator;
    for (const grant_type of ['password', 'implicit', 'urn:ietf:params:oauth:grant-type:jwt-bearer', 'x', '']) {
      const sent = await send('token', { grant_type, username, password, assertion: 'x' }, basic(web.id, web.secret));
      t.match(sent.body.error, /^(?:unsupported_grant_type|invalid_request)$/, grant_type);
      t.equal(sent.status, 400, grant_type);
    }
  });

  t.test('a token that is bound to a key is useless without it (RFC 9449)', async (t) => {
    const open = await provider.discover(await provider.addClient({ type: 'public' }));
    const DPoP = oidc.getDPoPHandle(open, await oidc.randomDPoPKeyPair());
    const stranger = oidc.getDPoPHandle(open, await oidc.randomDPoPKeyPair());
    const verifier = oidc.randomPKCECodeVerifier();
    const back = await browser.authorize(
      oidc.buildAuthorizationUrl(open, {
        redirect_uri: 'https://app.example.com/callback',
        scope: 'openid offline_access',
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }),
    );
    const checks = { pkceCodeVerifier: verifier };
    const tokens = await oidc.authorizationCodeGrant(open, back, checks, undefined, { DPoP });
    t.equal(tokens.token_type, 'dpop');
    const { sub = '' } = tokens.claims() ?? {};
    t.ok(await oidc.fetchUserInfo(open, tokens.access_token, sub, { DPoP }));
    await t.rejects(oidc.fetchUserInfo(open, tokens.access_token, sub, { DPoP: stranger }), 'another key');
    const bearer = await fetch(`${url}/oauth/userinfo`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    });
    t.equal(bearer.status, 401, 'as a bearer token');
    const token = tokens.refresh_token ?? '';
    await t.rejects(oidc.refreshTokenGrant(open, token), 'without a key');
    await t.rejects(oidc.refreshTokenGrant(open, token, undefined, { DPoP: stranger }), 'with another key');
    t.equal((await oidc.refreshTokenGrant(open, token, undefined, { DPoP })).token_type, 'dpop');
  });

  t.test('a proof of possession is valid for one request only', async (t) => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwk = await exportJWK(publicKey);
    const proof = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
      new SignJWT({ htm: 'POST', htu: `${url}/oauth/token`, jti: randomUUID(), iat: seconds(), ...claims })
        .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk, ...header })
        .sign(privateKey);
    const seconds = () => Math.floor(Date.now() / 1_000);
    const client = await provider.addClient({
      grant_types: ['client_credentials'],
      redirect_uris: [],
      resources: [api],
    });
    const form = { grant_type: 'client_credentials', resource: api };
    const use = async (dpop: string) => (await send('token', form, { ...basic(client.id, client.secret), dpop })).body;
    const good = await proof();
    t.match(await use(good), { token_type: 'DPoP' });
    t.match(await use(good), { error: /^invalid_(?:dpop_proof|grant)$/ }, 'a second time');
    const shared = await proof();
    const parallel = await Promise.all(Array.from({ length: 10 }, () => use(shared)));
    t.equal(parallel.filter(({ access_token }) => access_token).length, 1, 'one of ten parallel requests');
    for (const [what, bad] of Object.entries({
      'another method': await proof({ htm: 'GET' }),
      'another endpoint': await proof({ htu: `${url}/oauth/par` }),
      'another host': await proof({ htu: 'https://evil.example/oauth/token' }),
      'an old one': await proof({ iat: seconds() - 3_600 }),
      'one from the future': await proof({ iat: seconds() + 3_600 }),
      'no ID': await proof({ jti: undefined }),
      'another type': await proof({}, { typ: 'JWT' }),
      'a private key': await proof(
        {},
        { jwk: await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey) },
      ),
      'another key': await proof({}, { jwk: await exportJWK((await generateKeyPair('ES256')).publicKey) }),
      'no JWT': 'x',
    })) {
      t.match(await use(bad), { error: 'invalid_dpop_proof' }, what);
    }
  });

  t.test('a device code is bound to its client', async (t) => {
    const device = await provider.discover(await provider.addClient({ grant_types: [deviceGrant], redirect_uris: [] }));
    const stranger = await provider.addClient({ grant_types: [deviceGrant], redirect_uris: [] });
    const started = await oidc.initiateDeviceAuthorization(device, { scope: 'openid' });
    const decide = (allow: boolean) =>
      browser.fetch(`${url}/account/device`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ user_code: started.user_code, allow }),
      });
    t.equal((await decide(true)).status, 204);
    const form = { grant_type: deviceGrant, device_code: started.device_code };
    t.match((await send('token', form, basic(stranger.id, stranger.secret))).body, { error: 'invalid_grant' });
    const guess = { ...form, device_code: 'x'.repeat(43) };
    t.match((await send('token', guess, basic(stranger.id, stranger.secret))).body, { error: 'invalid_grant' });
    clock.advance(6_000);
    const own = device.clientMetadata().client_id;
    t.equal((await decide(false)).status, 403, `the user has already decided about ${own}`);
  });

  t.test('a device code expires after ten minutes', async (t) => {
    const client = await provider.addClient({ grant_types: [deviceGrant], redirect_uris: [] });
    const started = await oidc.initiateDeviceAuthorization(await provider.discover(client), { scope: 'openid' });
    t.equal(started.expires_in, 600);
    clock.advance(10 * minute);
    const late = await browser.fetch(`${url}/account/device`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ user_code: started.user_code, allow: true }),
    });
    t.equal(late.status, 403);
  });

  t.test(
    'token exchange is limited to first-party services, to access tokens, and to the life of the token',
    async (t) => {
      const exchanging = { grant_types: [tokenExchange], redirect_uris: [], resources: [api] };
      const agent = await provider.discover(await provider.addClient(exchanging));
      const user = await browser.signIn(config, { scope: 'openid offline_access orders:read', resource: api });
      const exchange = (by: oidc.Configuration, token: string, parameters: Record<string, string> = {}) =>
        oidc.genericGrantRequest(by, tokenExchange, {
          subject_token: token,
          subject_token_type: accessTokenType,
          resource: api,
          ...parameters,
        });
      t.ok((await exchange(agent, user.access_token)).access_token);
      await fails(t, exchange(config, user.access_token), 'invalid_request', 'without the grant type');
      await fails(t, exchange(agent, user.access_token, { scope: 'orders:write' }), 'invalid_scope');
      await fails(t, exchange(agent, user.access_token, { scope: 'orders:read offline_access' }), 'invalid_scope');
      await fails(t, exchange(agent, user.access_token, { resource: other }), 'invalid_target');
      const elsewhere = await provider.discover(await provider.addClient({ ...exchanging, resources: [other] }));
      const foreign = exchange(elsewhere, user.access_token, { resource: other });
      await fails(t, foreign, 'invalid_request', 'a token for a resource that the client does not list');
      const DPoP = oidc.getDPoPHandle(config, await oidc.randomDPoPKeyPair());
      const bound = await oidc.refreshTokenGrant(config, user.refresh_token ?? '', { resource: api }, { DPoP });
      t.equal(bound.token_type, 'dpop');
      for (const [what, token] of Object.entries({
        'an ID token': user.id_token ?? '',
        'a token that is bound to a key': bound.access_token,
        'a refresh token': user.refresh_token ?? '',
        'a token for a client': (
          await oidc.clientCredentialsGrant(
            await provider.discover(await provider.addClient({ ...exchanging, grant_types: ['client_credentials'] })),
            { resource: api },
          )
        ).access_token,
        'an altered token': `${user.access_token.slice(0, -4)}AAAA`,
        nothing: 'x',
      })) {
        await fails(t, exchange(agent, token), 'invalid_request', what);
      }
      for (const more of [
        { actor_token: user.access_token, actor_token_type: accessTokenType },
        { audience: other },
        { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
        { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' },
      ]) {
        await fails(t, exchange(agent, user.access_token, more), 'invalid_request', Object.keys(more).join());
      }
      clock.advance(4 * minute);
      const late = await exchange(agent, user.access_token);
      t.ok((late.expires_in ?? 0) <= 61, `${late.expires_in}`);
      t.notOk(late.refresh_token);
      clock.advance(minute);
      await fails(t, exchange(agent, user.access_token), 'invalid_request', 'an expired token');
    },
  );
});
