import cookie from '@fastify/cookie';
import session from '@fastify/session';
import fastify from 'fastify';
import * as oidc from 'openid-client';

const { GATEHOUSE_URL, CLIENT_ID, CLIENT_SECRET, SESSION_SECRET, APP_URL = 'http://localhost:3000' } = process.env;
const isHttps = APP_URL.startsWith('https:');

// Reads what Gatehouse supports, and where its endpoints are.
const gatehouse = await oidc.discovery(new URL(GATEHOUSE_URL), CLIENT_ID, CLIENT_SECRET, undefined, {
  // Only to try it on your own machine. In production, Gatehouse has an https URL.
  execute: GATEHOUSE_URL.startsWith('http:') ? [oidc.allowInsecureRequests] : [],
});

const app = fastify();
await app.register(cookie);
await app.register(session, {
  secret: SESSION_SECRET,
  saveUninitialized: false,
  cookie: { httpOnly: true, sameSite: 'lax', secure: isHttps, path: '/' },
});

app.get('/login', async (request, reply) => {
  const codeVerifier = oidc.randomPKCECodeVerifier();
  const state = oidc.randomState();
  const nonce = oidc.randomNonce();
  request.session.login = { codeVerifier, state, nonce };
  const url = oidc.buildAuthorizationUrl(gatehouse, {
    redirect_uri: `${APP_URL}/callback`,
    scope: 'openid profile email roles',
    code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  });
  return reply.redirect(url.href);
});

app.get('/callback', async (request, reply) => {
  const { codeVerifier, state, nonce } = request.session.login ?? {};
  if (!state) return reply.redirect('/login');
  // Verifies the response and the ID token: state, issuer, signature, audience, nonce, and expiry.
  const tokens = await oidc.authorizationCodeGrant(gatehouse, new URL(request.url, APP_URL), {
    pkceCodeVerifier: codeVerifier,
    expectedState: state,
    expectedNonce: nonce,
  });
  // A new session ID, so that nobody can use one that was known before.
  await request.session.regenerate();
  request.session.user = tokens.claims();
  request.session.idToken = tokens.id_token;
  return reply.redirect('/');
});

app.get('/logout', async (request, reply) => {
  const { idToken } = request.session;
  await request.session.destroy();
  const url = oidc.buildEndSessionUrl(gatehouse, {
    ...(idToken ? { id_token_hint: idToken } : {}),
    post_logout_redirect_uri: `${APP_URL}/`,
  });
  return reply.redirect(url.href);
});

/** Lets only signed-in users pass. Identify them by `sub`, which never changes. */
const requireUser = async (request, reply) => {
  if (!request.session.user) return reply.redirect('/login');
};

app.get('/', { preHandler: requireUser }, async (request) => {
  const { sub, email, roles } = request.session.user;
  return { sub, email, roles };
});

await app.listen({ port: Number(new URL(APP_URL).port) });
console.log(`Listening on ${APP_URL}`);
