import type { Executor } from './client.js';
import { sqlStateOf } from './failures.js';

const deadlock = '40P01';
const mostAttempts = 5;

/** Does work anew that the database ended because it and another waited for each other: a transaction, or a statement by itself. */
export async function beginAnewOnDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (sqlStateOf(error) !== deadlock || attempt === mostAttempts) throw error;
    }
  }
}

/** A transaction that is begun anew when it ends in a deadlock. */
export const transact = <T>(db: Executor, work: (tx: Executor) => Promise<T>): Promise<T> =>
  beginAnewOnDeadlock(() => db.transaction(work));

/** Does work in a transaction that is then rolled back: it throws what would keep the work from being done. */
export async function rehearse<T>(db: Executor, work: (tx: Executor) => Promise<T>): Promise<T> {
  const outcome: { result?: T } = {};
  const end = new Error('The rehearsal is over.');
  await transact(db, async (tx) => {
    outcome.result = await work(tx);
    throw end;
  }).catch((error: unknown) => {
    if (error !== end) throw error;
  });
  return outcome.result as T;
}
