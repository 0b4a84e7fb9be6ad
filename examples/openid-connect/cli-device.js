import * as oidc from 'openid-client';

const { GATEHOUSE_URL, CLIENT_ID } = process.env;

const gatehouse = await oidc.discovery(new URL(GATEHOUSE_URL), CLIENT_ID, undefined, oidc.None(), {
  // Only to try it on your own machine. In production, Gatehouse has an https URL.
  execute: GATEHOUSE_URL.startsWith('http:') ? [oidc.allowInsecureRequests] : [],
});

const started = await oidc.initiateDeviceAuthorization(gatehouse, { scope: 'openid email offline_access' });
console.log(`Open ${started.verification_uri} and enter the code ${started.user_code}`);

// Waits until the user has decided. It asks as often as Gatehouse allows, and fails if the user declines or the code expires.
const tokens = await oidc.pollDeviceAuthorizationGrant(gatehouse, started);
console.log(`Signed in as ${tokens.claims().email}`);
