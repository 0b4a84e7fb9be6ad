import { once } from 'node:events';
import { createServer } from 'node:http';
import * as oidc from 'openid-client';

const { GATEHOUSE_URL, CLIENT_ID } = process.env;

const gatehouse = await oidc.discovery(new URL(GATEHOUSE_URL), CLIENT_ID, undefined, oidc.None(), {
  // Only to try it on your own machine. In production, Gatehouse has an https URL.
  execute: GATEHOUSE_URL.startsWith('http:') ? [oidc.allowInsecureRequests] : [],
});

// Any free port, because Gatehouse ignores the port of a loopback address.
const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const here = `http://127.0.0.1:${server.address().port}`;

const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
const expectedState = oidc.randomState();
const url = oidc.buildAuthorizationUrl(gatehouse, {
  redirect_uri: `${here}/callback`,
  scope: 'openid email offline_access',
  code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
  code_challenge_method: 'S256',
  state: expectedState,
});
console.log(`Open ${url}`);

const [request, response] = await once(server, 'request');
response.end('You can close this window.');
server.close();
server.closeIdleConnections();

const tokens = await oidc.authorizationCodeGrant(gatehouse, new URL(request.url, here), {
  pkceCodeVerifier,
  expectedState,
});
console.log(`Signed in as ${tokens.claims().email}`);
