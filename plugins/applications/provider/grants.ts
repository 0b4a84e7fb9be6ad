import { createHash } from 'node:crypto';
import type { AdapterPayload, KoaContextWithOIDC, Client as LibraryClient } from 'oidc-provider';
import {
  type Consent,
  findGrant,
  findGrantById,
  type GrantRecord,
  saveGrant,
} from '../../../db/queries/applications/grants.js';
import type { ClientRecord } from '../../../db/queries/applications/provider-clients.js';
import { transact } from '../../../db/statements.js';
import { type ClientDirectory, grantableScopes, isMetadataUrl, ownScopesOf, settingsOf } from './clients.js';
import { currentContext, exchangeOf, type Library, type ProviderServices } from './exchange.js';

/** The access that a client has to a user's account: one grant for each user and client. */
export interface ClientGrants {
  /** The payload of a grant for the library. */
  payload(id: string): Promise<AdapterPayload | undefined>;
  /** Keeps a grant that was read together with a token, for this request. */
  remember(grant: GrantRecord): void;
  /** The grant of a user to a first-party client, which needs no consent. */
  ofFirstParty(user: string, client: LibraryClient): Promise<GrantRecord>;
  /** The grant of the signed-in user to the client, as an authorization request needs it. */
  load(ctx: KoaContextWithOIDC): Promise<AdapterPayload | undefined>;
}

/** Hashes what a user sees about a client that nobody registered. When it changes, the user is asked again. */
const digestOf = ({ clientName, redirectUris = [] }: Pick<LibraryClient, 'clientName' | 'redirectUris'>): string =>
  createHash('sha256')
    .update(JSON.stringify([clientName, redirectUris]))
    .digest('hex');

/** What is stored when a user gives a client access. */
export function consentTo(client: LibraryClient, user: string, access: Pick<Consent, 'scopes' | 'resources'>): Consent {
  const { clientId } = client;
  const { isRegistered, name } = settingsOf(client);
  return {
    user,
    client: clientId,
    registeredClient: isRegistered ? clientId : null,
    clientName: isRegistered ? null : name,
    digest: isRegistered ? null : digestOf(client),
    ...access,
  };
}

/** Seconds since 1970. A grant does not expire. */
const never = 32_503_680_000;

export function createClientGrants(
  { db, clock }: ProviderServices,
  library: Library,
  clients: ClientDirectory,
): ClientGrants {
  const known = () => {
    const ctx = currentContext(library);
    return ctx && exchangeOf(ctx).grants;
  };

  const payloadOf = async (grant: GrantRecord): Promise<AdapterPayload | undefined> => {
    const common = { jti: grant.id, kind: 'Grant', accountId: grant.user, clientId: grant.client, iat: 1, exp: never };
    const given = (scopes: readonly string[], resources: Record<string, readonly string[]>) =>
      ({
        ...common,
        openid: { scope: scopes.join(' ') },
        resources: Object.fromEntries(Object.entries(resources).map(([id, list]) => [id, list.join(' ')])),
      }) as AdapterPayload;
    if (isMetadataUrl(grant.client)) return given(grant.scopes, grant.resources);
    const client = await clients.find(grant.client);
    if (!client) return undefined;
    const { scopes, resources } = accessOf(grant, client);
    return given(scopes, resources);
  };

  const grantOfFirstParty: ClientGrants['ofFirstParty'] = async (user, client) =>
    (await findGrant(db, user, client.clientId)) ??
    (await transact(db, (tx) => saveGrant(tx, consentTo(client, user, { scopes: [], resources: {} }), clock())));

  return {
    ofFirstParty: grantOfFirstParty,

    payload: async (id) => {
      const grant = known()?.get(id) ?? (await findGrantById(db, id));
      return grant && payloadOf(grant);
    },

    remember: (grant) => void known()?.set(grant.id, grant),

    load: async ({ oidc: { client, account } }) => {
      if (!client || !account) return undefined;
      const { first_party: isFirstParty, isRegistered } = settingsOf(client);
      if (isFirstParty) return payloadOf(await grantOfFirstParty(account.accountId, client));
      const found = await findGrant(db, account.accountId, client.clientId);
      if (!found || (!isRegistered && found.digest !== digestOf(client))) return undefined;
      return payloadOf(found);
    },
  };
}

/**
 * What a registered client may access. First-party clients need no consent: they have what their settings allow now. Other clients have what
 * the user gave them, as far as their settings still allow it.
 */
export function accessOf(grant: GrantRecord, client: ClientRecord): Pick<GrantRecord, 'scopes' | 'resources'> {
  const allowed = allowedTo(client);
  if (client.first_party) return { scopes: [...ownScopesOf(client)], resources: allowed };
  const own = new Set(ownScopesOf(client));
  const resources = Object.fromEntries(
    Object.entries(grant.resources).flatMap(([id, list]) => {
      const still = new Set(allowed[id] ?? []);
      return still.size === 0 ? [] : [[id, list.filter((scope) => still.has(scope))]];
    }),
  );
  return { scopes: grant.scopes.filter((scope) => own.has(scope)), resources };
}

/** The scopes of each resource that a client may have. */
const allowedTo = (client: ClientRecord): Record<string, string[]> =>
  Object.fromEntries(client.resources.map((resource) => [resource.identifier, grantableScopes(client, resource)]));
