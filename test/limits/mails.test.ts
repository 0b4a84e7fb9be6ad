import t, { type Test } from 'tap';
import { settings, users } from '../../db/schema.js';
import { createAccount } from '../helpers/accounts.js';
import { startTestApp } from '../helpers/app.js';
import { minute } from '../helpers/clock.js';
import { mailsTo } from '../helpers/mails.js';
import { refused } from '../helpers/refusals.js';

/** A service without limits on requests, but with those on what strangers can have sent. */
async function start(t: Test, variables: Record<string, string> = {}) {
  const service = await startTestApp(t, {
    RATE_LIMITER_MAIL_ENABLED: 'true',
    RATE_LIMITER_REGISTRATION_ENABLED: 'true',
    REGISTRATION_ANSWER_TIME: '1ms',
    ...variables,
  });
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

t.test('registration: five a minute and address, whatever RATE_LIMITER_ENABLED says', async (t) => {
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

t.test('what is in the body changes nothing about whose limit it is (CVE-2025-64526)', async (t) => {
  const { request } = await start(t);
  const answers: number[] = [];
  for (let index = 0; index < 8; index++) {
    const response = await request({
      method: 'POST',
      url: `/users/register?ip=192.0.2.${index}`,
      remoteAddress: '198.51.100.1',
      payload: {
        email: `c${index}@example.com`,
        password: 'x'.repeat(20),
        ip: `192.0.2.${index}`,
        first_name: `${index}`,
      },
      headers: { 'x-forwarded-for': `192.0.2.${index}`, 'user-agent': `agent ${index}` },
    });
    answers.push(response.statusCode);
  }
  t.strictSame(answers, [204, 204, 204, 204, 204, 429, 429, 429]);
});

t.test('RATE_LIMITER_REGISTRATION_ENABLED=false switches that off', async (t) => {
  const { register } = await start(t, { RATE_LIMITER_REGISTRATION_ENABLED: 'false' });
  for (let index = 0; index < 12; index++) {
    t.equal((await register(`d${index}@example.com`, '198.51.100.1')).statusCode, 204);
  }
});

t.test('nobody can fill a mailbox with links to reset a password, and nobody is told (CVE-2026-23511)', async (t) => {
  const { app, reset, mails, clock } = await start(t);
  const { email } = await createAccount(app, { email: 'ada@example.com' });
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
  t.equal(await mails(email), 5, 'five in a quarter of an hour, in all spellings together');
  clock.advance(15 * minute);
  await reset(email, '198.51.100.1');
  t.equal(await mails(email), 6, 'then there is one again');
});

t.test('nor send mails to many from one address', async (t) => {
  const { app, reset, mails } = await start(t);
  const people = await Promise.all(Array.from({ length: 33 }, () => createAccount(app)));
  for (const { email } of people) t.equal((await reset(email, '198.51.100.1')).statusCode, 204);
  const received = [];
  for (const { email } of people) received.push(await mails(email));
  t.equal(received.filter((count) => count === 1).length, 30);
  const last = people.at(-1)?.email ?? '';
  t.equal(await mails(last), 0);
  for (let index = 0; index < 9; index++) await reset(last, '198.51.100.1');
  await reset(last, '198.51.100.2');
  t.equal(await mails(last), 1, 'who may send no more uses up nobody else’s either');
});

t.test('registration cannot be used for it either', async (t) => {
  const { register, mails, letRegister, app } = await start(t);
  await letRegister();
  for (let index = 0; index < 8; index++) {
    t.equal((await register('eve@example.com', `198.51.100.${index}`)).statusCode, 204);
  }
  t.equal(await mails('eve@example.com'), 5);
  const before = await app.db.$count(users);
  for (let index = 0; index < 8; index++) await register(`Eve+${index}@example.com`, `198.51.101.${index}`);
  t.equal(await app.db.$count(users), before, 'whatever follows the plus sign');
});

t.test('RATE_LIMITER_MAIL_ENABLED=false switches it off', async (t) => {
  const { app, reset, mails } = await start(t, { RATE_LIMITER_MAIL_ENABLED: 'false' });
  const { email } = await createAccount(app);
  for (let index = 0; index < 8; index++) await reset(email, '198.51.100.1');
  t.equal(await mails(email), 8);
});
