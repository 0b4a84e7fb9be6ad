import { timingSafeEqual } from 'node:crypto';
import ms, { type StringValue } from 'ms';
import type { AllClientMetadata, Client as LibraryClient } from 'oidc-provider';
import {
  type ClientRecord,
  findClient,
  type ResourceRecord,
  readUnregisteredClients,
  type UnregisteredClients,
} from '../../../db/queries/applications/provider-clients.js';
import { clearAttempts, reserveAttempts } from '../../../db/queries/passwords/login-attempts.js';
import { redirectUriRule } from '../../../schemas/client-uris.js';
import { uuidPattern } from '../../../schemas/common.js';
import { impliedScope, openIdScopes } from '../../../schemas/scopes.js';
import type { Client } from '../../http/caller.js';
import { lockedError, lockRules } from '../../rate-limits/lockout.js';
import { hashToken } from '../../tokens/refresh-tokens.js';
import { currentContext, type Exchange, exchangeOf, type Library, type ProviderServices } from './exchange.js';
import { isOwnScope } from './scopes.js';

/** What the service knows about a client. For a client that nobody registered, this is the same for all of them. */
export interface ClientSettings
  extends Pick<
    ClientRecord,
    | 'name'
    | 'type'
    | 'first_party'
    | 'scopes'
    | 'resources'
    | 'minimal_id_token'
    | 'access_token_ttl'
    | 'refresh_token_ttl'
    | 'allowed_origins'
    | 'pkce_required'
    | 'backchannel_logout_uri'
    | 'secrets'
    | 'attempt_limit'
    | 'attempts'
  > {
  isRegistered: boolean;
}

/** The property of a client's metadata that contains its settings. */
export const settingsProperty = 'gatehouse';

/** The settings of a client of the library. */
export const settingsOf = (client: LibraryClient): ClientSettings =>
  (client as unknown as Record<typeof settingsProperty, ClientSettings>)[settingsProperty];

/** Whether a client ID is the URL of the client's own metadata. */
export const isMetadataUrl = (id: string): boolean => id.startsWith('https://');

/** Seconds of a duration such as `15m`. */
export const secondsOf = (duration: string): number => Math.round(ms(duration as StringValue) / 1_000);

/** The scopes, other than those of resources, that a client may request. */
export const ownScopesOf = ({ scopes }: Pick<ClientSettings, 'scopes'>): readonly string[] =>
  (scopes ?? openIdScopes).filter(isOwnScope);

/**
 * Whether a client may introspect a token: one of its own, or, if the client can keep a secret, one for an API that it lists.
 * @param id the ID of the client
 */
export const mayIntrospect = (
  { type, resources }: Pick<ClientSettings, 'type' | 'resources'>,
  id: string,
  { clientId, aud }: { clientId?: string | undefined; aud?: unknown },
): boolean => clientId === id || (type === 'confidential' && resources.some(({ identifier }) => identifier === aud));

/** The scopes of a resource that a client can get. A resource without any scopes has an implied one. */
export const grantableScopes = ({ scopes }: Pick<ClientSettings, 'scopes'>, resource: ResourceRecord): string[] =>
  resource.scopes.length === 0
    ? [impliedScope]
    : resource.scopes.filter((scope) => scopes === null || scopes.includes(scope));

/** The clients, as they are in the database at the time of the request. */
export interface ClientDirectory {
  /**
   * Reads a registered client, once for each request to the library.
   * @param network the caller's, for the wrong secrets that it has sent; by default, that of the request to the library
   */
  find(id: string, network?: string): Promise<ClientRecord | undefined>;
  /** The same as metadata for the library. */
  metadata(id: string): Promise<AllClientMetadata | undefined>;
  /** The setting about clients that nobody registered, read once for each request. */
  unregistered(id?: string): Promise<UnregisteredClients>;
}

export function createClientDirectory({ db, clock }: ProviderServices, library: Library): ClientDirectory {
  const exchange = (): Exchange | undefined => {
    const ctx = currentContext(library);
    return ctx && exchangeOf(ctx);
  };
  const find: ClientDirectory['find'] = async (id, network = exchange()?.client.network ?? '') => {
    if (!uuidPattern.test(id)) return undefined;
    const known = exchange()?.clients;
    const found = known?.get(id) ?? findClient(db, id, attemptsKey(id, network), clock());
    known?.set(id, found);
    return found;
  };
  return {
    find,
    metadata: async (id) => {
      const client = await find(id);
      // A UUID in another spelling is another client ID.
      return client?.id === id ? metadataOf(client) : undefined;
    },
    unregistered: (id = '') => {
      const known = exchange()?.unregistered;
      const found = known?.get(id) ?? readUnregisteredClients(db, id);
      known?.set(id, found);
      return found;
    },
  };
}

