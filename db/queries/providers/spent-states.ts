import { lt } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { spentStates } from '../../schema.js';

/**
 * Records the use of something that can be used only once: the state of a login through a provider, the challenge of a passkey, or a
 * link whose use changes nothing that it is bound to.
 * @param expiresAt when it would be rejected because of its age
 * @returns whether this was the first use
 */
export async function spendState(executor: Executor, id: string, expiresAt: Date): Promise<boolean> {
  const noted = await executor
    .insert(spentStates)
    .values({ id, expiresAt })
    .onConflictDoNothing()
    .returning({ id: spentStates.id });
  return noted.length === 1;
}

/** Deletes states that would be rejected because of their age. */
export async function deleteExpiredStates(executor: Executor, now: Date): Promise<void> {
  await executor.delete(spentStates).where(lt(spentStates.expiresAt, now));
}
