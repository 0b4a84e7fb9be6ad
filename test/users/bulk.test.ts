// @suite own-process: measures how long the thread is blocked

import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { rows } from '../../db/statements.js';
import { engine } from '../helpers/database/databases.js';
import { asAdmin, patch, remove, startWithAdmin } from '../helpers/http/writing.js';
import { worstBlock } from '../helpers/measurements/worst-block.js';
import { createUser } from '../helpers/users/users.js';

/**
 * How many milliseconds a bulk request may block the thread, on a machine of normal speed. The service itself blocks it
 * for less than 50. The client also runs in this process, and so does the embedded database, which blocks the thread
 * for the duration of each statement.
 */
const maxBlockMs = 150;

/**
 * The number of users that one request writes. It is lower with the embedded engine, which runs on this thread and
 * therefore blocks everything else.
 */
const count = engine === 'embedded' ? 300 : 2_000;

t.test(`bulk requests for ${count} users block the thread only briefly`, async (t) => {
  const service = await startWithAdmin(t);
  const { app, post, get, request } = service;
  const list = Array.from({ length: count }, (_, index) => ({
    email: `bulk-${index}@example.com`,
    first_name: `Bulk ${index}`,
    provider: 'github',
    external_identifier: `${index}`,
  }));
  // Warms up the service, so that its first request is not measured.
  const warm = await post('/users', [{ email: 'warm@example.com', password: 'a good password' }], asAdmin);
  await remove(service, '/users', [warm.json().data[0].id]);

  /** The transactions that wrote the rows. */
  const transactions = () => rows(app.db, sql`select distinct xmin::text as id from users where email like 'bulk-%'`);
  let ids: string[] = [];

  /** Sends a request, and other requests while it is in progress. */
  const meanwhile = async (send: () => Promise<{ statusCode: number }>) => {
    let done = false;
    const sent = send().finally(() => {
      done = true;
    });
    let others = 0;
    while (!done) {
      t.equal((await app.inject('/server/ping')).statusCode, 200);
      others++;
      await sleep(5);
    }
    t.ok(others > 1, `other requests get responses: ${others}`);
    return sent;
  };

  const steps: [what: string, send: () => ReturnType<typeof patch>, check: (body: string) => Promise<void>][] = [
    [
      'created',
      () => post('/users?fields=id,email', list, asAdmin),
      async (body) => {
        const data: { id: string; email: string }[] = JSON.parse(body).data;
        t.strictSame(
          data.map(({ email }) => email),
          list.map(({ email }) => email),
          'in the given order',
        );
        ids = data.map(({ id }) => id);
      },
    ],
    [
      'updated with the same value',
      () => patch(service, '/users?fields=title', { keys: ids, data: { title: 'All' } }),
      async (body) => {
        t.strictSame(
          JSON.parse(body).data,
          ids.map(() => ({ title: 'All' })),
        );
      },
    ],
    [
      'updated individually',
      () =>
        patch(
          service,
          '/users?fields=id,title',
          ids.map((id, index) => ({ id, title: `${index}` })),
        ),
      async (body) => {
        t.strictSame(
          JSON.parse(body).data,
          ids.map((id, index) => ({ id, title: `${index}` })),
        );
      },
    ],
  ];
  for (const [what, send, check] of steps) {
    const before = process.memoryUsage().heapUsed;
    const [response, blocked] = await worstBlock(() => meanwhile(send) as ReturnType<typeof patch>);
    t.equal(response.statusCode, 200, what);
    await check(response.body);
    t.equal((await transactions()).length, 1, `${what} in one transaction`);
    t.comment(`${what}: blocked for ${blocked.toFixed(1)} ms at most`);
    t.ok(blocked < maxBlockMs, `${what}: blocked for ${blocked.toFixed(1)} ms at most`);
    t.ok(process.memoryUsage().heapUsed - before < 150e6, `${what}: memory is bounded`);
  }
  const [gone, blocked] = await worstBlock(() => meanwhile(() => remove(service, '/users', ids)));
  t.equal(gone.statusCode, 204);
  t.comment(`deleted: blocked for ${blocked.toFixed(1)} ms at most`);
  t.ok(blocked < maxBlockMs, `deleted: blocked for ${blocked.toFixed(1)} ms at most`);
  t.strictSame((await get('/users?aggregate[count]=*', asAdmin)).json().data, [{ count: 1 }]);

  t.test('an invalid item prevents the creation of all users', async (t) => {
    const response = await post('/users', [...list.slice(1), { ...list[0], email: 'BULK-7@example.com' }], asAdmin);
    t.equal(response.statusCode, 400);
    t.strictSame((await get('/users?aggregate[count]=*', asAdmin)).json().data, [{ count: 1 }]);
  });

  t.test('200 users with passwords can be created while other users log in', async (t) => {
    const user = await createUser(app);
    const batch = Array.from({ length: 200 }, (_, index) => ({
      email: `password-${index}@example.com`,
      password: `the password ${index}`,
    }));
    let done = false;
    const sent = post('/users?fields=id', batch, asAdmin).finally(() => {
      done = true;
    });
    const times: number[] = [];
    while (!done) {
      const start = performance.now();
      const login = await request({
        method: 'POST',
        url: '/auth/login',
        payload: { email: user.email, password: user.password },
      });
      t.equal(login.statusCode, 200);
      times.push(performance.now() - start);
    }
    t.equal((await sent).statusCode, 200);
    t.ok(times.length >= 5, `${times.length} logins in the meantime`);
    const { email, password } = batch[199] ?? user;
    t.equal((await post('/auth/login', { email, password })).statusCode, 200, 'the last created user can log in');
  });
});

t.test('overlapping bulk requests in different orders wait for each other, and none fails', async (t) => {
  const service = await startWithAdmin(t);
  const emails = Array.from({ length: 300 }, (_, index) => ({ email: `cross-${index}@example.com`, provider: 'x' }));
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all([
      service.post('/users?fields=id', emails, asAdmin),
      service.post('/users?fields=id', emails.toReversed(), asAdmin),
    ]);
    const statuses = answers.map(({ statusCode }) => statusCode).sort();
    t.strictSame(statuses, [200, 400]);
    const made: string[] = answers.flatMap((answer) => answer.json().data ?? []).map(({ id }) => id);
    const update = (keys: string[]) =>
      patch(
        service,
        '/users',
        keys.map((id) => ({ id, title: `${round}` })),
      );
    const updates = await Promise.all([update(made), update(made.toReversed())]);
    t.strictSame(
      updates.map(({ statusCode }) => statusCode),
      [200, 200],
    );
    const removals = await Promise.all([remove(service, '/users', made), remove(service, '/users', made.toReversed())]);
    t.strictSame(removals.map(({ statusCode }) => statusCode).sort(), [204, 403]);
  }
});