function metadataOf(client: ClientRecord): AllClientMetadata {
  const isPublic = client.type === 'public';
  const settings: ClientSettings = { ...client, isRegistered: true };
  return {
    client_id: client.id,
    client_name: client.name,
    ...(client.logo_uri === null ? {} : { logo_uri: client.logo_uri }),
    redirect_uris: client.redirect_uris,
    post_logout_redirect_uris: client.post_logout_redirect_uris,
    // For every client, the port of a loopback address does not matter (RFC 8252, 7.3).
    application_type: 'native',
    grant_types: client.grant_types,
    response_types: client.grant_types.includes('authorization_code') ? ['code'] : [],
    token_endpoint_auth_method: isPublic ? 'none' : 'client_secret_basic',
    // The library requires a secret. It is never used: `createSecretCheck` compares the stored hashes.
    ...(isPublic ? {} : { client_secret: 'stored as hashes' }),
    // An empty scope is refused, and without one, all are allowed: `completeScopes` checks these clients.
    ...(ownScopesOf(client).length > 0 ? { scope: ownScopesOf(client).join(' ') } : {}),
    id_token_signed_response_alg: client.id_token_signed_response_alg,
    [settingsProperty]: settings,
  };
}

/** The properties of a client's own metadata that are used. Anyone can publish anything, so all others are ignored. */
const usedProperties = new Set([
  'client_id',
  'client_name',
  'client_uri',
  'logo_uri',
  'redirect_uris',
  'token_endpoint_auth_method',
]);

/** Characters that change how the text around them is displayed: control characters, and those that set the direction of the text. */
const invisible = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Reduces the metadata that a client publishes about itself to what such a client may decide.
 * @throws {errors.InvalidClientMetadata} if a registered client could not have one of the redirect URIs
 */
export function restrictMetadata({ errors }: Library, metadata: Record<string, unknown>): void {
  for (const name of Object.keys(metadata)) if (!usedProperties.has(name)) delete metadata[name];
  const { client_id: id, client_name: name, redirect_uris: uris } = metadata;
  const isRefused = (uri: unknown) => typeof uri !== 'string' || redirectUriRule(uri) !== undefined;
  if (Array.isArray(uris) && uris.some(isRefused))
    throw new errors.InvalidClientMetadata('redirect_uris contains a URI that is not allowed');
  const displayed = typeof name === 'string' ? name.replaceAll(invisible, '').trim().slice(0, 100) : '';
  const settings: ClientSettings = {
    name: displayed || String(id),
    type: 'public',
    first_party: false,
    scopes: null,
    resources: [],
    minimal_id_token: false,
    access_token_ttl: null,
    refresh_token_ttl: null,
    allowed_origins: [],
    pkce_required: true,
    backchannel_logout_uri: null,
    secrets: [],
    attempt_limit: null,
    attempts: null,
    isRegistered: false,
  };
  Object.assign(metadata, {
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    id_token_signed_response_alg: 'RS256',
    subject_type: 'public',
    scope: openIdScopes.join(' '),
    post_logout_redirect_uris: [],
    [settingsProperty]: settings,
  });
}

/** Under which wrong secrets are counted: for each client and network. */
const attemptsKey = (id: string, network: string) => hashToken(`client secret\0${id}\0${network}`);

/** Milliseconds after which wrong secrets no longer count if no further one follows. */
const attemptsCountFor = 86_400_000;

/**
 * Checks the secret that a client presents. Wrong ones are counted like wrong passwords.
 * @throws {ApiError} REQUESTS_EXCEEDED
 */
export function createSecretCheck({ db, clock }: ProviderServices) {
  return async (client: LibraryClient, given: string, { network }: Client): Promise<boolean> => {
    const { secrets, attempts, attempt_limit: limit } = settingsOf(client);
    const isRight = isSecretAmong(secrets, given);
    if (limit === null) return isRight;
    const key = attemptsKey(client.clientId, network);
    const now = clock();
    const lockedUntil = attempts?.locked_until ?? 0;
    if (lockedUntil > now.getTime()) throw lockedError(limit, null, lockedUntil - now.getTime(), now);
    if (isRight) {
      if (attempts) await clearAttempts(db, [key]);
      return true;
    }
    // Counted after the comparison, because most secrets are correct. They are random, so concurrent guesses gain nothing.
    const { isAllowed } = await reserveAttempts(db, [key], key, now, { limit, ...lockRules }, attemptsCountFor);
    if (!isAllowed) throw lockedError(limit, null, lockRules.firstLockMs, now);
    return false;
  };
}

/** All hashes are compared, so that the time reveals nothing. */
export function isSecretAmong(hashes: readonly string[], given: string): boolean {
  const digest = Buffer.from(hashToken(given), 'hex');
  return hashes.map((hash) => timingSafeEqual(digest, Buffer.from(hash, 'hex'))).includes(true);
}
