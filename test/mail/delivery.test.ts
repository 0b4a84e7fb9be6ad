import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import PostalMime from 'postal-mime';
import type { SMTPServerOptions } from 'smtp-server';
import t, { type Test } from 'tap';
import type { Overrides } from '../../app.js';
import { readMailbox } from '../../db/queries/mail/mailbox.js';
import { rows } from '../../db/statements.js';
import { ehloNameOf } from '../../plugins/mail/transport.js';
import { schemas } from '../helpers/database/databases.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { linkIn } from '../helpers/mail/mails.js';
import { startSmtp } from '../helpers/mail/smtp.js';
import { freePort, listen } from '../helpers/servers/ports.js';
import { startTestApp } from '../helpers/service/app.js';
import { collectLog } from '../helpers/service/collect-log.js';
import { createPolicy, createRole, policyWith } from '../helpers/users/rights.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

async function start(t: Test, variables: Record<string, string> = {}, overrides: Overrides = {}) {
  const port = await freePort();
  const service = await startTestApp(
    t,
    {
      EMAIL_TRANSPORT: 'smtp',
      EMAIL_SMTP_HOST: '127.0.0.1',
      EMAIL_SMTP_PORT: String(port),
      EMAIL_FROM: 'Acme & Söhne <hello@acme.example>',
      EMAIL_RETRY_DELAY: '1s',
      ...variables,
    },
    overrides,
  );
  const ask = (email: string) => service.post('/auth/password/request', { email });
  /** Delivers until the condition is met, or the time is up. */
  const deliver = async (until: () => boolean, milliseconds = 15_000) => {
    const end = performance.now() + milliseconds;
    while (!until() && performance.now() < end) {
      await service.app.mail.deliverNow();
      await sleep(50);
    }
  };
  const jobs = () =>
    rows<{ id: string; state: string; reason: string | null }>(
      service.app.db,
      sql`select id, state, output ->> 'reason' as reason from ${sql.raw(schemas.queue)}.job order by created_on`,
    );
  return { ...service, port, ask, deliver, jobs };
}

t.test('SMTP: each email goes to one address', async (t) => {
  const { app, port, ask, deliver } = await start(t);
  const { mails } = await startSmtp(t, port);
  const user = await createUser(app, { email: 'Ada@example.com', firstName: 'Äda', language: 'de-DE' });
  await ask('ADA@example.com');
  await deliver(() => mails.length > 0);
  t.equal(mails.length, 1);
  t.strictSame(mails[0]?.to, [user.email]);
  const mail = await PostalMime.parse(mails[0]?.raw ?? '');
  t.strictSame(mail.from, { name: 'Acme & Söhne', address: 'hello@acme.example' });
  t.strictSame(mail.to, [{ name: '', address: 'Ada@example.com' }]);
  t.match(mail.subject, 'Passwort');
  t.match(mail.html, 'Guten Tag,', 'without a name');
  t.match(mail.text, 'Guten Tag,');
  t.equal(linkIn({ text: mail.text ?? '' }).pathname, '/account/reset-password');
  t.match(mail.messageId, /^<[0-9a-f-]{36}@acme\.example>$/);
  const headers = Object.fromEntries(mail.headers.map(({ key, value }) => [key, value]));
  t.match(headers, { 'auto-submitted': 'auto-generated', 'content-language': 'de-DE' });
});

t.test('a mail server that is down, or that rejects or aborts, loses no email and delays no request', async (t) => {
  const { app, port, ask, deliver, jobs } = await start(t);
  const users = await Promise.all(Array.from({ length: 6 }, () => createUser(app)));
  const start_ = performance.now();
  for (const { email } of users) t.equal((await ask(email)).statusCode, 204);
  t.ok(performance.now() - start_ < 5_000, 'no request waits for the mail server');
  await app.mail.deliverNow();
  t.match(await jobs(), [{ state: 'retry', reason: /ECONNREFUSED|connect/ }]);

  let refusals = 0;
  const refusing = await startSmtp(t, port, {
    onRcptTo: (_address, _session, done) => {
      refusals++;
      done(Object.assign(new Error('Try again later'), { responseCode: 451 }));
    },
  });
  await deliver(() => refusals >= 6);
  t.ok(refusals >= 6, 'delivery was attempted');
  t.strictSame(refusing.mails, []);
  await refusing.close();

  const { mails } = await startSmtp(t, port);
  await deliver(() => mails.length >= 6, 40_000);
  t.strictSame(mails.flatMap(({ to }) => to).sort(), users.map(({ email }) => email).sort(), 'each email arrived once');
  await sleep(100);
  t.strictSame([...new Set((await jobs()).map(({ state }) => state))], ['completed']);
});

