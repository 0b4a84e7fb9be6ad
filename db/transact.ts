import type { Executor } from './client.js';
import { sqlStateOf } from './failures.js';

const deadlock = '40P01';
const mostAttempts = 5;

/** A transaction that is begun anew when the database ended it because it and another waited for each other. */
export async function transact<T>(db: Executor, work: (tx: Executor) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction(work);
    } catch (error) {
      if (sqlStateOf(error) !== deadlock || attempt === mostAttempts) throw error;
    }
  }
}
