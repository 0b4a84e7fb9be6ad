import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { definePlugin } from './plugin.js';

declare module './plugin.js' {
  interface Services {
    /** Null without REDIS_URL. A command without a response fails after a timeout. Commands never wait for a connection. */
    redis: Redis | null;
  }
}

/** Milliseconds. Callers that cannot wait this long need their own timeout. */
const commandTimeout = 1_000;
const connectTimeout = 2_000;
/** Milliseconds without a response after which the connection is replaced. */
const socketTimeout = 2_000;
const maxPauseMs = 2_000;
/** Milliseconds that startup waits for Redis, which may become available in a moment. */
const startTimeoutMs = 1_000;

/** `app.redis`: the client, which reconnects automatically. No feature may require Redis, because it can be unavailable at any time. */
export const redisPlugin = definePlugin('platform/redis', async ({ config }, app) => {
  const { REDIS_URL } = config;
  if (REDIS_URL === undefined) return { redis: null };
  const { Redis: Client } = await import('ioredis');
  const redis = new Client(REDIS_URL, {
    lazyConnect: true,
    // RESP2, which every version of Redis supports, and which is sufficient here.
    protocol: 2,
    disableClientInfo: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout,
    connectTimeout,
    socketTimeout,
    retryStrategy: (times) => Math.min(100 * times, maxPauseMs),
  });
  let isLost = false;
  // Emitted for every attempt, but logged only once. The URL contains a password, but the error message does not.
  redis.on('error', (error: Error) => {
    if (!isLost)
      app.log.warn({ reason: error.message }, 'Redis is unavailable: each instance counts requests separately');
    isLost = true;
  });
  redis.on('ready', () => {
    if (isLost) app.log.info('Redis is available again');
    isLost = false;
  });
  app.addHook('onClose', async () => redis.disconnect());
  await Promise.race([redis.connect().catch(() => {}), sleep(startTimeoutMs)]);
  return { redis };
});
