import type { Redis } from 'ioredis';
import type { Clock } from '../platform/clock.js';
import { type Observe, redisCommandOf } from '../platform/traced-operations.js';

/** How often something has happened in the current window, including this time, and the milliseconds until the window ends. */
export interface Count {
  current: number;
  ttl: number;
}

/**
 * Increments a counter. The window of a key starts with its first count, and ends after `window` milliseconds.
 * @param kind each kind has its own capacity, so that a flood of one kind does not evict the counts of another
 */
export type Counters = (kind: string, key: string, window: number) => Promise<Count>;

/** Counts in memory. If a kind has more keys than `capacity`, the least recently counted ones are dropped. */
export function createMemoryCounters(clock: Clock, capacity = 20_000): Counters {
  const kinds = new Map<string, Map<string, { current: number; end: number }>>();

  return async (kind, key, window) => {
    const now = clock().getTime();
    const counts = kinds.get(kind) ?? new Map<string, { current: number; end: number }>();
    kinds.set(kind, counts);
    const found = counts.get(key);
    // If the end is too far in the future, the clock has been set back since.
    const isRunning = found !== undefined && found.end > now && found.end <= now + window;
    const count = { current: (isRunning ? found.current : 0) + 1, end: isRunning ? found.end : now + window };
    counts.delete(key);
    counts.set(key, count);
    // Checks the two oldest entries on each count, so that expired entries are removed over time.
    for (const [oldest, { end }] of [...take(counts, 2)]) {
      if (end <= now || counts.size > capacity) counts.delete(oldest);
    }
    return { current: count.current, ttl: count.end - now };
  };
}

function* take<T>(items: Iterable<T>, amount: number): Generator<T> {
  let left = amount;
  for (const item of items) {
    if (left-- === 0) return;
    yield item;
  }
}

/** Sets an expiry if a key has none or one too far in the future, so that a stale key in Redis cannot lock out a client for good. */
const script = `
  local current = redis.call('INCR', KEYS[1])
  local ttl = redis.call('PTTL', KEYS[1])
  local window = tonumber(ARGV[1])
  if ttl < 0 or ttl > window then
    redis.call('PEXPIRE', KEYS[1], window)
    ttl = window
  end
  return { current, ttl }`;

/** Milliseconds. Longer than a response takes on a local network, but too short for users to notice. */
const redisTimeoutMs = 150;

/** Counts in Redis, for all instances together. */
export function createSharedCounters(redis: Redis, observe: Observe): Counters {
  return async (kind, key, window) => {
    const ask = () => redis.eval(script, 1, `gatehouse:limit:${kind}:${key}`, window) as Promise<[number, number]>;
    const [current, ttl] = await observe(evaluation, () => withTimeout(ask()));
    return { current, ttl };
  };
}

const evaluation = redisCommandOf('EVAL');

/** Rejects if a response takes too long. A response that has arrived, but was not read because this process was busy, is accepted. */
function withTimeout<T>(answer: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    // Immediates run after the data that has arrived is read.
    const timer = setTimeout(() => setImmediate(() => reject(new Error('Redis is too slow.'))), redisTimeoutMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Milliseconds for which Redis is not used after a failure. Then, a single request tries it again. */
const pause = 1_000;

/**
 * Counts in Redis, or in memory while Redis is unavailable, slow or full. A failure of Redis therefore neither disables a limit
 * nor locks out clients, and no request waits for longer than one command may take.
 */
export function createCounters(shared: Counters | null, own: Counters): Counters {
  if (shared === null) return own;
  let isDown = false;
  let nextTry = 0;

  return async (kind, key, window) => {
    if (isDown) {
      if (performance.now() < nextTry) return own(kind, key, window);
      nextTry = performance.now() + pause;
    }
    try {
      const count = await shared(kind, key, window);
      isDown = false;
      return count;
    } catch (error) {
      // An error reply arrives quickly and may concern only this key, so Redis remains in use.
      if (!(error instanceof Error && error.name === 'ReplyError')) {
        isDown = true;
        nextTry = performance.now() + pause;
      }
      return own(kind, key, window);
    }
  };
}
