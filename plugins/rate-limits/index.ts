import type { Config } from '../../schemas/config.js';
import { definePlugin } from '../platform/plugin.js';
import { type Counters, createCounters, createMemoryCounters, createSharedCounters } from './counters.js';
import { createExportQueue, type ExportQueue } from './export-queue.js';
import { createRateLimits, type RateLimits, type Rules } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    rateLimits: RateLimits;
    /** Counts what the limits are about, for all instances if they share Redis. */
    counters: Counters;
    exportQueue: ExportQueue;
  }
}

/** `app.rateLimits`, and `app.exportQueue` for work that reads a lot of data. */
export const rateLimitsPlugin = definePlugin('rate-limits', ({ config, clock, redis, observe }) => {
  const counters = createCounters(redis && createSharedCounters(redis, observe), createMemoryCounters(clock));
  const rateLimits = createRateLimits({ count: counters, clock, rules: rulesOf(config) });
  return { counters, rateLimits, exportQueue: createExportQueue() };
});

const minute = 60_000;

/** All limits except the one on requests, whose numbers are in the configuration. */
const rulesOf = (config: Config): Rules => ({
  routes: {
    registration: config.RATE_LIMITER_REGISTRATION_ENABLED ? { points: 5, window: minute } : null,
    'password check': config.RATE_LIMITER_ENABLED ? { points: 60, window: minute } : null,
    export: config.RATE_LIMITER_ENABLED ? { points: 10, window: minute } : null,
    'list export': config.RATE_LIMITER_ENABLED ? { points: 10, window: minute } : null,
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
