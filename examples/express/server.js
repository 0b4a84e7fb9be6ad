import { fileURLToPath } from 'node:url';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';

const { GATEHOUSE_URL = 'http://127.0.0.1:8055', PORT = '3000' } = process.env;
const app = express().disable('x-powered-by');

// The browser sends all requests to this server, so cookies belong to its host and no CORS is needed. Only these paths
// are forwarded: the API for signing in and for the user's own account, and the built-in account pages.
app.use(
  createProxyMiddleware({
    target: GATEHOUSE_URL,
    pathFilter: (path) => /^\/(auth|users|account|policies\/me)(\/|$)/.test(path),
    xfwd: true,
  }),
);

app.use((_req, res, next) => {
  res.set({
    'Content-Security-Policy': "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    // The links in emails contain a token, which must not reach other sites.
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  });
  next();
});

// `/sign-in` returns `public/sign-in.html`.
app.use(express.static(fileURLToPath(new URL('public', import.meta.url)), { extensions: ['html'] }));

/**
 * Lets only signed-in users pass, and provides their profile. Gatehouse checks the cookie, so a session that has ended
 * is rejected immediately.
 * @param {express.Request} req
 * @param {express.Response} res
 * @param {express.NextFunction} next
 */
async function requireUser(req, res, next) {
  const response = await fetch(`${GATEHOUSE_URL}/users/me/profile`, {
    // With the address of the user, because Gatehouse limits requests per address.
    headers: { cookie: req.headers.cookie ?? '', 'x-forwarded-for': req.ip ?? '' },
  });
  const body = await response.json();
  if (!response.ok) {
    res.status(response.status).json(body);
    return;
  }
  res.locals.user = body.data;
  next();
}

// The API of your application.
app.get('/api/greeting', requireUser, (_req, res) => {
  const { first_name: name, email } = res.locals.user;
  res.set('Cache-Control', 'no-store').json({ data: { greeting: `Hello, ${name ?? email}!`, email } });
});

const server = app.listen(Number(PORT), (error) => {
  if (error) throw error;
  const address = server.address();
  console.log(`Listening on http://localhost:${typeof address === 'object' ? address?.port : address}`);
});
