import type { Executor } from './client.js';
import { retryOnDeadlock } from './deadlocks.js';

/**
 * The transactions of one request, whose commit waits until the response is known. The first transaction that succeeds stays open, and
 * everything that the request does afterwards with its {@link over} is part of it. In the end, it is committed together with the
 * response, or rolled back.
 *
 * Until a transaction succeeds, nothing is held: one that fails, such as a rehearsal, is rolled back as usual. Costly work before the
 * write therefore occupies no connection.
 */
export interface UnitOfWork {
  /** Whether everything will be rolled back, so that work whose result nobody sees, such as hashing, can be left out. */
  readonly isDryRun: boolean;
  /** The database for this request. @param db the database that the request would use otherwise */
  over(db: Executor): Executor;
  /**
   * Commits what the request has written, if it has written anything.
   * @param last runs in the transaction before the commit
   * @returns whether there was a transaction
   */
  commit(last: (tx: Executor) => Promise<void>): Promise<boolean>;
  /** Rolls back what the request has written. Work that still runs cannot write anything from now on. */
  rollBack(): Promise<void>;
}

/** An open transaction, which waits for the decision. */
interface Held {
  tx: Executor;
  commit(): void;
  rollBack(): void;
  ended: Promise<void>;
}

const rolledBack = () => new Error('Rolled back: the request has ended.');

/** @param onBegin runs at the beginning of each transaction. If it throws, so does the transaction */
export function createUnitOfWork({
  isDryRun = false,
  onBegin = async () => {},
}: {
  isDryRun?: boolean;
  onBegin?: (tx: Executor) => Promise<void>;
}): UnitOfWork {
  let held: Held | undefined;
  let isOver = false;
  /** Settles when the transaction before has ended or is held. Two open transactions could wait for each other. */
  let previous: Promise<unknown> = Promise.resolve();

  const begin = <T>(db: Executor, work: (tx: Executor) => Promise<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const ended = db.transaction(async (tx) => {
        if (isOver) throw rolledBack();
        await onBegin(tx);
        const result = await work(tx);
        if (isOver) throw rolledBack();
        await new Promise<void>((commit, fail) => {
          held = { tx, commit, rollBack: () => fail(rolledBack()), ended };
          resolve(result);
        });
      });
      // Once the transaction is held, `commit` and `rollBack` report how it ends.
      ended.catch(reject);
    });

  const transaction = (db: Executor) => {
    return <T>(work: (tx: Executor) => Promise<T>): Promise<T> => {
      const next = previous.then(() => {
        const open = held?.tx;
        return open ? retryOnDeadlock(() => open.transaction(work)) : begin(db, work);
      });
      previous = next.catch(() => {});
      return next;
    };
  };

  const end = (): Held | undefined => {
    isOver = true;
    const open = held;
    held = undefined;
    return open;
  };

  return {
    isDryRun,
    over: (db) =>
      new Proxy(db, {
        get: (_target, name) => {
          if (name === 'transaction') return transaction(db);
          const target = held?.tx ?? db;
          const value = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      }),
    commit: async (last) => {
      const open = end();
      if (!open) return false;
      try {
        await last(open.tx);
        open.commit();
      } catch (error) {
        open.rollBack();
        await open.ended.catch(() => {});
        throw error;
      }
      await open.ended;
      return true;
    },
    rollBack: async () => {
      const open = end();
      open?.rollBack();
      await open?.ended.catch(() => {});
    },
  };
}
