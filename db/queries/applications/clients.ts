import { and, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import type { grantTypes } from '../../../schemas/clients.js';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { clientSecrets, clients, resources } from '../../schema.js';
import { rows } from '../../statements.js';
import type { Key } from '../items/writes.js';

/** Which of these identifiers belong to a resource. Until the transaction ends, these resources can be neither renamed nor deleted. */
export async function lockResources(tx: Executor, identifiers: readonly string[]): Promise<Set<string>> {
  if (identifiers.length === 0) return new Set();
  const found = await rows<{ identifier: string }>(
    tx,
    sql`select identifier from ${resources} where ${isAmong(sql`identifier`, identifiers, 'text')} order by id for share`,
  );
  return new Set(found.map(({ identifier }) => identifier));
}

/** The fields of a client whose rules depend on each other. */
export interface ClientCombination {
  id: string;
  type: ClientType;
  redirect_uris: string[];
  grant_types: (typeof grantTypes)[number][];
  first_party: boolean;
  pkce_required: boolean;
}

type ClientType = 'public' | 'confidential';

export async function readClientCombinations(tx: Executor, keys: readonly Key[]): Promise<ClientCombination[]> {
  if (keys.length === 0) return [];
  return rows<ClientCombination>(
    tx,
    sql`select id, type, redirect_uris, grant_types, first_party, pkce_required from ${clients}
      where ${isAmong(sql`id`, keys, 'uuid')}`,
  );
}

/** Locks a client until the transaction ends. Undefined if it does not exist. */
export async function lockClient(tx: Executor, id: string): Promise<{ type: ClientType } | undefined> {
  const [found] = await tx.select({ type: clients.type }).from(clients).where(eq(clients.id, id)).for('update');
  return found;
}

export interface NewSecret {
  client: string;
  /** SHA-256, in hex. */
  hash: string;
  createdAt: Date;
}

export async function insertClientSecrets(tx: Executor, secrets: readonly NewSecret[]): Promise<void> {
  if (secrets.length > 0) await tx.insert(clientSecrets).values([...secrets]);
}

/** The hash of the current secret of a client. */
export async function currentSecretHash(tx: Executor, client: string): Promise<string | undefined> {
  const isCurrent = and(eq(clientSecrets.client, client), isNull(clientSecrets.expiresAt));
  const [found] = await tx.select({ hash: clientSecrets.hash }).from(clientSecrets).where(isCurrent);
  return found?.hash;
}

/**
 * Replaces the current secret of a client, which the transaction has locked. The secret before it is accepted for some more time, and
 * those before that no longer.
 */
export async function replaceClientSecret(tx: Executor, secret: NewSecret, formerExpiresAt: Date): Promise<void> {
  const ofClient = eq(clientSecrets.client, secret.client);
  await tx.delete(clientSecrets).where(and(ofClient, isNotNull(clientSecrets.expiresAt)));
  await tx.update(clientSecrets).set({ expiresAt: formerExpiresAt }).where(ofClient);
  await tx.insert(clientSecrets).values(secret);
}
