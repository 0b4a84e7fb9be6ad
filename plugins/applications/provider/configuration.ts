import { decodeJwt } from 'jose';
import type { Configuration, KoaContextWithOIDC, Client as LibraryClient, ResourceServer } from 'oidc-provider';
import { allowsUnregistered } from '../../../db/queries/applications/provider-clients.js';
import { uuidPattern } from '../../../schemas/common.js';
import type { Config } from '../../../schemas/config.js';
import { collectionScopes, impliedScope, openIdScopes } from '../../../schemas/scopes.js';
import { webUrl } from '../../platform/urls.js';
import type { PrivateKey } from '../../tokens/signing-keys/key-pair.js';
import type { HasSecondFactor } from '../second-factors.js';
import { claimsByScope } from './claims.js';
import {
  type ClientDirectory,
  isMetadataUrl,
  mayIntrospect,
  ownScopesOf,
  restrictMetadata,
  secondsOf,
  settingsOf,
  settingsProperty,
} from './clients.js';
import { exchangeOf, type Library } from './exchange.js';
import type { ClientGrants } from './grants.js';
import type { MetadataRequests } from './metadata-requests.js';
import { createPrompts } from './prompts.js';
import type { ProviderRecords } from './records.js';
import type { ResourceIndicators } from './resources.js';
import { isOwnScope, secondFactorAcr } from './scopes.js';

const minute = 60;
const day = 86_400;

/** Lifetimes in seconds. Clients can have their own for access and refresh tokens. */
export const lifetimes = {
  accessToken: 15 * minute,
  authorizationCode: minute,
  deviceCode: 10 * minute,
  idToken: 60 * minute,
  authorizationRequest: 60 * minute,
};

/** The endpoints, below PUBLIC_URL. */
export const endpoints = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  userinfo: '/oauth/userinfo',
  jwks: '/oauth/jwks',
  introspection: '/oauth/introspect',
  revocation: '/oauth/revoke',
  end_session: '/oauth/end-session',
  pushed_authorization_request: '/oauth/par',
  device_authorization: '/oauth/device',
  code_verification: '/account/device',
};

export interface ProviderParts {
  library: Library;
  keys: readonly PrivateKey[];
  records: ProviderRecords;
  clients: ClientDirectory;
  grants: ClientGrants;
  resources: ResourceIndicators;
  findAccount: NonNullable<Configuration['findAccount']>;
  fetch: NonNullable<Configuration['fetch']>;
  metadataRequests: MetadataRequests;
  hasSecondFactor: HasSecondFactor;
  /** The path of PUBLIC_URL, without a trailing slash. */
  base: string;
  locales: readonly string[];
}

