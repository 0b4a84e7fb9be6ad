import { and, eq, isNull, lt, or, sql } from 'drizzle-orm';
import type { Executor } from '../client.js';
import { users } from '../schema.js';

export interface LoginCandidate {
  id: string;
  password: string | null;
  status: string;
  provider: string;
  tfaSecret: string | null;
  tfaLastStep: number | null;
}

/** The user with this e-mail address in any letter case, with what a login is judged by. */
export async function findLoginCandidate(executor: Executor, email: string): Promise<LoginCandidate | undefined> {
  const [found] = await executor
    .select({
      id: users.id,
      password: users.password,
      status: users.status,
      provider: users.provider,
      tfaSecret: users.tfaSecret,
      tfaLastStep: users.tfaLastStep,
    })
    .from(users)
    .where(eq(sql`lower(${users.email} collate "C")`, email.toLowerCase()));
  return found;
}

/**
 * Writes what a login changes, if the user is still as they were when the password was checked: active, and with that
 * password. The row stays locked until the transaction ends, so that nothing can end the user's sessions in between.
 * @returns whether the login stands
 */
export async function recordLogin(
  executor: Executor,
  user: { id: string; password: string; tfaSecret: string | null },
  changes: { password: string; tfaLastStep: number | null },
  now: Date,
): Promise<boolean> {
  const recorded = await executor
    .update(users)
    .set({
      lastAccess: now,
      password: changes.password,
      ...(changes.tfaLastStep === null ? {} : { tfaLastStep: changes.tfaLastStep }),
    })
    .where(
      and(
        eq(users.id, user.id),
        eq(users.status, 'active'),
        eq(users.password, user.password),
        sql`${users.tfaSecret} is not distinct from ${user.tfaSecret}::text`,
        changes.tfaLastStep === null
          ? undefined
          : or(isNull(users.tfaLastStep), lt(users.tfaLastStep, changes.tfaLastStep)),
      ),
    )
    .returning({ id: users.id });
  return recorded.length === 1;
}

/** Writes the time of a user's last use of the API, unless a later one than `before` stands there already. */
export async function touchLastAccess(executor: Executor, id: string, now: Date, before: Date): Promise<void> {
  await executor
    .update(users)
    .set({ lastAccess: now })
    .where(and(eq(users.id, id), or(isNull(users.lastAccess), lt(users.lastAccess, before))));
}

export async function writeLastPage(executor: Executor, id: string, page: string): Promise<void> {
  await executor.update(users).set({ lastPage: page }).where(eq(users.id, id));
}
