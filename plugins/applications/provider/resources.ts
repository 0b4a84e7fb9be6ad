import type { AdapterPayload, KoaContextWithOIDC, Client as LibraryClient, ResourceServer } from 'oidc-provider';
import { findResource, type ResourceRecord } from '../../../db/queries/applications/provider-clients.js';
import { resourceTokenAlgorithm } from '../../../schemas/jwks.js';
import { grantableScopes, secondsOf, settingsOf } from './clients.js';
import type { Library, ProviderServices } from './exchange.js';

/** The resources that the client lists, by identifier. */
const listedResource = (client: LibraryClient, identifier: string) =>
  settingsOf(client).resources.find((resource) => resource.identifier === identifier);

export interface ResourceIndicators {
  /** The resource with this identifier, if the client may request tokens for it. */
  find(client: LibraryClient, identifier: string): Promise<ResourceRecord | undefined>;
  /** How to issue tokens for a resource. @throws {errors.InvalidTarget} if the client may not request them */
  info(ctx: KoaContextWithOIDC, identifier: string, client: LibraryClient): Promise<ResourceServer>;
  /** The resource of a request that names none. */
  byDefault(ctx: KoaContextWithOIDC, client: LibraryClient, oneOf?: string[]): string | string[];
}

/** For which resources clients get access tokens, and with which scopes (RFC 8707). */
export function createResourceIndicators({ db }: ProviderServices, { errors }: Library): ResourceIndicators {
  const find = async (client: LibraryClient, identifier: string) => {
    if (settingsOf(client).isRegistered) return listedResource(client, identifier);
    const resource = await findResource(db, identifier);
    return resource?.open_to_unregistered ? resource : undefined;
  };
  return {
    find,

    info: async ({ oidc }, identifier, client) => {
      const resource = await find(client, identifier);
      if (!resource) throw new errors.InvalidTarget();
      const scope = grantableScopes(settingsOf(client), resource).join(' ');
      // Without a scope, such a request is for everything that the client may have.
      if (oidc.route === 'token' && oidc.params?.grant_type === 'client_credentials') oidc.params.scope ??= scope;
      const own = settingsOf(client).access_token_ttl;
      const accessTokenTTL = Math.min(
        secondsOf(resource.access_token_ttl),
        own === null ? Number.POSITIVE_INFINITY : secondsOf(own),
      );
      return {
        scope,
        audience: identifier,
        accessTokenTTL,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: resourceTokenAlgorithm } },
      };
    },

    byDefault: (ctx, client, oneOf) => {
      if (oneOf) return oneOf;
      const { resources } = settingsOf(client);
      const [only] = resources;
      const isOnly = resources.length === 1 && only && !ctx.oidc.requestParamScopes.has('openid');
      // The library accepts undefined for "none", although its types do not say so.
      return (isOnly ? only.identifier : undefined) as string;
    },
  };
}

/** First-party clients may name a resource in the token request only: the payload of their code or refresh token then includes it. */
export function widenToFirstParty(payload: AdapterPayload, { oidc }: KoaContextWithOIDC): AdapterPayload {
  const { client } = oidc;
  const named = oidc.params?.resource;
  const resource = client && typeof named === 'string' ? listedResource(client, named) : undefined;
  if (!client || !resource || !settingsOf(client).first_party) return payload;
  const granted = [(payload.resource as string | string[] | undefined) ?? []].flat();
  const scopes = new Set([...(payload.scope?.split(' ') ?? []), ...grantableScopes(settingsOf(client), resource)]);
  return {
    ...payload,
    resource: [...new Set([...granted, resource.identifier])],
    scope: [...scopes].join(' '),
  } as AdapterPayload;
}
