import { asc, desc, eq, lt, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { signingKeys } from '../../schema.js';

export type SigningKeyRecord = typeof signingKeys.$inferSelect;

/** All signing keys. The one that starts to sign last comes first. */
export async function listSigningKeys(executor: Executor): Promise<SigningKeyRecord[]> {
  return executor.select().from(signingKeys).orderBy(desc(signingKeys.signsFrom), asc(signingKeys.kid));
}

/** Blocks other changes to the keys until the transaction ends. They can still be read. */
export async function lockSigningKeys(tx: Executor): Promise<void> {
  await tx.execute(sql`lock table ${signingKeys} in share row exclusive mode`);
}

export async function insertSigningKey(tx: Executor, key: SigningKeyRecord): Promise<void> {
  await tx.insert(signingKeys).values(key);
}

/** Extends the time for which a key is kept; never shortens it. */
export async function keepSigningKey(executor: Executor, kid: string, until: Date): Promise<void> {
  await executor
    .update(signingKeys)
    .set({ neededUntil: sql`greatest(${signingKeys.neededUntil}, ${until.toISOString()}::timestamptz)` })
    .where(eq(signingKeys.kid, kid));
}

/** Replaces the sealed private key of a signing key. */
export async function resealSigningKey(executor: Executor, kid: string, privateKey: string): Promise<void> {
  await executor.update(signingKeys).set({ privateKey }).where(eq(signingKeys.kid, kid));
}

/** @param neededBefore deletes only keys with an earlier `neededUntil`; without it, deletes all keys @returns the deleted ids */
export async function deleteSigningKeys(tx: Executor, neededBefore?: Date): Promise<string[]> {
  const removed = await tx
    .delete(signingKeys)
    .where(neededBefore && lt(signingKeys.neededUntil, neededBefore))
    .returning({ kid: signingKeys.kid });
  return removed.map(({ kid }) => kid);
}
