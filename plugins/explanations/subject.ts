import type { Executor } from '../../db/client.js';
import {
  findPrincipalOfRole,
  findPrincipalsAmong,
  findPublicPolicies,
  type PolicyRecord,
  type PrincipalRecord,
} from '../../db/queries/access/principals.js';
import type { ExplainBody, Missing, Obstacle } from '../../schemas/explanations.js';
import { anonymousCaller } from '../access/service.js';
import { type Caller, type Client, rightsOf } from '../http/caller.js';
import { obstacle } from './verdict.js';

/** Someone whose permissions are explained. */
export interface Subject {
  /** As the caller of a request. */
  caller: Caller;
  /** All of their policies, including those that do not apply to the address. */
  held: readonly PolicyRecord[];
  /** What prevents everything that they may otherwise do. */
  missing: readonly Missing[];
  /** The ID of a user who does not exist, but stands for all users with a role. */
  placeholder: string | null;
}

/** Finds the subject of a question. @returns a code if there is no such user or role */
export async function findSubject(
  tx: Executor,
  { user, role }: Pick<ExplainBody, 'user' | 'role'>,
  client: Client,
): Promise<Subject | { unknown: Obstacle }> {
  if (user !== undefined) {
    const [found] = await findPrincipalsAmong(tx, [user]);
    if (!found) return { unknown: 'no_such_user' };
    const principal = { ...found, policies: inOrder(found.policies) };
    const caller = callerOf(principal, client);
    const missing = [
      ...(principal.status === 'active' ? [] : [obstacle('user_not_active')]),
      ...(caller.mustSetUpTfa ? [obstacle('second_factor')] : []),
    ];
    return { caller, held: principal.policies, missing, placeholder: null };
  }
  if (role !== undefined) {
    const found = await findPrincipalOfRole(tx, role);
    if (!found) return { unknown: 'no_such_role' };
    // A role has no second factor. Whether its users need one is part of the response.
    const principal = { ...found, policies: inOrder(found.policies), has_tfa: true };
    const caller = callerOf(principal, client);
    return { caller, held: principal.policies, missing: [], placeholder: principal.id };
  }
  const policies = inOrder(await findPublicPolicies(tx));
  return { caller: anonymousCaller(policies, client), held: policies, missing: [], placeholder: null };
}

const callerOf = (principal: PrincipalRecord, client: Client): Caller => ({
  ...rightsOf(principal, client.ip),
  userId: principal.id,
  role: principal.role,
  roles: principal.roles,
  credential: null,
  client,
});

/** The order in the database changes with every write. Explanations of the same rights must be the same. */
const inOrder = (policies: readonly PolicyRecord[]): PolicyRecord[] =>
  policies.toSorted((one, other) => one.id.localeCompare(other.id));
