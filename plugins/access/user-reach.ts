import { randomUUID } from 'node:crypto';
import type { GrantsOverview, PolicyRecord } from '../../db/queries/access/principals.js';
import type { UserReach } from '../../db/query-language/filter.js';
import type { Caller } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import { comparedWith } from './compare-rights.js';
import { variablesOf } from './view.js';

/**
 * Finds the users whose rights do not exceed those of a caller. The comparison is made once for each role and policy, of which there are few,
 * and not for each user. When in doubt, a user is out of reach: what a user's own policy grants through the user's role or other policies
 * counts as more than the caller has. `requireRightsOverUsers` compares single users exactly.
 */
export type ReachOf = (caller: Caller, now: Date) => Promise<UserReach>;

/** Stands for any key. No rule contains it. */
const anyKey = randomUUID();

const maxKept = 1_000;

export function createReachOf({ principals }: Pick<Services, 'principals'>): ReachOf {
  let current: GrantsOverview | undefined;
  const kept = new Map<string, UserReach>();

  return async (caller, now) => {
    const overview = await principals.grantsOverview();
    if (overview !== current || kept.size >= maxKept) kept.clear();
    current = overview;
    const name = [caller.userId, caller.role, ...caller.policies.map(({ id }) => id)].join();
    const known = kept.get(name) ?? userReachIn(overview, caller, now);
    kept.set(name, known);
    return known;
  };
}

/** The users whose rights do not exceed those of a caller, by what all roles and policies grant. */
export function userReachIn({ roles, policies, public_policy }: GrantsOverview, caller: Caller, now: Date): UserReach {
  const policyOf = new Map(policies.map((policy) => [policy.id, policy]));
  const roleOf = new Map(roles.map((role) => [role.id, role]));
  const named = (ids: Iterable<string | null>): PolicyRecord[] =>
    [...new Set(ids)].flatMap((id) => policyOf.get(id ?? '') ?? []);

  const hasMore = comparedWith({
    policies: [...caller.policies, ...named([public_policy])],
    variables: variablesOf(caller, now),
  });
  const isWithin = (held: readonly PolicyRecord[], role: string | null, chain: readonly string[], ids: string[]) =>
    !held.some((policy) => policy.admin_access) &&
    !hasMore({ policies: held, variables: { now, user: anyKey, role, roles: [...chain], policies: ids } });

  const chainOf = (start: string): string[] => {
    const chain = new Set<string>();
    for (let id: string | null = start; id !== null && !chain.has(id); id = roleOf.get(id)?.parent ?? null)
      chain.add(id);
    return [...chain];
  };
  const isRoleWithin = (role: string | null): boolean => {
    const chain = role === null ? [] : chainOf(role);
    const held = named(role === null ? [public_policy] : chain.flatMap((id) => roleOf.get(id)?.policies ?? []));
    return isWithin(
      held,
      role,
      chain,
      held.map(({ id }) => id),
    );
  };

  return {
    self: caller.userId,
    roles: [null, ...roles.map(({ id }) => id)].filter(isRoleWithin),
    policies: policies.filter((policy) => isWithin([policy], anyKey, [anyKey], [anyKey])).map(({ id }) => id),
  };
}