t.test('an attempt times out if the mail server hangs, and other work continues meanwhile', async (t) => {
  const { app, port, ask, deliver, jobs, get } = await start(t);
  const held = new Set<Socket>();
  const silent = createServer((socket) => held.add(socket.on('error', () => {})));
  t.teardown(() => {
    for (const socket of held) socket.destroy();
  });
  await listen(silent, port);
  const user = await createUser(app);
  await ask(user.email);
  const attempt = app.mail.deliverNow();
  for (let tries = 0; held.size === 0 && tries < 200; tries++) await sleep(25);
  const start_ = performance.now();
  t.equal((await ask(user.email)).statusCode, 204);
  t.equal((await get('/server/ping')).statusCode, 200);
  t.ok(performance.now() - start_ < 2_000, 'no request waits for the mail server');
  await attempt;
  t.match(await jobs(), [{ state: 'retry', reason: /[Tt]ime|[Gg]reeting/ }, { state: 'created' }]);
  for (const socket of held) socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
  const { mails } = await startSmtp(t, port);
  await deliver(() => mails.length >= 2, 30_000);
  t.equal(mails.length, 2);
});

t.test('a slow email does not delay other emails', async (t) => {
  const sent: string[] = [];
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const mailTransport = {
    send: async ({ to }: { to: string }) => {
      if (to.startsWith('slow')) await released;
      sent.push(to);
    },
    close: () => {},
  };
  const { app, post } = await startTestApp(t, {}, { mailTransport });
  const ask = async (name: string) => {
    const { email } = await createUser(app, { email: `${name}@example.com` });
    await post('/auth/password/request', { email });
    return email;
  };
  const arrive = async (count: number) => {
    for (let waited = 0; sent.length < count && waited < 20_000; waited += 50) await sleep(50);
    return [...sent].sort();
  };
  await app.listen({ port: 0, host: '127.0.0.1' });
  const slow = await ask('slow');
  await sleep(700);
  const others: string[] = [];
  for (let number = 0; number < 12; number++) others.push(await ask(`quick-${number}`));
  t.strictSame(await arrive(12), others.sort());
  release();
  t.strictSame(await arrive(13), [...others, slow].sort());
});

t.test('sendmail: the program receives the email', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-sendmail-'));
  const program = join(folder, 'sendmail');
  writeFileSync(program, `#!/bin/sh\necho "$@" > ${folder}/arguments\ncat > ${folder}/mail\n`, { mode: 0o755 });
  const { app, ask, jobs } = await start(t, { EMAIL_TRANSPORT: 'sendmail', EMAIL_SENDMAIL_PATH: program });
  const user = await createUser(app);
  await ask(user.email);
  await app.mail.deliverNow();
  t.match(await jobs(), [{ state: 'completed' }]);
  const mail = await PostalMime.parse(readFileSync(join(folder, 'mail'), 'utf8'));
  t.strictSame(mail.to, [{ name: '', address: user.email }]);
  t.match(readFileSync(join(folder, 'arguments'), 'utf8'), /^-i -f hello@acme\.example /);

  const option = await createUser(app, { email: '-oX@example.com' });
  await ask(option.email);
  await app.mail.deliverNow();
  t.match((await jobs())[1], { state: 'retry', reason: /[Ii]nvalid/ }, 'an address is never interpreted as an option');
});

t.test('if the connection drops after delivery, the email is sent again with the same Message-ID', async (t) => {
  const { app, port, ask, deliver } = await start(t);
  const taken: string[] = [];
  const cutting = await startSmtp(t, port, {
    onData: (stream) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        taken.push(Buffer.concat(chunks).toString());
        cutting.cut();
      });
    },
  });
  const user = await createUser(app);
  await ask(user.email);
  void app.mail.deliverNow();
  for (let tries = 0; taken.length === 0 && tries < 200; tries++) await sleep(25);
  t.equal(taken.length, 1);
  await cutting.close();
  const { mails } = await startSmtp(t, port);
  await deliver(() => mails.length > 0, 40_000);
  const ids = await Promise.all(
    [taken[0] ?? '', mails[0]?.raw ?? ''].map(async (raw) => (await PostalMime.parse(raw)).messageId),
  );
  t.ok(ids[0]);
  t.equal(ids[0], ids[1]);
});

