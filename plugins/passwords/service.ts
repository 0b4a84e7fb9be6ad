import { hash, parseOptions, verify } from '@node-rs/argon2';
import fastq from 'fastq';
import { ApiError } from '../../schemas/errors.js';

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
}

/**
 * Hashing is the one thing here that costs real work. It runs on the threads of libuv, a bounded number at once and a
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
  const queue = fastq.promise((task: () => Promise<unknown>) => task(), concurrency);

  const requireRoom = () => {
    if (queue.length() < capacity) return;
    throw new ApiError('SERVICE_UNAVAILABLE', { service: 'passwords', reason: 'Too many logins at once.' });
  };

  const run = <T>(task: () => Promise<T>): Promise<T> => {
    requireRoom();
    return queue.push(task) as Promise<T>;
  };

  const nobodysHash = await hash('nobody’s password', parameters);

  return {
    hash: async (password) => run(() => hash(password, parameters)),
    hashMany: async (passwords) => {
      const hashes: string[] = [];
      // As many at a time as run at once: the rest of the queue stays free for others.
      for (let start = 0; start < passwords.length; start += concurrency) {
        const batch = passwords.slice(start, start + concurrency);
        hashes.push(...(await Promise.all(batch.map((password) => run(() => hash(password, parameters))))));
      }
      return hashes;
    },
    verify: async (stored, password) => {
      const matches = await run(() => verify(stored ?? nobodysHash, password).catch(() => false));
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
    load: () => ({ running: queue.running(), waiting: queue.length() }),
  };
}
