import { randomBytes } from 'node:crypto';
import type { Executor } from '../../db/client.js';
import { createAdministrator, ensureSettings, hasNoUsers } from '../../db/queries/users/bootstrap.js';
import { beginChain } from '../activity/chain.js';
import { createSignatures } from '../activity/signatures.js';
import { ConfigError } from '../platform/config.js';
import { prepareDataDirectory, writePrivateFile } from '../platform/data-directory.js';
import { keysFor } from '../platform/key-derivation.js';
import { definePlugin, type Services } from '../platform/plugin.js';
import { hashToken } from '../tokens/refresh-tokens.js';

declare module '../platform/plugin.js' {
  interface Services {
    /** The administrator that the service created during this startup; null: it created none. */
    createdAdministrator: CreatedAdministrator | null;
  }
}

/** The administrator that the service created during this startup. */
export interface CreatedAdministrator {
  email: string;
  /** The generated password, to be shown on the terminal. Null: ADMIN_PASSWORD was set, or the password is in `passwordFile`. */
  password: string | null;
  /** The file that contains the generated password if there is no terminal to show it on. */
  passwordFile: string | null;
}

/**
 * Creates the settings row of an empty database and, if there are no users, the administrator and the beginning of the audit log's
 * chain. Run it under the migration lock, so that it takes effect only once, even if several instances start at the same time.
 * @param showsPassword whether there is a terminal to show a generated password on
 * @returns the administrator; null: there was one already
 * @throws {ConfigError} when a generated password can neither be shown nor stored
 */
export async function bootstrap(
  tx: Executor,
  services: Pick<Services, 'config' | 'passwords'>,
  showsPassword: boolean,
): Promise<CreatedAdministrator | null> {
  await ensureSettings(tx);
  return (await hasNoUsers(tx)) ? createFirst(tx, services, showsPassword) : null;
}

/** `app.createdAdministrator`. Warns the operator if the password of the new administrator is weak. */
export const createdAdministratorPlugin = definePlugin<{ created: CreatedAdministrator | null }>(
  'users/created-administrator',
  (services, app, { created }) => {
    const { config, passwordRules } = services;
    const warnIfWeak = async () => {
      if (!created || config.ADMIN_PASSWORD === undefined) return;
      try {
        const password = { password: config.ADMIN_PASSWORD, ownTexts: [created.email] };
        const reasons = await passwordRules.reasonsAgainst(password);
        if (reasons.length > 0)
          app.log.warn({ reasons }, 'ADMIN_PASSWORD is weak. Change the password of the administrator');
      } catch (err) {
        app.log.warn({ err }, 'ADMIN_PASSWORD could not be checked');
      }
    };
    // Not awaited: `onListen` hooks run one after another, and the check may take seconds.
    app.addHook('onListen', async () => void warnIfWeak());
    return { createdAdministrator: created };
  },
);

async function createFirst(
  tx: Executor,
  { config, passwords }: Pick<Services, 'config' | 'passwords'>,
  showsPassword: boolean,
): Promise<CreatedAdministrator> {
  const password = config.ADMIN_PASSWORD ?? randomBytes(15).toString('base64url');
  const isGenerated = config.ADMIN_PASSWORD === undefined;
  // Stored before the account is created, because an account whose password is lost is of no use.
  const passwordFile = isGenerated && !showsPassword ? keepPassword(config.DATA_DIR, password) : null;
  await createAdministrator(tx, {
    email: config.ADMIN_EMAIL,
    password: await passwords.hash(password),
    tokenHash: config.ADMIN_TOKEN === undefined ? null : hashToken(config.ADMIN_TOKEN),
  });
  await beginChain(tx, createSignatures(keysFor(config, 'activity')));
  return { email: config.ADMIN_EMAIL, password: isGenerated && showsPassword ? password : null, passwordFile };
}

function keepPassword(dataDir: string, password: string): string {
  try {
    return writePrivateFile(prepareDataDirectory(dataDir), 'admin-password', `${password}\n`);
  } catch (error) {
    const { message } = error as Error;
    throw new ConfigError([
      `ADMIN_PASSWORD: must be set, because there is no terminal on which to show a generated password, and it cannot be stored in DATA_DIR (${message})`,
    ]);
  }
}
