// @suite not-everyday: waits for retries

import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import type { DatabaseConnection } from '../../db/client.js';
import { createJobQueues, createQueueTables, type JobQueue, type QueueOptions } from '../../db/job-queue.js';
import { withMigrationLock } from '../../db/migration-lock.js';
import { rows } from '../../db/statements.js';
import { createTestDatabase, engine, openUnmigrated, schemas } from '../helpers/database/databases.js';

interface Note {
  text: string;
}
const options: QueueOptions = { retryLimit: 1, retryDelay: 0, expireInSeconds: 60, retentionDays: 30 };

async function openQueue(t: Test, connection: DatabaseConnection, more: Partial<QueueOptions> = {}) {
  const queues = createJobQueues(connection, (error) => t.error(error));
  await queues.start();
  await queues.configure('notes', { ...options, ...more });
  return { queue: queues.queue<Note>('notes'), stop: queues.stop };
}

async function start(t: Test, more: Partial<QueueOptions> = {}) {
  const database = await createTestDatabase();
  const connection = await openUnmigrated(database.location);
  await createQueueTables(connection, ['notes']);
  const { queue, stop } = await openQueue(t, connection, more);
  t.teardown(async () => {
    await stop();
    await connection.close();
    await database.drop();
  });
  return { connection, queue, location: database.location };
}

const send = (connection: DatabaseConnection, queue: JobQueue<Note>, text: string) =>
  connection.db.transaction((tx) => queue.send(tx, { text }));
const texts = (jobs: { data: Note }[]) => jobs.map(({ data }) => data.text).sort();

/** Waits for a job, because a second attempt becomes due only after a second or two. */
async function takeSoon(queue: JobQueue<Note>) {
  for (let tries = 0; tries < 300; tries++) {
    const [job] = await queue.take(1);
    if (job) return job;
    await sleep(20);
  }
  throw new Error('No job became available.');
}

t.test('a job becomes available if and only if its transaction commits', async (t) => {
  const { connection, queue } = await start(t);
  await send(connection, queue, 'it’s "kept" \\ äß 你好');
  await connection.db
    .transaction(async (tx) => {
      await queue.send(tx, { text: 'dropped' });
      throw new Error('never mind');
    })
    .catch(() => {});
  const jobs = await queue.take(10);
  t.strictSame(texts(jobs), ['it’s "kept" \\ äß 你好']);
  t.strictSame(await queue.take(10), [], 'a job is taken only once');
  await queue.complete(jobs[0]?.id ?? '');
  t.strictSame(await queue.take(10), []);
});

t.test('jobs sent in bulk are stored exactly like jobs sent one at a time', async (t) => {
  const { connection, queue } = await start(t);
  const list = Array.from({ length: 250 }, (_, index) => ({ text: `${index} it’s "kept" \\ äß` }));
  await send(connection, queue, 'alone');
  await connection.db.transaction(async (tx) => {
    await queue.sendAll(tx, list);
    await queue.sendAll(tx, []);
  });
  await connection.db
    .transaction(async (tx) => {
      await queue.sendAll(tx, list);
      throw new Error('never mind');
    })
    .catch(() => {});
  const stored = await rows<{ kept: number }>(
    connection.db,
    sql`select distinct name, priority, state, retry_limit, retry_delay, retry_backoff, expire_in::text,
      extract(epoch from keep_until - created_on)::int as kept, singleton_key, dead_letter, policy from ${sql.raw(schemas.queue)}.job`,
  );
  t.equal(stored.length, 1, 'all jobs have the options of the queue');
  t.equal(stored[0]?.kept, 30 * 24 * 60 * 60, 'jobs that no worker takes are kept');
  const jobs = await queue.take(300);
  t.strictSame(texts(jobs), ['alone', ...list.map(({ text }) => text)].sort());
});

t.test('a failed job is retried and then kept, and it can be sent again', async (t) => {
  const { connection, queue } = await start(t);
  await send(connection, queue, 'a');
  const first = await takeSoon(queue);
  await queue.fail(first, { reason: 'no', isPermanent: false });
  const second = await takeSoon(queue);
  t.equal(second.id, first.id);
  await queue.fail(second, { reason: 'no again', isPermanent: false });
  await sleep(50);
  t.strictSame(await queue.take(1), []);
  const [kept] = await rows<{ state: string; output: object }>(
    connection.db,
    sql`select state, output from ${sql.raw(schemas.queue)}.job where id = ${first.id}`,
  );
  t.match(kept, { state: 'failed', output: { reason: 'no again' } });
  t.equal(await queue.retry(connection.db, first.id), true);
  t.equal((await takeSoon(queue)).id, first.id);
  t.equal(await queue.retry(connection.db, first.id), false, 'a job in progress cannot be sent again');
  t.equal(await queue.retry(connection.db, '00000000-0000-4000-8000-000000000000'), false);
});

t.test('a job abandoned by its process is picked up by the next process', async (t) => {
  const { connection, queue } = await start(t, { expireInSeconds: 1 });
  await send(connection, queue, 'a');
  t.equal((await queue.take(1)).length, 1);
  await sleep(1_100);
  // As another process does when it starts.
  const next = await openQueue(t, connection, { expireInSeconds: 1 });
  t.strictSame(texts([await takeSoon(next.queue)]), ['a']);
  await next.stop();
});

t.test('a hundred concurrent workers take each of a hundred jobs once', async (t) => {
  const { connection, queue } = await start(t);
  await Promise.all(Array.from({ length: 100 }, (_, number) => send(connection, queue, `job ${number}`)));
  const taken = (await Promise.all(Array.from({ length: 100 }, () => queue.take(3)))).flat();
  t.equal(taken.length, 100);
  t.equal(new Set(taken.map(({ id }) => id)).size, 100);
});

t.test('five instances create the tables together', { skip: engine === 'embedded' && 'PostgreSQL only' }, async (t) => {
  const { connection, location } = await start(t);
  await connection.db.execute(sql`drop schema ${sql.identifier(schemas.queue)} cascade`);
  const connections = await Promise.all([0, 1, 2, 3, 4].map(() => openUnmigrated(location)));
  const createTables = (each: DatabaseConnection) => createQueueTables(each, ['notes']);
  await Promise.all(
    connections.map((each) =>
      withMigrationLock(
        each,
        () => sleep(20),
        async () => true,
        () => createTables(each),
      ),
    ),
  );
  const opened = await Promise.all(connections.map(async (each) => ({ each, ...(await openQueue(t, each)) })));
  for (const { each, queue, stop } of opened) {
    await send(each, queue, 'from each');
    await stop();
    await each.close();
  }
  const [count] = await rows<{ count: number }>(
    connection.db,
    sql`select count(*)::int as count from ${sql.raw(schemas.queue)}.job`,
  );
  t.equal(count?.count, 5);
});
