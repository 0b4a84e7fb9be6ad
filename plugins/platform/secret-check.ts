import type { Executor } from '../../db/client.js';
import { readSecretCheck, writeSecretCheck } from '../../db/queries/platform/secret-check.js';
import type { Config } from '../../schemas/config.js';
import { ConfigError } from './config.js';
import { deriveKey, keysFor } from './key-derivation.js';

/** The start of a check value identifies a SECRET in messages, and reveals nothing about it. */
const idOf = (checkValue: string) => checkValue.slice(0, 8);

/** The value of LOST_SECRET_ID for a SECRET. */
export const secretIdOf = (secret: string): string => idOf(checkValueOf(deriveKey(secret, 'secret-check')));

const checkValueOf = (key: Buffer) => key.toString('base64url');

type Secrets = Pick<Config, 'SECRET' | 'PREVIOUS_SECRETS' | 'LOST_SECRET_ID'>;

/**
 * Checks that the database was used with SECRET or with one of PREVIOUS_SECRETS, and stores the check value of SECRET. With any other
 * SECRET, no session, link, or second factor would work, and the audit log could not be continued. Run it under the migration lock.
 * @throws {ConfigError}
 */
export async function requireKnownSecret(tx: Executor, secrets: Secrets): Promise<void> {
  const [currentKey, ...previousKeys] = keysFor(secrets, 'secret-check');
  const current = checkValueOf(currentKey);
  const stored = await readSecretCheck(tx);
  if (stored === current) return;
  const isAccepted =
    stored === undefined || previousKeys.map(checkValueOf).includes(stored) || secrets.LOST_SECRET_ID === idOf(stored);
  if (!isAccepted) {
    throw new ConfigError([
      `SECRET: the database was used with another SECRET. Set SECRET to that one, or add it to PREVIOUS_SECRETS. If it is lost, see "A lost secret" in docs/operations.md: with LOST_SECRET_ID=${idOf(stored)}, the service starts, but all sessions, links in emails, and second factors stop working, and the audit log cannot be verified or continued`,
    ]);
  }
  await writeSecretCheck(tx, current);
}
