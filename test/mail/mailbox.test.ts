import { randomUUID } from 'node:crypto';
import t from 'tap';
import { keepMail, readMailbox } from '../../db/queries/mailbox.js';
import { isAtThisMachine } from '../../plugins/mailbox/access.js';
import { startTestApp } from '../helpers/app.js';
import { mailsTo } from '../helpers/mails.js';
import { createPolicy, createUser } from '../helpers/records.js';
import { tokenHolder } from '../helpers/rights.js';

const service = await startTestApp(t);
const { app } = service;
const here = { host: 'localhost:8055' };
const browser = { ...here, accept: 'text/html' };
const open = (url: string, headers: Record<string, string> = browser, remoteAddress = '127.0.0.1') =>
  app.inject({ url, headers, remoteAddress });

const user = await createUser(app, { email: 'reader@example.com', firstName: '<b>Eve</b>' });
await service.post('/auth/password/request', { email: user.email });
const [mail] = await mailsTo(app, user.email);

t.test('mails can be read as pages, and as JSON by tests', async (t) => {
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

t.test('what is not there', async (t) => {
  for (const id of [randomUUID(), 'x', '%00', '..%2F..', `${randomUUID()}/html`, 'x/html']) {
    t.equal((await open(`/mailbox/${id}`)).statusCode, 404, id);
  }
});

t.test('only at this machine, or to an administrator', async (t) => {
  const refusedFrom = async (headers: Record<string, string>, address: string, what: string) => {
    for (const path of ['/mailbox', `/mailbox/${mail?.id}`, `/mailbox/${mail?.id}/html`]) {
      const answer = await open(path, headers, address);
      t.equal(answer.statusCode, 403, `${what}: ${path}`);
      t.notMatch(answer.body, 'token=');
    }
  };
  await refusedFrom(browser, '192.0.2.1', 'another machine');
  await refusedFrom({ ...browser, host: 'evil.example' }, '127.0.0.1', 'another name');
  await refusedFrom({ ...browser, 'x-forwarded-for': '127.0.0.1' }, '127.0.0.1', 'through a proxy');
  await refusedFrom({ ...browser, forwarded: 'for=127.0.0.1' }, '127.0.0.1', 'through a proxy');
  await refusedFrom({ ...browser, 'x-real-ip': '127.0.0.1' }, '127.0.0.1', 'through a proxy');
  await refusedFrom({ ...browser, 'x-forwarded-proto': 'https' }, '127.0.0.1', 'through a proxy');
  const member = await tokenHolder(app);
  await refusedFrom({ ...browser, ...member.headers }, '192.0.2.1', 'a member elsewhere');
  const admin = await tokenHolder(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  t.equal((await open('/mailbox', { ...browser, ...admin.headers }, '192.0.2.1')).statusCode, 200);
});

t.test('who is at this machine', async (t) => {
  const is = (ip: string | null, host: string | undefined) => isAtThisMachine({ ip, host, isForwarded: false });
  for (const host of ['localhost', 'localhost:1', 'LOCALHOST', '127.0.0.1:80', '127.1.2.3', '[::1]:8055', '[::1]']) {
    t.ok(is('127.0.0.1', host), host);
    t.ok(is('::1', host), host);
    t.ok(is('::ffff:127.0.0.1', host), host);
  }
  for (const host of [undefined, '', 'localhost.evil.example', '127.evil.example', '127.0.0.1.evil.example', 'evil'])
    t.notOk(is('127.0.0.1', host), String(host));
  for (const ip of [null, '10.0.0.1', '::2', '128.0.0.1']) t.notOk(is(ip, 'localhost'), String(ip));
});

t.test('a service that is known by another name may have a proxy before it that says nothing', async (t) => {
  const known = await startTestApp(t, { PUBLIC_URL: 'https://accounts.example.com/base' });
  const visit = (headers: Record<string, string>) => known.app.inject({ url: '/mailbox', headers });
  t.equal((await visit(here)).statusCode, 403);
  const admin = await tokenHolder(known.app, { policies: [await createPolicy(known.app, { adminAccess: true })] });
  t.equal((await visit({ ...here, ...admin.headers })).statusCode, 200, 'for administrators it is there');
  for (const name of ['localhost:8055', '127.0.0.1', '[::1]:80']) {
    const local = await startTestApp(t, { PUBLIC_URL: `http://${name}` });
    t.equal((await local.app.inject({ url: '/mailbox', headers: here })).statusCode, 200, name);
  }
});

t.test('with a slash at the end it leads to the page whose links are right', async (t) => {
  const response = await app.inject({ url: '/mailbox/?x=1', headers: here });
  t.equal(response.statusCode, 302);
  t.equal(response.headers.location, '../mailbox');
});

t.test('it holds the latest two hundred, and each mail once', async (t) => {
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

t.test('there is none with another transport, nor in production', async (t) => {
  const variables: Record<string, string>[] = [{ EMAIL_TRANSPORT: 'smtp' }, { NODE_ENV: 'production' }];
  for (const more of variables) {
    const other = await startTestApp(t, more);
    t.equal((await other.app.inject({ url: '/mailbox', headers: here })).statusCode, 404);
  }
});
