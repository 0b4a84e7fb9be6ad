import { and, asc, desc, eq, gte, ne, type SQL, sql } from 'drizzle-orm';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { inLowerCase } from '../../lower-case.js';
import { identities, users } from '../../schema.js';
import type { Key } from '../items/writes.js';

/** The user behind an account at a provider, with the data that a login through the provider is checked against. */
export interface IdentityHolder {
  identity: string;
  isPrimary: boolean;
  id: string;
  status: string;
  /** The provider of the user’s primary account, or `default`. */
  provider: string;
  email: string | null;
  emailVerifiedAt: Date | null;
  firstName: string | null;
  lastName: string | null;
  role: string | null;
  tfaSecret: string | null;
  tfaLastStep: number | null;
}

const holder = {
  identity: identities.id,
  isPrimary: identities.isPrimary,
  id: users.id,
  status: users.status,
  provider: users.provider,
  email: users.email,
  emailVerifiedAt: users.emailVerifiedAt,
  firstName: users.firstName,
  lastName: users.lastName,
  role: users.role,
  tfaSecret: users.tfaSecret,
  tfaLastStep: users.tfaLastStep,
};

/**
 * Finds the user behind an account at a provider.
 * @param identifier must be spelled exactly as it is stored, unless `ignoresCase`
 */
export const findIdentityHolder = (executor: Executor, provider: string, identifier: string, ignoresCase: boolean) =>
  findHolder(
    executor,
    provider,
    ignoresCase
      ? eq(inLowerCase(identities.identifier), inLowerCase(sql`${identifier}::text`))
      : eq(identities.identifier, identifier),
  );

/** Finds the user behind an account at a provider by the id of the identity. */
export const findIdentityHolderById = (executor: Executor, provider: string, identity: string) =>
  findHolder(executor, provider, eq(identities.id, identity));

async function findHolder(executor: Executor, provider: string, condition: SQL): Promise<IdentityHolder | undefined> {
  const [found] = await executor
    .select(holder)
    .from(identities)
    .innerJoin(users, eq(users.id, identities.user))
    .where(and(eq(identities.provider, provider), condition))
    // There can be several only if they were stored before the provider was configured to ignore case. The oldest account is used.
    .orderBy(asc(identities.createdAt), asc(identities.id))
    .limit(1);
  return found;
}

export interface NewProviderUser {
  id: string;
  provider: string;
  externalIdentifier: string;
  email: string | null;
  emailVerifiedAt: Date | null;
  firstName: string | null;
  lastName: string | null;
  role: string | null;
  authData: Record<string, unknown>;
  createdAt: Date;
}

/**
 * Creates an active user of a provider, unless another user has the address or the identifier by now. @returns whether the user
 * was created
 */
export async function insertProviderUser(tx: Executor, user: NewProviderUser): Promise<boolean> {
  const made = await tx.insert(users).values(user).onConflictDoNothing().returning({ id: users.id });
  return made.length === 1;
}

export interface NewIdentity {
  user: string;
  provider: string;
  identifier: string;
  email: string | null;
  isPrimary: boolean;
  createdAt: Date;
}

/** Stores an account at a provider, unless it is already stored. @returns whether it was stored */
export async function insertIdentity(tx: Executor, identity: NewIdentity): Promise<boolean> {
  const made = await tx.insert(identities).values(identity).onConflictDoNothing().returning({ id: identities.id });
  return made.length === 1;
}

/** What a login through a provider changes in an existing user. */
export interface ProviderUserChanges {
  authData?: Record<string, unknown>;
  role?: string | null;
  email?: string;
  emailVerifiedAt?: Date;
  firstName?: string | null;
  lastName?: string | null;
}

/**
 * Stores what a login through a provider changes, if the user is still active. The row stays locked until the transaction ends.
 * @returns whether the user is still active
 */
export async function updateProviderUser(tx: Executor, id: string, changes: ProviderUserChanges): Promise<boolean> {
  // An update must set at least one column, so set the status to what it already is.
  const updated = await tx
    .update(users)
    .set({ status: 'active', ...changes })
    .where(and(eq(users.id, id), eq(users.status, 'active')))
    .returning({ id: users.id });
  return updated.length === 1;
}

