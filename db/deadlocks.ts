import { databaseOutageOf } from './failures.js';

const maxAttempts = 5;

/**
 * Repeats work that PostgreSQL has aborted because of a deadlock: of the transactions that wait for each other, it aborts one, so that the
 * others can continue.
 * @param work a transaction, a savepoint, or a statement of its own, so that nothing of an aborted attempt remains
 * @param mayRepeat asked before each repetition
 */
export async function retryOnDeadlock<T>(work: () => Promise<T>, mayRepeat = () => true): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (databaseOutageOf(error) !== 'database_deadlock' || attempt === maxAttempts || !mayRepeat()) throw error;
    }
  }
}
