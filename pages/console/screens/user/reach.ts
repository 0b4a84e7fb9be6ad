import { patch } from '../../api/client.js';
import type { Schemas } from '../../api/types.js';
import { useTrial } from '../../api/use-trial.js';
import { useAccess } from '../../app/access.js';
import type { UserItem } from './index.js';

/** Fields that a dry run can write as they are. */
const plain = ['first_name', 'last_name', 'title', 'location', 'language', 'description'] as const;

/**
 * Whether the caller may help with an account: they have all rights of the user, and their permissions apply to this user. The API says the
 * former with the other facts about the sign-in, which not all callers may read. Otherwise, a dry run finds out.
 * @returns false until it is known; true if nothing says so before the caller tries
 */
export function useReach(user: UserItem | undefined): boolean {
  const { isAdmin, me, canUse, canAll } = useAccess();
  const id = user?.id;
  const isOutOfReach = user?.has_password === null;
  const isKnown =
    isAdmin || id === me.id || isOutOfReach || (user?.has_password !== undefined && canAll('update', 'users'));
  const mayWrite = (name: string) => canUse('update', 'users', name);
  const field = plain.find(mayWrite);
  // A change of the status requires all rights of the user.
  const data: Schemas['UserChanges'] | undefined = mayWrite('status')
    ? { status: 'active' }
    : field && { [field]: user?.[field] ?? null };
  const isAccepted = useTrial(isKnown || data === undefined ? undefined : id, () =>
    patch('/users', { keys: [id ?? ''], data: data ?? {} }, { query: { dry_run: true, fields: 'id' } }),
  );
  return !isOutOfReach && isAccepted;
}