/** What the OpenID Connect provider does: every decision that the library leaves open, so that none depends on its defaults. */
export function configure(parts: ProviderParts, { REFRESH_TOKEN_TTL }: Config): Configuration {
  const { library, keys, records, clients, grants, resources, findAccount, fetch, metadataRequests } = parts;
  const { hasSecondFactor, base, locales } = parts;

  /** Decides about clients that nobody registered. The library also accepts other spellings of their IDs, such as `HTTPS://`. */
  const isAllowedClient = async (id: string): Promise<boolean> =>
    isMetadataUrl(id) && allowsUnregistered(await clients.unregistered(id), id);

  return {
    // Where things are.
    adapter: records.adapterOf,
    jwks: { keys: keys as never },
    findAccount,
    fetch,
    routes: endpoints,
    interactions: {
      policy: createPrompts(library, hasSecondFactor),
      url: (_ctx, { uid }) => `${base}/account/authorize/${uid}`,
    },
    // The library's session cookie is never sent to the browser: see sessions.ts.
    cookies: { names: { session: 'unused', interaction: 'gatehouse_authorization', resume: 'gatehouse_resume' } },
    renderError: (ctx) => {
      exchangeOf(ctx).needsErrorPage = true;
      ctx.body = '';
    },
    discovery: {
      prompt_values_supported: ['none', 'login', 'consent', 'create'],
      ui_locales_supported: locales,
    } as NonNullable<Configuration['discovery']>,

    // What clients may request.
    scopes: [...openIdScopes, ...collectionScopes],
    claims: claimsByScope,
    acrValues: [secondFactorAcr],
    responseTypes: ['code'],
    subjectTypes: ['public'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    clientDefaults: { token_endpoint_auth_method: 'none', application_type: 'native' },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256', 'EdDSA'] },
    pkce: { required: (_ctx, client) => settingsOf(client).pkce_required },
    allowOmittingSingleRegisteredRedirectUri: false,
    acceptQueryParamAccessTokens: false,
    clockTolerance: 0,
    extraClientMetadata: {
      properties: [settingsProperty],
      validator: (_ctx, name, _value, metadata) => {
        if (name === settingsProperty && !uuidPattern.test(metadata.client_id)) restrictMetadata(library, metadata);
      },
    },
    extraParams: { scope: (ctx, value, client) => completeScopes(library, ctx, value, client) },
    clientBasedCORS: (_ctx, origin, client) => {
      const { isRegistered, allowed_origins: allowed } = settingsOf(client);
      return isRegistered
        ? allowed.includes(origin)
        : (client.redirectUris ?? []).some((uri) => webUrl(uri)?.origin === origin);
    },

    // What clients get.
    loadExistingGrant: async (ctx) => {
      const payload = await grants.load(ctx);
      return (
        payload && new ctx.oidc.provider.Grant(payload as ConstructorParameters<typeof ctx.oidc.provider.Grant>[0])
      );
    },
    // The claims are in the ID token as well as in userinfo, because many applications read only the ID token.
    conformIdTokenClaims: false,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    // Every read of a record joins its session, so the library must not compare it with a session of its own.
    expiresWithSession: () => false,
    rotateRefreshToken: true,
    revokeGrantPolicy: () => false,
    extraTokenClaims: (ctx, token) => (token.kind === 'AccessToken' ? claimsOfAccessToken(ctx, token) : undefined),
    formats: {
      customizers: {
        jwt: async (ctx, token, { payload }) => {
          const { jti, iat, exp, aud } = payload as { jti: string; iat: number; exp: number; aud: string };
          // The library validated the client and the resource before.
          const resource = await resources.find(ctx.oidc.client as LibraryClient, aud);
          const { clientId, accountId, grantId, sessionUid, gty, jkt, extra, kind } = token as typeof token &
            Record<string, unknown>;
          const scope = withoutImplied(payload.scope as string | undefined);
          const stored = {
            clientId,
            accountId,
            grantId,
            sessionUid,
            sid: sessionUid,
            gty,
            aud,
            scope,
            jkt,
            iat,
            exp,
            extra,
            kind,
          };
          exchangeOf(ctx).work.saved.push(
            records.recordOfJwt(
              kind,
              jti,
              stored as Parameters<ProviderRecords['recordOfJwt']>[2],
              exp - iat,
              resource?.id ?? null,
            ),
          );
          payload.scope = scope;
        },
      },
    },
    ttl: {
      AccessToken: accessTokenLifetime,
      ClientCredentials: accessTokenLifetime,
      RefreshToken: (_ctx, _token, client) => {
        const own = settingsOf(client).refresh_token_ttl;
        return own === null ? Math.round(REFRESH_TOKEN_TTL / 1_000) : secondsOf(own);
      },
      AuthorizationCode: lifetimes.authorizationCode,
      DeviceCode: lifetimes.deviceCode,
      IdToken: lifetimes.idToken,
      Interaction: lifetimes.authorizationRequest,
      // Sessions and grants are the service's own, and end otherwise.
      Session: day,
      Grant: 100 * 365 * day,
    },

    // Which protocols there are.
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: true },
      clientCredentials: { enabled: true },
      pushedAuthorizationRequests: { enabled: true },
      dPoP: { enabled: true },
      deviceFlow: { enabled: true, charset: 'base-20', mask: '****-****' },
      introspection: {
        enabled: true,
        allowedPolicy: (_ctx, client, token) => mayIntrospect(settingsOf(client), client.clientId, token),
      },
      revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: resources.info,
        defaultResource: resources.byDefault,
        useGrantedResource: (_ctx, model) => typeof (model as { resource?: unknown }).resource === 'string',
      },
      // For the metadata. The service sends the notifications: see logout-notices.ts.
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        cacheDuration: { min: 30, max: day },
        allowFetch: async (_ctx: KoaContextWithOIDC | undefined, id: string) =>
          (await isAllowedClient(id)) && metadataRequests.admit(id),
        allowClient: (_ctx: KoaContextWithOIDC | undefined, client: LibraryClient) => isAllowedClient(client.clientId),
      },
    } as NonNullable<Configuration['features']>,
  };
}

