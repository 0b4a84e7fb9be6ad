import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { createJobQueue } from '../../db/job-queue.js';
import { rows } from '../../db/statements.js';
import type { MailJob } from '../../plugins/mail/jobs.js';
import { createMailWorker } from '../../plugins/mail/worker.js';
import { unobserved } from '../../plugins/platform/traced-operations.js';
import { startTestApp } from '../helpers/app.js';
import { schemas } from '../helpers/databases.js';

const options = { retryLimit: 1, retryDelay: 0, expireInSeconds: 60 };

/** A worker beside a service that delivers nothing itself. Its first claim of jobs takes half a second longer than usual. */
async function start(t: Test) {
  const { app, post } = await startTestApp(t, { EMAIL_PAUSED: 'true' });
  const queue = createJobQueue<MailJob>(app.databaseConnection, 'mail', options, (error) => t.error(error));
  await queue.start();
  t.teardown(() => queue.stop());
  const delays = [500];
  let started = 0;
  let active = 0;
  let most = 0;
  const worker = createMailWorker({
    queue: {
      ...queue,
      take: async (count) => {
        const jobs = await queue.take(count);
        await sleep(delays.shift() ?? 0);
        return jobs;
      },
    },
    delivery: {
      deliver: async () => {
        started++;
        active++;
        most = Math.max(most, active);
        await sleep(100);
        active--;
        return undefined;
      },
    },
    observe: unobserved,
    onFailure: (error) => t.error(error),
  });
  t.teardown(() => worker.stop());
  const send = async (count: number) => {
    for (let n = 0; n < count; n++) await post('/auth/password/request', { email: `${n}@example.com` });
  };
  const states = async () => {
    const jobs = await rows<{ state: string }>(app.db, sql`select state from ${sql.raw(schemas.queue)}.job`);
    return jobs.map(({ state }) => state);
  };
  return { worker, send, states, started: () => started, most: () => most };
}

t.test('a run also waits for emails that the worker is just claiming', async (t) => {
  const { worker, send, started } = await start(t);
  await send(1);
  worker.start();
  await sleep(100);
  await worker.run();
  t.equal(started(), 1);
});

t.test('concurrent runs deliver at most five emails at a time', async (t) => {
  const { worker, send, started, most } = await start(t);
  await send(12);
  const deliverAll = async () => {
    while ((await worker.run()) > 0);
  };
  await Promise.all([deliverAll(), deliverAll(), deliverAll()]);
  t.equal(started(), 12);
  t.equal(most(), 5);
});

t.test('a worker that stops also delivers the emails that it is just claiming', async (t) => {
  const { worker, send, states } = await start(t);
  await send(2);
  worker.start();
  await sleep(100);
  await worker.stop();
  t.strictSame(await states(), ['completed', 'completed']);
});
