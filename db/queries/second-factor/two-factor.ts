import { and, eq, gt, gte, isNull, lt, lte, or, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { recoveryCodes, users } from '../../schema.js';
import { type AttemptRules, lockAfter } from '../passwords/lockout.js';

/** The data of a user that two-factor authentication depends on. */
export interface TwoFactorUser {
  id: string;
  email: string | null;
  provider: string;
  /** The hash. */
  password: string | null;
  tfaSecret: string | null;
  tfaLastStep: number | null;
}

const columns = {
  id: users.id,
  email: users.email,
  provider: users.provider,
  password: users.password,
  tfaSecret: users.tfaSecret,
  tfaLastStep: users.tfaLastStep,
};

export async function findTwoFactorUser(executor: Executor, id: string): Promise<TwoFactorUser | undefined> {
  const [found] = await executor.select(columns).from(users).where(eq(users.id, id));
  return found;
}

/** The same, with the row locked until the transaction ends. */
export async function lockTwoFactorUser(tx: Executor, id: string): Promise<TwoFactorUser | undefined> {
  const [found] = await tx.select(columns).from(users).where(eq(users.id, id)).for('update');
  return found;
}

/**
 * Counts an attempt as failed before its code is checked. So concurrent guesses, however many and on however many
 * instances, gain nothing over consecutive ones. This is one statement; a success resets the count.
 * @returns `isAllowed`: whether the code may be checked; false while a lock lasts. `locks`: whether this attempt starts a lock,
 *   unless it is withdrawn
 */
export async function reserveAttempt(
  executor: Executor,
  id: string,
  now: Date,
  rules: AttemptRules,
): Promise<{ isAllowed: boolean; locks: boolean }> {
  const failures = sql`${users.tfaFailures} + 1`;
  const reserved = await executor
    .update(users)
    .set({
      tfaFailures: failures,
      tfaLockedUntil: lockAfter(sql`(${failures})`, now.toISOString(), rules),
    })
    .where(and(eq(users.id, id), or(isNull(users.tfaLockedUntil), lte(users.tfaLockedUntil, now))))
    .returning({ until: users.tfaLockedUntil });
  return { isAllowed: reserved.length === 1, locks: reserved.some(({ until }) => until !== null) };
}

/** The time until which no code of the user is checked; null: there is no lock. */
export async function findLock(executor: Executor, id: string): Promise<Date | null> {
  const [found] = await executor.select({ until: users.tfaLockedUntil }).from(users).where(eq(users.id, id));
  return found?.until ?? null;
}

/** Shortens a lock to `latest` if it would last longer because it was set while a clock was ahead. */
export async function shortenLock(executor: Executor, id: string, latest: Date): Promise<void> {
  await executor
    .update(users)
    .set({ tfaLockedUntil: latest })
    .where(and(eq(users.id, id), gt(users.tfaLockedUntil, latest)));
}

/** Resets a last used step that is in the future because a clock was ahead. Otherwise no code would be accepted until that time. */
export async function shortenLastStep(executor: Executor, id: string, latest: number): Promise<void> {
  await executor
    .update(users)
    .set({ tfaLastStep: latest })
    .where(and(eq(users.id, id), gt(users.tfaLastStep, latest)));
}

const noFailures = { tfaFailures: 0, tfaLockedUntil: null };

/**
 * Consumes a one-time password, if the secret is still the one that it was checked with, and no code of the same step or a later
 * one has been used. Of any number of concurrent attempts, one succeeds.
 * @param sealed `checked`: the sealed secret that the one-time password was checked with; `kept`: the sealed secret to store
 */
export async function useStep(
  tx: Executor,
  id: string,
  sealed: { checked: string; kept: string },
  step: number,
): Promise<boolean> {
  const used = await tx
    .update(users)
    .set({ ...noFailures, tfaSecret: sealed.kept, tfaLastStep: step })
    .where(
      and(
        eq(users.id, id),
        eq(users.tfaSecret, sealed.checked),
        or(isNull(users.tfaLastStep), lt(users.tfaLastStep, step)),
      ),
    )
    .returning({ id: users.id });
  return used.length === 1;
}

/** Whether the user has this recovery code. */
export async function hasRecoveryCode(executor: Executor, id: string, hash: string): Promise<boolean> {
  const found = await executor
    .select({ hash: recoveryCodes.hash })
    .from(recoveryCodes)
    .where(and(eq(recoveryCodes.user, id), eq(recoveryCodes.hash, hash)));
  return found.length === 1;
}

/** Consumes a recovery code, as {@link useStep} consumes a one-time password. Call it in a transaction that is rolled back on failure. */
export async function useRecoveryCode(tx: Executor, id: string, sealed: string, hash: string): Promise<boolean> {
  // Lock the user's row first: every transaction that locks both uses this order.
  const unchanged = await tx
    .update(users)
    .set(noFailures)
    .where(and(eq(users.id, id), eq(users.tfaSecret, sealed)))
    .returning({ id: users.id });
  if (unchanged.length === 0) return false;
  const used = await tx
    .delete(recoveryCodes)
    .where(and(eq(recoveryCodes.user, id), eq(recoveryCodes.hash, hash)))
    .returning({ hash: recoveryCodes.hash });
  return used.length === 1;
}

/** Deletes all recovery codes of a user. */
export async function deleteRecoveryCodes(tx: Executor, id: string): Promise<void> {
  await tx.delete(recoveryCodes).where(eq(recoveryCodes.user, id));
}

/** Replaces all recovery codes of a user. */
export async function replaceRecoveryCodes(
  tx: Executor,
  id: string,
  hashes: readonly string[],
  createdAt: Date,
): Promise<void> {
  await deleteRecoveryCodes(tx, id);
  await tx.insert(recoveryCodes).values(hashes.map((hash) => ({ user: id, hash, createdAt })));
}

/** Deletes the recovery codes of a user if they were created since then. @returns whether any were deleted */
export async function deleteRecoveryCodesSince(tx: Executor, id: string, since: Date): Promise<boolean> {
  const removed = await tx
    .delete(recoveryCodes)
    .where(and(eq(recoveryCodes.user, id), gte(recoveryCodes.createdAt, since)))
    .returning({ hash: recoveryCodes.hash });
  return removed.length > 0;
}

/** Turns on two-factor authentication, if it is off. @returns whether it was off */
export async function writeTfaSecret(tx: Executor, id: string, sealed: string, step: number): Promise<boolean> {
  const written = await tx
    .update(users)
    .set({ ...noFailures, tfaSecret: sealed, tfaLastStep: step })
    .where(and(eq(users.id, id), isNull(users.tfaSecret)))
    .returning({ id: users.id });
  return written.length === 1;
}

/** Turns off two-factor authentication and deletes everything that belongs to it. @returns whether there is such a user */
export async function removeTfa(tx: Executor, id: string): Promise<boolean> {
  const found = await tx
    .update(users)
    .set({ ...noFailures, tfaSecret: null, tfaLastStep: null })
    .where(eq(users.id, id))
    .returning({ id: users.id });
  await deleteRecoveryCodes(tx, id);
  return found.length === 1;
}
