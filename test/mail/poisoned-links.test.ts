import t from 'tap';
import { settings } from '../../db/schema.js';
import { linkIn, mailsTo } from '../helpers/mail/mails.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { startTestApp } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

/** Links, redirects, and callback URLs sent to providers start with PUBLIC_URL, whatever the headers of a request. */

const publicUrl = 'https://accounts.example.com';
const server = await startOauth2Server(t, { publicUrl, keys: ['alpha'] });
const service = await startTestApp(t, {
  PUBLIC_URL: publicUrl,
  REGISTRATION_ANSWER_TIME: '1ms',
  AUTH_PROVIDERS: 'alpha',
  ...server.variables('alpha'),
  // The worst case: a trusted proxy that forwards the headers of the client.
  TRUST_PROXY: 'true',
});
const { app, post, get } = service;
await app.db.update(settings).set({ publicRegistration: true });
const administrator = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
const role = await createRole(app);

/**
 * Text that shows that a poisoned header was used. Each pattern has a character that tokens lack, because a token could
 * contain any word by chance.
 */
const believed = /evil\.example|\/evil|:8443/;

const poison: Record<string, string>[] = [
  { host: 'evil.example' },
  { host: 'accounts.example.com:8443' },
  { host: 'accounts.example.com@evil.example' },
  { 'x-forwarded-host': 'evil.example' },
  { 'x-forwarded-host': 'evil.example, accounts.example.com' },
  { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', 'x-forwarded-port': '80' },
  { 'x-forwarded-proto': 'javascript' },
  { 'x-forwarded-prefix': '/evil', 'x-original-url': 'https://evil.example/', 'x-rewrite-url': '/evil' },
  { forwarded: 'for=192.0.2.1;host=evil.example;proto=http' },
  { 'x-host': 'evil.example', 'x-forwarded-server': 'evil.example', 'x-http-host-override': 'evil.example' },
  { origin: 'https://evil.example', referer: 'https://evil.example/account' },
];

t.test('email links ignore poisoned headers (GHSA-3529-5m8x-rpv3, CVE-2025-64101, GHSA-93m4-mfpg-c3xf)', async (t) => {
  for (const [index, headers] of poison.entries()) {
    const what = JSON.stringify(headers);
    const { email: known } = await createUser(app);
    const [registered, invited] = [`registered-${index}@example.com`, `invited-${index}@example.com`];
    await post('/auth/password/request', { email: known }, headers);
    await post('/users/register', { email: registered, password: 'a password that is long enough' }, headers);
    await post('/users/invite', { email: invited, role }, { ...administrator.headers, ...headers });
    for (const [email, path] of [
      [known, '/account/reset-password'],
      [registered, '/account/verify-email'],
      [invited, '/account/accept-invite'],
    ] as const) {
      const [mail] = await mailsTo(app, email);
      const { origin, pathname } = linkIn(mail ?? { text: '' });
      t.strictSame([origin, pathname], [publicUrl, path], `${path}: ${what}`);
      t.notMatch(
        `${mail?.html}${mail?.text}${mail?.subject}`,
        believed,
        `no poisoned value elsewhere in the email: ${what}`,
      );
    }
  }
});

t.test('provider logins, redirects, and pages ignore poisoned headers (CVE-2025-64101)', async (t) => {
  for (const headers of poison) {
    const what = JSON.stringify(headers);
    const start = await get('/auth/login/alpha', headers);
    const location = new URL(String(start.headers.location));
    t.equal(location.origin, server.origin, what);
    t.equal(location.searchParams.get('redirect_uri'), `${publicUrl}/auth/login/alpha/callback`, what);
    const browser = { accept: 'text/html', ...headers };
    for (const url of ['/users/register/verify-email?token=x', '/account/sessions', '/']) {
      const { headers: told, body } = await get(url, browser);
      t.notMatch(`${told.location} ${told.link} ${body}`, believed, `${url}: ${what}`);
    }
  }
});
