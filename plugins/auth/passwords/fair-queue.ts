import { ApiError } from '../../../schemas/errors.js';
import type { Origin } from '../../server/client-info.js';

/** The caller that causes the work: a user, or the network of an anonymous client. Undefined for the service itself. */
export type From = Pick<Origin, 'userId' | 'client'>;

interface Task {
  start(): void;
  drop(reason: unknown): void;
}

/** Runs the tasks of several owners, a limited number at a time. */
export interface FairQueue {
  /** How many tasks of one owner may wait while other owners wait too. */
  readonly share: number;
  /**
   * Runs a task when its turn comes. If the client disconnects before that, the task never starts.
   * @throws {ApiError} SERVICE_UNAVAILABLE if there is no room for the task, or another owner needs its place
   */
  push<T>(from: From | undefined, task: () => Promise<T>): Promise<T>;
  /** @throws {ApiError} SERVICE_UNAVAILABLE if a task from there would be rejected */
  requireRoom(from: From | undefined): void;
  /** The number of running tasks, and of waiting tasks. */
  load(): { started: number; waiting: number };
}

export const queueFull = () =>
  new ApiError('SERVICE_UNAVAILABLE', {
    service: 'passwords',
    reason: 'Too many passwords are waiting to be processed.',
  });

const ownerOf = (from: From | undefined) => (from ? (from.userId ?? from.client.network) : 'service');

/**
 * The owners take turns, so no owner has to wait for all the work of another. An owner may fill the queue while no other owner
 * waits. Otherwise, it gets a quarter of the queue, and loses further places as soon as other owners need them.
 * @param atOnce how many tasks may run at the same time
 * @param capacity how many tasks may wait
 */
export function createFairQueue(atOnce: number, capacity: number): FairQueue {
  /** Waiting tasks by owner. The first owner has the next turn. */
  const queues = new Map<string, Task[]>();
  const share = Math.max(1, Math.floor(capacity / 4));
  let started = 0;
  let waiting = 0;

  const take = (owner: string, index: number): Task | undefined => {
    const own = queues.get(owner) ?? [];
    const [task] = own.splice(index, 1);
    if (task) waiting--;
    if (own.length === 0) queues.delete(owner);
    return task;
  };

  const startNext = () => {
    const [owner] = queues.keys();
    if (owner === undefined || started >= atOnce) return;
    const task = take(owner, 0);
    const others = queues.get(owner);
    // Move the owner to the end, so that another owner has the next turn.
    if (others) {
      queues.delete(owner);
      queues.set(owner, others);
    }
    started++;
    task?.start();
  };

  /** The owner with the most waiting tasks, if it has more than its share. */
  const greediest = (): string | undefined => {
    const [[owner, tasks] = ['', []]] = [...queues].sort(([, a], [, b]) => b.length - a.length);
    return tasks.length > share ? owner : undefined;
  };

  const requireRoom = (from: From | undefined) => {
    if (started < atOnce) return;
    const owner = ownerOf(from);
    const own = queues.get(owner)?.length ?? 0;
    if (own < waiting && own >= share) throw queueFull();
    const canGetPlace = waiting < capacity || (own < waiting && greediest() !== undefined);
    if (!canGetPlace) throw queueFull();
  };

  /** Drops a task of the greediest owner if the queue is full. Only call it after `requireRoom`. */
  const makeRoom = () => {
    const loser = started >= atOnce && waiting >= capacity ? greediest() : undefined;
    if (loser !== undefined) take(loser, -1)?.drop(queueFull());
  };

  return {
    share,
    requireRoom,
    load: () => ({ started, waiting }),

    push: async (from, work) => {
      const owner = ownerOf(from);
      const abandoned = from?.client.abandoned;
      abandoned?.throwIfAborted();
      requireRoom(from);
      makeRoom();
      return new Promise((resolve, reject) => {
        const leave = () => {
          const index = queues.get(owner)?.indexOf(task) ?? -1;
          if (index >= 0) take(owner, index)?.drop(abandoned?.reason);
        };
        const task: Task = {
          start: async () => {
            abandoned?.removeEventListener('abort', leave);
            const [outcome] = await Promise.allSettled([work()]);
            // The next task starts before the owner of this one can add another.
            started--;
            startNext();
            if (outcome.status === 'fulfilled') resolve(outcome.value);
            else reject(outcome.reason);
          },
          drop: (reason) => {
            abandoned?.removeEventListener('abort', leave);
            reject(reason);
          },
        };
        abandoned?.addEventListener('abort', leave);
        const own = queues.get(owner) ?? [];
        own.push(task);
        queues.set(owner, own);
        waiting++;
        startNext();
      });
    },
  };
}