/** Records the use of an account at a provider, and the email address that it has there now. */
export async function noteIdentityUse(tx: Executor, identity: string, email: string | null, now: Date): Promise<void> {
  await tx.update(identities).set({ lastUsedAt: now, email }).where(eq(identities.id, identity));
}

export interface IdentityRecord {
  id: string;
  provider: string;
  external_identifier: string;
  email: string | null;
  primary: boolean;
  created_at: Date;
  last_used_at: Date | null;
}

/** The accounts with which a user can log in, the primary one first. */
export async function listIdentities(executor: Executor, user: string): Promise<IdentityRecord[]> {
  return executor
    .select({
      id: identities.id,
      provider: identities.provider,
      external_identifier: identities.identifier,
      email: identities.email,
      primary: identities.isPrimary,
      created_at: identities.createdAt,
      last_used_at: identities.lastUsedAt,
    })
    .from(identities)
    .where(eq(identities.user, user))
    .orderBy(desc(identities.isPrimary), asc(identities.createdAt), asc(identities.id));
}

/** How a user can log in, with the row locked until the transaction ends. */
export async function lockLoginMethods(
  tx: Executor,
  user: string,
): Promise<{ provider: string; hasPassword: boolean } | undefined> {
  const [found] = await tx
    .select({
      provider: users.provider,
      hasPassword: sql<boolean>`${users.password} is not null and ${users.email} is not null`,
    })
    .from(users)
    .where(eq(users.id, user))
    .for('update');
  return found;
}

export async function deleteIdentity(tx: Executor, id: string): Promise<void> {
  await tx.delete(identities).where(eq(identities.id, id));
}

/** Deletes the accounts that a user linked at `since` or later, except the primary one. @returns their providers */
export async function deleteIdentitiesSince(tx: Executor, user: string, since: Date): Promise<string[]> {
  const recent = and(eq(identities.user, user), gte(identities.createdAt, since), eq(identities.isPrimary, false));
  const removed = await tx.delete(identities).where(recent).returning({ provider: identities.provider });
  return removed.map(({ provider }) => provider);
}

/**
 * Makes another account the primary one of a user. With null, the user has none and becomes a user with a password. The data that
 * the former provider supplied about the user is deleted.
 */
export async function setPrimaryIdentity(
  tx: Executor,
  user: string,
  identity: { id: string; provider: string; external_identifier: string } | null,
): Promise<void> {
  await tx
    .update(users)
    .set({
      provider: identity?.provider ?? 'default',
      externalIdentifier: identity?.external_identifier ?? null,
      authData: null,
    })
    .where(eq(users.id, user));
  if (identity) await tx.update(identities).set({ isPrimary: true }).where(eq(identities.id, identity.id));
}

/**
 * Turns a user of a provider into a user of this service, who signs in with a password. Their account at the provider stays linked. The
 * data that the provider supplied about the user is deleted.
 * @returns the changed fields; none if the user was not a user of a provider
 */
export async function leaveProvider(tx: Executor, user: string): Promise<string[]> {
  const left = await tx
    .update(users)
    .set({ provider: 'default', externalIdentifier: null, authData: null })
    .where(and(eq(users.id, user), ne(users.provider, 'default')))
    .returning({ id: users.id });
  if (left.length === 0) return [];
  await tx.update(identities).set({ isPrimary: false }).where(eq(identities.user, user));
  return ['provider', 'external_identifier', 'auth_data'];
}

/**
 * Updates the primary accounts of these users to match their current `provider` and `external_identifier`.
 * @param action users who have just been created have no primary account yet
 */
export async function syncPrimaryIdentities(
  tx: Executor,
  keys: readonly Key[],
  action: 'create' | 'update',
  now: Date,
): Promise<void> {
  const named = keys.map(String);
  if (action === 'update') {
    await tx.execute(
      // A linked account that becomes the primary one is replaced.
      sql`delete from ${identities} i using ${users} u where u.id = i."user" and ${isAmong(sql`u.id`, named)}
        and (i.is_primary or (i.provider = u.provider and i.identifier = u.external_identifier))`,
    );
  }
  await tx.execute(sql`
    insert into ${identities} ("user", provider, identifier, email, is_primary, created_at)
    select u.id, u.provider, u.external_identifier, u.email, true, ${now.toISOString()}::timestamptz from ${users} u
    where ${isAmong(sql`u.id`, named)} and u.provider <> 'default' and u.external_identifier is not null`);
}
