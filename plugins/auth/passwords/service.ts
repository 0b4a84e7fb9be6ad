import { hash, parseOptions } from '@node-rs/argon2';
import { createFairQueue, type From } from './fair-queue.js';
import { createHashingThreads } from './hashing-threads.js';

export interface PasswordOptions {
  /** KiB for one hash. */
  memory: number;
  time: number;
  parallelism: number;
  /** Hashes at once. */
  concurrency: number;
  /** Hashes that may wait. */
  queue: number;
}

export interface Passwords {
  /**
   * An Argon2id hash in PHC string format.
   * @param from left out: the service itself
   */
  hash(password: string, from?: From): Promise<string>;
  /** Hashes of many passwords, in order; they take their turn with others', so that a large batch shuts nobody out. */
  hashMany(passwords: readonly string[], from?: From): Promise<string[]>;
  /**
   * Checks a password. With no hash to check against it does the same work and says no, so that the time tells nothing;
   * a hash that cannot be read matches nothing.
   * @param stored PHC string, or null when there is none
   */
  verify(stored: string | null, password: string, from?: From): Promise<boolean>;
  /** Whether a hash was made with other parameters than those in force. */
  isOutdated(stored: string): boolean;
  /**
   * Sends away at once who would be sent away when their turn came: a flood is to cost next to nothing.
   * @throws {ApiError} SERVICE_UNAVAILABLE when the queue is full
   */
  requireRoom(from?: From): void;
  /** Hashes under way and waiting. */
  load(): { running: number; waiting: number };
  close(): Promise<void>;
}

/**
 * Hashing is the one thing here that costs real work. It runs on threads of its own, a bounded number at once and a
 * bounded number waiting, so that a burst of logins neither starves other requests nor fills the memory. Callers take turns.
 * @throws {ApiError} SERVICE_UNAVAILABLE when the queue is full
 */
export async function createPasswords({
  memory,
  time,
  parallelism,
  concurrency,
  queue: capacity,
}: PasswordOptions): Promise<Passwords> {
  // Argon2id is the library's default algorithm.
  const parameters = { memoryCost: memory, timeCost: time, parallelism };
  const threads = createHashingThreads(concurrency, parameters);
  // Each thread has its next task already, which waits as well.
  const next = Math.min(threads.room - concurrency, capacity);
  const queue = createFairQueue(concurrency + next, capacity - next);
  // Not by the threads, which are for when there is more to do.
  const nobodysHash = await hash('nobody’s password', parameters);

  return {
    hash: (password, from) => queue.push(from, () => threads.hash(password)),
    hashMany: async (passwords, from) => {
      const hashes: string[] = [];
      let next = 0;
      const lane = async () => {
        for (let index = next++; index < passwords.length; index = next++) {
          hashes[index] = await queue.push(from, () => threads.hash(passwords[index] as string));
        }
      };
      // As many at a time as the threads take, as long as all of them may wait: a batch is not refused because others wait.
      const lanes = Math.min(threads.room, queue.share);
      try {
        await Promise.all(Array.from({ length: lanes }, lane));
      } finally {
        // After a failure no lane goes on.
        next = passwords.length;
      }
      return hashes;
    },
    verify: async (stored, password, from) => {
      const matches = await queue.push(from, () => threads.verify(stored ?? nobodysHash, password));
      return matches && stored !== null;
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
    load: () => {
      const { started, waiting } = queue.load();
      const running = Math.min(started, concurrency);
      return { running, waiting: waiting + started - running };
    },
    close: threads.close,
  };
}
