import { unavailable } from '../../schemas/errors.js';
import { type Origin, siteOf } from '../http/caller.js';

/** The caller that causes the work: a user, or the network of an anonymous client. Undefined for the service itself. */
export type TaskOrigin = Pick<Origin, 'userId' | 'client'>;

interface Task {
  isPatient: boolean;
  start(): void;
  drop(reason: unknown): void;
}

/** Runs the tasks of several owners, a limited number at a time. */
export interface AdmissionQueue {
  /** How many tasks of one owner may wait while other owners wait too. */
  readonly share: number;
  /**
   * Runs a task when its turn comes. If the client disconnects before that, the task never starts.
   * @param options.isPatient the task may wait for longer than `maxWaitMs`, and is not dropped, because it belongs to a batch. By
   *   default, this applies only to tasks of the service itself
   * @throws {ApiError} SERVICE_UNAVAILABLE if there is no room for the task, or another owner needs its place
   */
  push<T>(from: TaskOrigin | undefined, task: () => Promise<T>, options?: { isPatient: boolean }): Promise<T>;
  /** @throws {ApiError} SERVICE_UNAVAILABLE if a task from this caller would be rejected */
  requireRoom(from: TaskOrigin | undefined): void;
  /** How many milliseconds it takes to complete all current tasks and one more; 0 until it is known how long a task takes. */
  expectedMs(): number;
  /** The number of running tasks, and of waiting tasks. */
  load(): { started: number; waiting: number };
}

export interface AdmissionOptions {
  /** How many tasks may run at the same time. */
  atOnce: number;
  /** How many tasks may wait. */
  capacity: number;
  maxWaitMs?: number;
  /** Queues of the same kind of work can share their measurements. */
  pace?: Pace;
  /** Why a task is rejected. */
  reason?: 'password_queue_full' | 'export_queue_full';
}

/** An anonymous caller with an IPv6 /48 is one owner, because each of its 65,536 networks would have a turn otherwise. */
const ownerOf = (from: TaskOrigin | undefined) => (from ? (from.userId ?? siteOf(from.client.network)) : 'service');

/**
 * Decides which work that is too expensive to do immediately is done, and in which order. The owners take turns, so no owner has to
 * wait for all the work of another. An owner may fill the queue while no other owner waits. Otherwise, it gets a quarter of the queue,
 * and loses further places as soon as other owners need them.
 *
 * A response that comes too late is useless, and the work for it is wasted. So the queue never holds more tasks than can start within
 * `maxWaitMs`, at the rate at which tasks have recently been completed. Under any overload, therefore, almost all of the work
 * serves clients that are still waiting for it, and the other clients are told immediately when to retry.
 */
export function createAdmissionQueue({
  atOnce,
  capacity,
  maxWaitMs = Number.POSITIVE_INFINITY,
  pace = createPace(atOnce),
  reason = 'password_queue_full',
}: AdmissionOptions): AdmissionQueue {
  /** Waiting tasks by owner. The first owner has the next turn. */
  const queues = new Map<string, Task[]>();
  let started = 0;
  let waiting = 0;

  /** How many tasks may wait now. */
  const room = () => Math.max(Math.min(capacity, Math.floor(maxWaitMs / pace.interval())), 1);
  /** Tells the client to retry when the tasks that wait now have started. */
  const full = () => unavailable(reason, { retryAfter: Math.max(Math.ceil((waiting * pace.interval()) / 1_000), 1) });

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

  /** The owner with the most waiting tasks, if it has more than its share, and the last task can be dropped. */
  const greediest = (limit: number): string | undefined => {
    const [[owner, tasks] = ['', []]] = [...queues].sort(([, a], [, b]) => b.length - a.length);
    return tasks.length > limit && !tasks.at(-1)?.isPatient ? owner : undefined;
  };

  /**
   * Requires that another task of the owner can start or wait.
   * @param space how many tasks may wait
   * @returns the owner whose last task must be dropped to make room; undefined if there is room
   */
  const requirePlace = (owner: string, space: number): string | undefined => {
    if (started < atOnce) return undefined;
    const own = queues.get(owner)?.length ?? 0;
    const limit = shareOf(space);
    if (own < waiting && own >= limit) throw full();
    if (waiting < space) return undefined;
    const loser = own < waiting ? greediest(limit) : undefined;
    if (loser === undefined) throw full();
    return loser;
  };

  return {
    share: shareOf(capacity),
    requireRoom: (from) => void requirePlace(ownerOf(from), room()),
    expectedMs: () => (started + waiting + 1) * pace.interval(),
    load: () => ({ started, waiting }),

    push: async (from, work, { isPatient } = { isPatient: !from }) => {
      const owner = ownerOf(from);
      const abandoned = from?.client.abandoned;
      abandoned?.throwIfAborted();
      const loser = requirePlace(owner, isPatient ? capacity : room());
      if (loser !== undefined) take(loser, -1)?.drop(full());
      return new Promise((resolve, reject) => {
        const leave = () => {
          const index = queues.get(owner)?.indexOf(task) ?? -1;
          if (index >= 0) take(owner, index)?.drop(abandoned?.reason);
        };
        const task: Task = {
          isPatient,
          start: async () => {
            abandoned?.removeEventListener('abort', leave);
            const [begun, running] = [performance.now(), started];
            const [outcome] = await Promise.allSettled([work()]);
            pace.add(performance.now() - begun, running);
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

const shareOf = (space: number) => Math.max(1, Math.floor(space / 4));

/** How often a task is completed while there are always tasks to run. */
export type Pace = ReturnType<typeof createPace>;

/** @param warmupCount how many tasks are not measured: the first ones also wait for their threads to start */
export function createPace(warmupCount: number) {
  /** Moving average, in milliseconds. */
  let average: number | undefined;
  let skipped = 0;
  return {
    /** Milliseconds between two completions; 0 until the first one. */
    interval: () => average ?? 0,
    /**
     * @param durationMs how long a task took
     * @param running how many tasks ran, including this one. Whether they run in parallel or slow one another down, that many are
     *   completed in the time that one takes.
     */
    add: (durationMs: number, running: number) => {
      if (skipped++ < warmupCount) return;
      const sample = durationMs / running;
      average = average === undefined ? sample : average + (sample - average) / 10;
    },
  };
}
