// @suite not-everyday: sends many requests

import { setTimeout as sleep } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import type { Overrides } from '../../app.js';
import { registrations, settings, users } from '../../db/schema.js';
import type { MailTransport } from '../../plugins/mail/transport.js';
import { setCookies } from '../helpers/http/cookies.js';
import { refused } from '../helpers/http/refusals.js';
import { findCode, mailsTo } from '../helpers/mail/mails.js';
import { startRedis, withoutRedis } from '../helpers/servers/redis-server.js';
import { startTestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { createPolicy } from '../helpers/users/rights.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

/** A service without limits on requests, but with limits on the emails that anonymous callers can cause. */
async function start(t: Test, variables: Record<string, string> = {}, overrides: Overrides = {}) {
  const service = await startTestApp(
    t,
    {
      RATE_LIMITER_MAIL_ENABLED: 'true',
      RATE_LIMITER_REGISTRATION_ENABLED: 'true',
      REGISTRATION_ANSWER_TIME: '1ms',
      ...variables,
    },
    overrides,
  );
  const ask = (path: string) => (email: string, remoteAddress: string) =>
    service.request({
      method: 'POST',
      url: path,
      remoteAddress,
      payload: { email, ...(path === '/users/register' ? { password: 'the password of a newcomer' } : {}) },
    });
  return {
    ...service,
    reset: ask('/auth/password/request'),
    register: ask('/users/register'),
    letRegister: () => service.app.db.update(settings).set({ publicRegistration: true }),
    mails: async (email: string) => (await mailsTo(service.app, email)).length,
  };
}

t.test('a network can register five users per minute, whatever RATE_LIMITER_ENABLED is', async (t) => {
  const { register, clock } = await start(t, { RATE_LIMITER_ENABLED: 'false' });
  for (let index = 0; index < 5; index++) {
    t.equal((await register(`a${index}@example.com`, '2001:db8::1')).statusCode, 204);
  }
  const late = await register('b@example.com', '2001:db8::2');
  refused(t, late, 'REQUESTS_EXCEEDED', 'the sixth, from the same network');
  t.equal(late.json().errors[0].extensions.limit, 5);
  const seconds = Number(late.headers['retry-after']);
  t.ok(seconds > 0 && seconds <= 60, `Retry-After: ${seconds}`);
  t.equal((await register('b@example.com', '2001:db8:0:1::2')).statusCode, 204, 'another network');
  clock.advance(minute);
  t.equal((await register('b@example.com', '2001:db8::2')).statusCode, 204, 'a minute later');
});

t.test('the request cannot influence whose limit applies (CVE-2025-64526)', async (t) => {
  const { request } = await start(t);
  const answers: number[] = [];
  for (let index = 0; index < 8; index++) {
    const response = await request({
      method: 'POST',
      url: `/users/register?ip=192.0.2.${index}`,
      remoteAddress: '198.51.100.1',
      payload: {
        email: `c${index}@example.com`,
        password: 'a fine password',
        ip: `192.0.2.${index}`,
        first_name: `${index}`,
      },
      headers: { 'x-forwarded-for': `192.0.2.${index}`, 'user-agent': `agent ${index}` },
    });
    answers.push(response.statusCode);
  }
  t.strictSame(answers, [204, 204, 204, 204, 204, 429, 429, 429]);
});

t.test('RATE_LIMITER_REGISTRATION_ENABLED=false disables the limit on registrations', async (t) => {
  const { register } = await start(t, { RATE_LIMITER_REGISTRATION_ENABLED: 'false' });
  for (let index = 0; index < 12; index++) {
    t.equal((await register(`d${index}@example.com`, '198.51.100.1')).statusCode, 204);
  }
});

t.test(
  'an attacker cannot fill a mailbox with password reset links, and responses reveal nothing (CVE-2026-23511)',
  async (t) => {
    const { app, reset, mails, clock } = await start(t);
    const { email } = await createUser(app, { email: 'ada@example.com' });
    const answersOf = async (address: (index: number) => string) => {
      const answers = [];
      for (let index = 0; index < 12; index++) {
        const { statusCode, body, headers } = await reset(address(index), `198.51.100.${index}`);
        answers.push([statusCode, body, Object.keys(headers).sort().join()]);
      }
      return answers;
    };
    const known = await answersOf((index) => (index % 2 ? email : 'ADA@Example.com'));
    const unknown = await answersOf(() => 'nobody@example.com');
    t.strictSame(known, unknown);
    t.strictSame(new Set(known.map(([status]) => status)), new Set([204]));
    t.equal(await mails(email), 5, 'five in a quarter of an hour, across all spellings');
    clock.advance(15 * minute);
    await reset(email, '198.51.100.1');
    t.equal(await mails(email), 6, 'then another one');
  },
);

t.test('one IP address cannot cause emails to many users', async (t) => {
  const { app, reset, mails } = await start(t);
  const people = await Promise.all(Array.from({ length: 33 }, () => createUser(app)));
  for (const { email } of people) t.equal((await reset(email, '198.51.100.1')).statusCode, 204);
  const received = [];
  for (const { email } of people) received.push(await mails(email));
  t.equal(received.filter((count) => count === 1).length, 30);
  const last = people.at(-1)?.email ?? '';
  t.equal(await mails(last), 0);
  for (let index = 0; index < 9; index++) await reset(last, '198.51.100.1');
  await reset(last, '198.51.100.2');
  t.equal(await mails(last), 1, 'requests over the limit do not use up the limit of others');
});

t.test('an attacker cannot fill a mailbox with registration emails', async (t) => {
  const { register, mails, letRegister } = await start(t);
  await letRegister();
  for (let index = 0; index < 8; index++) {
    t.equal((await register('eve@example.com', `198.51.100.${index}`)).statusCode, 204);
  }
  t.equal(await mails('eve@example.com'), 5);
});

/** Everything that an anonymous caller can do with an email address, except causing emails to it. */
async function harass({ app, reset, register, letRegister }: Awaited<ReturnType<typeof start>>, email: string) {
  const [name, domain] = email.split('@');
  const from = '198.51.100.1';
  await letRegister();
  await createUser(app, { email: `${name}+mine@${domain}` });
  for (let index = 0; index < 12; index++) {
    await reset(`${name}+zz@${domain}`, from);
    await reset(`${name}+mine@${domain}`, from);
    await reset(`${name}+${index}@${domain}`, from);
    await reset(`nobody-${index}@${domain}`, from);
    await register(email, from);
    await register(email.toUpperCase(), `198.51.101.${index}`);
    await register(`${name}+${index}@${domain}`, `198.51.102.${index}`);
    await app.inject({
      method: 'POST',
      url: '/auth/login',
      payload: { email, password: 'wrong' },
      remoteAddress: from,
    });
  }
}

/** The number of password reset links sent to an address. */
const resetLinks = async (app: FastifyInstance, email: string) =>
  (await mailsTo(app, email)).filter(({ text }) => text.includes('/account/reset-password?token=')).length;

for (const store of ['memory', 'Redis'] as const) {
  t.test(
    `whatever anonymous callers do, the owner gets a password reset link, with counts in ${store}`,
    { skip: store === 'Redis' && withoutRedis },
    async (t) => {
      const service = await start(t, store === 'Redis' ? { REDIS_URL: (await startRedis(t)).url } : {});
      const { app, reset } = service;
      const { email } = await createUser(app, { email: 'victim@example.com' });
      await harass(service, email);
      t.equal(await resetLinks(app, email), 0, 'none of these requests sends a link');
      await reset(email, '198.51.100.1');
      t.equal(await resetLinks(app, email), 1, 'from the same network');
      await reset(email, '203.0.113.1');
      t.equal(await resetLinks(app, email), 2, 'and from another one');
      t.equal(await resetLinks(app, 'victim+mine@example.com'), 5, 'each stored address has its own limit');

      for (let index = 0; index < 9; index++) await reset(email, `198.51.103.${index}`);
      t.equal(await resetLinks(app, email), 5, 'the limit is enforced');
    },
  );
}

t.test('a user who logs in from a network still gets links there after it has reached its limit', async (t) => {
  const { app, request, reset } = await start(t);
  const crowded = '198.51.100.1';
  const [member, guest] = [await createUser(app), await createUser(app)];
  const payload = { email: member.email, password: member.password };
  const login = await request({ method: 'POST', url: '/auth/login', remoteAddress: crowded, payload });
  t.equal(login.statusCode, 200);
  const answers = new Set<string>();
  const ask = async (email: string) => {
    const { statusCode, body, headers } = await reset(email, crowded);
    answers.add(JSON.stringify([statusCode, body, Object.keys(headers).sort()]));
  };
  for (let index = 0; index < 300; index++) await ask(`nobody-${index}@example.com`);
  for (const { email } of [member, guest]) await ask(email);
  t.equal(await resetLinks(app, member.email), 1);
  t.equal(await resetLinks(app, guest.email), 0);
  t.equal(answers.size, 1, 'all responses are identical');
  await reset(guest.email, '198.51.100.2');
  t.equal(await resetLinks(app, guest.email), 1, 'from another network, the user gets a link');
});

t.test('a user who logs in from a network gets links there even if it has caused too many emails', async (t) => {
  const { app, request, reset } = await start(t);
  const crowded = '198.51.100.1';
  const member = await createUser(app);
  const payload = { email: member.email, password: member.password };
  await request({ method: 'POST', url: '/auth/login', remoteAddress: crowded, payload });
  const others = await Promise.all(Array.from({ length: 31 }, () => createUser(app)));
  for (const { email } of others) await reset(email, crowded);
  await reset(member.email, crowded);
  t.equal(await resetLinks(app, others.at(-1)?.email ?? ''), 0, 'the limit is reached');
  t.equal(await resetLinks(app, member.email), 1);
});

t.test('emails that a user requests from a known network or browser have a limit of their own', async (t) => {
  const service = await start(t);
  const { app, reset, request, get } = service;
  await app.db.update(settings).set({ emailLogin: true });
  const member = await createUser(app);
  const { email, password } = member;
  const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  const home = '198.51.100.77';
  const away = '203.0.113.77';
  const browser = { 'sec-fetch-site': 'same-origin' };
  const login = (mode: string, headers: Record<string, string> = {}) =>
    request({ method: 'POST', url: '/auth/login', remoteAddress: home, payload: { email, password, mode }, headers });
  t.strictSame(
    Object.keys(setCookies(await login('session'))),
    ['gatehouse_session_token'],
    'a client that is no browser',
  );
  t.strictSame(setCookies(await login('json', browser)), {}, 'a client that keeps no cookies');
  const { gatehouse_known_browser: cookie } = setCookies(await login('session', browser));
  t.strictSame(cookie?.attributes, ['HttpOnly', `Max-Age=${90 * 86_400}`, 'Path=/', 'SameSite=Lax']);
  t.notMatch(cookie?.value, member.id);

  const askForCode = (from: string, headers: Record<string, string> = {}) =>
    request({ method: 'POST', url: '/auth/email/request', remoteAddress: from, payload: { email }, headers });
  const codes = async () => (await mailsTo(app, email)).filter(findCode).length;
  for (let index = 0; index < 9; index++) {
    await askForCode(`203.0.113.${index}`);
    await reset(email, `203.0.113.${index}`);
  }
  t.equal(await codes(), 5, 'strangers use up the limit');
  t.equal(await resetLinks(app, email), 5);
  await askForCode(away);
  t.equal(await codes(), 5, 'also that of the user in a new browser on a new network');
  await askForCode(home);
  t.equal(await codes(), 6, 'from a known network');
  await reset(email, home);
  t.equal(await resetLinks(app, email), 6);
  const known = { cookie: `gatehouse_known_browser=${cookie?.value}` };
  await askForCode(away, known);
  t.equal(await codes(), 7, 'in a known browser');
  const forged = `${cookie?.value.slice(0, 23)}${'A'.repeat(22)}`;
  await askForCode(away, { cookie: `gatehouse_known_browser=${forged}` });
  t.equal(await codes(), 7, 'a forged cookie');
  const stranger = await createUser(app);
  for (let index = 0; index < 5; index++) await askForCode(home, known);
  t.equal(await codes(), 10, 'this limit is enforced, too');
  await request({
    method: 'POST',
    url: '/auth/password/request',
    remoteAddress: away,
    payload: { email: stranger.email },
    headers: known,
  });
  t.equal(await resetLinks(app, stranger.email), 1);

  const dropped = (await get('/mails?state=dropped&limit=1000', admin.headers)).json().data as { limit: string }[];
  t.strictSame([...new Set(dropped.map(({ limit }) => limit))], ['mailbox']);
});

t.test('GET /mails says which emails were dropped, and by which limit', async (t) => {
  const { app, reset, get } = await start(t);
  const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  const mails = async (state: string) =>
    (await get(`/mails?state=${state}&limit=1000`, admin.headers)).json().data as Record<string, unknown>[];
  const people = await Promise.all(Array.from({ length: 40 }, () => createUser(app)));
  for (const { email } of people) await reset(email, '198.51.100.1');
  t.equal((await mails('waiting')).length, 40);
  await mailsTo(app, '');
  t.equal((await mails('sent')).length, 30);
  t.ok((await mails('sent')).every(({ limit, reason }) => limit === null && reason === null));
  const dropped = await mails('dropped');
  t.equal(dropped.length, 10);
  t.match(dropped[0], {
    state: 'dropped',
    limit: 'network',
    reason: /requested from one network/,
    next_attempt_at: null,
  });
  await reset('nobody@example.com', '198.51.100.2');
  await mailsTo(app, '');
  t.match(
    (await mails('dropped')).filter(({ limit }) => limit === null),
    [{ email: 'nobody@example.com', reason: /No user/ }],
  );
});

t.test('a flood of requests from one network is listed once, whatever it requests', async (t) => {
  const { app, request, reset, get, clock } = await start(t);
  await app.db.update(settings).set({ emailLogin: true });
  const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  const listed = async () =>
    (await get('/mails?limit=1000', admin.headers)).json().data as { email: string; limit: string; reason: string }[];
  const { email } = await createUser(app);
  const crowded = '198.51.100.1';
  const resend = (address: string) =>
    request({
      method: 'POST',
      url: '/users/register/resend',
      remoteAddress: crowded,
      payload: { email: address },
    });
  for (let index = 0; index < 300; index++) await reset(`nobody-${index}@example.com`, crowded);
  for (let index = 0; index < 3; index++) t.equal((await reset(email, crowded)).statusCode, 204);
  for (let index = 0; index < 3; index++) t.equal((await resend(email)).statusCode, 204);
  t.equal((await listed()).length, 301);
  t.equal(await resetLinks(app, email), 0);
  const dropped = (await listed()).filter(({ limit }) => limit !== null);
  t.match(dropped, [{ email, state: 'dropped', limit: 'network', reason: /Further requests/ }]);
  clock.advance(16 * minute);
  await reset(email, crowded);
  t.equal(await resetLinks(app, email), 1, 'after the window');
});

t.test('users who sign in from a crowded network get verification emails there', async (t) => {
  const { app, request, reset, mails } = await start(t);
  const crowded = '198.51.100.1';
  const member = await createUser(app);
  const payload = { email: member.email, password: member.password };
  await request({ method: 'POST', url: '/auth/login', remoteAddress: crowded, payload });
  await app.db.update(users).set({ status: 'unverified' }).where(eq(users.id, member.id));
  await app.db.insert(registrations).values({
    user: member.id,
    password: '-',
    createdAt: new Date(),
    expiresAt: new Date(Date.now() + minute * 60),
  });
  await app.db.update(settings).set({ publicRegistration: true });
  for (let index = 0; index < 301; index++) await reset(`nobody-${index}@example.com`, crowded);
  const resend = { method: 'POST', url: '/users/register/resend', remoteAddress: crowded } as const;
  t.equal((await request({ ...resend, payload: { email: member.email } })).statusCode, 204);
  t.equal(await mails(member.email), 1);
});

t.test('an email that is dropped does not extend a registration', async (t) => {
  const { app, register, letRegister, request, mails, clock } = await start(t);
  await letRegister();
  const email = 'newcomer@example.com';
  await register(email, '198.51.100.1');
  const resend = (remoteAddress: string) =>
    request({ method: 'POST', url: '/users/register/resend', remoteAddress, payload: { email } });
  const expiry = async () => {
    await mails(email);
    return (await app.db.select({ expiresAt: registrations.expiresAt }).from(registrations))[0]?.expiresAt;
  };
  const first = await expiry();
  clock.advance(minute);
  await resend('198.51.100.2');
  const extended = await expiry();
  t.not(String(extended), String(first), 'an email that is sent extends it');
  for (let index = 3; index < 6; index++) await resend(`198.51.100.${index}`);
  await expiry();
  t.equal(await mails(email), 5);
  const last = await expiry();
  clock.advance(minute);
  await resend('198.51.100.9');
  t.strictSame(await expiry(), last, 'dropped');
  t.equal(await mails(email), 5);
});

t.test('an email that is retried is counted once', async (t) => {
  const sent: string[] = [];
  let failures = 3;
  const transport: MailTransport = {
    send: async ({ to }) => {
      if (failures-- > 0) throw new Error('451 Try again later');
      sent.push(to);
    },
    close: () => {},
  };
  const { app, reset } = await start(t, { EMAIL_RETRY_DELAY: '1s' }, { mailTransport: transport });
  const { email } = await createUser(app);
  for (let index = 0; index < 5; index++) await reset(email, `198.51.100.${index}`);
  const until = Date.now() + 10_000;
  while (sent.length < 5 && Date.now() < until) {
    await app.mail.deliverNow();
    await sleep(50);
  }
  t.strictSame(sent, Array(5).fill(email));
});

t.test('RATE_LIMITER_MAIL_ENABLED=false disables the limit on emails', async (t) => {
  const { app, reset, mails } = await start(t, { RATE_LIMITER_MAIL_ENABLED: 'false' });
  const { email } = await createUser(app);
  for (let index = 0; index < 8; index++) await reset(email, '198.51.100.1');
  t.equal(await mails(email), 8);
});
