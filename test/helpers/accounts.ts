import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import { users } from '../../db/schema.js';
import { rfcSecret } from './totp.js';

type UserColumns = Partial<typeof users.$inferInsert>;

export interface Account {
  id: string;
  email: string;
  /** Plaintext. */
  password: string;
}

export const accountPassword = 'a password, long enough for any account';

/**
 * Inserts a user into the database. By default, the user is active, has no role, and can log in.
 * @param columns stored values that replace the defaults; `password` is a hash or null
 */
export async function createAccount(app: FastifyInstance, columns: UserColumns = {}): Promise<Account> {
  const id = columns.id ?? randomUUID();
  const email = `user-${id}@example.com`;
  const password = 'password' in columns ? columns.password : await app.passwords.hash(accountPassword);
  await app.db.insert(users).values({ email, ...columns, id, password });
  return { id, email: columns.email ?? email, password: accountPassword };
}

/** Like `createAccount`, with two-factor authentication. @param secret in base32 */
export async function createTfaAccount(
  app: FastifyInstance,
  columns: UserColumns = {},
  secret: string = rfcSecret.base32,
): Promise<Account> {
  const id = columns.id ?? randomUUID();
  return createAccount(app, { ...columns, id, tfaSecret: app.tfaSecrets.seal(secret, id) });
}

/** Updates a user directly in the database, bypassing the service. */
export async function updateAccount(app: FastifyInstance, id: string, columns: UserColumns): Promise<void> {
  await app.db.update(users).set(columns).where(eq(users.id, id));
}

/** Deletes a user directly in the database, bypassing the service. */
export async function deleteAccount(app: FastifyInstance, id: string): Promise<void> {
  await app.db.delete(users).where(eq(users.id, id));
}

/** The stored row of a user. */
export async function storedUser(app: FastifyInstance, id: string) {
  const [row] = await app.db.select().from(users).where(eq(users.id, id));
  if (!row) throw new Error(`There is no user ${id}.`);
  return row;
}
