import fastq, { type queueAsPromised } from 'fastq';

type Task = () => Promise<unknown>;

/** Runs a task when it is its turn. */
export type KeyedQueue = <T>(key: string, task: () => Promise<T>) => Promise<T>;

/**
 * Limits how many tasks of one key run at the same time. Login attempts are counted before they are known to be correct, so a
 * user with many concurrent correct attempts would otherwise reach the limit for wrong ones.
 * @param atOnce concurrent tasks per key
 * @param capacity waiting tasks of all keys together; beyond that, tasks run immediately
 */
export function createKeyedQueue(atOnce: number, capacity: number): KeyedQueue {
  const queues = new Map<string, queueAsPromised<Task, unknown>>();
  let waiting = 0;

  return async <T>(key: string, task: () => Promise<T>): Promise<T> => {
    const queue = queues.get(key) ?? fastq.promise((next: Task) => next(), atOnce);
    queues.set(key, queue);
    if (queue.running() >= atOnce && waiting >= capacity) return task();
    waiting += 1;
    try {
      return (await queue.push(() => {
        waiting -= 1;
        return task();
      })) as T;
    } finally {
      if (queue.idle()) queues.delete(key);
    }
  };
}
