import { Worker } from 'node:worker_threads';
// Also loaded on the main thread: if only threads loaded the binary, it would be unloaded when the last of them ends.
import '@node-rs/argon2';

/** Parameters of Argon2: memory in KiB, passes, lanes. */
export interface HashingParameters {
  memoryCost: number;
  timeCost: number;
  parallelism: number;
}

/** A password to hash or, if there is a `stored` hash, to check. */
export interface HashingTask {
  number: number;
  password: string;
  stored?: string;
}

/** A thread's response to a task. */
export type HashingAnswer = { number: number } & ({ result: string | boolean } | { error: unknown });

/**
 * Dedicated threads that hash passwords. Each thread receives its next task before it has finished the current one, so it never
 * waits for the main thread, which is busy with requests. The threads of libuv remain free for files and DNS lookups.
 */
export interface HashingThreads {
  /** How many tasks are accepted at a time: the current one and the next one of each thread. */
  readonly room: number;
  /** @throws an error if hashing fails or the thread ends; the next task starts a new thread if necessary */
  hash(password: string): Promise<string>;
  /** @returns also false if the stored hash is malformed */
  verify(stored: string, password: string): Promise<boolean>;
  /** Ends the threads. Unfinished and later tasks fail. */
  close(): Promise<void>;
}

interface Asker {
  resolve(result: string | boolean): void;
  reject(error: unknown): void;
}

interface Thread {
  worker: Worker;
  /** Keyed by task number. */
  askers: Map<number, Asker>;
}

/** MB. Small, because it does not include the memory of Argon2. */
const resourceLimits = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 };

const ended = () => new Error('A thread that hashes passwords has ended.');

/**
 * Threads start when they are first needed. An idle thread does not keep the process alive.
 * @param count the maximum number of threads
 * @param program the script that the threads run
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
    // The threads get neither the modules that the process preloads nor its environment, which contains secrets.
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

  /** The thread with the fewest tasks. */
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
