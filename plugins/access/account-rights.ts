import type { Executor } from '../../db/client.js';
import { administratorsAmong } from '../../db/queries/access/administrators.js';
import { findPrincipalsAmong, findPublicPolicies, type PrincipalRecord } from '../../db/queries/access/principals.js';
import type { Key } from '../../db/queries/items/writes.js';
import { ApiError } from '../../schemas/errors.js';
import type { Caller } from '../http/caller.js';
import { hasMoreRights } from './compare-rights.js';
import { variablesOf } from './view.js';

const openStatuses = new Set<unknown>(['active', 'invited', 'unverified']);

/**
 * Whether a change can give access to the account: it sets a credential, an address that receives the account's links, or a status
 * in which the account can be used or activated through a link. A caller who makes such a change must have all the rights of the
 * account.
 */
export const grantsAccountAccess = ({ password, email, token, status }: Record<string, unknown>): boolean =>
  password !== undefined || email !== undefined || token !== undefined || openStatuses.has(status);

/** @throws {ApiError} FORBIDDEN when one of these users is an administrator */
export async function requireNoAdministrator(tx: Executor, keys: readonly Key[]): Promise<void> {
  if (keys.length === 0) return;
  const administrators = await administratorsAmong(tx, keys);
  if (administrators.size > 0)
    throw new ApiError('FORBIDDEN', { reason: 'Only an administrator can change an administrator' });
}

/**
 * Requires that the caller has all the current rights of these users. Call it before the first row is written. Rights that a change
 * adds to these users must be compared separately, before or after the change.
 * @param caller not an administrator, because administrators have all rights
 * @throws {ApiError} FORBIDDEN
 */
export async function requireRightsOverUsers(
  tx: Executor,
  caller: Caller,
  keys: ReadonlySet<Key>,
  now: Date,
): Promise<void> {
  if (keys.size === 0) return;
  await requireRightsOverPrincipals(tx, caller, await findPrincipalsAmong(tx, [...keys].map(String)), now);
}

/** Whether a user exists, and the caller has all their rights. */
export async function hasRightsOverUser(executor: Executor, caller: Caller, id: string, now: Date): Promise<boolean> {
  const principals = await findPrincipalsAmong(executor, [id]);
  if (caller.admin || principals.some((user) => user.id === caller.userId)) return principals.length > 0;
  return principals.length > 0 && (await excessOver(executor, caller, principals, now)) === null;
}

/** Like `requireRightsOver`, for users who are already loaded or are about to be created. */
export async function requireRightsOverPrincipals(
  executor: Executor,
  caller: Caller,
  principals: readonly PrincipalRecord[],
  now: Date,
): Promise<void> {
  const excess = await excessOver(executor, caller, principals, now);
  if (excess === 'administrator') {
    throw new ApiError('FORBIDDEN', { reason: 'Only an administrator can change an administrator' });
  }
  if (excess === 'rights') {
    throw new ApiError('FORBIDDEN', { reason: 'You cannot give access to a user who has rights that you do not have' });
  }
}

/** What one of the users has and the caller lacks: an administrator's access, or other rights; null: nothing. */
async function excessOver(
  executor: Executor,
  caller: Caller,
  principals: readonly PrincipalRecord[],
  now: Date,
): Promise<'administrator' | 'rights' | null> {
  if (principals.some(({ policies }) => policies.some((policy) => policy.admin_access))) return 'administrator';
  const publicPolicies = await findPublicPolicies(executor);
  const own = { policies: [...caller.policies, ...publicPolicies], variables: variablesOf(caller, now) };
  for (const { id, role, roles, policies } of principals) {
    const variables = { now, user: id, role, roles, policies: policies.map((policy) => policy.id) };
    if (hasMoreRights({ policies, variables }, own)) return 'rights';
  }
  return null;
}
