import { eq, inArray, sql } from 'drizzle-orm';
import type { Executor } from '../client.js';
import { inLowerCase } from '../lower-case.js';
import { users } from '../schema.js';

/** A user as mails and the links in them need to know them. */
export interface Recipient {
  id: string;
  email: string | null;
  status: string;
  provider: string;
  /** The hash. */
  password: string | null;
  usedLinks: number;
  firstName: string | null;
  lastName: string | null;
  language: string | null;
}

const columns = {
  id: users.id,
  email: users.email,
  status: users.status,
  provider: users.provider,
  password: users.password,
  usedLinks: users.usedLinks,
  firstName: users.firstName,
  lastName: users.lastName,
  language: users.language,
};

export async function findRecipient(executor: Executor, id: string): Promise<Recipient | undefined> {
  const [found] = await executor.select(columns).from(users).where(eq(users.id, id));
  return found;
}

/** The same, the row locked until the transaction ends. */
export async function lockRecipient(tx: Executor, id: string): Promise<Recipient | undefined> {
  const [found] = await tx.select(columns).from(users).where(eq(users.id, id)).for('update');
  return found;
}

const hasAddress = (email: string) => eq(inLowerCase(users.email), email.toLowerCase());

/** The user with this address in any letter case. */
export async function findRecipientByEmail(executor: Executor, email: string): Promise<Recipient | undefined> {
  const [found] = await executor.select(columns).from(users).where(hasAddress(email));
  return found;
}

/** The same, the row locked until the transaction ends. */
export async function lockRecipientByEmail(tx: Executor, email: string): Promise<Recipient | undefined> {
  const [found] = await tx.select(columns).from(users).where(hasAddress(email)).for('update');
  return found;
}

/** Makes an account usable by a link: with this password if there is one, and active from now on. */
export async function activate(tx: Executor, id: string, password: string | null): Promise<void> {
  await tx
    .update(users)
    .set({ status: 'active', usedLinks: oneMore, ...(password === null ? {} : { password }) })
    .where(eq(users.id, id));
}

/** Writes the password that was chosen by a link. */
export async function resetPassword(tx: Executor, id: string, password: string): Promise<void> {
  await tx.update(users).set({ password, usedLinks: oneMore }).where(eq(users.id, id));
}

const oneMore = sql`${users.usedLinks} + 1`;

export async function writeRole(tx: Executor, id: string, role: string): Promise<void> {
  await tx.update(users).set({ role }).where(eq(users.id, id));
}

export interface NewAccount {
  id: string;
  email: string;
  status: 'invited' | 'unverified' | 'active';
  role: string | null;
  password?: string;
  firstName?: string | null;
  lastName?: string | null;
}

/** Makes a user, unless somebody has the address by now. @returns whether it was made */
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

/** How somebody gets into their account, as far as it is told what of it has changed. */
export interface AccountState {
  id: string;
  email: string | null;
  status: string;
  provider: string;
  externalIdentifier: string | null;
  hasTfa: boolean;
  hasToken: boolean;
}

/** @param ids no more than one chunk of them */
export async function readAccountStates(executor: Executor, ids: readonly string[]): Promise<AccountState[]> {
  return executor
    .select(accountState)
    .from(users)
    .where(inArray(users.id, [...ids]));
}
