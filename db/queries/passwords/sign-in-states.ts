import { sql } from 'drizzle-orm';
import type { FailureReason } from '../../../schemas/activity.js';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { isReachable } from '../../query-language/compile.js';
import type { UserReach } from '../../query-language/filter.js';
import { activity, loginAttempts, users } from '../../schema.js';
import { rows } from '../../statements.js';
import { iso } from '../items/item-columns.js';

/** The last login of a user that was refused. */
export interface FailedLogin {
  timestamp: string;
  code: string | null;
  reason: FailureReason | null;
}

export interface SignInRecord {
  id: string;
  email: string | null;
  has_password: boolean;
  /** Milliseconds since 1970. */
  tfa_locked_until: number | null;
  last_failure: FailedLogin | null;
}

/**
 * What determines whether these users can sign in.
 * @param reach only users in reach; null: all of them
 * @param options.withFailures whether `last_failure` is read, which requires a look into the audit log for each user
 */
export async function readSignInRecords(
  executor: Executor,
  ids: readonly string[],
  reach: UserReach | null,
  { withFailures }: { withFailures: boolean },
): Promise<SignInRecord[]> {
  const failure = sql`(select json_build_object('timestamp', ${iso(sql`a.timestamp`)}, 'code', a.code, 'reason', a.reason)
    from ${activity} a where a.item = u.id::text and a.action = 'login' and a.outcome = 'failure'
    order by a.id desc limit 1)`;
  const condition = reach === null ? sql`true` : isReachable(sql`u.id`, reach);
  return rows<SignInRecord>(
    executor,
    sql`select u.id, u.email, u.password is not null as has_password,
      (extract(epoch from u.tfa_locked_until) * 1000)::int8 as tfa_locked_until,
      ${withFailures ? failure : sql`null`} as last_failure
    from ${users} u where ${isAmong(sql`u.id`, ids)} and ${condition}`,
  );
}

/** The end of the longest lock of each account, in milliseconds since 1970. Accounts without a lock are missing. */
export async function readLongestLocks(executor: Executor, accounts: readonly string[]): Promise<Map<string, number>> {
  const found = await rows<{ account: string; until: number | null }>(
    executor,
    sql`select account, (extract(epoch from (
        select max(l.locked_until) from ${loginAttempts} l where l.account = named.account
      )) * 1000)::int8 as until
    from jsonb_array_elements_text(${JSON.stringify(accounts)}::jsonb) as named(account)`,
  );
  return new Map(found.flatMap(({ account, until }) => (until === null ? [] : [[account, until] as const])));
}
