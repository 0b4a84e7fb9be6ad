import express from 'express';
import session from 'express-session';
import * as oidc from 'openid-client';

const { GATEHOUSE_URL, CLIENT_ID, CLIENT_SECRET, SESSION_SECRET, APP_URL = 'http://localhost:3000' } = process.env;
const { PORT = new URL(APP_URL).port } = process.env;
const isHttps = APP_URL.startsWith('https:');

// Reads what Gatehouse supports, and where its endpoints are.
const gatehouse = await oidc.discovery(new URL(GATEHOUSE_URL), CLIENT_ID, CLIENT_SECRET, undefined, {
  // Only to try it on your own machine. In production, Gatehouse has an https URL.
  execute: GATEHOUSE_URL.startsWith('http:') ? [oidc.allowInsecureRequests] : [],
});

const app = express().disable('x-powered-by');
app.use(
  session({
    secret: SESSION_SECRET,
    resave: false,
    saveUninitialized: false,
    cookie: { httpOnly: true, sameSite: 'lax', secure: isHttps },
  }),
);

app.get('/login', async (req, res) => {
  const codeVerifier = oidc.randomPKCECodeVerifier();
  const state = oidc.randomState();
  const nonce = oidc.randomNonce();
  req.session.login = { codeVerifier, state, nonce };
  const url = oidc.buildAuthorizationUrl(gatehouse, {
    redirect_uri: `${APP_URL}/callback`,
    scope: 'openid profile email roles',
    code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  });
  res.redirect(url.href);
});

app.get('/callback', async (req, res) => {
  const { codeVerifier, state, nonce } = req.session.login ?? {};
  if (!state) return res.redirect('/login');
  // Verifies the response and the ID token: state, issuer, signature, audience, nonce, and expiry.
  const tokens = await oidc.authorizationCodeGrant(gatehouse, new URL(req.originalUrl, APP_URL), {
    pkceCodeVerifier: codeVerifier,
    expectedState: state,
    expectedNonce: nonce,
  });
  // A new session ID, so that nobody can use one that was known before.
  await new Promise((resolve, reject) => req.session.regenerate((error) => (error ? reject(error) : resolve())));
  req.session.user = tokens.claims();
  req.session.idToken = tokens.id_token;
  return res.redirect('/');
});

app.get('/logout', (req, res) => {
  const { idToken } = req.session;
  req.session.destroy(() => {
    const url = oidc.buildEndSessionUrl(gatehouse, {
      ...(idToken ? { id_token_hint: idToken } : {}),
      post_logout_redirect_uri: `${APP_URL}/`,
    });
    res.redirect(url.href);
  });
});

/** Lets only signed-in users pass. Identify them by `sub`, which never changes. */
function requireUser(req, res, next) {
  if (req.session.user) next();
  else res.redirect('/login');
}

app.get('/', requireUser, (req, res) => {
  const { sub, email, roles } = req.session.user;
  res.json({ sub, email, roles });
});

// For nginx: whether the user is signed in, and who it is.
app.get('/check', (req, res) => {
  const { user } = req.session;
  if (!user) return res.sendStatus(401);
  return res.set('X-User', user.sub).sendStatus(204);
});

app.listen(Number(PORT), () => console.log(`Listening on ${APP_URL}`));
