import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import {
  activity,
  knownNetworks,
  loginAttempts,
  registrations,
  sessions,
  spentStates,
  userCounts,
} from '../../db/schema.js';
import { startWithAdmin } from '../helpers/http/writing.js';
import { captureTimers } from '../helpers/measurements/intervals.js';
import { day, hour } from '../helpers/service/clock.js';
import { createUser } from '../helpers/users/users.js';

t.test('the hourly cleanup deletes expired rows and sums up the user count', async (t) => {
  const runScheduled = captureTimers(t, hour);
  const { app, clock, post } = await startWithAdmin(t, { AUDIT_RETENTION: '1d' });
  await app.listen({ host: '127.0.0.1', port: 0 });

  const user = await createUser(app);
  t.equal((await post('/auth/login', user)).statusCode, 200);
  t.equal((await post('/auth/login', { ...user, password: 'wrong' })).statusCode, 401);
  await app.db.insert(spentStates).values({ id: 'spent', expiresAt: new Date(clock.now().getTime() + hour) });
  const expiry = { createdAt: clock.now(), expiresAt: new Date(clock.now().getTime() + day) };
  await app.db.insert(registrations).values({ user: user.id, password: 'x', ...expiry });
  await app.activityChain.link();
  const tables = { sessions, loginAttempts, knownNetworks, spentStates, registrations, activity };
  const left = async () => {
    const names: string[] = [];
    for (const [name, table] of Object.entries(tables)) if ((await app.db.$count(table)) > 0) names.push(name);
    return names;
  };
  const run = async (isDone: () => Promise<boolean>) => {
    const deadline = Date.now() + 10_000;
    while (!(await isDone()) && Date.now() < deadline) {
      runScheduled();
      await sleep(20);
    }
  };

  t.ok((await app.db.$count(userCounts)) > 1);
  await run(async () => (await app.db.$count(userCounts)) === 1);
  t.equal(await app.db.$count(userCounts), 1, 'the user count is summed up in one row');
  t.strictSame(await left(), Object.keys(tables), 'rows that have not expired are kept');
  clock.advance(100 * day);
  await run(async () => (await left()).length === 0);
  t.strictSame(await left(), []);
});
