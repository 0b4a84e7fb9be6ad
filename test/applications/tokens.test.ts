import { randomUUID } from 'node:crypto';
import { createRemoteJWKSet, decodeJwt, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import * as oidc from 'openid-client';
import t from 'tap';
import { fails, redirectUri, startProvider } from '../helpers/applications/applications.js';
import { checkedFetch } from '../helpers/openapi/document.js';
import { administrator } from '../helpers/users/credentials.js';

const api = 'https://api.example.com/';
const notes = 'urn:example:notes';
const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

t.test('access and refresh tokens', async (t) => {
  const provider = await startProvider(t);
  const { url, clock } = provider;
  await provider.addResource({ identifier: api, scopes: ['orders:read', 'orders:write'], access_token_ttl: '5m' });
  await provider.addResource({ identifier: notes, scopes: ['notes:read'] });
  const web = await provider.addClient({
    resources: [api],
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  });
  const config = await provider.discover(web);
  const browser = await provider.browser(administrator);
  const sub = (await browser.signIn(config)).claims()?.sub ?? '';
  const keySet = createRemoteJWKSet(new URL(`${url}/oauth/jwks`));

  t.test('a refresh token that is used several times at once has one successor', async (t) => {
    const { refresh_token: first = '' } = await browser.signIn(config, { scope: 'openid offline_access' });
    const all = await Promise.all(Array.from({ length: 10 }, () => oidc.refreshTokenGrant(config, first)));
    const successors = new Set(all.map(({ refresh_token }) => refresh_token));
    t.equal(successors.size, 1);
    t.notOk(successors.has(first));
    const second = all[0]?.refresh_token ?? '';
    t.equal((await oidc.refreshTokenGrant(config, first)).refresh_token, second, 'again within the grace period');

    const third = await oidc.refreshTokenGrant(config, second);
    await fails(t, oidc.refreshTokenGrant(config, first), 'invalid_grant');
    t.ok(await oidc.fetchUserInfo(config, third.access_token, sub), 'a late retry ends nothing');

    clock.advance(30_000);
    await fails(t, oidc.refreshTokenGrant(config, second), 'invalid_grant');
    await fails(t, oidc.refreshTokenGrant(config, third.refresh_token ?? ''), 'invalid_grant');
    await t.rejects(
      oidc.fetchUserInfo(config, third.access_token, sub),
      'reuse after the grace period ends the whole family',
    );
  });

  t.test('of parallel uses of a code, one succeeds, and its tokens end', async (t) => {
    const verifier = oidc.randomPKCECodeVerifier();
    const back = await browser.authorize(
      oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid',
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }),
    );
    const use = async () => {
      const response = await checkedFetch(`${url}/oauth/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${web.id}:${web.secret}`)}` },
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          code: back.searchParams.get('code') ?? '',
          redirect_uri: redirectUri,
          code_verifier: verifier,
        }),
      });
      return { status: response.status, body: (await response.json()) as Record<string, string> };
    };
    const results = await Promise.all([use(), use(), use()]);
    t.strictSame(results.map(({ status }) => status).sort(), [200, 400, 400]);
    t.ok(results.filter(({ status }) => status === 400).every(({ body }) => body.error === 'invalid_grant'));
    const { body } = results.find(({ status }) => status === 200) ?? {};
    t.match(await oidc.tokenIntrospection(config, body?.access_token ?? ''), { active: false });
    t.equal((await use()).body.error, 'invalid_grant');
  });

  t.test('a resource in the request gives an access token for it', async (t) => {
    const tokens = await browser.signIn(config, { scope: 'openid orders:read', resource: api });
    const options = { audience: api, issuer: url, typ: 'at+jwt' };
    const { payload, protectedHeader } = await jwtVerify(tokens.access_token, keySet, options);
    t.match(payload, { scope: 'orders:read', client_id: web.id, sub, jti: String, auth_time: Number, sid: String });
    t.equal(protectedHeader.alg, 'RS256');
    t.equal((payload.exp ?? 0) - (payload.iat ?? 0), 300);

    const all = await browser.signIn(config, { scope: '', resource: api });
    t.equal(decodeJwt(all.access_token).scope, 'orders:read orders:write', 'all scopes by default');
    const only = await browser.signIn(config, { scope: 'orders:write' });
    t.match(decodeJwt(only.access_token), { aud: api, scope: 'orders:write' }, 'the only resource of the client');
    const later = await browser.signIn(config, { scope: 'openid' }, { tokenParameters: { resource: api } });
    t.equal(decodeJwt(later.access_token).aud, api, 'in the token request of a first-party client');
    await fails(t, browser.signIn(config, { scope: 'openid', resource: notes }), 'invalid_target');
  });

  t.test('introspection and revocation understand access tokens for resources', async (t) => {
    const reader = await provider.discover(
      await provider.addClient({ resources: [api], grant_types: ['client_credentials'], redirect_uris: [] }),
    );
    const stranger = await provider.discover(await provider.addClient());
    const tokens = await browser.signIn(config, { scope: 'openid orders:read', resource: api });
    t.match(await oidc.tokenIntrospection(config, tokens.access_token), {
      active: true,
      aud: api,
      scope: 'orders:read',
      sub,
    });
    t.match(await oidc.tokenIntrospection(reader, tokens.access_token), { active: true });
    t.match(await oidc.tokenIntrospection(stranger, tokens.access_token), { active: false });
    const userinfo = await checkedFetch(`${url}/oauth/userinfo`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    });
    t.equal(userinfo.status, 401);
    const own = await checkedFetch(`${url}/users/me`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    t.equal(own.status, 401, 'it is not for the API of the service');
    await oidc.tokenRevocation(stranger, tokens.access_token);
    t.match(await oidc.tokenIntrospection(config, tokens.access_token), { active: true });
    await oidc.tokenRevocation(config, tokens.access_token);
    t.match(await oidc.tokenIntrospection(config, tokens.access_token), { active: false });

    const again = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '', { resource: api });
    t.match(await oidc.tokenIntrospection(config, again.access_token), { active: true });
    await oidc.tokenRevocation(config, again.refresh_token ?? '');
    t.match(await oidc.tokenIntrospection(config, again.access_token), { active: false });
  });

  t.test('client_credentials', async (t) => {
    const { access_token: token } = await oidc.clientCredentialsGrant(config, { resource: api });
    t.match(decodeJwt(token), { sub: web.id, client_id: web.id, scope: 'orders:read orders:write' });
    t.notOk('sid' in decodeJwt(token));
    await fails(t, oidc.clientCredentialsGrant(config, { scope: 'users:read' }), 'invalid_scope');
    for (const [access_token_ttl, seconds] of [
      [null, 900],
      ['1m', 60],
      ['1h', 3_600],
    ] as const) {
      const values = { grant_types: ['client_credentials'], scopes: ['users:read'], redirect_uris: [] };
      const program = await provider.discover(await provider.addClient({ ...values, access_token_ttl }));
      const { expires_in: lifetime } = await oidc.clientCredentialsGrant(program, { scope: 'users:read' });
      t.equal(lifetime, seconds, `access_token_ttl: ${access_token_ttl}`);
    }
    await fails(t, oidc.clientCredentialsGrant(config, { resource: notes }), 'invalid_target');
  });

  t.test('token exchange', async (t) => {
    const exchanging = { grant_types: [tokenExchange], redirect_uris: [], type: 'confidential' };
    const first = await provider.addClient({
      ...exchanging,
      resources: [api, notes],
      scopes: ['orders:read', 'notes:read', 'users:read'],
    });
    const second = await provider.addClient({ ...exchanging, resources: [notes] });
    const [agent, other] = [await provider.discover(first), await provider.discover(second)];
    const user = await browser.signIn(config, { scope: 'orders:read orders:write', resource: api });
    const exchange = (by: oidc.Configuration, token: string, parameters: Record<string, string> = {}) =>
      oidc.genericGrantRequest(by, tokenExchange, {
        subject_token: token,
        subject_token_type: accessTokenType,
        ...parameters,
      });

    const one = await exchange(agent, user.access_token, { resource: api, scope: 'orders:read' });
    const claims = decodeJwt(one.access_token);
    t.match(claims, { sub, client_id: first.id, act: { sub: first.id }, scope: 'orders:read' });
    t.ok((claims.exp ?? 0) <= (decodeJwt(user.access_token).exp ?? 0));
    await fails(t, exchange(agent, user.access_token, { resource: api, scope: 'orders:write' }), 'invalid_scope');
    const two = await exchange(agent, one.access_token, { resource: notes });
    t.strictSame(decodeJwt(two.access_token).act, { sub: first.id, act: { sub: first.id } });
    const three = await exchange(other, two.access_token, { resource: notes });
    t.strictSame(decodeJwt(three.access_token).act, { sub: second.id, act: { sub: first.id, act: { sub: first.id } } });
    await fails(t, exchange(other, three.access_token, { resource: notes }), 'invalid_request');
    await fails(t, exchange(other, user.access_token, { resource: notes }), 'invalid_request');
    t.match(await oidc.tokenIntrospection(other, three.access_token), { active: true });
    await oidc.tokenRevocation(config, user.access_token);
    t.match(await oidc.tokenIntrospection(other, three.access_token), { active: false }, 'it ends with its source');
  });

  t.test('a pushed request is used once', async (t) => {
    const verifier = oidc.randomPKCECodeVerifier();
    const to = await oidc.buildAuthorizationUrlWithPAR(config, {
      redirect_uri: redirectUri,
      scope: 'openid offline_access',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const back = await browser.authorize(to);
    const tokens = await oidc.authorizationCodeGrant(config, back, { pkceCodeVerifier: verifier });
    t.match(tokens.scope, /offline_access/);
    await t.rejects(browser.authorize(to), /returned 400/);
  });

  t.test('DPoP', async (t) => {
    const keys = await oidc.randomDPoPKeyPair();
    const DPoP = oidc.getDPoPHandle(config, keys);
    const tokens = await oidc.clientCredentialsGrant(config, { resource: api }, { DPoP });
    t.equal(tokens.token_type, 'dpop');
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const proof = await new SignJWT({ htm: 'POST', htu: `${url}/oauth/token`, jti: randomUUID() })
      .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk: await exportJWK(publicKey) })
      .setIssuedAt()
      .sign(privateKey);
    const send = () =>
      checkedFetch(`${url}/oauth/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${web.id}:${web.secret}`)}`, dpop: proof },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: api }),
      });
    const statuses = (await Promise.all([send(), send()])).map(({ status }) => status);
    t.strictSame(statuses.sort(), [200, 400], 'a proof is used once');
  });
});
