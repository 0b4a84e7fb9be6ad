import rateLimit, { type FastifyRateLimitStoreCtor } from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';
import { networkOf } from '../http/caller.js';
import { addRouteHook } from '../http/route-hooks.js';
import { definePlugin } from '../platform/plugin.js';
import type { Counters } from './counters.js';
import { requestsExceeded } from './requests-exceeded.js';
import type { RateClass } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    /** Counts a request against the limit of its address. @throws {ApiError} REQUESTS_EXCEEDED */
    enforceRequestLimit(request: FastifyRequest): Promise<void>;
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route has its own limit, for each user if it requires one, otherwise for each address. Valid requests count toward it. */
    rateClass?: RateClass;
  }
}

/** Counts every request against the limit of its address, before any other processing. */
export const requestLimitsPlugin = definePlugin('rate-limits/requests', async (services, app) => {
  const { config, clock, rateLimits, counters } = services;
  await app.register(rateLimit, {
    // Not with hooks of routes: unknown routes have none, and for other routes, the credential would be looked up first.
    global: false,
    max: config.RATE_LIMITER_POINTS,
    timeWindow: config.RATE_LIMITER_DURATION * 1_000,
    // Not `request.client`, because a request with a malformed URL is counted too, and no hook has run for it.
    keyGenerator: networkOf,
    store: storeOver(counters),
  });
  const limit = app.createRateLimit();
  const enforceRequestLimit = async (request: FastifyRequest) => {
    if (!config.RATE_LIMITER_ENABLED) return;
    const counted = await limit(request);
    if (!counted.isAllowed && counted.isExceeded) throw requestsExceeded(counted.max, counted.ttl, clock());
  };
  app.addHook('onRoute', (route) => {
    const { rateClass } = route.config ?? {};
    if (!rateClass) return;
    const requireWithin = async (request: FastifyRequest) => {
      const isPerUser = route.config?.access === 'authenticated';
      return rateLimits.enforceRateLimit(rateClass, isPerUser ? request.currentUser.userId : request.client.network);
    };
    addRouteHook(route, 'preHandler', requireWithin);
  });
  app.addHook('onRequest', async (request) => {
    if (!isProbe(request)) await enforceRequestLimit(request);
  });
  return { enforceRequestLimit };
});

const uncounted = new Set(['/server/ping', '/server/health', '/.well-known/jwks.json']);

/**
 * Whether this is a request from a load balancer, or from a service that verifies tokens. These need a response even if all requests
 * seem to come from one address. A response is as cheap as an error, unless the request has a credential that the service must look up.
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
