import { ApiError } from '../../schemas/errors.js';

/**
 * Creates REQUESTS_EXCEEDED, with the time of the next allowed request.
 * @param limit how many requests are allowed
 * @param wait milliseconds until the next one is allowed
 */
export function requestsExceeded(limit: number, wait: number, now: Date): ApiError {
  const waitMs = Math.max(wait, 1);
  const reset = new Date(now.getTime() + waitMs).toISOString();
  return new ApiError('REQUESTS_EXCEEDED', { limit, reset }, Math.ceil(waitMs / 1_000));
}
