import type { Executor } from '../../db/client.js';
import { findStoredAddress } from '../../db/queries/sessions/logins.js';
import { readEmail } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';

/** Text that can be in the database. */
const isStorable = (text: string): boolean => /^[^\p{Cc}]+$/u.test(text) && text.isWellFormed();

/**
 * The address under which a user signs in. An address that is stored in another form than the service would store today, because
 * an earlier version accepted it or it was imported, works exactly as it is stored. Only for such addresses does the response depend
 * on whether they are stored.
 * @throws {ApiError} INVALID_PAYLOAD if the address is refused and not stored
 */
export async function addressToSignIn(db: Executor, given: string): Promise<string> {
  const read = readEmail(given);
  if ('email' in read && read.email === given) return given;
  const stored = isStorable(given) ? await findStoredAddress(db, given) : undefined;
  if (stored !== undefined) return stored;
  if ('fault' in read) throw new ApiError('INVALID_PAYLOAD', { reason: `email: ${read.fault}` });
  return read.email;
}
