// @suite not-everyday: hashes hundreds of passwords

import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { like } from 'drizzle-orm';
import t from 'tap';
import { users } from '../../db/schema.js';
import { listen } from '../helpers/http/raw-http.js';
import { costOf } from '../helpers/measurements/costs.js';
import { startTestApp, type TestApp } from '../helpers/service/app.js';
import { policyWith } from '../helpers/users/rights.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

/** Hashing is expensive. The requests of one caller must not prevent others from logging in. */

const password = 'a password that nobody has';
// One thread and a slow hash, as in production.
const variables = { PASSWORD_HASH_CONCURRENCY: '1', PASSWORD_HASH_QUEUE: '40', PASSWORD_HASH_TIME: '3' };

/** Logs in forty times, four at a time. @returns the number of successful logins */
async function signIn({ post }: TestApp, { email, password }: { email: string; password: string }): Promise<number> {
  let succeeded = 0;
  for (let round = 0; round < 10; round++) {
    const logins = await Promise.all([1, 2, 3, 4].map(() => post('/auth/login', { email, password })));
    succeeded += logins.filter(({ statusCode }) => statusCode === 200).length;
  }
  return succeeded;
}

/** The number of concurrent requests. On a slow machine, more of them would only wait for the database. */
const maxInProgress = 10;

/** Sends a request 33 times a second, or as often as responses arrive, during some work. @returns the status codes */
async function meanwhile<T>(send: () => Promise<{ statusCode: number }>, work: () => Promise<T>) {
  const sent: Promise<number>[] = [];
  let inProgress = 0;
  const sendOne = async () => {
    inProgress++;
    const { statusCode } = await send();
    inProgress--;
    return statusCode;
  };
  const timer = setInterval(() => {
    if (inProgress < maxInProgress) sent.push(sendOne());
  }, 30);
  try {
    return { result: await work(), codes: async () => new Set(await Promise.all(sent)), count: () => sent.length };
  } finally {
    clearInterval(timer);
  }
}

t.test('forty logins succeed while a user sets the passwords of 200 others', async (t) => {
  const service = await startTestApp(t, variables);
  const { app, request } = service;
  const ownRow = { id: { _eq: '$CURRENT_USER' } };
  const policy = await policyWith(app, [{ collection: 'users', action: 'update', fields: ['*'], permissions: ownRow }]);
  const attacker = await createUserWithToken(app, { policies: [policy] });
  const honest = await createUser(app);
  const others: string[] = [];
  for (let index = 0; index < 200; index++) others.push((await createUser(app, { password: 'none' })).id);
  const payload = others.map((id) => ({ id, password }));
  const send = () => request({ method: 'PATCH', url: '/users', headers: attacker.headers, payload });

  const [{ result, codes, count }, cost] = await costOf(app, () => meanwhile(send, () => signIn(service, honest)));
  t.equal(result, 40, 'all logins succeed');
  t.strictSame([...(await codes())], [403]);
  t.equal(cost.hashes, 40, `only the hashes of the logins, while ${count()} requests were rejected`);
});

t.test('forty logins succeed while a user with permission repeatedly creates ten users', async (t) => {
  const service = await startTestApp(t, variables);
  const { app, post } = service;
  const policy = await policyWith(app, [{ collection: 'users', action: 'create', fields: ['*'] }]);
  const busy = await createUserWithToken(app, { policies: [policy] });
  const honest = await createUser(app);
  let made = 0;
  const send = () =>
    post(
      '/users',
      Array.from({ length: 10 }, () => ({ email: `made-${made++}@example.com`, password })),
      busy.headers,
    );
  const { result, codes, count } = await meanwhile(send, () => signIn(service, honest));
  t.equal(result, 40, `all logins succeed, during ${count()} requests`);
  for (const code of await codes()) t.ok(code === 200 || code === 503, `${code}`);
});

t.test('the work of a client is dropped when it disconnects', async (t) => {
  const service = await startTestApp(t, { ...variables, PASSWORD_HASH_TIME: '30' });
  const { app } = service;
  const policy = await policyWith(app, [{ collection: 'users', action: 'create', fields: ['*'] }]);
  const caller = await createUserWithToken(app, { policies: [policy] });
  const port = await listen(app);
  const body = JSON.stringify(
    Array.from({ length: 10 }, (_, index) => ({ email: `dropped-${index}@example.com`, password })),
  );
  const headers = { ...caller.headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const sent = httpRequest({ host: '127.0.0.1', port, path: '/users', method: 'POST', headers });
  const closed = new Promise<void>((resolve) => {
    sent.on('error', () => resolve());
    sent.on('response', () => resolve());
  });
  let hashed = 0;
  const { hashMany } = app.passwords;
  const ended = new Promise<string>((resolve) => {
    app.passwords.hashMany = async (...given) => {
      // Hashing has started, so the client disconnects.
      setTimeout(() => sent.destroy(), 50);
      try {
        const hashes = await hashMany(...given);
        hashed = hashes.length;
        resolve('hashed');
        return hashes;
      } catch (error) {
        resolve('dropped');
        throw error;
      }
    };
  });
  sent.end(body);
  await closed;
  t.equal(await ended, 'dropped');
  t.equal(hashed, 0);
  while (app.passwords.load().running > 0) await sleep(20);
  await sleep(200);
  t.equal(await app.db.$count(users, like(users.email, 'dropped-%')), 0, 'nothing was written');
});
