import { hash, parseOptions } from '@node-rs/argon2';
import fastq from 'fastq';
import { ApiError } from '../../schemas/errors.js';
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
  /** An Argon2id hash in PHC string format. */
  hash(password: string): Promise<string>;
  /** Hashes of many passwords, in order; they take their turn with others', so that a large batch shuts nobody out. */
  hashMany(passwords: readonly string[]): Promise<string[]>;
  /**
   * Checks a password. With no hash to check against it does the same work and says no, so that the time tells nothing;
   * a hash that cannot be read matches nothing.
   * @param stored PHC string, or null when there is none
   */
  verify(stored: string | null, password: string): Promise<boolean>;
  /** Whether a hash was made with other parameters than those in force. */
  isOutdated(stored: string): boolean;
  /**
   * Sends away at once who would be sent away when their turn came: a flood is to cost next to nothing.
   * @throws {ApiError} SERVICE_UNAVAILABLE when the queue is full
   */
  requireRoom(): void;
  /** Hashes under way and waiting. */
  load(): { running: number; waiting: number };
  close(): Promise<void>;
}

/**
 * Hashing is the one thing here that costs real work. It runs on threads of its own, a bounded number at once and a
 * bounded number waiting, so that a burst of logins neither starves other requests nor fills the memory.
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
  const queue = fastq.promise((task: () => Promise<unknown>) => task(), threads.room);

  const load = () => {
    const taken = queue.running();
    const running = Math.min(taken, concurrency);
    return { running, waiting: queue.length() + taken - running };
  };

  const requireRoom = () => {
    if (load().waiting < capacity) return;
    throw new ApiError('SERVICE_UNAVAILABLE', { service: 'passwords', reason: 'Too many logins at once.' });
  };

  const run = <T>(task: () => Promise<T>): Promise<T> => {
    requireRoom();
    return queue.push(task) as Promise<T>;
  };

  // Not by the threads, which are for when there is more to do.
  const nobodysHash = await hash('nobody’s password', parameters);

  return {
    hash: async (password) => run(() => threads.hash(password)),
    hashMany: async (passwords) => {
      const hashes: string[] = [];
      let next = 0;
      const lane = async () => {
        for (let index = next++; index < passwords.length; index = next++) {
          hashes[index] = await run(() => threads.hash(passwords[index] as string));
        }
      };
      // As many at a time as the threads take, and half of the queue at the most: the rest stays free for others.
      const lanes = Math.min(threads.room, concurrency + Math.floor(capacity / 2));
      try {
        await Promise.all(Array.from({ length: lanes }, lane));
      } finally {
        // After a failure no lane goes on.
        next = passwords.length;
      }
      return hashes;
    },
    verify: async (stored, password) => {
      const matches = await run(() => threads.verify(stored ?? nobodysHash, password));
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
    requireRoom,
    load,
    close: threads.close,
  };
}
