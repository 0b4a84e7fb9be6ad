import type { Clock } from '../../platform/clock.js';

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
  forgetAll(): void;
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
      const now = clock().getTime();
      // One that would be remembered for longer was met while the clock was ahead.
      if (!lock || (now < lock.stale && lock.stale <= now + rememberedFor)) return lock;
      met.delete(key);
      return undefined;
    },
    forget: (key) => void met.delete(key),
    forgetAll: () => met.clear(),
  };
}
