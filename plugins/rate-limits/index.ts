import rateLimit, { type FastifyRateLimitStoreCtor } from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import type { Config } from '../../schemas/config.js';
import { networkOf } from '../http/caller.js';
import { addRouteHook } from '../http/route-hooks.js';
import { type Counters, createCounters, createMemoryCounters, createSharedCounters } from './counters.js';
import { requestsExceeded } from './requests-exceeded.js';
import { createRateLimits, type RateClass, type RateLimits, type Rules } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    rateLimits: RateLimits;
    /** Counts a request against the limit of its address. @throws {ApiError} REQUESTS_EXCEEDED */
    enforceRequestLimit(request: FastifyRequest): Promise<void>;
  }
  interface FastifyContextConfig {
    /** The route has its own limit, for each user if it requires one, otherwise for each address. Valid requests count toward it. */
    rateClass?: RateClass;
  }
}

/** `app.rateLimits`. Also counts every request against the limit of its address, before any other processing. */
export const rateLimitsPlugin = plugin(
  async (app) => {
    const { config, clock, redis, observe } = app;
    const count = createCounters(redis && createSharedCounters(redis, observe), createMemoryCounters(clock));
    app.decorate('rateLimits', createRateLimits({ count, clock, rules: rulesOf(config) }));

    await app.register(rateLimit, {
      // Not with hooks of routes: unknown routes have none, and for other routes, the credential would be looked up first.
      global: false,
      max: config.RATE_LIMITER_POINTS,
      timeWindow: config.RATE_LIMITER_DURATION * 1_000,
      // Not `request.client`, because a request with a malformed URL is counted too, and no hook has run for it.
      keyGenerator: networkOf,
      store: storeOver(count),
    });
    const limit = app.createRateLimit();
    app.decorate('enforceRequestLimit', async (request) => {
      if (!config.RATE_LIMITER_ENABLED) return;
      const counted = await limit(request);
      if (!counted.isAllowed && counted.isExceeded) throw requestsExceeded(counted.max, counted.ttl, clock());
    });
    app.addHook('onRoute', (route) => {
      const { rateClass } = route.config ?? {};
      if (!rateClass) return;
      const requireWithin = async (request: FastifyRequest) => {
        const isPerUser = route.config?.access === 'authenticated';
        return app.rateLimits.enforceRateLimit(
          rateClass,
          isPerUser ? request.currentUser.userId : request.client.network,
        );
      };
      addRouteHook(route, 'preHandler', requireWithin);
    });
    app.addHook('onRequest', async (request) => {
      if (!isProbe(request)) await app.enforceRequestLimit(request);
    });
  },
  { name: 'rate-limits', dependencies: ['config', 'clock', 'client', 'redis', 'tracing'] },
);

const minute = 60_000;

/** All limits except the one on requests, whose numbers are in the configuration. */
const rulesOf = (config: Config): Rules => ({
  routes: {
    registration: config.RATE_LIMITER_REGISTRATION_ENABLED ? { points: 5, window: minute } : null,
    'password check': config.RATE_LIMITER_ENABLED ? { points: 60, window: minute } : null,
    export: config.RATE_LIMITER_ENABLED ? { points: 10, window: minute } : null,
    reference: config.RATE_LIMITER_ENABLED ? { points: 120, window: minute } : null,
  },
  addressLogins: config.RATE_LIMITER_ENABLED ? { points: 300, window: 15 * minute } : null,
  mails: config.RATE_LIMITER_MAIL_ENABLED
    ? {
        requests: { points: 300, window: 15 * minute },
        fromNetwork: { points: 30, window: 15 * minute },
        toMailbox: { points: 5, window: 15 * minute },
      }
    : null,
  notices: config.RATE_LIMITER_MAIL_ENABLED ? { points: 20, window: 15 * minute } : null,
  alerts: { points: 1, window: 60 * minute },
  recordedRefusals: config.RATE_LIMITER_ENABLED ? { points: 300, window: 15 * minute } : null,
});

const uncounted = new Set(['/server/ping', '/server/health', '/.well-known/jwks.json']);

/**
 * Whether this is a request from a load balancer, or from a service that verifies tokens. These need a response even if all requests
 * seem to come from one address. They cost no more than a refusal, unless they have a credential, which must be looked up.
 */
function isProbe({ method, url, headers }: FastifyRequest): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  const isPlain = headers.authorization === undefined && headers.cookie === undefined;
  return isRead && isPlain && uncounted.has(url);
}

/** Adapts the counters to the store interface of the library. */
const storeOver = (count: Counters): FastifyRateLimitStoreCtor =>
  class Store {
    incr(key: string, done: (error: Error | null, result?: { current: number; ttl: number }) => void, window: number) {
      count('requests', key, window).then((result) => done(null, result), done);
    }
    child() {
      return this;
    }
  };
