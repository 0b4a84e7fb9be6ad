import { hash, parseOptions } from '@node-rs/argon2';
import { createThreadPool } from '../../platform/thread-pool.js';
import { createAdmissionQueue, type TaskOrigin } from '../../rate-limits/admission-queue.js';

/** Parameters of Argon2: memory in KiB, passes, lanes. */
export interface HashingParameters {
  memoryCost: number;
  timeCost: number;
  parallelism: number;
}

/** A password to hash or, if there is a `stored` hash, to check. */
export interface HashingTask {
  password: string;
  stored?: string;
}

export interface PasswordOptions {
  /** KiB per hash. */
  memory: number;
  time: number;
  parallelism: number;
  /** Concurrent hashes. */
  concurrency: number;
  /** Hashes that may wait. */
  queue: number;
  /** Milliseconds that a hash may wait, except in a batch. A caller who would have to wait longer is rejected immediately. */
  maxWaitMs: number;
}

export interface Passwords {
  /**
   * Returns an Argon2id hash in PHC string format.
   * @param from undefined for the service itself
   */
  hash(password: string, from?: TaskOrigin): Promise<string>;
  /** Returns hashes of many passwords, in order. They take turns with the tasks of other callers, so a large batch blocks no one. */
  hashMany(passwords: readonly string[], from?: TaskOrigin): Promise<string[]>;
  /**
   * Checks a password. Without a hash to check against, it does the same work and returns false, so that the time reveals
   * nothing. A malformed hash matches no password.
   * @param stored PHC string, or null
   */
  verify(stored: string | null, password: string, from?: TaskOrigin): Promise<boolean>;
  /** Whether a hash was created with parameters other than the current ones. */
  isOutdated(stored: string): boolean;
  /**
   * Rejects a caller early if the queue would reject their task anyway, so that a flood of requests costs almost nothing.
   * @throws {ApiError} SERVICE_UNAVAILABLE if the queue is full
   */
  requireRoom(from?: TaskOrigin): void;
  /** How many milliseconds a hash that is requested now is expected to take; 0 until it is known how long one takes. */
  expectedMs(): number;
  /** The number of running and of waiting hashes. */
  load(): { running: number; waiting: number };
  close(): Promise<void>;
}

/** MB. Small, because it does not include the memory of Argon2. */
const resourceLimits = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 };

/**
 * Hashing is by far the most expensive work of the service. It runs on separate threads, and both the running and the waiting tasks are
 * limited, so that a burst of logins neither starves other requests nor fills the memory. Callers take turns.
 * @throws {ApiError} SERVICE_UNAVAILABLE if the queue is full
 */
export async function createPasswords({
  memory,
  time,
  parallelism,
  concurrency,
  queue: capacity,
  maxWaitMs,
}: PasswordOptions): Promise<Passwords> {
  // Argon2id is the library's default algorithm.
  const parameters: HashingParameters = { memoryCost: memory, timeCost: time, parallelism };
  const threads = createThreadPool<HashingTask, string | boolean>(new URL('./hashing-thread.js', import.meta.url), {
    count: concurrency,
    resourceLimits,
    workerData: parameters,
  });
  // Each thread has a current task and a next one. The next one also counts as waiting.
  const next = Math.min(concurrency, capacity);
  const queue = createAdmissionQueue({ atOnce: concurrency + next, capacity: capacity - next, maxWaitMs });
  // Hashed without the threads, so that they start only when a request needs them. This also loads the library on the main thread.
  // Otherwise, its binary would be unloaded when the last thread ends.
  const dummyHash = await hash('nobody’s password', parameters);
  const hashOne = (password: string, from: TaskOrigin | undefined, options?: { isPatient: boolean }) =>
    queue.push(from, async () => String(await threads.run({ password })), options);

  return {
    hash: (password, from) => hashOne(password, from),
    hashMany: async (passwords, from) => {
      const hashes: string[] = [];
      let next = 0;
      const lane = async () => {
        for (let index = next++; index < passwords.length; index = next++) {
          hashes[index] = await hashOne(passwords[index] as string, from, { isPatient: true });
        }
      };
      // As many at a time as the threads accept, but no more than the share, so that a batch is not rejected because others wait.
      const lanes = Math.min(2 * concurrency, queue.share);
      try {
        await Promise.all(Array.from({ length: lanes }, lane));
      } finally {
        // After a failure, no lane starts another hash.
        next = passwords.length;
      }
      return hashes;
    },
    verify: async (stored, password, from) => {
      const matches = await queue.push(from, () => threads.run({ stored: stored ?? dummyHash, password }));
      return matches === true && stored !== null;
    },
    isOutdated: (stored) => {
      const made = parseOptions(stored);
      return (
        !stored.startsWith('$argon2id$') ||
        made.memoryCost !== memory ||
        made.timeCost !== time ||
        made.parallelism !== parallelism
      );
    },
    requireRoom: queue.requireRoom,
    expectedMs: queue.expectedMs,
    load: () => {
      const { started, waiting } = queue.load();
      const running = Math.min(started, concurrency);
      return { running, waiting: waiting + started - running };
    },
    close: threads.close,
  };
}
