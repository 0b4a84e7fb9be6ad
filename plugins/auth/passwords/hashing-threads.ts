import { Worker } from 'node:worker_threads';
// Loaded here as well: a binary that only threads had loaded would be unloaded with the last of them.
import '@node-rs/argon2';

/** Of Argon2: KiB, passes, lanes. */
export interface HashingParameters {
  memoryCost: number;
  timeCost: number;
  parallelism: number;
}

/** A password to hash; or to check, if there is something `stored`. */
export interface HashingTask {
  number: number;
  password: string;
  stored?: string;
}

/** What a thread says of a task. */
export type HashingAnswer = { number: number } & ({ result: string | boolean } | { error: unknown });

/**
 * Threads of our own that hash passwords. Each has its next task before it is done with the one that it is at: it never waits
 * for the main thread, which at the same time has requests to answer. And they leave the threads of libuv to files and names.
 */
export interface HashingThreads {
  /** Tasks that are taken at a time: those that the threads are at, and the next one of each. */
  readonly room: number;
  /** @throws what the hashing throws; an error when the thread is lost, and then the next task gets a new one */
  hash(password: string): Promise<string>;
  /** @returns false also for a stored text that cannot be read */
  verify(stored: string, password: string): Promise<boolean>;
  /** Ends the threads. What has not been answered by then fails, as does what comes after. */
  close(): Promise<void>;
}

interface Asker {
  resolve(result: string | boolean): void;
  reject(error: unknown): void;
}

interface Thread {
  worker: Worker;
  /** By the numbers of the tasks. */
  askers: Map<number, Asker>;
}

/** MB: what little is not Argon2's own memory. */
const resourceLimits = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 };

const ended = () => new Error('A thread that hashes passwords has ended.');

/**
 * Starts threads when they are needed first. A thread without a task keeps no process alive.
 * @param count how many there may be
 * @param program what they run
 */
export function createHashingThreads(
  count: number,
  parameters: HashingParameters,
  program = new URL('./hashing-thread.js', import.meta.url),
): HashingThreads {
  const threads = new Set<Thread>();
  let tasks = 0;
  let isClosed = false;

  const start = (): Thread => {
    // What others have the process load before all else is not for them, nor is the environment with its secrets.
    const alone = { execArgv: [], env: {} };
    const worker = new Worker(program, { workerData: parameters, resourceLimits, ...alone });
    const thread: Thread = { worker, askers: new Map() };
    threads.add(thread);
    const lose = (error: Error) => {
      threads.delete(thread);
      for (const { reject } of thread.askers.values()) reject(error);
      thread.askers.clear();
    };
    worker
      .on('message', (answer: HashingAnswer) => {
        const asker = thread.askers.get(answer.number);
        thread.askers.delete(answer.number);
        if (thread.askers.size === 0) worker.unref();
        if ('error' in answer) asker?.reject(answer.error);
        else asker?.resolve(answer.result);
      })
      .on('messageerror', () => void worker.terminate())
      .on('error', lose)
      .on('exit', () => lose(ended()));
    return thread;
  };

  /** The one with the least to do. */
  const choose = (): Thread => {
    const [first, ...others] = threads;
    if (!first) return start();
    const least = others.reduce((one, other) => (other.askers.size < one.askers.size ? other : one), first);
    return least.askers.size > 0 && threads.size < count ? start() : least;
  };

  const perform = (task: Omit<HashingTask, 'number'>) =>
    new Promise<string | boolean>((resolve, reject) => {
      if (isClosed) throw ended();
      const { worker, askers } = choose();
      const number = tasks++;
      worker.ref();
      worker.postMessage({ ...task, number });
      askers.set(number, { resolve, reject });
    });

  return {
    room: 2 * count,
    hash: async (password) => String(await perform({ password })),
    verify: async (stored, password) => (await perform({ stored, password })) === true,
    close: async () => {
      isClosed = true;
      await Promise.all([...threads].map(({ worker }) => worker.terminate()));
    },
  };
}
