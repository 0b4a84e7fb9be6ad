import { randomBytes } from 'node:crypto';
import { lockClient, replaceClientSecret } from '../../db/queries/applications/clients.js';
import { transact } from '../../db/statements.js';
import { ApiError } from '../../schemas/errors.js';
import type { Principal } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import { hashToken } from '../tokens/refresh-tokens.js';

/** How long a secret is accepted after it has been replaced, in milliseconds. */
export const formerSecretLifetime = 86_400_000;

/** A new secret, which is never stored, and its hash. The prefix lets scanners recognize a secret that has leaked. */
export function newClientSecret(): { secret: string; hash: string } {
  const secret = `gcs_${randomBytes(32).toString('base64url')}`;
  return { secret, hash: hashToken(secret) };
}

/**
 * Replaces the secret of a confidential client. The secret before it is accepted for another day.
 * @throws {ApiError} FORBIDDEN if the client does not exist; UNPROCESSABLE_CONTENT if it is public, or the configuration declares its secret;
 *   REAUTHENTICATION_REQUIRED
 */
export type CreateClientSecret = (caller: Principal, id: string) => Promise<string>;

/** @param isDeclared whether the configuration declares the secret of a client */
export function createCreateClientSecret(
  { dbOf, clock, stepUp, activity }: Services,
  isDeclared: (id: string) => boolean,
): CreateClientSecret {
  return async (caller, id) => {
    await stepUp.requireFreshAdministrator(caller);
    const { secret, hash } = newClientSecret();
    await transact(dbOf(caller), async (tx) => {
      const client = await lockClient(tx, id);
      if (!client) throw new ApiError('FORBIDDEN');
      if (client.type === 'public')
        throw new ApiError('UNPROCESSABLE_CONTENT', { reason: 'A public client has no secret' });
      if (isDeclared(id))
        throw new ApiError('UNPROCESSABLE_CONTENT', {
          reason: 'The secret of this client is declared in CLIENTS. Change it there, and restart the service.',
        });
      const now = clock();
      const formerExpiresAt = new Date(now.getTime() + formerSecretLifetime);
      await replaceClientSecret(tx, { client: id, hash, createdAt: now }, formerExpiresAt);
      await activity.record(tx, caller, [{ action: 'secret_create', collection: 'clients', item: id }]);
    });
    return secret;
  };
}