t.test('a failed email is stored; administrators can list it and retry it', async (t) => {
  const { app, port, ask, deliver, get, post } = await start(t, { EMAIL_RETRY_LIMIT: '0' });
  const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  const member = await createUserWithToken(app);
  const mails = async (query = '') => (await get(`/mails${query}`, admin.headers)).json().data;
  const user = await createUser(app);
  await ask(user.email);
  t.match(await mails(), [
    { kind: 'reset', state: 'waiting', user: null, email: user.email, attempts: 0, reason: null },
  ]);
  await app.mail.deliverNow();
  const [mail] = await mails('?state=failed');
  t.match(mail, { state: 'failed', attempts: 1, next_attempt_at: null, reason: /connect/ });
  t.match(mail.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.strictSame(await mails('?state=waiting'), []);
  t.equal((await mails('?limit=1')).length, 1);

  refused(t, await get('/mails', member.headers), 'FORBIDDEN', 'a user who is not an administrator');
  refused(t, await get('/mails'), 'INVALID_CREDENTIALS', 'an anonymous caller');
  refused(t, await get('/mails?state=lost', admin.headers), 'INVALID_QUERY', 'an unknown state');
  for (const limit of ['0', '1001', '-1', '1.5', '1e2', '0x1', 'all', '1&limit=2', '99999999999999999999']) {
    refused(t, await get(`/mails?limit=${limit}`, admin.headers), 'INVALID_QUERY', `a limit of ${limit}`);
  }
  refused(t, await post(`/mails/${mail.id}/retry`, {}, member.headers), 'FORBIDDEN', 'no administrator');
  refused(t, await post(`/mails/${user.id}/retry`, {}, admin.headers), 'FORBIDDEN', 'an unknown email');
  refused(t, await post('/mails/x/retry', {}, admin.headers), 'FORBIDDEN', 'an invalid id');

  const smtp = await startSmtp(t, port);
  t.equal((await post(`/mails/${mail.id}/retry`, {}, admin.headers)).statusCode, 204);
  await deliver(() => smtp.mails.length > 0);
  t.equal(smtp.mails.length, 1);
  refused(t, await post(`/mails/${mail.id}/retry`, {}, admin.headers), 'FORBIDDEN', 'an email that was sent');
});

t.test('an email requested for an address is that of its user, from the first attempt to send it', async (t) => {
  const { app, port, ask, deliver, get, post } = await start(t, { EMAIL_RETRY_LIMIT: '0' });
  const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  const rights = (['read', 'update'] as const).map((action) => ({
    collection: 'mails' as const,
    action,
    fields: ['*'],
  }));
  const desk = await createUserWithToken(app, { policies: [await policyWith(app, rights)] });
  const user = await createUser(app);
  await ask(user.email.toUpperCase());
  await ask('nobody@example.com');
  const mails = async (query: string, { headers } = admin) => (await get(`/mails${query}`, headers)).json().data;
  t.strictSame(await mails(`?user=${user.id}`), []);
  t.strictSame(await mails('', desk), []);

  await app.mail.deliverNow();
  t.match(await mails('?state=dropped'), [{ email: 'nobody@example.com', user: null }]);
  const [failed, ...others] = await mails('', desk);
  t.strictSame(others, []);
  t.match(failed, { kind: 'reset', state: 'failed', user: user.id, can_retry: true });
  t.strictSame(await mails(`?user=${user.id}`), [failed]);
  t.equal((await post(`/mails/${failed.id}/retry`, {}, desk.headers)).statusCode, 204);
  const smtp = await startSmtp(t, port);
  await deliver(() => smtp.mails.length > 0);
  t.match(await mails(`?user=${user.id}`, desk), [{ id: failed.id, state: 'sent' }]);
});

/** Responds to one step of a delivery with an error. */
const rejecting = (step: string, responseCode: number): SMTPServerOptions => {
  const error = Object.assign(new Error(`No (${step})`), { responseCode });
  const refuse = (_first: unknown, _session: unknown, done: (error: Error) => void) => done(error);
  switch (step) {
    case 'greeting':
      return { onConnect: (_session, done) => done(error) };
    case 'AUTH':
      return { disabledCommands: ['STARTTLS'], allowInsecureAuth: true, onAuth: refuse };
    case 'MAIL FROM':
      return { onMailFrom: refuse };
    case 'RCPT TO':
      return { onRcptTo: refuse };
    default:
      return {
        onData: (stream, _session, done) => {
          stream.resume().on('end', () => done(error));
        },
      };
  }
};

for (const [step, code, isFinal] of [
  ['RCPT TO', 550, true],
  ['DATA', 554, true],
  ['RCPT TO', 450, false],
  ['DATA', 452, false],
  ['greeting', 554, false],
  ['AUTH', 535, false],
  ['MAIL FROM', 550, false],
] as const) {
  const outcome = isFinal ? 'fails after one retry' : 'is retried';
  t.test(`an email to which the mail server responds with ${code} to ${step} ${outcome}`, async (t) => {
    const login = step === 'AUTH' ? { EMAIL_SMTP_USER: 'user', EMAIL_SMTP_PASSWORD: 'wrong' } : {};
    const { app, port, ask, deliver, get, post } = await start(t, { EMAIL_SMTP_IGNORE_TLS: 'true', ...login });
    const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
    const read = async () => (await get('/mails', admin.headers)).json().data[0];
    /** Makes a waiting email due. */
    const attempt = async (count: number) => {
      await app.db.execute(
        sql`update ${sql.raw(schemas.queue)}.job set start_after = now() - interval '1 second' where state = 'retry'`,
      );
      t.equal(await app.mail.deliverNow(), 1, `attempt ${count}`);
      return read();
    };
    const smtp = await startSmtp(t, port, rejecting(step, code));
    await ask((await createUser(app)).email);
    t.match(await read(), { state: 'waiting', attempts: 0 });
    t.match(await attempt(1), { state: 'waiting', attempts: 1, reason: String(code) });
    const second = await attempt(2);
    t.match(second, { state: isFinal ? 'failed' : 'waiting', attempts: 2, reason: String(code) });
    if (!isFinal) return t.match(await attempt(3), { state: 'waiting', attempts: 3 });
    t.equal(await app.mail.deliverNow(), 0);

    t.equal((await post(`/mails/${second.id}/retry`, {}, admin.headers)).statusCode, 204);
    t.match(await read(), { state: 'waiting', attempts: 2 });
    t.match(await attempt(3), { state: 'failed', attempts: 3 });
    await smtp.close();
    const accepting = await startSmtp(t, port);
    t.equal((await post(`/mails/${second.id}/retry`, {}, admin.headers)).statusCode, 204);
    await deliver(() => accepting.mails.length > 0);
    t.match(await read(), { state: 'sent', attempts: 3, reason: null });
  });
}

t.test('a temporary error between two rejections allows another attempt', async (t) => {
  const { app, port, ask, jobs } = await start(t);
  await ask((await createUser(app)).email);
  for (const [code, state] of [
    [550, 'retry'],
    [451, 'retry'],
    [550, 'retry'],
    [550, 'failed'],
  ] as const) {
    const smtp = await startSmtp(t, port, rejecting('RCPT TO', code));
    await app.db.execute(
      sql`update ${sql.raw(schemas.queue)}.job set start_after = now() - interval '1 second' where state = 'retry'`,
    );
    await app.mail.deliverNow();
    t.match(await jobs(), [{ state, reason: String(code) }]);
    await smtp.close();
  }
});

/** A mail server that closes the connection after a refused EHLO, as strict ones do. It refuses IP addresses and names without a dot. */
async function startStrictServer(t: Test, port: number) {
  const names: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write('220 strict.example ESMTP\r\n');
    let isData = false;
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      for (const line of chunk.split('\r\n').filter((text) => text !== '')) {
        if (isData) {
          if (line !== '.') continue;
          isData = false;
          socket.write('250 2.0.0 accepted\r\n');
          continue;
        }
        const [verb = '', argument = ''] = line.split(' ');
        if (/^(EHLO|HELO)$/i.test(verb)) {
          names.push(argument);
          if (/^[^[].*\.[a-z]/i.test(argument)) socket.write('250 strict.example\r\n');
          else socket.end('550 5.7.1 Use a full domain name\r\n');
        } else if (/^DATA$/i.test(verb)) {
          isData = true;
          socket.write('354 go on\r\n');
        } else if (/^QUIT$/i.test(verb)) socket.end('221 bye\r\n');
        else socket.write('250 2.0.0 ok\r\n');
      }
    });
  });
  await listen(server, port);
  t.teardown(() => server.close());
  return names;
}

