import { eq, lt } from 'drizzle-orm';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { emailChanges, users } from '../../schema.js';

/** A change of email address that awaits confirmation. */
export interface EmailChange {
  user: string;
  id: string;
  email: string;
  expiresAt: Date;
}

const columns = {
  user: emailChanges.user,
  id: emailChanges.id,
  email: emailChanges.email,
  expiresAt: emailChanges.expiresAt,
};

/** Stores a request and replaces an older one. */
export async function replaceEmailChange(tx: Executor, change: EmailChange & { createdAt: Date }): Promise<void> {
  const { user: _user, ...rest } = change;
  await tx.insert(emailChanges).values(change).onConflictDoUpdate({ target: emailChanges.user, set: rest });
}

export async function findEmailChange(executor: Executor, user: string): Promise<EmailChange | undefined> {
  const [found] = await executor.select(columns).from(emailChanges).where(eq(emailChanges.user, user));
  return found;
}

/** @returns whether there was one */
export async function deleteEmailChange(tx: Executor, user: string): Promise<boolean> {
  const deleted = await tx.delete(emailChanges).where(eq(emailChanges.user, user)).returning({ id: emailChanges.id });
  return deleted.length === 1;
}

/** The same for several users. */
export async function deleteEmailChanges(tx: Executor, ids: readonly string[]): Promise<string[]> {
  const of = isAmong(emailChanges.user, ids);
  const deleted = await tx.delete(emailChanges).where(of).returning({ user: emailChanges.user });
  return deleted.map(({ user }) => user);
}

/** Stores an address that its user has confirmed through a link sent to it. */
export async function writeVerifiedEmail(tx: Executor, id: string, email: string, now: Date): Promise<void> {
  await tx.update(users).set({ email, emailVerifiedAt: now }).where(eq(users.id, id));
}

/** Deletes expired requests. Nothing depends on this: an expired request is rejected even while its row exists. */
export async function deleteExpiredEmailChanges(executor: Executor, now: Date): Promise<void> {
  await executor.delete(emailChanges).where(lt(emailChanges.expiresAt, now));
}
