import type { Clock } from '../clock.js';

/** A lock that an attempt has run into. */
export interface MetLock {
  /** Milliseconds since 1970. */
  until: number;
  limit: number;
}

export interface MetLocks {
  note(key: string, lock: MetLock): void;
  find(key: string): MetLock | undefined;
  forget(key: string): void;
}

const rememberedFor = 1_000;
const capacity = 10_000;

/**
 * Locks met in the last second, so that a flood of guesses does not become a flood of questions to the database. No longer
 * than that: a lock may be lifted by another instance.
 */
export function createMetLocks(clock: Clock): MetLocks {
  const met = new Map<string, MetLock & { stale: number }>();

  return {
    note: (key, lock) => {
      met.delete(key);
      met.set(key, { ...lock, stale: Math.min(clock().getTime() + rememberedFor, lock.until) });
      const [oldest] = met.keys();
      if (met.size > capacity && oldest !== undefined) met.delete(oldest);
    },
    find: (key) => {
      const lock = met.get(key);
      if (!lock || clock().getTime() < lock.stale) return lock;
      met.delete(key);
      return undefined;
    },
    forget: (key) => void met.delete(key),
  };
}
