import { randomUUID } from 'node:crypto';
import { count, eq } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import { recoveryCodes, userPolicies, users, userUses } from '../../../db/schema.js';
import { hashToken } from '../../../plugins/tokens/refresh-tokens.js';
import { bearer, type TestApp } from '../service/app.js';
import { userPassword } from './credentials.js';
import { openSession } from './sessions.js';
import { rfcSecret } from './totp.js';

/**
 * Users of a service in the test process. `createUser` inserts one into the database. `createUserWithToken` and
 * `createSignedInUser` also return the headers of the user's requests. `logIn` in `sessions.ts` logs a user in.
 */

type UserColumns = Partial<typeof users.$inferInsert>;

/** The columns of a user, and what is stored elsewhere or not as it is. `password` is a hash or null. */
export interface NewUser extends UserColumns {
  token?: string;
  policies?: string[];
  lastAccess?: Date | null;
  /** Two-factor authentication with an app: its secret in base32, or true for that of the RFC. */
  tfa?: string | true;
}

export interface TestUser {
  id: string;
  email: string;
  /** Plaintext. */
  password: string;
}

/** By default, the user is active, has no role, and can log in with `userPassword`. */
export async function createUser(
  app: FastifyInstance,
  { token, policies = [], tfa, lastAccess, ...columns }: NewUser = {},
): Promise<TestUser> {
  const id = columns.id ?? randomUUID();
  const email = `user-${id}@example.com`;
  const password = 'password' in columns ? columns.password : await app.passwords.hash(userPassword);
  await app.db.insert(users).values({
    ...(token !== undefined && { tokenHash: hashToken(token) }),
    ...(tfa !== undefined && { tfaSecret: app.tfaSecrets.seal(tfa === true ? rfcSecret.base32 : tfa, id) }),
    email,
    ...columns,
    id,
    password,
  });
  if (lastAccess) await setLastAccess(app, lastAccess, id);
  for (const policy of policies) await app.db.insert(userPolicies).values({ user: id, policy });
  return { id, email: columns.email ?? email, password: userPassword };
}

let tokens = 0;

/** Creates a user with a static token and a current `last_access`, so that their requests do not change their row. */
export async function createUserWithToken(app: FastifyInstance, values: NewUser = {}) {
  const token = `the static token ${++tokens} of a test`.replaceAll(' ', '-');
  const user = await createUser(app, { token, lastAccess: app.clock(), ...values });
  return { ...user, token, headers: bearer(token) };
}

export type UserWithToken = Awaited<ReturnType<typeof createUserWithToken>>;

/** Creates a user with a session, a static token, and functions for the operations of two-factor authentication. */
export async function createSignedInUser(service: TestApp, values: NewUser = {}) {
  const { app, post } = service;
  const holder = await createUserWithToken(app, values);
  const user = { ...holder, headers: await openSession(app, holder.id), tokenHeaders: holder.headers };
  const { email, password } = user;
  const ask =
    (path: string) =>
    (body: object = {}, headers: Record<string, string> = user.headers) =>
      post(`/users/me/tfa/${path}`, body, headers);
  const login = (otp?: unknown, others: object = {}) =>
    post('/auth/login', { email, password, ...(otp === undefined ? {} : { otp }), ...others });
  return {
    ...user,
    generate: ask('generate'),
    enable: ask('enable'),
    disable: ask('disable'),
    renewCodes: ask('recovery-codes'),
    login,
    /** Logs in and returns the headers of the new session. */
    signIn: async (otp?: string) => bearer((await login(otp)).json().data.access_token),
    row: () => storedUser(app, user.id),
    codesLeft: () => codesLeft(app, user.id),
  };
}

export type SignedInUser = Awaited<ReturnType<typeof createSignedInUser>>;

/** Updates a user directly in the database, bypassing the service. */
export async function changeUser(
  app: FastifyInstance,
  id: string,
  { lastAccess, ...columns }: UserColumns & Pick<NewUser, 'lastAccess'>,
): Promise<void> {
  if (lastAccess !== undefined) await setLastAccess(app, lastAccess, id);
  if (Object.keys(columns).length > 0) await app.db.update(users).set(columns).where(eq(users.id, id));
}

/** Deletes a user directly in the database, bypassing the service. */
export async function deleteUser(app: FastifyInstance, id: string): Promise<void> {
  await app.db.delete(users).where(eq(users.id, id));
}

/** The stored row of a user. */
export async function storedUser(app: FastifyInstance, id: string) {
  const [row] = await app.db.select().from(users).where(eq(users.id, id));
  if (!row) throw new Error(`There is no user ${id}.`);
  return row;
}

/** The number of recovery codes that a user can still use. */
export async function codesLeft(app: FastifyInstance, id: string): Promise<number> {
  const [found] = await app.db.select({ left: count() }).from(recoveryCodes).where(eq(recoveryCodes.user, id));
  return found?.left ?? 0;
}

/** Sets the last access of a user, or of all users. */
export async function setLastAccess(app: FastifyInstance, lastAccess: Date | null, id?: string): Promise<void> {
  await app.db
    .update(userUses)
    .set({ lastAccess })
    .where(id === undefined ? undefined : eq(userUses.user, id));
}

/** The stored last access of a user. */
export async function lastAccessOf(app: FastifyInstance, id: string): Promise<Date | null> {
  const [found] = await app.db.select().from(userUses).where(eq(userUses.user, id));
  if (!found) throw new Error(`There is no user ${id}.`);
  return found.lastAccess;
}
