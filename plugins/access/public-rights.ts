import type { Executor } from '../../db/client.js';
import { excessiveSettings, rolesWithAdminAccess } from '../../db/queries/access/administrators.js';
import { ApiError } from '../../schemas/errors.js';

/**
 * Checks the rights that the settings give to anonymous callers and to newly registered users. Call it after a change to the
 * settings, a role or a policy. The change must hold the lock of `lockAdministrators`, so that the later of two concurrent changes
 * sees the earlier one.
 * @throws {ApiError} UNPROCESSABLE_CONTENT when the public policy or the registration role grants more rights than is safe
 */
export async function requireSafeSettings(tx: Executor): Promise<void> {
  const { publicPolicy, registrationRole } = await excessiveSettings(tx);
  if (publicPolicy) {
    throw new ApiError('UNPROCESSABLE_CONTENT', { reason: 'public_policy must not grant admin_access or app_access' });
  }
  if (registrationRole) {
    const reason =
      'public_registration_role must not grant admin_access, through its own policies or those of its parents';
    throw new ApiError('UNPROCESSABLE_CONTENT', { reason });
  }
}

/**
 * Checks that a change to a role or a policy does not give administrator access to everyone who registers through a provider. The
 * change must hold the lock of `lockAdministrators`.
 * @param openRoles the roles that users get when they register through a provider
 * @returns a check to run after the write. If a role now grants admin access that it did not grant before, it throws {ApiError}
 *   UNPROCESSABLE_CONTENT
 */
export async function providerRolesCheck(tx: Executor, openRoles: readonly string[]): Promise<() => Promise<void>> {
  const before = await rolesWithAdminAccess(tx, openRoles);
  return async () => {
    const after = await rolesWithAdminAccess(tx, openRoles);
    if ([...after].every((role) => before.has(role))) return;
    const reason =
      'The DEFAULT_ROLE_ID of a provider with ALLOW_PUBLIC_REGISTRATION must not grant admin_access, through its own policies or those of its parents';
    throw new ApiError('UNPROCESSABLE_CONTENT', { reason });
  };
}
