import type { Executor } from '../../db/client.js';
import { administratorsAmong } from '../../db/queries/administrators.js';
import { findPrincipalsByUsers, findPublicPolicies } from '../../db/queries/principals.js';
import type { Key } from '../../db/queries/writes.js';
import { ApiError } from '../../schemas/errors.js';
import { hasMoreRights } from './compare-rights.js';
import type { Caller } from './service.js';
import { variablesOf } from './view.js';

/** @throws {ApiError} FORBIDDEN when one of these users is an administrator */
export async function requireNoAdministrator(tx: Executor, keys: readonly Key[]): Promise<void> {
  if (keys.length === 0) return;
  const administrators = await administratorsAmong(tx, keys);
  if (administrators.size > 0)
    throw new ApiError('FORBIDDEN', { reason: 'Only an administrator may change an administrator' });
}

/**
 * Who gives access to an account gives the rights of it, so they must have those rights themselves (contract 5).
 * @param caller no administrator: they may anyway
 * @throws {ApiError} FORBIDDEN
 */
export async function requireRightsOver(
  tx: Executor,
  caller: Caller,
  keys: ReadonlySet<Key>,
  now: Date,
): Promise<void> {
  if (keys.size === 0) return;
  await requireNoAdministrator(tx, [...keys]);
  const everybody = await findPublicPolicies(tx);
  const own = { policies: [...caller.policies, ...everybody], variables: variablesOf(caller, now) };
  for (const { id, role, roles, policies } of await findPrincipalsByUsers(tx, [...keys].map(String))) {
    const variables = { now, user: id, role, roles, policies: policies.map((policy) => policy.id) };
    if (!hasMoreRights({ policies, variables }, own)) continue;
    throw new ApiError('FORBIDDEN', { reason: 'You may not give access to a user who has rights that you lack' });
  }
}
