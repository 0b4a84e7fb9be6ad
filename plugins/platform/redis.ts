import { setTimeout as sleep } from 'node:timers/promises';
import plugin from 'fastify-plugin';
import { Redis } from 'ioredis';

declare module 'fastify' {
  interface FastifyInstance {
    /** Null without REDIS_URL. A command that is not answered fails in the end, and none waits for a connection. */
    redis: Redis | null;
  }
}

/** Milliseconds. Who cannot wait for so long has to see to it. */
const commandTimeout = 1_000;
const connectTimeout = 2_000;
/** After so long without an answer the connection is given up for a new one. */
const socketTimeout = 2_000;
const longestPause = 2_000;
/** What a start waits at the most for a Redis that may be there in a moment. */
const startPatience = 1_000;

/** `app.redis`: connected, and connected anew whenever it is lost. Nothing may depend on it: it can be away at any time. */
export const redisPlugin = plugin(
  async (app) => {
    const { REDIS_URL } = app.config;
    if (REDIS_URL === undefined) {
      app.decorate('redis', null);
      return;
    }
    const redis = new Redis(REDIS_URL, {
      lazyConnect: true,
      // Every Redis speaks it, and nothing here needs more.
      protocol: 2,
      disableClientInfo: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout,
      connectTimeout,
      socketTimeout,
      retryStrategy: (times) => Math.min(100 * times, longestPause),
    });
    let isLost = false;
    // Comes with every attempt: once is enough. The URL has a password in it, the message of the error has not.
    redis.on('error', (error: Error) => {
      if (!isLost) app.log.warn({ reason: error.message }, 'Redis is away: each instance counts by itself');
      isLost = true;
    });
    redis.on('ready', () => {
      if (isLost) app.log.info('Redis is back');
      isLost = false;
    });
    app.decorate('redis', redis);
    app.addHook('onClose', async () => redis.disconnect());
    await Promise.race([redis.connect().catch(() => {}), sleep(startPatience)]);
  },
  { name: 'redis', dependencies: ['config'] },
);
