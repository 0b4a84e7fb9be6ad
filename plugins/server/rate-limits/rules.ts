import type { Config } from '../../../schemas/config.js';
import type { Rules } from './service.js';

const minute = 60_000;

/** All limits except the one on requests, whose numbers are in the configuration. */
export const rulesOf = (config: Config): Rules => ({
  registrations: config.RATE_LIMITER_REGISTRATION_ENABLED ? { points: 5, window: minute } : null,
  passwordChecks: config.RATE_LIMITER_ENABLED ? { points: 60, window: minute } : null,
  addressLogins: config.RATE_LIMITER_ENABLED ? { points: 300, window: 15 * minute } : null,
  mails: config.RATE_LIMITER_MAIL_ENABLED
    ? {
        requests: { points: 300, window: 15 * minute },
        fromNetwork: { points: 30, window: 15 * minute },
        toMailbox: { points: 5, window: 15 * minute },
      }
    : null,
  notices: config.RATE_LIMITER_MAIL_ENABLED ? { points: 20, window: 15 * minute } : null,
  recordedRefusals: config.RATE_LIMITER_ENABLED ? { points: 300, window: 15 * minute } : null,
});
