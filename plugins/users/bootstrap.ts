import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Executor } from '../../db/client.js';
import { createAdministrator, ensureSettings, hasNoUsers } from '../../db/queries/users/bootstrap.js';
import { ConfigError } from '../platform/config.js';
import { keepFile, prepareDataDirectory } from '../platform/data-directory.js';
import { hashToken } from '../tokens/refresh-tokens.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** The administrator, if this start created one. */
    madeAdministrator: MadeAdministrator | null;
  }
}

/** The administrator that this start has created. */
export interface MadeAdministrator {
  email: string;
  /** Generated, and to be shown on the terminal; null when ADMIN_PASSWORD was set, or when it is in `passwordFile`. */
  password: string | null;
  /** Where a generated password is kept when there is no terminal to show it on. */
  passwordFile: string | null;
}

/**
 * Fills an empty database: the settings row and, if there are no users, the administrator. Run it under the lock of the
 * migrations, so that it has its effect once, however many instances start.
 * @param showsPassword whether there is a terminal to show a generated password on
 * @returns throws {ConfigError} when a generated password can neither be shown nor stored
 */
export const bootstrapOf =
  (app: FastifyInstance, showsPassword: boolean) =>
  async (tx: Executor): Promise<void> => {
    await ensureSettings(tx);
    app.decorate('madeAdministrator', (await hasNoUsers(tx)) ? await createFirst(tx, app, showsPassword) : null);
  };

async function createFirst(
  tx: Executor,
  { config, passwords }: FastifyInstance,
  showsPassword: boolean,
): Promise<MadeAdministrator> {
  const password = config.ADMIN_PASSWORD ?? randomBytes(15).toString('base64url');
  const isGenerated = config.ADMIN_PASSWORD === undefined;
  // Before the account is created: a password that got lost would be of no use.
  const passwordFile = isGenerated && !showsPassword ? keepPassword(config.DATA_DIR, password) : null;
  await createAdministrator(tx, {
    email: config.ADMIN_EMAIL,
    password: await passwords.hash(password),
    tokenHash: config.ADMIN_TOKEN === undefined ? null : hashToken(config.ADMIN_TOKEN),
  });
  return { email: config.ADMIN_EMAIL, password: isGenerated && showsPassword ? password : null, passwordFile };
}

function keepPassword(dataDir: string, password: string): string {
  try {
    return keepFile(prepareDataDirectory(dataDir), 'admin-password', `${password}\n`);
  } catch (error) {
    const { message } = error as Error;
    throw new ConfigError([
      `ADMIN_PASSWORD: must be set, because there is no terminal to show a generated password on, and it cannot be kept in DATA_DIR (${message})`,
    ]);
  }
}
