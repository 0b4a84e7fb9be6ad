import { and, eq, gte, inArray, isNotNull, sql } from 'drizzle-orm';
import { storedEmail } from '../../../schemas/common.js';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { foldCase, inLowerCase } from '../../lower-case.js';
import { users } from '../../schema.js';
import { isUnclaimed } from '../registration/unclaimed-users.js';

/** The data of a user that emails, and the links in them, depend on. */
export interface Recipient {
  id: string;
  email: string | null;
  status: string;
  provider: string;
  /** The hash. */
  password: string | null;
  usedLinks: number;
  createdAt: Date;
  firstName: string | null;
  lastName: string | null;
  language: string | null;
  /** When the address was last confirmed; null: it is not known who owns it. */
  emailVerifiedAt: Date | null;
  /** Whether the user exists only because someone registered the address, which no one has verified. */
  isUnclaimed: boolean;
}

const columns = {
  id: users.id,
  email: users.email,
  status: users.status,
  provider: users.provider,
  password: users.password,
  usedLinks: users.usedLinks,
  createdAt: users.createdAt,
  firstName: users.firstName,
  lastName: users.lastName,
  language: users.language,
  emailVerifiedAt: users.emailVerifiedAt,
  isUnclaimed,
};

export async function findRecipient(executor: Executor, id: string): Promise<Recipient | undefined> {
  const [found] = await executor.select(columns).from(users).where(eq(users.id, id));
  return found;
}

/** Texts that belong to users and must not be used as passwords. @param ids at most one chunk */
export async function readOwnTexts(
  executor: Executor,
  ids: readonly string[],
): Promise<{ id: string; texts: (string | null)[] }[]> {
  const { id, email, firstName, lastName } = columns;
  const found = await executor.select({ id, email, firstName, lastName }).from(users).where(isAmong(users.id, ids));
  return found.map((user) => ({ id: user.id, texts: [user.email, user.firstName, user.lastName] }));
}

/** Like {@link findRecipient}, with the row locked until the transaction ends. */
export async function lockRecipient(tx: Executor, id: string): Promise<Recipient | undefined> {
  const [found] = await tx.select(columns).from(users).where(eq(users.id, id)).for('update');
  return found;
}

/** As it was typed, or in the form in which it would be stored. */
const hasAddress = (email: string) =>
  inArray(inLowerCase(users.email), [...new Set([email, storedEmail(email) ?? email])].map(foldCase));

/** The user with this email address, in any letter case. */
export async function findRecipientByEmail(executor: Executor, email: string): Promise<Recipient | undefined> {
  const [found] = await executor.select(columns).from(users).where(hasAddress(email));
  return found;
}

/** The same, with the row locked until the transaction ends. */
export async function lockRecipientByEmail(tx: Executor, email: string): Promise<Recipient | undefined> {
  const [found] = await tx.select(columns).from(users).where(hasAddress(email)).for('update');
  return found;
}

/**
 * Activates an account after its user has followed a link, which proves that they read the mailbox. Also sets the password, if
 * there is one.
 */
export async function activate(tx: Executor, id: string, password: string | null, now: Date): Promise<void> {
  await tx
    .update(users)
    .set({ status: 'active', emailVerifiedAt: now, ...(password === null ? {} : { password }) })
    .where(eq(users.id, id));
}

/** Stores a password that was chosen through a link, which proves that the user reads the mailbox. */
export async function resetPassword(tx: Executor, id: string, password: string, now: Date): Promise<void> {
  await tx.update(users).set({ password, emailVerifiedAt: now }).where(eq(users.id, id));
}

/** Removes the static token if it was set at `since` or later. @returns whether it was removed */
export async function removeTokenSetSince(tx: Executor, id: string, since: Date): Promise<boolean> {
  const removed = await tx
    .update(users)
    .set({ tokenHash: null, tokenSetAt: null })
    .where(and(eq(users.id, id), isNotNull(users.tokenHash), gte(users.tokenSetAt, since)))
    .returning({ id: users.id });
  return removed.length === 1;
}

export interface NewAccount {
  id: string;
  email: string;
  status: 'invited' | 'unverified' | 'active';
  role: string | null;
  createdAt: Date;
  password?: string;
  firstName?: string | null;
  lastName?: string | null;
  isFromRegistration?: boolean;
}

/** Creates a user, unless another user has the address by now. @returns whether the user was created */
export async function insertAccount(tx: Executor, account: NewAccount): Promise<boolean> {
  const made = await tx.insert(users).values(account).onConflictDoNothing().returning({ id: users.id });
  return made.length === 1;
}

const accountState = {
  id: users.id,
  email: users.email,
  status: users.status,
  provider: users.provider,
  externalIdentifier: users.externalIdentifier,
  hasTfa: sql<boolean>`${users.tfaSecret} is not null`,
  hasToken: sql<boolean>`${users.tokenHash} is not null`,
};

/** The ways in which a user can log in to their account, limited to those whose changes are reported in notices. */
export interface AccountState {
  id: string;
  email: string | null;
  status: string;
  provider: string;
  externalIdentifier: string | null;
  hasTfa: boolean;
  hasToken: boolean;
}

export async function readAccountStates(executor: Executor, ids: readonly string[]): Promise<AccountState[]> {
  return executor.select(accountState).from(users).where(isAmong(users.id, ids));
}