/** Seconds. That of a resource includes what the client allows. */
function accessTokenLifetime(
  _ctx: KoaContextWithOIDC,
  { resourceServer }: { resourceServer?: ResourceServer | undefined },
  client: LibraryClient,
): number {
  const own = settingsOf(client).access_token_ttl;
  return resourceServer?.accessTokenTTL ?? (own === null ? lifetimes.accessToken : secondsOf(own));
}

/** A scope without the implied one of resources; undefined if nothing is left. */
export const withoutImplied = (scope: string | undefined): string | undefined =>
  scope
    ?.split(' ')
    .filter((each) => each !== impliedScope)
    .join(' ') || undefined;

/** What an access token states about the session, and about those who act for the user. */
function claimsOfAccessToken(ctx: KoaContextWithOIDC, token: object) {
  const { AuthorizationCode, RefreshToken, DeviceCode } = ctx.oidc.entities;
  const { act, parent } = exchangeOf(ctx);
  const { aud, sessionUid } = token as { aud?: unknown; sessionUid?: string };
  const { extra } = (parent?.payload ?? {}) as { extra?: { auth_time?: number } };
  const authTime = (AuthorizationCode ?? RefreshToken ?? DeviceCode)?.authTime ?? extra?.auth_time;
  return {
    ...(authTime === undefined ? {} : { auth_time: authTime }),
    ...(aud !== undefined && sessionUid ? { sid: sessionUid } : {}),
    ...(act ? { act } : {}),
  };
}

/**
 * Completes and checks the scopes of an authorization request. The library calls this for an authorization, pushed, or device request after
 * all of its own checks.
 */
function completeScopes(
  { errors }: Library,
  ctx: KoaContextWithOIDC,
  value: string | undefined,
  client: LibraryClient,
): void {
  const { params, resourceServers, entities, route } = ctx.oidc;
  if (!params) return;
  const settings = settingsOf(client);
  if (!settings.pkce_required && !params.code_challenge && !params.nonce && route !== 'device_authorization')
    throw new errors.InvalidRequest('this client must use PKCE, or send a nonce');

  const scopes = new Set(value?.split(' ').filter(Boolean) ?? []);
  if (client.scope === undefined) {
    const own = [...scopes].filter(isOwnScope);
    if (own.length > 0) throw new errors.InvalidScope('requested scope is not allowed', own.join(' '));
  }
  // The library removes offline_access from requests without prompt=consent, but first-party clients need no consent.
  const pushed = (entities.PushedAuthorizationRequest as { request?: string } | undefined)?.request;
  const sent = pushed
    ? decodeJwt<{ scope?: string }>(pushed).scope
    : ((ctx.method === 'POST' ? ctx.oidc.body : ctx.query) as { scope?: unknown } | undefined)?.scope;
  const asked = typeof sent === 'string' ? sent.split(' ').filter(Boolean) : [];
  const mayBeOffline = ownScopesOf(settings).includes('offline_access') && client.grantTypeAllowed('refresh_token');
  if (settings.first_party && mayBeOffline && asked.includes('offline_access')) scopes.add('offline_access');
  // Without a scope, a request for a resource is for everything that the client may have there. A resource may have no scopes.
  for (const server of Object.values(resourceServers ?? {}) as { scopes: Set<string> }[])
    for (const scope of server.scopes) if (asked.length === 0 || scope === impliedScope) scopes.add(scope);
  if (scopes.size === 0) throw new errors.InvalidScope('a scope or a resource is required', '');
  params.scope = [...scopes].join(' ');
}
