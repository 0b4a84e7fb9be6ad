import { type IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { decodeProtectedHeader } from 'jose';
import type { KoaContextWithOIDC, Client as LibraryClient, Provider } from 'oidc-provider';
import type { Config } from '../../../schemas/config.js';
import { opaqueAccessToken } from '../../tokens/opaque-access-tokens.js';
import type { createSecretCheck } from './clients.js';
import { configure, endpoints, type ProviderParts, withoutImplied } from './configuration.js';
import { currentContext, type Exchange, exchangeOf, type Library, type ProviderServices } from './exchange.js';
import type { Handles } from './handles.js';
import { pollingInterval } from './records.js';
import { useOwnSessions } from './sessions.js';

/** A request to an endpoint of the protocol. */
export interface ProtocolRequest {
  method: string;
  /** The path below PUBLIC_URL, with the query. */
  url: string;
  headers: IncomingMessage['headers'];
  /** As received: forms are parsed by the library. */
  body: Buffer;
}

export interface ProtocolResponse {
  status: number;
  headers: Record<string, string | string[]>;
  body: string | Buffer;
}

/**
 * The library, set up for this service. What it does in addition to the configuration:
 * - URLs are those of PUBLIC_URL, whatever the headers of a request say.
 * - Sessions are those of the service.
 * - Secrets are compared with hashes, and wrong ones are counted.
 * - What a token request uses and issues is stored in one transaction.
 * - A refresh token that is presented again gets the same successor.
 * - The requests for the metadata of clients that nobody registered are limited.
 */
export function createProvider(
  services: ProviderServices,
  parts: ProviderParts & { handles: Handles; checkSecret: SecretCheck },
): Provider {
  const { config } = services;
  const { library, records, clients, handles, base, checkSecret, metadataRequests } = parts;
  const provider = new library.Provider(issuerOf(config), configure(parts, config));
  fixUrls(provider, config, base);
  useOwnSessions(services, provider);
  requireIdTokenHints(library, provider);
  const { Client, AccessToken, RefreshToken } = provider;
  Client.find = metadataRequests.limit(Client.find.bind(Client));

  Client.prototype.compareClientSecret = async function (this: LibraryClient, given: string) {
    const ctx = currentContext(library) as KoaContextWithOIDC;
    return checkSecret(this, given, exchangeOf(ctx).client);
  } as never;

  type TokenPrototype = { aud?: unknown; generateTokenId(): string };
  const accessTokens = AccessToken.prototype as unknown as TokenPrototype;
  const { generateTokenId: generateAccessTokenId } = accessTokens;
  accessTokens.generateTokenId = function () {
    const id = generateAccessTokenId.call(this);
    return this.aud === undefined ? opaqueAccessToken(id) : id;
  };

  const refreshTokens = RefreshToken.prototype as unknown as TokenPrototype;
  const { generateTokenId } = refreshTokens;
  refreshTokens.generateTokenId = function () {
    const ctx = currentContext(library);
    const replaced = (ctx?.oidc.entities as { RotatedRefreshToken?: { jti: string } } | undefined)?.RotatedRefreshToken;
    if (!ctx || !replaced) return generateTokenId.call(this);
    return exchangeOf(ctx).successor ?? handles.successorsOf(replaced.jti)[0];
  };

  provider.use(async (ctx, next) => {
    await next();
    const body = ctx.body as
      | { device_code?: string; interval?: number; scope?: string; client_id_metadata_document_supported?: true }
      | undefined;
    if (ctx.status < 400) {
      try {
        await records.store(exchangeOf(ctx));
      } catch (error) {
        if (!(error instanceof library.errors.OIDCProviderError)) throw error;
        ctx.status = error.statusCode;
        ctx.body = { error: error.error, error_description: error.error_description };
        return;
      }
    }
    if (body?.client_id_metadata_document_supported && (await clients.unregistered()).mode === 'off')
      delete body.client_id_metadata_document_supported;
    if (body?.device_code) body.interval = pollingInterval / 1_000;
    if (typeof body?.scope === 'string' && withoutImplied(body.scope) !== body.scope) {
      const scope = withoutImplied(body.scope);
      if (scope === undefined) delete body.scope;
      else body.scope = scope;
    }
  });
  provider.on('server_error', (ctx, error) => {
    exchangeOf(ctx).fault = error;
  });
  (provider as unknown as NodeJS.EventEmitter).on('error', (error: unknown) => {
    throw error;
  });
  return provider;
}

type SecretCheck = ReturnType<typeof createSecretCheck>;

export const issuerOf = ({ PUBLIC_URL }: Config): string => PUBLIC_URL.replace(/\/+$/, '');

/** Sends a request through the library. @throws what has failed in the service */
export async function respond(
  callback: ReturnType<Provider['callback']>,
  { method, url, headers, body }: ProtocolRequest,
  exchange: Exchange,
): Promise<ProtocolResponse> {
  const hasBody = body.length > 0;
  const request = Object.assign(Readable.from(hasBody ? [body] : []), {
    method,
    url,
    headers: { ...headers, ...(hasBody ? { 'content-length': String(body.length) } : {}) },
    httpVersion: '1.1',
    httpVersionMajor: 1,
    httpVersionMinor: 1,
    socket: { encrypted: false, remoteAddress: exchange.client.ip ?? undefined },
    exchange,
  }) as unknown as IncomingMessage;
  const response = new ServerResponse(request);
  // The library adds the hash of its script for `response_mode=form_post` to an existing policy. The form is sent to the client.
  if (url.startsWith(endpoints.authorization))
    response.setHeader('content-security-policy', "default-src 'none';script-src;frame-ancestors 'none'");
  let sent: string | Buffer = '';
  response.end = ((chunk?: string | Buffer) => {
    sent = chunk ?? '';
    return response;
  }) as typeof response.end;
  await callback(request, response);
  if (exchange.fault) throw exchange.fault;
  const { 'content-length': _length, 'set-cookie': cookies, ...others } = response.getHeaders();
  // See `cookies` in the configuration.
  const own = ([cookies ?? []].flat() as string[]).filter((cookie) => !cookie.startsWith('unused'));
  const headersSent = Object.fromEntries(
    Object.entries(others).map(([name, value]) => [name, Array.isArray(value) ? value : String(value)]),
  );
  return {
    status: response.statusCode,
    headers: { ...headersSent, ...(own.length > 0 ? { 'set-cookie': own } : {}) },
    body: sent,
  };
}

/** The library derives URLs, and whether cookies are secure, from the request. Here, PUBLIC_URL decides. */
function fixUrls(provider: Provider, { PUBLIC_URL }: Config, base: string): void {
  const { protocol, host, hostname, origin } = new URL(PUBLIC_URL);
  const fixed = (value: string) => ({ get: () => value, configurable: true });
  const { request, context } = provider as unknown as { request: object; context: { mountPath?: string } };
  Object.defineProperties(request, {
    protocol: fixed(protocol.slice(0, -1)),
    host: fixed(host),
    hostname: fixed(hostname),
    href: {
      get(this: { url: string }) {
        return new URL(`${base}${this.url}`, origin).href;
      },
      configurable: true,
    },
    ip: {
      get(this: { req: { exchange: Exchange } }) {
        return this.req.exchange.client.ip ?? '';
      },
      configurable: true,
    },
  });
  context.mountPath = base;
}

/** The library accepts every JWT with its signature as a hint, but access and logout tokens are signed with the same keys. */
function requireIdTokenHints({ errors }: Library, { IdToken }: Provider): void {
  const { validate } = IdToken;
  IdToken.validate = async (token, client) => {
    const { typ = 'JWT' } = decodeProtectedHeader(token);
    if (typ !== 'JWT') throw new errors.InvalidRequest('id_token_hint is not an ID token');
    return validate.call(IdToken, token, client);
  };
}
