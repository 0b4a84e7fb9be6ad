import { ApiError } from '../../schemas/errors.js';

/**
 * REQUESTS_EXCEEDED, with the word when to come again.
 * @param limit how many were allowed
 * @param wait milliseconds until the next one is
 */
export function requestsExceeded(limit: number, wait: number, now: Date): ApiError {
  const patience = Math.max(wait, 1);
  const reset = new Date(now.getTime() + patience).toISOString();
  return new ApiError('REQUESTS_EXCEEDED', { limit, reset }, Math.ceil(patience / 1_000));
}
