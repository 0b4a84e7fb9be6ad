import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { clientSecrets, clients, loginAttempts, resources, settings } from '../../schema.js';
import { fixedStatement, rows } from '../../statements.js';
import { milliseconds } from '../access/principals.js';

/** A resource, as far as it determines tokens. */
export interface ResourceRecord {
  id: string;
  identifier: string;
  name: string;
  scopes: string[];
  /** A duration, such as `10m`. */
  access_token_ttl: string;
  open_to_unregistered: boolean;
}

/** A registered client, with everything that determines what it may do. */
export interface ClientRecord {
  id: string;
  name: string;
  logo_uri: string | null;
  type: 'public' | 'confidential';
  redirect_uris: string[];
  post_logout_redirect_uris: string[];
  allowed_origins: string[];
  grant_types: string[];
  scopes: string[] | null;
  /** The resources that it lists. */
  resources: ResourceRecord[];
  first_party: boolean;
  minimal_id_token: boolean;
  access_token_ttl: string | null;
  refresh_token_ttl: string | null;
  id_token_signed_response_alg: 'RS256' | 'ES256' | 'EdDSA';
  backchannel_logout_uri: string | null;
  pkce_required: boolean;
  /** The SHA-256 hashes of its valid secrets, in hex; the current one is first. */
  secrets: string[];
  /** How many wrong secrets lock it for a caller; null: they are not counted. */
  attempt_limit: number | null;
  /** The wrong secrets of this caller; null: none. `locked_until` is in milliseconds since 1970. */
  attempts: { locked_until: number | null } | null;
}

const resourceColumns = sql`'id', r.id, 'identifier', r.identifier, 'name', r.name, 'scopes', r.scopes,
  'access_token_ttl', r.access_token_ttl, 'open_to_unregistered', r.open_to_unregistered`;

const byId = fixedStatement<Record<'id' | 'now' | 'attempts', string>, ClientRecord>(
  (value) => sql`
  select c.id, c.name, c.logo_uri, c.type, c.redirect_uris, c.post_logout_redirect_uris, c.allowed_origins, c.grant_types, c.scopes,
    c.first_party, c.minimal_id_token, c.access_token_ttl, c.refresh_token_ttl, c.id_token_signed_response_alg,
    c.backchannel_logout_uri, c.pkce_required,
    array_to_json(array(
      select s.hash from ${clientSecrets} s
      where s.client = c.id and (s.expires_at is null or s.expires_at > ${value('now')}::timestamptz)
      order by s.expires_at desc nulls first
    )) as secrets,
    (select st.auth_login_attempts from ${settings} st) as attempt_limit,
    (select json_build_object('locked_until', ${milliseconds(sql`a.locked_until`)}) from ${loginAttempts} a
      where a.key = ${value('attempts')}) as attempts,
    (select coalesce(json_agg(json_build_object(${resourceColumns})), '[]') from ${resources} r
      where r.identifier in (select jsonb_array_elements_text(c.resources))) as resources
  from ${clients} c where c.id = ${value('id')}::uuid`,
);

/**
 * The client with this ID, its valid secrets, and its resources.
 * @param attempts the key under which wrong secrets of the caller are counted
 */
export async function findClient(
  executor: Executor,
  id: string,
  attempts: string,
  now: Date,
): Promise<ClientRecord | undefined> {
  return (await byId(executor, { id, attempts, now: now.toISOString() }))[0];
}

/** The resource with this identifier. */
export async function findResource(executor: Executor, identifier: string): Promise<ResourceRecord | undefined> {
  const [found] = await rows<{ resource: ResourceRecord }>(
    executor,
    sql`select json_build_object(${resourceColumns}) as resource from ${resources} r where r.identifier = ${identifier}`,
  );
  return found?.resource;
}

/** Which clients may identify themselves by the URL of their own metadata. */
export interface UnregisteredClients {
  mode: 'off' | 'listed' | 'any';
  hosts: string[];
}

/** Whether the settings allow a client that nobody registered. */
export const allowsUnregistered = ({ mode, hosts }: UnregisteredClients, id: string): boolean =>
  mode === 'any' || (mode === 'listed' && hosts.includes(new URL(id).host));

/**
 * The settings about clients that nobody registered, as JSON. None is allowed if the client ID is also the identifier of a resource: the
 * audience of an ID token (the client) could not be distinguished from that of an access token (the resource). The IDs of registered clients
 * are UUIDs, which are not URIs.
 */
export const unregisteredClients = (id: SQL): SQL => sql`(
  select json_build_object(
    'mode', case when exists (select from ${resources} o where o.identifier = ${id}) then 'off' else st.unregistered_clients end,
    'hosts', st.unregistered_client_hosts
  ) from ${settings} st
)`;

/** The settings about clients that nobody registered. @param id the client that the question is about */
export async function readUnregisteredClients(executor: Executor, id = ''): Promise<UnregisteredClients> {
  const [found] = await rows<{ allowed: UnregisteredClients | null }>(
    executor,
    sql`select ${unregisteredClients(sql`${id}`)} as allowed`,
  );
  return found?.allowed ?? { mode: 'off', hosts: [] };
}