t.test('a strict mail server accepts the name that the service sends with EHLO', async (t) => {
  const { app, port, ask, jobs } = await start(t, { PUBLIC_URL: 'http://localhost:8055' });
  const names = await startStrictServer(t, port);
  await ask((await createUser(app)).email);
  await app.mail.deliverNow();
  t.match(await jobs(), [{ state: 'completed' }]);
  t.strictSame(names, ['acme.example'], 'the domain of the sender, because PUBLIC_URL contains none');

  const EMAIL_FROM = 'Acme <hello@acme.example>';
  const example = 'no-reply@example.com';
  for (const [variables, machine, name] of [
    [{ PUBLIC_URL: 'https://auth.acme.example/iam', EMAIL_FROM }, 'host', 'auth.acme.example'],
    [{ PUBLIC_URL: 'https://bücher.example', EMAIL_FROM }, 'host', 'xn--bcher-kva.example'],
    [{ PUBLIC_URL: 'http://203.0.113.7', EMAIL_FROM }, 'host', 'acme.example'],
    [{ PUBLIC_URL: 'http://[::1]:8055', EMAIL_FROM }, 'host', 'acme.example'],
    [{ PUBLIC_URL: 'http://gatehouse:8055', EMAIL_FROM }, 'host', 'acme.example'],
    [{ PUBLIC_URL: 'http://localhost', EMAIL_FROM, EMAIL_SMTP_NAME: 'mail.example' }, 'host', 'mail.example'],
    [{ PUBLIC_URL: 'http://localhost', EMAIL_FROM: example }, 'mx.acme.example', 'mx.acme.example'],
    [{ PUBLIC_URL: 'http://localhost', EMAIL_FROM: example }, '10.0.0.7', 'localhost.localdomain'],
    [{ PUBLIC_URL: 'http://localhost', EMAIL_FROM: example }, '3f2a1b4c5d6e', 'localhost.localdomain'],
  ] as const) {
    t.equal(ehloNameOf(variables, machine), name, JSON.stringify(variables));
  }
});

