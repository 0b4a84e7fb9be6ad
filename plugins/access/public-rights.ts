import type { Executor } from '../../db/client.js';
import { excessiveSettings } from '../../db/queries/access/administrators.js';
import { ApiError } from '../../schemas/errors.js';

/**
 * To be called after a change of the settings, a role or a policy. The change must hold the lock of `lockAdministrators`, so that of two
 * changes at the same time the later one sees the other.
 * @throws {ApiError} UNPROCESSABLE_CONTENT when everyone, or anyone who registers, has more rights than is safe
 */
export async function requireHarmlessSettings(tx: Executor): Promise<void> {
  const { publicPolicy, registrationRole } = await excessiveSettings(tx);
  if (publicPolicy) {
    throw new ApiError('UNPROCESSABLE_CONTENT', { reason: 'public_policy must not grant admin_access or app_access' });
  }
  if (registrationRole) {
    const reason =
      'public_registration_role must not lead to admin_access, by its own policies or those of its parents';
    throw new ApiError('UNPROCESSABLE_CONTENT', { reason });
  }
}
