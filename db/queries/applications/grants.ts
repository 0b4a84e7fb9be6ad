import { sql } from 'drizzle-orm';
import type { Grant } from '../../../schemas/grants.js';
import { impliedScope } from '../../../schemas/scopes.js';
import type { Executor } from '../../client.js';
import { resources as apis, clients, oauthGrants } from '../../schema.js';
import { rows } from '../../statements.js';

// The access that users have given to applications.

export interface GrantRecord {
  id: string;
  user: string;
  client: string;
  /** The scopes that are not those of a resource. */
  scopes: string[];
  /** The scopes of each resource, by its identifier. */
  resources: Record<string, string[]>;
  /** For a client that nobody registered: a hash of what the user saw. */
  digest: string | null;
}

const grantColumns = sql`g.id, g."user", g.client, g.scopes, g.resources, g.digest`;

export async function findGrant(executor: Executor, user: string, client: string): Promise<GrantRecord | undefined> {
  const [found] = await rows<GrantRecord>(
    executor,
    sql`select ${grantColumns} from ${oauthGrants} g where g."user" = ${user}::uuid and g.client = ${client}`,
  );
  return found;
}

export async function findGrantById(executor: Executor, id: string): Promise<GrantRecord | undefined> {
  const [found] = await rows<GrantRecord>(
    executor,
    sql`select ${grantColumns} from ${oauthGrants} g where g.id = ${id}::uuid`,
  );
  return found;
}

/** What a user gives to a client, in addition to what they have given before. */
export interface Consent {
  user: string;
  client: string;
  registeredClient: string | null;
  clientName: string | null;
  scopes: readonly string[];
  resources: Readonly<Record<string, readonly string[]>>;
  digest: string | null;
}

/** Stores a consent. @returns the grant */
export async function saveGrant(tx: Executor, consent: Consent, now: Date): Promise<GrantRecord> {
  const { user, client, registeredClient, clientName, scopes, resources, digest } = consent;
  const [saved] = await rows<GrantRecord>(
    tx,
    sql`insert into ${oauthGrants} as g ("user", client, registered_client, client_name, scopes, resources, digest, created_at)
      values (${user}::uuid, ${client}, ${registeredClient}::uuid, ${clientName}, ${JSON.stringify(scopes)}::jsonb,
        ${JSON.stringify(resources)}::jsonb, ${digest}, ${now.toISOString()})
      on conflict ("user", client) do update set client_name = excluded.client_name, digest = excluded.digest,
        scopes = (select coalesce(jsonb_agg(distinct scope), '[]') from (
          select jsonb_array_elements_text(g.scopes) as scope union select jsonb_array_elements_text(excluded.scopes)) both_lists),
        resources = (select coalesce(jsonb_object_agg(key, list), '{}') from (
          select key, coalesce(jsonb_agg(distinct scope) filter (where scope is not null), '[]') as list from (
            select given.key, item.scope from (
              select * from jsonb_each(g.resources) union all select * from jsonb_each(excluded.resources)
            ) given left join lateral jsonb_array_elements_text(given.value) as item(scope) on true
          ) pairs group by key) merged)
      returning ${grantColumns}`,
  );
  return saved as GrantRecord;
}

/**
 * The grants of a user, most recently used first.
 * @param firstParty whether to include those of first-party clients, to which the service has given the access, and not the user
 */
export async function listGrants(
  executor: Executor,
  user: string,
  limit: number,
  { firstParty = false }: { firstParty?: boolean } = {},
): Promise<Grant[]> {
  const { id, client, scopes, resources, createdAt, lastUsedAt, clientName, registeredClient } = oauthGrants;
  const found = await executor
    .select({
      id,
      client: {
        id: client,
        name: sql<string>`coalesce(${clients.name}, ${clientName}, ${client})`,
        logo_uri: clients.logoUri,
      },
      scopes,
      resources,
      // A resource that was deleted has no name.
      names: sql<Record<string, string>>`(select coalesce(json_object_agg(r.identifier, r.name), '{}') from ${apis} r
        where r.identifier in (select jsonb_object_keys(${resources})))`,
      created_at: createdAt,
      last_used_at: lastUsedAt,
    })
    .from(oauthGrants)
    .leftJoin(clients, sql`${clients.id} = ${registeredClient}`)
    .where(sql`${oauthGrants.user} = ${user}::uuid and (${firstParty} or ${clients.firstParty} is not true)`)
    .orderBy(sql`coalesce(${lastUsedAt}, ${createdAt}) desc, ${id}`)
    .limit(limit);
  return found.map(({ names, resources, ...grant }) => ({
    ...grant,
    resources: Object.entries(resources).map(([identifier, list]) => ({
      identifier,
      name: names[identifier] ?? identifier,
      scopes: list.filter((scope) => scope !== impliedScope),
    })),
  }));
}

/** Withdraws a grant, and everything that was issued for it. @returns the client; undefined if the user has no such grant */
export async function deleteGrant(executor: Executor, user: string, id: string): Promise<string | undefined> {
  const [deleted] = await rows<{ client: string }>(
    executor,
    sql`delete from ${oauthGrants} where id = ${id}::uuid and "user" = ${user}::uuid
      and not exists (select from ${clients} c where c.id = registered_client and c.first_party) returning client`,
  );
  return deleted?.client;
}
