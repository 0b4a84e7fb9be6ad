import { and, asc, count, eq, gte, lt, or, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { passkeys, users } from '../../schema.js';

type Row = typeof passkeys.$inferSelect;

/** What a passkey's response is verified against. */
export type StoredPasskey = Pick<Row, 'id' | 'user' | 'credentialId' | 'publicKey' | 'counter' | 'isBackupEligible'>;

/** The user of a passkey, with the data that a login is checked against. */
export interface PasskeyHolder {
  id: string;
  status: string;
  provider: string;
  tfaSecret: string | null;
  tfaLastStep: number | null;
}

/** A passkey and its user, whatever their status. */
export async function findPasskey(
  executor: Executor,
  credentialId: string,
): Promise<{ passkey: StoredPasskey; holder: PasskeyHolder } | undefined> {
  const [found] = await executor
    .select({
      passkey: {
        id: passkeys.id,
        user: passkeys.user,
        credentialId: passkeys.credentialId,
        publicKey: passkeys.publicKey,
        counter: passkeys.counter,
        isBackupEligible: passkeys.isBackupEligible,
      },
      holder: {
        id: users.id,
        status: users.status,
        provider: users.provider,
        tfaSecret: users.tfaSecret,
        tfaLastStep: users.tfaLastStep,
      },
    })
    .from(passkeys)
    .innerJoin(users, eq(users.id, passkeys.user))
    .where(eq(passkeys.credentialId, credentialId));
  return found;
}

/**
 * Records a use. Authenticators that count increase the counter each time; the others always send 0.
 * @returns false if the passkey was removed, or was used with this or a higher counter in the meantime; then nothing was written
 */
export async function usePasskey(
  tx: Executor,
  { id, ...state }: Pick<Row, 'id' | 'counter' | 'isBackupEligible' | 'isBackedUp'>,
  now: Date,
): Promise<boolean> {
  const { counter } = state;
  const isNext = or(lt(passkeys.counter, counter), and(eq(passkeys.counter, 0), sql`${counter}::bigint = 0`));
  const used = await tx
    .update(passkeys)
    .set({ ...state, lastUsedAt: now })
    .where(and(eq(passkeys.id, id), isNext))
    .returning({ id: passkeys.id });
  return used.length === 1;
}

export interface PasskeyRecord {
  id: string;
  name: string;
  created_at: Date;
  last_used_at: Date | null;
  backed_up: boolean;
  transports: string[];
  aaguid: string;
}

const record = {
  id: passkeys.id,
  name: passkeys.name,
  created_at: passkeys.createdAt,
  last_used_at: passkeys.lastUsedAt,
  backed_up: passkeys.isBackedUp,
  transports: passkeys.transports,
  aaguid: passkeys.aaguid,
};

/** Stores a passkey. @returns undefined if its credential is already stored */
export async function insertPasskey(tx: Executor, passkey: Row): Promise<PasskeyRecord | undefined> {
  const [added] = await tx.insert(passkeys).values(passkey).onConflictDoNothing().returning(record);
  return added;
}

/** The passkeys of a user, oldest first. */
export async function listPasskeys(executor: Executor, user: string): Promise<PasskeyRecord[]> {
  return executor
    .select(record)
    .from(passkeys)
    .where(eq(passkeys.user, user))
    .orderBy(asc(passkeys.createdAt), asc(passkeys.id));
}

/** What identifies the passkeys of a user to a browser. */
export async function listCredentials(
  executor: Executor,
  user: string,
): Promise<{ id: string; transports: string[] }[]> {
  return executor
    .select({ id: passkeys.credentialId, transports: passkeys.transports })
    .from(passkeys)
    .where(eq(passkeys.user, user));
}

export async function countPasskeys(executor: Executor, user: string): Promise<number> {
  const [found] = await executor.select({ passkeys: count() }).from(passkeys).where(eq(passkeys.user, user));
  return found?.passkeys ?? 0;
}

const isOf = (user: string, id: string) => and(eq(passkeys.user, user), eq(passkeys.id, id));

/** @returns undefined if the user has no such passkey */
export async function renamePasskey(
  tx: Executor,
  user: string,
  id: string,
  name: string,
): Promise<PasskeyRecord | undefined> {
  const [renamed] = await tx.update(passkeys).set({ name }).where(isOf(user, id)).returning(record);
  return renamed;
}

/** @returns whether the user had this passkey */
export async function deletePasskey(tx: Executor, user: string, id: string): Promise<boolean> {
  const removed = await tx.delete(passkeys).where(isOf(user, id)).returning({ id: passkeys.id });
  return removed.length === 1;
}

/**
 * Deletes the passkeys that a user added at `since` or later.
 * @param keepsLast whether they are kept if the user has no older ones
 * @returns whether any were deleted
 */
export async function deletePasskeysSince(
  tx: Executor,
  user: string,
  since: Date,
  keepsLast: boolean,
): Promise<boolean> {
  const older = and(eq(passkeys.user, user), lt(passkeys.createdAt, since));
  if (keepsLast && (await tx.$count(passkeys, older)) === 0) return false;
  const recent = and(eq(passkeys.user, user), gte(passkeys.createdAt, since));
  const removed = await tx.delete(passkeys).where(recent).returning({ id: passkeys.id });
  return removed.length > 0;
}
