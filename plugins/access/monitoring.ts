import { createHash, timingSafeEqual } from 'node:crypto';
import { unavailable } from '../../schemas/errors.js';
import type { Client, Principal } from '../http/caller.js';
import { toApiError } from '../http/errors.js';
import type { Services } from '../platform/plugin.js';
import { within } from '../platform/within.js';

/** The caller of a monitoring route, and how the service identified them. */
export interface MonitoringCaller {
  principal: Principal | null;
  /** Set if the caller may see all details, but was not looked up in the database. */
  monitor: 'metrics token' | 'administrator' | null;
}

/** Milliseconds that a route for monitoring waits for the database. */
const maxWait = 1_000;
const tooLate = () => unavailable('database_timeout');

/**
 * Identifies the callers of monitoring routes. These routes must work when the database does not, so they accept METRICS_TOKEN and,
 * while a caller's rights cannot be read, the rights in the caller's signed access token.
 */
export function createMonitoring({ config, access, accessTokens }: Services) {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const wanted = config.METRICS_TOKEN === undefined ? undefined : digest(config.METRICS_TOKEN);
  const isMetricsToken = (token: string) => wanted !== undefined && timingSafeEqual(digest(token), wanted);

  const wasAdministrator = async (token: string) => (await accessTokens.verify(token))?.admin_access === true;

  return {
    isMetricsToken,

    /** @throws {ApiError} what `authenticate` throws; SERVICE_UNAVAILABLE */
    identify: async (tokens: readonly string[], client: Client): Promise<MonitoringCaller> => {
      const [token = ''] = tokens;
      if (isMetricsToken(token)) return { principal: null, monitor: 'metrics token' };
      try {
        const principal = await within(maxWait, access.authenticate(tokens, client), tooLate);
        return { principal, monitor: null };
      } catch (error) {
        if (toApiError(error).code !== 'SERVICE_UNAVAILABLE') throw error;
        if (await within(maxWait, wasAdministrator(token), tooLate))
          return { principal: null, monitor: 'administrator' };
        throw error;
      }
    },
  };
}
