import type { Clock } from '../../platform/clock.js';

/** A lock that caused an attempt to be rejected. */
export interface CachedLock {
  /** Milliseconds since 1970. */
  until: number;
  limit: number;
}

export interface LockoutCache {
  note(key: string, lock: CachedLock): void;
  find(key: string): CachedLock | undefined;
  forget(key: string): void;
  forgetAll(): void;
}

const rememberedFor = 1_000;
const capacity = 10_000;

/**
 * Remembers for a second which locks rejected an attempt, so that a flood of guesses does not become a flood of database
 * queries. It does not remember them for longer, because another instance may end a lock.
 */
export function createLockoutCache(clock: Clock): LockoutCache {
  const locks = new Map<string, CachedLock & { stale: number }>();

  return {
    note: (key, lock) => {
      locks.delete(key);
      locks.set(key, { ...lock, stale: Math.min(clock().getTime() + rememberedFor, lock.until) });
      const [oldest] = locks.keys();
      if (locks.size > capacity && oldest !== undefined) locks.delete(oldest);
    },
    find: (key) => {
      const lock = locks.get(key);
      const now = clock().getTime();
      // An entry that would be remembered for longer was created while the clock was ahead.
      if (!lock || (now < lock.stale && lock.stale <= now + rememberedFor)) return lock;
      locks.delete(key);
      return undefined;
    },
    forget: (key) => void locks.delete(key),
    forgetAll: () => locks.clear(),
  };
}
