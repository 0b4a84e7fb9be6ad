import type { Executor } from './client.js';
import { databaseOutageOf } from './failures.js';

const maxAttempts = 5;

/** Repeats work that the database aborted because of a deadlock. The work must be a transaction or a single statement. */
export async function retryOnDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (databaseOutageOf(error) !== 'database_deadlock' || attempt === maxAttempts) throw error;
    }
  }
}

/** Runs a transaction, and repeats it if it is aborted by a deadlock. */
export const transact = <T>(db: Executor, work: (tx: Executor) => Promise<T>): Promise<T> =>
  retryOnDeadlock(() => db.transaction(work));

/** Runs work in a transaction that is then rolled back. Throws the error that would prevent the work from being done. */
export async function dryRun<T>(db: Executor, work: (tx: Executor) => Promise<T>): Promise<T> {
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
