import { and, desc, eq, gt, inArray, lte, ne, notInArray, sql } from 'drizzle-orm';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { registrations, users } from '../../schema.js';
import { deleteUsersWithoutRegistrations } from './unclaimed-users.js';

/** A registration that waits for its address to be verified, with the data that the account then receives. */
export interface PendingRegistration {
  id: string;
  user: string;
  /** The hash. */
  password: string;
  firstName: string | null;
  lastName: string | null;
  /** Hash of the cookie of the browser that registered. */
  browserHash: string | null;
  /** The page that its link opens; null: the default page. */
  url: string | null;
  createdAt: Date;
  expiresAt: Date;
}

const columns = {
  id: registrations.id,
  user: registrations.user,
  password: registrations.password,
  firstName: registrations.firstName,
  lastName: registrations.lastName,
  browserHash: registrations.browserHash,
  url: registrations.url,
  createdAt: registrations.createdAt,
  expiresAt: registrations.expiresAt,
};

const newestFirst = [desc(registrations.createdAt), desc(registrations.id)];

/** Adds a registration for a user, and keeps only the newest ones. */
export async function insertRegistration(
  tx: Executor,
  registration: Omit<PendingRegistration, 'id'>,
  maxPerUser: number,
): Promise<string> {
  const { user } = registration;
  const kept = tx
    .select({ id: registrations.id })
    .from(registrations)
    .where(eq(registrations.user, user))
    .orderBy(...newestFirst)
    .limit(maxPerUser - 1);
  await tx.delete(registrations).where(and(eq(registrations.user, user), notInArray(registrations.id, kept)));
  const [made] = await tx.insert(registrations).values(registration).returning({ id: registrations.id });
  if (!made) throw new Error('The registration was not written.');
  return made.id;
}

/** The registrations of a user that have not expired, newest first. */
export async function readRegistrations(executor: Executor, user: string, now: Date): Promise<PendingRegistration[]> {
  return executor
    .select(columns)
    .from(registrations)
    .where(and(eq(registrations.user, user), gt(registrations.expiresAt, now)))
    .orderBy(...newestFirst);
}

/** Extends a registration. */
export async function extendRegistration(executor: Executor, id: string, expiresAt: Date): Promise<void> {
  await executor.update(registrations).set({ expiresAt }).where(eq(registrations.id, id));
}

/** Deletes all registrations of these users. */
export async function deleteRegistrations(tx: Executor, ids: readonly string[]): Promise<void> {
  await tx.delete(registrations).where(isAmong(registrations.user, ids));
}

/** Deletes the registrations of these users, except users who still await verification. */
export async function deleteSettledRegistrations(tx: Executor, ids: readonly string[]): Promise<void> {
  const settled = tx
    .select({ id: users.id })
    .from(users)
    .where(and(isAmong(users.id, ids), ne(users.status, 'unverified')));
  await tx.delete(registrations).where(inArray(registrations.user, settled));
}

/** How many users one call of {@link deleteExpiredRegistrations} handles: a few milliseconds of work on either engine. */
const maxUsersPerCleanup = 100;

/**
 * Deletes expired registrations of some users, and the users who existed only because of them.
 * @returns the ids of the deleted users, and whether there can be more expired registrations
 */
export async function deleteExpiredRegistrations(
  tx: Executor,
  now: Date,
): Promise<{ deletedUsers: string[]; isPartial: boolean }> {
  const isExpired = lte(registrations.expiresAt, now);
  const found = await tx
    .selectDistinct({ user: registrations.user })
    .from(registrations)
    .where(isExpired)
    .limit(maxUsersPerCleanup);
  const ids = found.map(({ user }) => user);
  if (ids.length === 0) return { deletedUsers: [], isPartial: false };
  // A transaction that adds or verifies a registration locks the user first, too.
  await tx.select({ id: users.id }).from(users).where(isAmong(users.id, ids)).orderBy(users.id).for('update');
  await tx.delete(registrations).where(and(isAmong(registrations.user, ids), isExpired));
  const deletedUsers = await deleteUsersWithoutRegistrations(tx, ids, now);
  return { deletedUsers, isPartial: ids.length === maxUsersPerCleanup };
}

/** Sets the role that the account receives when one of its registrations is verified. */
export async function writeRegistrationRole(tx: Executor, user: string, role: string | null): Promise<void> {
  await tx
    .update(users)
    .set({ role })
    .where(and(eq(users.id, user), sql`${users.role} is distinct from ${role}::uuid`));
}

/** The data that an account receives from the registration that is verified. */
export interface VerifiedRegistration {
  user: string;
  /** The hash. */
  password: string;
  firstName: string | null;
  lastName: string | null;
  verifiedAt: Date;
}

/** Activates the user of a registration, and deletes all of their registrations. */
export async function activateRegistered(tx: Executor, verified: VerifiedRegistration): Promise<void> {
  const { user, password, firstName, lastName, verifiedAt } = verified;
  const names = {
    ...(firstName === null ? {} : { firstName }),
    ...(lastName === null ? {} : { lastName }),
  };
  await tx
    .update(users)
    .set({ status: 'active', password, ...names, emailVerifiedAt: verifiedAt, usedLinks: sql`${users.usedLinks} + 1` })
    .where(eq(users.id, user));
  await deleteRegistrations(tx, [user]);
}
