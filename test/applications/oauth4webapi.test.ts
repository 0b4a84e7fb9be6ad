import * as oauth from 'oauth4webapi';
import t from 'tap';
import { redirectUri, startProvider } from '../helpers/applications/applications.js';
import { checkedFetch } from '../helpers/openapi/document.js';
import { administrator } from '../helpers/users/credentials.js';

/** The other tests use `openid-client`, which completes and corrects requests. This library sends exactly what it is given. */
t.test('oauth4webapi signs a user in, with pushed requests and with tokens that are bound to a key', async (t) => {
  const provider = await startProvider(t);
  const { id: client_id, secret } = await provider.addClient();
  const browser = await provider.browser(administrator);
  const client: oauth.Client = { client_id };
  const authentication = oauth.ClientSecretBasic(secret);
  const send = checkedFetch as (url: string, options: object) => Promise<Response>;
  const insecure = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: send } as const;
  const issuer = new URL(provider.url);
  const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));

  for (const isBound of [false, true]) {
    const DPoP = isBound ? oauth.DPoP(client, await oauth.generateKeyPair('ES256')) : undefined;
    const options = { ...insecure, ...(DPoP ? { DPoP } : {}) };
    const [verifier, nonce, state] = [
      oauth.generateRandomCodeVerifier(),
      oauth.generateRandomNonce(),
      oauth.generateRandomState(),
    ];
    const pushed = await oauth.pushedAuthorizationRequest(
      server,
      client,
      authentication,
      {
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: 'openid email offline_access',
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        nonce,
        state,
      },
      options,
    );
    const { request_uri } = await oauth.processPushedAuthorizationResponse(server, client, pushed);
    const back = await browser.authorize(
      `${server.authorization_endpoint}?${new URLSearchParams({ client_id, request_uri })}`,
    );
    // Checks `iss` and `state`.
    const code = oauth.validateAuthResponse(server, client, back, state);
    t.throws(() => oauth.validateAuthResponse(server, client, back, 'another state'));

    const exchanged = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      authentication,
      code,
      redirectUri,
      verifier,
      options,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, exchanged, {
      expectedNonce: nonce,
      requireIdToken: true,
    });
    t.equal(tokens.token_type, isBound ? 'dpop' : 'bearer');
    const idToken = oauth.getValidatedIdTokenClaims(tokens);
    t.equal(idToken?.email, administrator.email);
    const sub = idToken?.sub ?? '';

    const refresh = await oauth.refreshTokenGrantRequest(
      server,
      client,
      authentication,
      tokens.refresh_token ?? '',
      options,
    );
    const refreshed = await oauth.processRefreshTokenResponse(server, client, refresh);
    t.not(refreshed.refresh_token, tokens.refresh_token);

    const claims = await oauth.userInfoRequest(server, client, refreshed.access_token, options);
    t.match(await oauth.processUserInfoResponse(server, client, sub, claims), { email: administrator.email });

    const introspect = async () => {
      const token = refreshed.access_token;
      const response = await oauth.introspectionRequest(server, client, authentication, token, insecure);
      return oauth.processIntrospectionResponse(server, client, response);
    };
    t.match(await introspect(), { active: true, sub, ...(isBound ? { cnf: { jkt: String } } : {}) });
    const token = refreshed.refresh_token ?? '';
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(server, client, authentication, token, insecure),
    );
    t.strictSame(await introspect(), { active: false });
  }
});
