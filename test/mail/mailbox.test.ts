import { randomUUID } from 'node:crypto';
import t from 'tap';
import { keepMail, readMailbox } from '../../db/queries/mail/mailbox.js';
import { mailsTo } from '../helpers/mail/mails.js';
import { startTestApp } from '../helpers/service/app.js';
import { createPolicy } from '../helpers/users/rights.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

const key = 'the-key-of-the-mailbox';
const service = await startTestApp(t, { MAILBOX_KEY: key });
const { app } = service;
const asPage = { accept: 'text/html' };

/** The cookie that an app returns in exchange for its key. */
async function cookieOf(instance: typeof app): Promise<string> {
  const url = `/mailbox?key=${instance.mailbox.access.key}`;
  const { headers } = await instance.inject({ url, headers: asPage });
  return String(headers['set-cookie']).split(';', 1)[0] ?? '';
}
const cookie = await cookieOf(app);
const here = { cookie };
const browser = { ...here, ...asPage };
const open = (url: string, headers: Record<string, string> = browser) => app.inject({ url, headers });

const user = await createUser(app, { email: 'reader@example.com', firstName: '<b>Eve</b>' });
await service.post('/auth/password/request', { email: user.email });
const [mail] = await mailsTo(app, user.email);

t.test('emails are available as pages, and as JSON for tests', async (t) => {
  const list = await open('/mailbox');
  t.equal(list.statusCode, 200);
  t.match(list.headers['content-type'], 'text/html');
  t.match(list.headers['cache-control'], 'no-store');
  t.notMatch(list.headers['content-security-policy'], 'unsafe-inline');
  t.match(list.body, 'reader@example.com');
  t.equal((await open('/mailbox/style.css')).statusCode, 200);

  const page = await open(`/mailbox/${mail?.id}`);
  t.equal(page.statusCode, 200);
  t.match(page.body, 'Open the link');
  t.notMatch(page.body, '<b>Eve</b>');

  const shown = await open(`/mailbox/${mail?.id}/html`);
  t.match(shown.headers['content-security-policy'], /^sandbox /);
  t.match(shown.body, '<base target="_blank">');

  const { data } = (await open('/mailbox', here)).json();
  t.match(data, [{ to: 'reader@example.com', subject: /Reset/, text: /token=/, html: /token=/ }]);
  t.equal((await open(`/mailbox/${mail?.id}`, here)).json().data.id, mail?.id);
});

t.test('an unknown email returns 404', async (t) => {
  for (const id of [randomUUID(), 'x', '%00', '..%2F..', `${randomUUID()}/html`, 'x/html']) {
    t.equal((await open(`/mailbox/${id}`)).statusCode, 404, id);
  }
});

const paths = () => ['/mailbox', `/mailbox/${mail?.id}`, `/mailbox/${mail?.id}/html`, '/mailbox/style.css'];

t.test('the key is exchanged for a cookie, and removed from the URL', async (t) => {
  for (const path of paths()) {
    const answer = await open(`${path}?key=${key}`, asPage);
    t.equal(answer.statusCode, 302, path);
    t.equal(
      answer.headers.location,
      path.split('/').at(-1),
      'relative, so that it works behind a proxy that adds a path',
    );
    const set = String(answer.headers['set-cookie']);
    t.match(set, /^gatehouse_mailbox=[\w-]{43}; Path=\/mailbox; HttpOnly; SameSite=Lax$/);
    t.notMatch(`${set}${answer.body}`, key);
    t.equal(answer.headers['cache-control'], 'no-store');
    t.equal((await open(path, { ...asPage, cookie: set.split(';', 1)[0] ?? '' })).statusCode, 200);
  }
  const slash = await open(`/mailbox/?x=1&key=${key}`, asPage);
  t.equal(slash.headers.location, '../mailbox?x=1');
  const program = await open(`/mailbox?key=${key}`, {});
  t.equal(program.statusCode, 200, 'a program gets the JSON directly');
  t.match(program.json().data, [{ to: 'reader@example.com' }]);
});

