import { randomBytes } from 'node:crypto';
import type { Executor } from '../db/client.js';
import { createAdministrator, ensureSettings, hasNoUsers } from '../db/queries/bootstrap.js';
import type { Config } from '../schemas/config.js';
import type { Passwords } from './passwords/service.js';
import { hashToken } from './tokens/refresh-tokens.js';

/** The administrator that this start has made; `password` only when it was made up here and has to be told. */
export interface MadeAdministrator {
  email: string;
  password: string | null;
}

/**
 * Fills an empty database: the row of settings and, when nobody has an account yet, the administrator (contract 5).
 * Run it under the lock of the migrations, and it does its work once however many instances start.
 */
export async function bootstrap(tx: Executor, config: Config, passwords: Passwords): Promise<MadeAdministrator | null> {
  await ensureSettings(tx);
  if (!(await hasNoUsers(tx))) return null;
  const password = config.ADMIN_PASSWORD ?? randomBytes(15).toString('base64url');
  await createAdministrator(tx, {
    email: config.ADMIN_EMAIL,
    password: await passwords.hash(password),
    tokenHash: config.ADMIN_TOKEN === undefined ? null : hashToken(config.ADMIN_TOKEN),
  });
  return { email: config.ADMIN_EMAIL, password: config.ADMIN_PASSWORD === undefined ? password : null };
}
