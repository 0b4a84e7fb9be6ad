import { and, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import type { grantTypes, idTokenAlgorithms } from '../../../schemas/clients.js';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { clientSecrets, clients, resources } from '../../schema.js';
import { rows } from '../../statements.js';
import type { Key } from '../items/writes.js';

/** A client, with the hashes of the secrets that it can currently use. */
export interface ClientRecord {
  id: string;
  name: string;
  logo_uri: string | null;
  type: 'public' | 'confidential';
  redirect_uris: string[];
  post_logout_redirect_uris: string[];
  allowed_origins: string[];
  grant_types: (typeof grantTypes)[number][];
  /** Null: all scopes of OpenID Connect and of the client's resources. */
  scopes: string[] | null;
  /** The identifiers of resources. */
  resources: string[];
  first_party: boolean;
  minimal_id_token: boolean;
  /** Such as `15m`; null: the default. */
  access_token_ttl: string | null;
  refresh_token_ttl: string | null;
  id_token_signed_response_alg: (typeof idTokenAlgorithms)[number];
  backchannel_logout_uri: string | null;
  pkce_required: boolean;
  /** SHA-256, in hex. The current secret is first. */
  secret_hashes: string[];
}

/** IDs in this form only, so that a client has a single ID. */
const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Everything about the client with this ID. Undefined if there is none, or the text is not an ID in lower case. */
export async function findClient(executor: Executor, id: string, now: Date): Promise<ClientRecord | undefined> {
  if (!idPattern.test(id)) return undefined;
  const [found] = await rows<ClientRecord>(
    executor,
    sql`select c.id, c.name, c.logo_uri, c.type, c.redirect_uris, c.post_logout_redirect_uris, c.allowed_origins, c.grant_types,
        c.scopes, c.resources, c.first_party, c.minimal_id_token, c.access_token_ttl, c.refresh_token_ttl,
        c.id_token_signed_response_alg, c.backchannel_logout_uri, c.pkce_required,
        (select coalesce(jsonb_agg(s.hash order by s.expires_at desc nulls first), '[]') from ${clientSecrets} s
          where s.client = c.id and (s.expires_at is null or s.expires_at > ${now.toISOString()}::timestamptz)) as secret_hashes
      from ${clients} c where c.id = ${id}::uuid`,
  );
  return found;
}

/** An API that accepts access tokens. */
export interface ResourceRecord {
  id: string;
  identifier: string;
  name: string;
  scopes: string[];
  /** Such as `10m`. */
  access_token_ttl: string;
  open_to_unregistered: boolean;
}

/** The resources with these identifiers. Those that do not exist are missing. */
export async function findResources(
  executor: Executor,
  identifiers: readonly string[],
): Promise<Map<string, ResourceRecord>> {
  if (identifiers.length === 0) return new Map();
  const found = await rows<ResourceRecord>(
    executor,
    sql`select id, identifier, name, scopes, access_token_ttl, open_to_unregistered from ${resources}
      where ${isAmong(sql`identifier`, identifiers, 'text')}`,
  );
  return new Map(found.map((resource) => [resource.identifier, resource]));
}

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
export type ClientCombination = Pick<
  ClientRecord,
  'id' | 'type' | 'redirect_uris' | 'grant_types' | 'first_party' | 'pkce_required'
>;

export async function readClientCombinations(tx: Executor, keys: readonly Key[]): Promise<ClientCombination[]> {
  if (keys.length === 0) return [];
  return rows<ClientCombination>(
    tx,
    sql`select id, type, redirect_uris, grant_types, first_party, pkce_required from ${clients}
      where ${isAmong(sql`id`, keys, 'uuid')}`,
  );
}

/** Locks a client until the transaction ends. Undefined if it does not exist. */
export async function lockClient(tx: Executor, id: string): Promise<{ type: ClientRecord['type'] } | undefined> {
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
