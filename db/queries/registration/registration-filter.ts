import type { Executor } from '../../client.js';
import { collections } from '../../query-language/collections.js';
import { ruleOf, seesAll } from '../../query-language/filter.js';
import { matchingKeys } from '../items/writes.js';

const nobody = { now: new Date(0), user: null, role: null, roles: [], policies: [] };

/** Whether a user matches `public_registration_email_filter`. @param stored null: all users match */
export async function matchesRegistrationFilter(
  executor: Executor,
  id: string,
  stored: Record<string, unknown> | null,
): Promise<boolean> {
  const filter = ruleOf(stored, 'users', nobody);
  if (filter === null) return true;
  return (await matchingKeys(executor, collections.users, [id], [filter], seesAll)).size === 1;
}
