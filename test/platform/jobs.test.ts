// @suite embedded-only: hardly depends on the engine

import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import fastify from 'fastify';
import plugin from 'fastify-plugin';
import t, { type Test } from 'tap';
import { openDatabase } from '../../db/client.js';
import { createJobQueues, createQueueTables, type Job } from '../../db/job-queue.js';
import { rows } from '../../db/statements.js';
import { type JobDefinition, type Jobs, jobsPlugin } from '../../plugins/platform/jobs/index.js';
import { createJobWorker } from '../../plugins/platform/jobs/worker.js';
import { createTestDatabase, schemas } from '../helpers/database/databases.js';

interface Note {
  text: string;
}
const options = { retryLimit: 1, retryDelay: 0, expireInSeconds: 60, retentionDays: 1 };

async function waitUntil(isReached: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isReached())) await sleep(10);
}

async function openQueues(t: Test, kinds: readonly string[]) {
  const database = await createTestDatabase();
  const connection = Object.assign(await openDatabase(database.location), { schemas });
  await createQueueTables(connection, kinds);
  t.teardown(async () => {
    await connection.close();
    await database.drop();
  });
  const states = async () => {
    const jobs = await rows<{ name: string; state: string; output: unknown }>(
      connection.db,
      sql`select name, state, output from ${sql.raw(schemas.queue)}.job order by created_on`,
    );
    return jobs.map(({ name, state, output }) => ({ name, state, output }));
  };
  return { connection, states };
}

/** A worker whose first claim of jobs takes half a second longer than usual. */
async function startWorker(t: Test) {
  const { connection, states } = await openQueues(t, ['notes']);
  const queues = createJobQueues(connection, (error) => t.error(error));
  await queues.start();
  t.teardown(() => queues.stop());
  await queues.configure('notes', options);
  const queue = queues.queue<Note>('notes');
  const delays = [500];
  const counts = { started: 0, active: 0, most: 0 };
  const slowQueue = {
    ...queue,
    take: async (count: number) => {
      const jobs = await queue.take(count);
      await sleep(delays.shift() ?? 0);
      return jobs;
    },
  };
  const worker = createJobWorker(slowQueue, {
    concurrency: 5,
    run: async () => {
      counts.started++;
      counts.active++;
      counts.most = Math.max(counts.most, counts.active);
      await sleep(100);
      counts.active--;
      return undefined;
    },
    onFailure: (error) => t.error(error),
  });
  t.teardown(() => worker.stop());
  const send = (count: number) =>
    queue.sendAll(
      connection.db,
      Array.from({ length: count }, (_, n) => ({ text: `${n}` })),
    );
  return { worker, send, states, counts };
}

t.test('a run also waits for jobs that the worker is just claiming', async (t) => {
  const { worker, send, counts } = await startWorker(t);
  await send(1);
  worker.start();
  await sleep(100);
  await worker.run();
  t.equal(counts.started, 1);
});

t.test('concurrent runs process at most as many jobs at a time as the kind allows', async (t) => {
  const { worker, send, counts } = await startWorker(t);
  await send(12);
  const runAll = async () => {
    while ((await worker.run()) > 0);
  };
  await Promise.all([runAll(), runAll(), runAll()]);
  t.equal(counts.started, 12);
  t.equal(counts.most, 5);
});

t.test('a worker that stops also completes the jobs that it is just claiming', async (t) => {
  const { worker, send, states } = await startWorker(t);
  await send(2);
  worker.start();
  await sleep(100);
  await worker.stop();
  t.strictSame(
    (await states()).map(({ state }) => state),
    ['completed', 'completed'],
  );
});

/** A service with several kinds of jobs. */
async function startService(t: Test, definitions: Record<string, JobDefinition<Note>>) {
  const { connection, states } = await openQueues(t, Object.keys(definitions));
  const app = fastify();
  await app.register(plugin(async (app) => void app.decorate('databaseConnection', connection), { name: 'database' }));
  await app.register(jobsPlugin);
  const jobs = new Map<string, Jobs<Note>>();
  for (const [kind, definition] of Object.entries(definitions)) {
    jobs.set(kind, await app.defineJob<Note>(kind, definition));
  }
  t.teardown(() => app.close());
  const send = (kind: string, ...texts: string[]) =>
    connection.db.transaction(async (tx) =>
      jobs.get(kind)?.sendAll(
        tx,
        texts.map((text) => ({ text })),
      ),
    );
  return { app, send, states, jobs };
}

