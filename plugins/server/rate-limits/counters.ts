import type { Redis } from 'ioredis';
import type { Clock } from '../../platform/clock.js';
import { type Observe, redisCommandOf } from '../../platform/traced-operations.js';

/** How often something has happened in the present window, this time included, and how many milliseconds are left of it. */
export interface Count {
  current: number;
  ttl: number;
}

/**
 * Counts one more of a kind. The window of a key begins with the first, and ends after `window` milliseconds.
 * @param kind each has room of its own, so that no flood of one kind makes another be forgotten
 */
export type Counters = (kind: string, key: string, window: number) => Promise<Count>;

/** Counts in memory: the least recently counted keys are forgotten when there are more of a kind than `capacity`. */
export function createOwnCounters(clock: Clock, capacity = 20_000): Counters {
  const kinds = new Map<string, Map<string, { current: number; end: number }>>();

  return async (kind, key, window) => {
    const now = clock().getTime();
    const counts = kinds.get(kind) ?? new Map<string, { current: number; end: number }>();
    kinds.set(kind, counts);
    const found = counts.get(key);
    // An end too far away was reckoned by a clock that has been set back since.
    const isRunning = found !== undefined && found.end > now && found.end <= now + window;
    const count = { current: (isRunning ? found.current : 0) + 1, end: isRunning ? found.end : now + window };
    counts.delete(key);
    counts.set(key, count);
    // Two are looked at for each that comes, so that what has ended does not stay.
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

/** A count without an end, or with one too far away, gets one: nobody is shut out for good by what stands in Redis. */
const script = `
  local current = redis.call('INCR', KEYS[1])
  local ttl = redis.call('PTTL', KEYS[1])
  local window = tonumber(ARGV[1])
  if ttl < 0 or ttl > window then
    redis.call('PEXPIRE', KEYS[1], window)
    ttl = window
  end
  return { current, ttl }`;

/** Milliseconds. Longer than an answer takes in a network of one's own, too short for people to notice. */
const patience = 150;

/** Counts in Redis, for all instances together. */
export function createSharedCounters(redis: Redis, observe: Observe): Counters {
  return async (kind, key, window) => {
    const ask = () => redis.eval(script, 1, `gatehouse:limit:${kind}:${key}`, window) as Promise<[number, number]>;
    const [current, ttl] = await observe(evaluation, () => withPatience(ask()));
    return { current, ttl };
  };
}

const evaluation = redisCommandOf('EVAL');

/** Fails when an answer is too long in coming. One that has come, and was not read because this process was busy, counts. */
function withPatience<T>(answer: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    // Immediates come after what has arrived was read.
    const timer = setTimeout(() => setImmediate(() => reject(new Error('Redis is too slow.'))), patience);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** For so many milliseconds after it failed to answer Redis is left alone; then a single request tries it. */
const pause = 1_000;

/**
 * Counts in Redis, and by itself while Redis is away, slow or full: so that nobody gets past a limit by that, nor is shut
 * out, nor waits for longer than one command may take.
 */
export function createCounters(shared: Counters | null, own: Counters): Counters {
  if (shared === null) return own;
  let isAway = false;
  let nextTry = 0;

  return async (kind, key, window) => {
    if (isAway) {
      if (performance.now() < nextTry) return own(kind, key, window);
      nextTry = performance.now() + pause;
    }
    try {
      const count = await shared(kind, key, window);
      isAway = false;
      return count;
    } catch (error) {
      // An answer that says no, to this one key perhaps, costs no time.
      if (!(error instanceof Error && error.name === 'ReplyError')) {
        isAway = true;
        nextTry = performance.now() + pause;
      }
      return own(kind, key, window);
    }
  };
}