t.test('if the mail server refuses an email, the log and the list of emails contain its response', async (t) => {
  for (const step of ['EHLO', 'RCPT TO']) {
    const { lines, logger } = collectLog('warn');
    const variables = { EMAIL_SMTP_NAME: 'container', EMAIL_SMTP_IGNORE_TLS: 'true' };
    const { app, port, ask, jobs } = await start(t, variables, { logger });
    if (step === 'EHLO') await startStrictServer(t, port);
    else await startSmtp(t, port, rejecting(step, 550));
    await ask((await createUser(app)).email);
    await app.mail.deliverNow();
    const response = step === 'EHLO' ? /550 5\.7\.1 Use a full domain name/ : /550 .*No \(RCPT TO\)/;
    t.match(await jobs(), [{ state: 'retry', reason: response }], step);
    const failure = lines.find(({ msg }) => String(msg).startsWith('an email could not be sent'));
    t.match(failure, { mail: { response } }, step);
  }
});

t.test('an email that fails does not get the response to another one', async (t) => {
  const { lines, logger } = collectLog('warn');
  const { app, port, ask, jobs } = await start(t, { EMAIL_SMTP_IGNORE_TLS: 'true' }, { logger });
  const smtp = await startSmtp(t, port, {
    onRcptTo: ({ address }, _session, done) => {
      // The other recipient gets no response before the connection breaks.
      if (!address.startsWith('bob@')) return;
      done(Object.assign(new Error(`<${address}> unknown user`), { responseCode: 550 }));
      setTimeout(() => smtp.cut(), 200);
    },
  });
  for (const email of ['ada@example.com', 'bob@example.com']) await ask((await createUser(app, { email })).email);
  await app.mail.deliverNow();
  const [first, second] = await jobs();
  t.match(second, { reason: /550 .*bob@example\.com/ });
  t.match(first, { reason: /closed/ });
  t.notMatch(first, { reason: /bob|550/ });
  const responses = lines.flatMap(({ mail }) => (mail as { response?: string }).response ?? []);
  t.equal(responses.length, 1, 'in the log');
});

t.test('a password reset is sent before invitations that were queued earlier', async (t) => {
  const service = await startWithAdmin(t);
  const { app, post } = service;
  const role = await createRole(app);
  const list = Array.from({ length: 50 }, (_, index) => `invited-${index}@example.com`);
  t.equal((await post('/users/invite', { email: list, role }, asAdmin)).statusCode, 204);
  const { email } = await createUser(app);
  await post('/auth/password/request', { email });
  await app.mail.deliverNow();
  const sent = await readMailbox(app.db);
  t.ok(sent.length < 50, 'some emails are still waiting');
  t.ok(
    sent.some(({ to }) => to === email),
    'the password reset is among the first emails sent',
  );
});

t.test('in production, the mailbox transport leaves emails waiting, and the service still works', async (t) => {
  const { app, ask, jobs } = await start(t, { EMAIL_TRANSPORT: 'mailbox', NODE_ENV: 'production' });
  const user = await createUser(app);
  t.equal((await ask(user.email)).statusCode, 204);
  t.equal(await app.mail.deliverNow(), 0);
  t.match(await jobs(), [{ state: 'created' }]);
  t.equal(app.mail.hasMailbox, false);
});