t.test('only administrators and callers with the key can read the mailbox, from any address', async (t) => {
  const member = await createUserWithToken(app);
  const local = { host: 'localhost:8055' };
  const refusals: Record<string, [query: string, headers: Record<string, string>]> = {
    'an anonymous caller on this machine': ['', local],
    'an anonymous caller through a proxy that rewrites Host': ['', { ...local, 'x-forwarded-for': '127.0.0.1' }],
    'a user who is not an administrator': ['', member.headers],
    'another key': ['?key=the-key-of-the-mailboX', local],
    'part of the key': [`?key=${key.slice(0, -1)}`, local],
    'an empty key': ['?key=', local],
    'two keys': [`?key=${key}&key=${key}`, local],
    'another cookie': ['', { cookie: 'gatehouse_mailbox=x' }],
    'the key as the cookie': ['', { cookie: `gatehouse_mailbox=${key}` }],
    'a wrong key, despite a valid cookie': ['?key=x', { cookie }],
  };
  for (const [what, [query, headers]] of Object.entries(refusals)) {
    for (const path of paths()) {
      for (const accept of ['text/html', 'application/json']) {
        const answer = await app.inject({
          url: path + query,
          headers: { accept, ...headers },
          remoteAddress: '127.0.0.1',
        });
        t.equal(answer.statusCode, 403, `${what}: ${path}`);
        t.match(String(answer.headers['content-type']), accept, `${what}: ${path}`);
        t.match(answer.body, accept === 'text/html' ? 'sign in as an administrator' : '"code":"FORBIDDEN"');
        t.equal(answer.headers['cache-control'], 'no-store');
        t.notMatch(answer.body, 'token=');
        t.equal(answer.headers['set-cookie'], undefined, what);
      }
    }
  }
  const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  for (const headers of [admin.headers, { cookie }, { cookie: `gatehouse_mailbox=x; ${cookie}` }]) {
    const answer = await app.inject({
      url: '/mailbox',
      headers: { ...asPage, ...headers },
      remoteAddress: '192.0.2.1',
    });
    t.equal(answer.statusCode, 200);
  }
  t.equal((await open('/mailbox', { ...browser, cookie: `gatehouse_session_token=x; ${cookie}` })).statusCode, 200);
});

t.test('without MAILBOX_KEY, each start generates another key', async (t) => {
  const [one, two] = [await startTestApp(t), await startTestApp(t)];
  t.match(one.app.mailbox.access.key, /^[\w-]{32}$/);
  t.not(one.app.mailbox.access.key, two.app.mailbox.access.key);
  const others = { cookie: await cookieOf(one.app) };
  t.equal(
    (await two.app.inject({ url: '/mailbox', headers: others })).statusCode,
    403,
    'a cookie is valid only with its key',
  );
});

t.test('the cookie is restricted to the path of the mailbox, and to HTTPS if PUBLIC_URL uses it', async (t) => {
  const { app: known } = await startTestApp(t, { PUBLIC_URL: 'https://accounts.example.com/base' });
  const url = `/mailbox?key=${known.mailbox.access.key}`;
  const { headers } = await known.inject({ url, headers: asPage });
  t.match(String(headers['set-cookie']), /; Path=\/base\/mailbox; HttpOnly; Secure; SameSite=Lax$/);
});

t.test('a trailing slash redirects to the page on which relative links work', async (t) => {
  const response = await app.inject({ url: '/mailbox/?x=1', headers: here });
  t.equal(response.statusCode, 302);
  t.equal(response.headers.location, '../mailbox');
});

t.test('the mailbox keeps the latest 200 emails, each once', async (t) => {
  const keep = (number: number, messageId = `<${number}@example.com>`) =>
    keepMail(
      app.db,
      { to: `to-${number}@example.com`, subject: 's', html: 'h', text: 't', language: 'en-US', messageId },
      new Date(Date.now() + number * 1000),
    );
  for (let number = 1; number <= 205; number++) await keep(number);
  await keep(300, '<205@example.com>');
  const mails = await readMailbox(app.db);
  t.equal(mails.length, 200);
  t.equal(mails[0]?.to, 'to-205@example.com');
  t.equal(mails.at(-1)?.to, 'to-6@example.com');
});

t.test('the mailbox is not available with another transport, nor in production', async (t) => {
  const variables: Record<string, string>[] = [{ EMAIL_TRANSPORT: 'smtp' }, { NODE_ENV: 'production' }];
  for (const more of variables) {
    const other = await startTestApp(t, more);
    const url = `/mailbox?key=${other.app.mailbox.access.key}`;
    t.equal((await other.app.inject({ url })).statusCode, 404);
  }
});