t.test('each kind of job has its own work, failures, and concurrency', async (t) => {
  const done: string[] = [];
  const failed: string[] = [];
  const define = (kind: string, work: Partial<JobDefinition<Note>['work']> = {}): JobDefinition<Note> => ({
    ...options,
    work: {
      concurrency: 1,
      run: async ({ data, attempt }: Job<Note>) => {
        if (data.text === 'fails') throw new Error('no');
        done.push(`${kind}: ${data.text} ${attempt}`);
        return { kind };
      },
      onFailure: (error, { data, attempt }) =>
        failed.push(`${kind}: ${data.text} ${attempt} ${(error as Error).message}`),
      ...work,
    },
  });
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { app, send, states } = await startService(t, {
    letters: define('letters'),
    calls: define('calls', {
      run: async () => {
        await held;
        return undefined;
      },
    }),
    faults: { ...define('faults', { isPermanent: () => true }), retryLimit: 5 },
    paused: { ...options, work: null },
  });
  await send('calls', 'a');
  await send('letters', 'b', 'c');
  await send('faults', 'fails');
  await send('paused', 'd');
  t.strictSame(done, [], 'nothing runs before the service listens');
  await app.listen({ port: 0 });
  await waitUntil(() => done.length === 2 && failed.length === 2);
  t.strictSame(done.sort(), ['letters: b 1', 'letters: c 1'], 'a slow kind holds up no other');
  t.strictSame(failed, ['faults: fails 1 no', 'faults: fails 2 no'], 'tried again once after a permanent failure');
  release();
  await app.close();
  t.strictSame(await states(), [
    { name: 'calls', state: 'completed', output: null },
    { name: 'letters', state: 'completed', output: { kind: 'letters' } },
    { name: 'letters', state: 'completed', output: { kind: 'letters' } },
    { name: 'faults', state: 'failed', output: { reason: 'no', isPermanent: true } },
    { name: 'paused', state: 'created', output: null },
  ]);
});

t.test('jobs that share a value hold up no others, and all of them are done', async (t) => {
  const started: string[] = [];
  const active = new Map<string, number>();
  let most = 0;
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const work: JobDefinition<Note>['work'] = {
    concurrency: 3,
    share: { by: 'text', max: 2 },
    run: async ({ data: { text } }) => {
      started.push(text);
      active.set(text, (active.get(text) ?? 0) + 1);
      most = Math.max(most, active.get(text) ?? 0);
      if (text === 'slow') await held;
      active.set(text, (active.get(text) ?? 0) - 1);
      return undefined;
    },
    onFailure: (error) => t.error(error),
  };
  const { app, send } = await startService(t, { calls: { ...options, work } });
  await send('calls', ...Array.from({ length: 20 }, () => 'slow'));
  // Jobs of the same time have no order, and the clock of the embedded engine counts milliseconds.
  for (const text of ['a', 'b', 'a', 'c']) {
    await sleep(2);
    await send('calls', text);
  }
  await app.listen({ port: 0 });
  const isDone = (count: number) => waitUntil(() => started.length === count);
  await Promise.race([isDone(6), sleep(5_000)]);
  t.strictSame(started, ['slow', 'slow', 'a', 'b', 'a', 'c']);
  const waited = performance.now();
  release();
  await isDone(24);
  // Two at a time, with the pause of an idle worker between them, would take more than four seconds.
  t.ok(performance.now() - waited < 4_000, `${performance.now() - waited} ms`);
  t.equal(most, 2);
  await app.close();
});

t.test('closing waits for the jobs of every kind together', async (t) => {
  const work = {
    concurrency: 1,
    run: async () => {
      await sleep(300);
      return undefined;
    },
    onFailure: (error: unknown) => t.error(error),
  };
  const { app, send, states } = await startService(t, { letters: { ...options, work }, calls: { ...options, work } });
  await send('letters', 'a', 'b');
  await send('calls', 'a', 'b');
  await app.listen({ port: 0 });
  await waitUntil(async () => (await states()).filter(({ state }) => state === 'active').length === 2);
  await app.close();
  const left = (await states()).map(({ state }) => state).sort();
  t.strictSame(left, ['completed', 'completed', 'created', 'created'], 'no worker takes another job in the meantime');
});

t.test('a kind of job without a table prevents the service from starting', async (t) => {
  const { connection } = await openQueues(t, ['letters']);
  const queues = createJobQueues(connection, (error) => t.error(error));
  await queues.start();
  t.teardown(() => queues.stop());
  await t.rejects(queues.configure('calls', options), {
    name: 'SchemaError',
    message: /do not fit this version of the service \(they have none for jobs of the kind "calls"\)/,
  });
});
