// @suite postgres-only: the embedded engine has one connection

import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t from 'tap';
import type { Executor } from '../../db/client.js';
import { databaseOutageOf } from '../../db/failures.js';
import { rows } from '../../db/statements.js';
import { createUnitOfWork } from '../../db/unit-of-work.js';
import { createTestDatabase, openUnmigrated } from '../helpers/database/databases.js';
import { atEndOf } from '../helpers/runner/teardown.js';

const database = await createTestDatabase();
const { db, runScript, close } = await openUnmigrated(database.location);
atEndOf(t, async () => {
  await close();
  await database.drop();
});
await runScript(
  `create table pairs (id int primary key, n int not null);
  insert into pairs values (1, 0), (2, 0);
  create table notes (pair int references pairs deferrable initially deferred)`,
);

const increase = (executor: Executor, id: number) =>
  executor.execute(sql`update pairs set n = n + 1 where id = ${id}::int`);

async function untilSomeoneWaits(): Promise<void> {
  const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  while ((await rows(db, waiting)).length === 0) await sleep(5);
}

/**
 * Runs work that increases the first row and then the second one, while another transaction does the opposite. PostgreSQL aborts the one
 * that has waited longer, which is the work.
 */
async function meet<T>(work: () => Promise<T>): Promise<T> {
  await db.execute(sql`update pairs set n = 0`);
  const { done } = await db.transaction(async (tx) => {
    await tx.execute(sql`select from pairs where id = 2 for update`);
    await increase(tx, 2);
    const done = work();
    await untilSomeoneWaits();
    await increase(tx, 1);
    return { done };
  });
  return done;
}

const numbers = async () => (await rows<{ n: number }>(db, sql`select n from pairs order by id`)).map(({ n }) => n);

t.test('a transaction that a deadlock has aborted is repeated', async (t) => {
  let attempts = 0;
  await meet(() =>
    db.transaction(async (tx) => {
      attempts++;
      await increase(tx, 1);
      await increase(tx, 2);
    }),
  );
  t.equal(attempts, 2);
  t.strictSame(await numbers(), [2, 2]);
});

t.test('a statement outside a transaction is repeated', async (t) => {
  await meet(async () => {
    await db.execute(sql`with ordered as (select id from pairs order by id for update)
      update pairs set n = n + 1 from ordered where pairs.id = ordered.id`);
  });
  t.strictSame(await numbers(), [2, 2]);
});

t.test('a part of a transaction that waits for its response is repeated, and the rest stays', async (t) => {
  let attempts = 0;
  const request = createUnitOfWork({});
  const own = request.over(db);
  await meet(async () => {
    await own.transaction((tx) => tx.execute(sql`insert into pairs values (3, 7)`));
    await own.transaction(async (tx) => {
      attempts++;
      await increase(tx, 1);
      await increase(tx, 2);
    });
    await request.commit(async () => {});
  });
  t.equal(attempts, 2);
  t.strictSame(await numbers(), [2, 2, 7]);
});

t.test(
  'a transaction that is aborted during its commit is not repeated, because its result may be known',
  async (t) => {
    let attempts = 0;
    const request = createUnitOfWork({});
    const own = request.over(db);
    const failure = await meet(async () => {
      await own.transaction(async (tx) => {
        attempts++;
        await increase(tx, 1);
        await tx.execute(sql`insert into notes values (2)`);
      });
      return request.commit(async () => {}).catch((error: unknown) => error);
    });
    t.equal(databaseOutageOf(failure), 'database_deadlock');
    t.equal(attempts, 1);
    t.strictSame(await numbers(), [1, 1, 0]);
  },
);

t.test('other failures are not repeated', async (t) => {
  let attempts = 0;
  const failing = db.transaction(async (tx) => {
    attempts++;
    await tx.execute(sql`insert into pairs values (1, 0)`);
  });
  await t.rejects(failing);
  t.equal(attempts, 1);
});
