import fastq, { type queueAsPromised } from 'fastq';

type Task = () => Promise<unknown>;

/** Runs a task when it is the turn of its key. */
export type Turns = <T>(key: string, task: () => Promise<T>) => Promise<T>;

/**
 * Tasks of one key run a few at a time, the others wait. What is counted before it is known to be right is then never
 * counted often for somebody who is right often at once.
 * @param atOnce tasks of one key
 * @param capacity tasks that wait, of all keys together; past that none waits, and each takes its chance at once
 */
export function createTurns(atOnce: number, capacity: number): Turns {
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
