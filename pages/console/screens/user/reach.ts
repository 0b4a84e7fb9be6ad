import { useEffect, useState } from 'preact/hooks';
import { ApiFailure } from '../../../kit/api-failure.js';
import { patch } from '../../api/client.js';
import { useAccess } from '../../app/access.js';
import type { UserItem } from './index.js';

/**
 * Whether the caller may help with an account: they have all rights of the user, and their permissions apply to this user. The API says the
 * former with the other facts about the sign-in, which not all callers may read. Otherwise, a dry run finds out.
 * @returns false until it is known; true if nothing says so before the caller tries
 */
export function useReach(user: UserItem | undefined): boolean {
  const { isAdmin, me, canUse, canAll } = useAccess();
  const [tried, setTried] = useState<{ id: string; isRefused: boolean }>();
  const id = user?.id;
  const isOutOfReach = user?.has_password === null;
  const isKnown =
    isAdmin || id === me.id || isOutOfReach || (user?.has_password !== undefined && canAll('update', 'users'));
  const tries = id !== undefined && !isKnown && canUse('update', 'users', 'status');
  useEffect(() => {
    if (!tries) return;
    let isCurrent = true;
    const settle = (isRefused: boolean) => isCurrent && setTried({ id, isRefused });
    patch('/users', { keys: [id], data: { status: 'active' } }, { query: { dry_run: true, fields: 'id' } }).then(
      () => settle(false),
      (failure) => settle(failure instanceof ApiFailure && failure.code === 'FORBIDDEN'),
    );
    return () => {
      isCurrent = false;
    };
  }, [id, tries]);
  if (isAdmin) return true;
  if (isOutOfReach) return false;
  return !tries || (tried?.id === id && !tried.isRefused);
}
