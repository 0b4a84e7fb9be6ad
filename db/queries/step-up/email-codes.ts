import { and, eq, gt, inArray, lt, lte, ne, type SQL, sql } from 'drizzle-orm';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { emailCodes, users } from '../../schema.js';

type Row = typeof emailCodes.$inferSelect;

/**
 * Stores a request. It replaces an older one for the same user and purpose from the same browser, app, or session, and no other.
 * @param limit how many of them can be pending
 * @returns `outdated` if there is a newer one from there, and `too many` if too many are pending; then nothing was stored
 */
export async function storeEmailCode(
  executor: Executor,
  row: Omit<Row, 'id'>,
  limit: number,
  now: Date,
): Promise<'stored' | 'outdated' | 'too many'> {
  const { user, purpose, bindingHash, ...rest } = row;
  const others = and(
    eq(emailCodes.user, user),
    eq(emailCodes.purpose, purpose),
    ne(emailCodes.bindingHash, bindingHash),
  );
  const pending = await executor.$count(emailCodes, and(others, gt(emailCodes.expiresAt, now)));
  if (pending >= limit) return 'too many';
  const stored = await executor
    .insert(emailCodes)
    .values(row)
    .onConflictDoUpdate({
      target: [emailCodes.user, emailCodes.purpose, emailCodes.bindingHash],
      // With a new id, so that a code that was checked before is no longer of use.
      set: { ...rest, id: sql`excluded.id` },
      setWhere: lte(emailCodes.requestedAt, row.requestedAt),
    })
    .returning({ id: emailCodes.id });
  return stored.length === 1 ? 'stored' : 'outdated';
}

/** Whether a request can still be used. `used_links` changes with the user's status, address, password, and provider. */
const isUsable = (now: Date): SQL | undefined =>
  and(
    gt(emailCodes.expiresAt, now),
    sql`exists (select from ${users} u where u.id = ${emailCodes.user} and u.used_links = ${emailCodes.usedLinks})`,
  );

/** A code to check. */
export interface CodeToCheck {
  /** Null if there is no such user; the same statement runs in that case. */
  user: string | null;
  purpose: Row['purpose'];
  bindingHashes: readonly string[];
  codeHashes: readonly string[];
}

/**
 * Checks a code against the requests of the caller, and counts it for each of them if it is wrong. This is one statement, so concurrent
 * guesses gain nothing over consecutive ones.
 * @returns the id of the request if the code is correct
 */
export async function checkEmailCode(
  executor: Executor,
  { user, purpose, bindingHashes, codeHashes }: CodeToCheck,
  now: Date,
): Promise<string | undefined> {
  const isRight = isAmong(emailCodes.codeHash, codeHashes, 'text');
  // Always locked in the same order, so that concurrent checks do not wait for each other.
  const ofCaller = executor
    .select({ id: emailCodes.id })
    .from(emailCodes)
    .where(
      and(
        sql`${emailCodes.user} = ${user}::uuid`,
        eq(emailCodes.purpose, purpose),
        isAmong(emailCodes.bindingHash, bindingHashes, 'text'),
        gt(emailCodes.attemptsLeft, 0),
        isUsable(now),
      ),
    )
    .orderBy(emailCodes.id)
    .for('update');
  const checked = await executor
    .update(emailCodes)
    .set({ attemptsLeft: sql`${emailCodes.attemptsLeft} - case when ${isRight} then 0 else 1 end` })
    .where(inArray(emailCodes.id, ofCaller))
    .returning({ id: emailCodes.id, isRight: sql<boolean>`${isRight}` });
  return checked.find((request) => request.isRight)?.id;
}

/** The user of a link, with the data that a login is checked against. */
export interface LinkHolder {
  id: string;
  email: string | null;
  tfaSecret: string | null;
  tfaLastStep: number | null;
}

export async function findEmailCodeByToken(
  executor: Executor,
  tokenHashes: readonly string[],
  now: Date,
): Promise<{ request: string; redirect: string | null; user: LinkHolder } | undefined> {
  const [found] = await executor
    .select({
      request: emailCodes.id,
      redirect: emailCodes.redirect,
      user: { id: users.id, email: users.email, tfaSecret: users.tfaSecret, tfaLastStep: users.tfaLastStep },
    })
    .from(emailCodes)
    .innerJoin(users, eq(users.id, emailCodes.user))
    .where(and(isAmong(emailCodes.tokenHash, tokenHashes, 'text'), isUsable(now)));
  return found;
}

/** Uses up a request. @returns whether it could still be used */
export async function useEmailCode(tx: Executor, user: string, request: string, now: Date): Promise<boolean> {
  const used = await tx
    .delete(emailCodes)
    .where(and(eq(emailCodes.user, user), eq(emailCodes.id, request), isUsable(now)))
    .returning({ id: emailCodes.id });
  return used.length === 1;
}

/** Records that a user has just proved that they read the mailbox of their address. */
export async function markEmailVerified(tx: Executor, user: string, now: Date): Promise<void> {
  await tx.update(users).set({ emailVerifiedAt: now }).where(eq(users.id, user));
}

/** Deletes expired requests. Nothing depends on this: an expired request is rejected even while its row exists. */
export async function deleteExpiredEmailCodes(executor: Executor, now: Date): Promise<void> {
  await executor.delete(emailCodes).where(lt(emailCodes.expiresAt, now));
}
