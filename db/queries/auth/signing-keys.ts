import { asc, desc, eq, lt, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { signingKeys } from '../../schema.js';

export type SigningKeyRecord = typeof signingKeys.$inferSelect;

/** All of them; the one that signs from the latest moment on comes first. */
export async function listSigningKeys(executor: Executor): Promise<SigningKeyRecord[]> {
  return executor.select().from(signingKeys).orderBy(desc(signingKeys.signsFrom), asc(signingKeys.kid));
}

/** Until the transaction ends nobody else changes the keys. They are read all the same. */
export async function lockSigningKeys(tx: Executor): Promise<void> {
  await tx.execute(sql`lock table ${signingKeys} in share row exclusive mode`);
}

export async function insertSigningKey(tx: Executor, key: SigningKeyRecord): Promise<void> {
  await tx.insert(signingKeys).values(key);
}

/** Has a key kept for longer; never for less long. */
export async function keepSigningKey(executor: Executor, kid: string, until: Date): Promise<void> {
  await executor
    .update(signingKeys)
    .set({ neededUntil: sql`greatest(${signingKeys.neededUntil}, ${until.toISOString()}::timestamptz)` })
    .where(eq(signingKeys.kid, kid));
}

/** Puts another seal on a private key. */
export async function resealSigningKey(executor: Executor, kid: string, privateKey: string): Promise<void> {
  await executor.update(signingKeys).set({ privateKey }).where(eq(signingKeys.kid, kid));
}

/** @param neededBefore removes only those that nobody needs since then; without it, all @returns their ids */
export async function deleteSigningKeys(tx: Executor, neededBefore?: Date): Promise<string[]> {
  const removed = await tx
    .delete(signingKeys)
    .where(neededBefore && lt(signingKeys.neededUntil, neededBefore))
    .returning({ kid: signingKeys.kid });
  return removed.map(({ kid }) => kid);
}
