import t from 'tap';
import { settings } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { linkIn, mailsTo } from '../helpers/mail/mails.js';
import { startTestApp } from '../helpers/service/app.js';
import { day } from '../helpers/service/clock.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { openSession } from '../helpers/users/sessions.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

/** No text that a caller chooses appears in an email, except the custom URLs that the configuration allows, as the target of a link. */

const custom = 'https://app.example.com/link';
const service = await startTestApp(t, {
  PASSWORD_RESET_URL_ALLOW_LIST: custom,
  USER_INVITE_URL_ALLOW_LIST: custom,
  USER_REGISTER_URL_ALLOW_LIST: custom,
  REGISTRATION_ANSWER_TIME: '1ms',
  TRUST_PROXY: 'true',
});
const { app, clock, request, post } = service;
await app.db.update(settings).set({ publicRegistration: true, emailLogin: true });
const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
const role = await createRole(app);

const words = /\bLocked\b|\bcall\b|0800.?666/i;
const agents = [
  'Locked! To unlock call 0800-666/1.0 (X)',
  'Locked!-To-unlock-call-0800-666',
  'call-0800-666/1.0',
  'Mozilla/5.0 (X11; Call 0800 666 Linux x86_64) Locked/1.0 Gecko/20100101 Firefox/128.0',
  'Mozilla/5.0 (Linux; Android 14; Locked call 0800-666) AppleWebKit/537.36 Chrome/126.0.0.0 Mobile Safari/537.36',
  'Locked call 0800\u202e666/1 (',
];
const hostile = (agent: string) => ({
  'user-agent': agent,
  'accept-language': 'Locked-call-0800-666',
  'x-forwarded-for': 'Locked call 0800 666',
  'x-forwarded-host': 'call-0800-666.example',
  referer: 'https://call-0800-666.example/',
  origin: app.config.PUBLIC_URL,
  'x-request-id': 'Locked-call-0800-666',
});
const send = (url: string, payload: object, agent: string, headers: Record<string, string> = {}, method = 'POST') =>
  request({ method: method as 'POST', url, payload, headers: { ...hostile(agent), ...headers } });

t.test('words in headers and bodies appear in no kind of email', async (t) => {
  for (const [index, agent] of agents.entries()) {
    const user = await createUser(app, { emailVerifiedAt: new Date() });
    const { email } = user;
    const [registered, invited, moved] = ['r', 'i', 'm'].map((kind) => `${kind}${index}@example.com`) as [
      string,
      string,
      string,
    ];
    const password = 'a calm meadow in autumn';
    await send('/auth/password/request', { email }, agent);
    await send('/auth/email/request', { email, redirect: '/account/locked-call' }, agent);
    await send(
      '/users/register',
      { email: registered, password, first_name: 'Locked!', last_name: 'call 0800 666' },
      agent,
    );
    await send('/users/register', { email, password, first_name: 'Locked!', last_name: 'call 0800 666' }, agent);
    await send('/users/invite', { email: invited, role }, agent, admin.headers);
    const session = await openSession(app, user.id);
    await send('/users/me/email', { email: moved }, agent, session);
    await send('/users/me/email', { email: registered }, agent, session);
    await send('/users/me/password', { password }, agent, session);
    await send('/auth/login', { email, password: 'a calm meadow in autumn' }, 'Mozilla/5.0 Firefox/128.0');
    await send('/auth/login', { email, password: 'a calm meadow in autumn' }, agent);
    for (let guess = 0; guess < 25; guess++) await send('/auth/login', { email, password: 'wrong' }, agent);
    const mails = (await Promise.all([email, registered, invited, moved].map((to) => mailsTo(app, to)))).flat();
    const kinds = mails.map(({ subject }) => subject);
    t.ok(new Set(kinds).size >= 8, kinds.join(' | '));
    for (const { subject, text, html } of mails) {
      // Tokens could contain any word by chance.
      const shown = `${subject}${text}${html}`.replaceAll(/token=[\w.-]+/g, '');
      t.notMatch(shown, words, `${agent}: ${subject}`);
    }
    clock.advance(day);
  }
});

t.test(
  'in HTML emails, a custom URL is only the target of links, and its query and fragment are limited',
  async (t) => {
    const url = `${custom}?why=Locked!%20call%200800-666#666`;
    const { email } = await createUser(app);
    const [registered, invited] = ['registered@example.com', 'invited@example.com'];
    const password = 'a calm meadow in autumn';
    const ask = async (given: string) => [
      await post('/auth/password/request', { email, reset_url: given }),
      await post('/users/register', { email: registered, password, verification_url: given }),
      await post('/users/invite', { email: invited, role, invite_url: given }, admin.headers),
    ];
    for (const { statusCode } of await ask(url)) t.equal(statusCode, 204);
    for (const to of [email, registered, invited]) {
      const [mail] = await mailsTo(app, to);
      const { html = '', text = '' } = mail ?? {};
      const { origin, searchParams, hash } = linkIn({ text });
      t.strictSame(
        [origin, searchParams.get('why'), hash],
        ['https://app.example.com', 'Locked! call 0800-666', '#666'],
        to,
      );
      t.match(html, 'href="https://app.example.com/link?why=Locked!%20call%200800-666&amp;token=');
      t.notMatch(html.replaceAll(/href="[^"]*"/g, ''), /0800|app\.example\.com/, `${to}: not as text`);
    }
    const [own] = await (async () => {
      await post('/auth/password/request', { email });
      return (await mailsTo(app, email)).slice(-1);
    })();
    t.match(
      own?.html.replaceAll(/href="[^"]*"/g, ''),
      `${app.config.PUBLIC_URL}/account/reset-password?token=`,
      'own pages',
    );

    const filler = (length: number) => 'x'.repeat(length);
    const within = [`?${filler(200)}`, `#${filler(200)}`, `?${filler(100)}#${filler(100)}`];
    const over = [`?${filler(201)}`, `#${filler(201)}`, `?${filler(101)}#${filler(100)}`, `?${filler(1000)}`];
    for (const rest of within) for (const { statusCode } of await ask(custom + rest)) t.equal(statusCode, 204, rest);
    for (const rest of over) {
      for (const response of await ask(custom + rest)) refused(t, response, 'INVALID_PAYLOAD', rest);
    }
  },
);
