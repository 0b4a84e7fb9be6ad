import type { Executor } from '../../../db/client.js';
import { sessionExists } from '../../../db/queries/auth/sessions.js';
import { ApiError } from '../../../schemas/errors.js';
import type { Principal } from '../../server/caller.js';

/**
 * Requires that the caller's session still exists, for changes to the caller's own credentials: a password reset may have ended
 * the session after the request was authenticated.
 * @param tx a transaction that has locked the caller's row, so that nothing can end the session before the commit
 * @throws {ApiError} INVALID_CREDENTIALS
 */
export async function requireLiveSession(tx: Executor, { userId, sessionId }: Principal): Promise<void> {
  if (sessionId !== null && !(await sessionExists(tx, sessionId))) {
    throw new ApiError('INVALID_CREDENTIALS').concerning(userId);
  }
}
