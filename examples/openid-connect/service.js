import * as oidc from 'openid-client';

const { GATEHOUSE_URL, CLIENT_ID, CLIENT_SECRET, API_URL } = process.env;

const gatehouse = await oidc.discovery(new URL(GATEHOUSE_URL), CLIENT_ID, CLIENT_SECRET, undefined, {
  // Only to try it on your own machine. In production, Gatehouse has an https URL.
  execute: GATEHOUSE_URL.startsWith('http:') ? [oidc.allowInsecureRequests] : [],
});

let token;
let expiresAt = 0;

/** An access token for the API. It is used again until shortly before it expires. */
async function accessToken() {
  if (Date.now() > expiresAt - 30_000) {
    const tokens = await oidc.clientCredentialsGrant(gatehouse, { resource: API_URL });
    token = tokens.access_token;
    expiresAt = Date.now() + tokens.expires_in * 1_000;
  }
  return token;
}

const response = await fetch(API_URL, { headers: { authorization: `Bearer ${await accessToken()}` } });
console.log(response.status, await response.text());
