import t, { type Test } from 'tap';
import { settings } from '../../db/schema.js';
import { linkIn, mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { codeOf, startTestApp } from '../helpers/service/app.js';
import { day } from '../helpers/service/clock.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

const { app, post, get, clock } = await startTestApp(t);
const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
await app.db.update(settings).set({ publicRegistration: true });

let people = 0;
const newEmail = () => `link-${++people}@example.com`;

/** For each page: how to get a link to it, and the reason why it cannot be used after it was used. */
const pages = {
  'reset-password': {
    request: async () => {
      const { email } = await createUser(app);
      await post('/auth/password/request', { email });
      return email;
    },
    use: (token: string) => post('/auth/password/reset', { token, password: 'an entirely new password' }),
    used: 'FORBIDDEN',
  },
  'accept-invite': {
    request: async () => {
      const email = newEmail();
      await post('/users/invite', { email, role: await createRole(app) }, admin.headers);
      return email;
    },
    use: (token: string) => post('/users/invite/accept', { token, password: 'an entirely new password' }),
    used: 'INVALID_INVITE',
  },
  'verify-email': {
    request: async () => {
      const email = newEmail();
      await post('/users/register', { email, password: 'an entirely new password' });
      return email;
    },
    use: (token: string) => post('/users/register/verify-email', { token, password: 'an entirely new password' }),
    used: 'INVALID_PAYLOAD',
  },
} as const;

const linkOf = async (page: string, token: string) => {
  const { body, headers } = await get(`/account/${page}?${new URLSearchParams({ token })}`);
  const data = JSON.parse(/id="page-data">(.*?)<\/script>/s.exec(body)?.[1] ?? '{}') as { link?: object };
  return { link: data.link, cached: headers['cache-control'] };
};
const sendAgain = (page: string, token: string, headers = {}) =>
  post(`/account/${page}/send-again`, { token }, headers);

for (const [page, { request, use, used }] of Object.entries(pages)) {
  t.test(`${page} says whose link it is, and why it cannot be used`, async (t) => {
    const email = await request();
    const token = await tokenFor(app, email);
    t.match(await linkOf(page, token), { link: { email }, cached: 'no-store' });
    t.match(await linkOf(page, token), { link: { email } }, 'opening the page does not use the link');
    t.strictSame((await linkOf(page, `${token}x`)).link, { reason: 'INVALID_TOKEN' });
    for (const other of Object.keys(pages).filter((name) => name !== page)) {
      t.strictSame((await linkOf(other, token)).link, { reason: 'FORBIDDEN' }, `on ${other}`);
    }
    t.equal((await use(token)).statusCode, 204);
    t.strictSame((await linkOf(page, token)).link, { reason: used }, 'the address is not repeated');
  });

  // A registration expires together with its link.
  const isKept = page !== 'verify-email';
  t.test(`${page} sends a new email to the stored address when the link has expired`, async (t) => {
    const email = await request();
    const token = await tokenFor(app, email);
    clock.advance(60 * day);
    t.strictSame((await linkOf(page, token)).link, { reason: 'TOKEN_EXPIRED' });
    const before = (await mailsTo(app, email)).length;
    t.equal((await sendAgain(page, token)).statusCode, 204);
    const mails = await mailsTo(app, email);
    t.equal(mails.length, before + (isKept ? 1 : 0));
    if (!isKept) return;
    const link = linkIn(mails.at(-1) as { text: string });
    t.equal(link.pathname, `/account/${page}`);
    t.match(await linkOf(page, link.searchParams.get('token') ?? ''), { link: { email } }, 'the new link works');
  });

  t.test(`${page} sends no email for a link that this service has not issued`, async (t) => {
    const email = await request();
    const token = await tokenFor(app, email);
    const before = (await mailsTo(app, email)).length;
    t.equal(codeOf(await sendAgain(page, `${token}x`)), 'INVALID_TOKEN');
    const other = Object.keys(pages).find((name) => name !== page) ?? '';
    t.equal(codeOf(await sendAgain(other, token)), 'FORBIDDEN');
    t.equal(codeOf(await sendAgain(page, token, { origin: 'https://evil.example' })), 'FORBIDDEN', 'from another site');
    t.equal(codeOf(await post(`/account/${page}/send-again`, { token, email: 'x@example.com' })), 'INVALID_PAYLOAD');
    t.equal((await mailsTo(app, email)).length, before);
  });
}

t.test('once the account is active, an invitation or verification is not sent again', async (t: Test) => {
  for (const page of ['accept-invite', 'verify-email'] as const) {
    const email = await pages[page].request();
    const token = await tokenFor(app, email);
    await pages[page].use(token);
    const before = (await mailsTo(app, email)).length;
    t.equal((await sendAgain(page, token)).statusCode, 204);
    t.equal((await mailsTo(app, email)).length, before, page);
  }
});
