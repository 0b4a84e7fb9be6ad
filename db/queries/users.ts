import { eq, sql } from 'drizzle-orm';
import type { Executor } from '../client.js';
import { fixedStatement } from '../fixed-statement.js';
import { inLowerCase } from '../lower-case.js';
import { users } from '../schema.js';

export interface LoginCandidate {
  id: string;
  password: string | null;
  status: string;
  provider: string;
  tfaSecret: string | null;
  tfaLastStep: number | null;
}

const candidate = fixedStatement<{ email: string }, LoginCandidate>(
  (value) => sql`
    select id, password, status, provider, tfa_secret as "tfaSecret", tfa_last_step as "tfaLastStep"
    from ${users} where ${inLowerCase(sql`email`)} = ${value('email')}`,
);

/** The user with this e-mail address in any letter case, with what a login is judged by. */
export async function findLoginCandidate(executor: Executor, email: string): Promise<LoginCandidate | undefined> {
  const [found] = await candidate(executor, { email: email.toLowerCase() });
  return found;
}

const recording = fixedStatement<
  Record<'id' | 'now', string> & Record<'tfaSecret' | 'password' | 'newPassword', string | null>,
  { id: string }
>(
  (value) => sql`
    update ${users} set last_access = ${value('now')}, password = coalesce(${value('newPassword')}::text, password)
    where id = ${value('id')} and status = 'active' and tfa_secret is not distinct from ${value('tfaSecret')}::text
      and (${value('password')}::text is null or password = ${value('password')}::text)
    returning id`,
);

/**
 * Writes what a login changes, if the user is still as they were when they were checked: active, with that second factor
 * and, if they showed one, that password. The row stays locked until the transaction ends, so that nothing can end the
 * user's sessions in between.
 * @param user.password the hash that was checked; undefined for a login that goes without
 * @param changes.password a new hash to keep
 * @returns whether the login stands
 */
export async function recordLogin(
  executor: Executor,
  { id, tfaSecret, password = null }: { id: string; tfaSecret: string | null; password?: string | null },
  { password: newPassword = null }: { password?: string | null },
  now: Date,
): Promise<boolean> {
  const recorded = await recording(executor, { id, tfaSecret, password, newPassword, now: now.toISOString() });
  return recorded.length === 1;
}

export async function writeLastPage(executor: Executor, id: string, page: string): Promise<void> {
  await executor.update(users).set({ lastPage: page }).where(eq(users.id, id));
}

export async function userExists(executor: Executor, id: string): Promise<boolean> {
  const [found] = await executor.select({ id: users.id }).from(users).where(eq(users.id, id));
  return found !== undefined;
}
