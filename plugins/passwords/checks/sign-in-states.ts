import type { Executor } from '../../../db/client.js';
import { type FailedLogin, readLongestLocks, readSignInRecords } from '../../../db/queries/passwords/sign-in-states.js';
import type { UserReach } from '../../../db/query-language/filter.js';
import type { Services } from '../../platform/plugin.js';
import { lockRules } from '../../rate-limits/lockout.js';
import { keysOf } from './lockouts.js';

/** Why a user may be unable to sign in. */
export interface SignInState {
  /** Until when the service refuses passwords or codes; null: it does not. */
  locked_until: string | null;
  has_password: boolean;
  last_failure: FailedLogin | null;
}

export interface SignInStates {
  /**
   * Reads the states of these users, with a fixed number of statements.
   * @param reach only users in reach; null: all of them
   * @param names the fields to read; the others are missing
   */
  read(
    executor: Executor,
    ids: readonly string[],
    reach: UserReach | null,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, Partial<SignInState>>>;
}

export function createSignInStates({ clock }: Services): SignInStates {
  return {
    read: async (executor, ids, reach, names) => {
      const records = await readSignInRecords(executor, ids, reach, { withFailures: names.includes('last_failure') });
      if (!names.includes('locked_until')) return new Map(records.map((record) => [record.id, record]));
      const accountOf = ({ id, email }: { id: string; email: string | null }) => keysOf(email ?? id, '').fromAnywhere;
      const locks = await readLongestLocks(executor, records.map(accountOf));
      const now = clock().getTime();
      return new Map(
        records.map((record) => {
          const { id, has_password, last_failure, tfa_locked_until } = record;
          const until = Math.max(locks.get(accountOf(record)) ?? 0, tfa_locked_until ?? 0);
          // A longer lock was set while a clock was ahead.
          const end = Math.min(until, now + lockRules.maxLockMs);
          const locked_until = end > now ? new Date(end).toISOString() : null;
          return [id, { locked_until, has_password, last_failure }];
        }),
      );
    },
  };
}
