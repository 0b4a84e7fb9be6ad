import type { Client as LibraryClient, Provider } from 'oidc-provider';
import type { Client } from '../../http/caller.js';
import { createHttpClient } from '../../platform/http-client.js';
import { keysFor } from '../../platform/key-derivation.js';
import type { Services } from '../../platform/plugin.js';
import { isPublicAddress } from '../../platform/public-addresses.js';
import { createHasSecondFactor } from '../second-factors.js';
import { createFindAccount } from './claims.js';
import { createClientDirectory, createSecretCheck } from './clients.js';
import { lifetimes } from './configuration.js';
import type { Exchange, Library, ProviderServices } from './exchange.js';
import { createClientGrants } from './grants.js';
import { createHandles, type Handles } from './handles.js';
import { createMetadataRequests } from './metadata-requests.js';
import { createProvider, issuerOf, type ProtocolRequest, type ProtocolResponse, respond } from './provider.js';
import { createProviderRecords, type ProviderRecords } from './records.js';
import { createResourceTokens, type ResourceTokens } from './resource-tokens.js';
import { createResourceIndicators, type ResourceIndicators } from './resources.js';
import { allowTokenExchange } from './token-exchange.js';
import { createValidTokens, type ValidTokens } from './valid-tokens.js';

/** The library, set up with the keys that sign now, and the parts that the service adds. */
export interface RunningProvider {
  library: Library;
  provider: Provider;
  records: ProviderRecords;
  resources: ResourceIndicators;
  tokens: ResourceTokens;
  validTokens: ValidTokens;
  handles: Handles;
  /** Finds a client for a caller, outside a request to the protocol. @returns undefined if no such client may be used */
  findClient(id: string, from: Client): Promise<LibraryClient | undefined>;
  respond(request: ProtocolRequest, exchange: Exchange): Promise<ProtocolResponse>;
}

/** Milliseconds for a request to another server: for a client's own metadata, or to notify a client. */
const requestTimeout = 5_000;
const maxResponseBytes = 64 * 1024;

/**
 * Starts the provider when it is first used, because most of its start is loading the library and creating keys. The library reads its keys
 * once, so a change of keys creates a new provider, which takes some milliseconds.
 */
export function createProviderRunner(services: Services): () => Promise<RunningProvider> {
  const { config, db, clock, log, activity, basePath: base, signingKeys, locales } = services;
  const hasSecondFactor = createHasSecondFactor(services);
  const used: ProviderServices = { config, db, clock, log, activity };
  let parts: Promise<Awaited<ReturnType<typeof createParts>>> | undefined;
  let running: { version: string; current: RunningProvider } | undefined;

  const createParts = async () => {
    const library = await loadLibrary(used);
    const handles = createHandles(keysFor(config, 'oauth'));
    const clients = createClientDirectory(used, library);
    const grants = createClientGrants(used, library, clients);
    const records = createProviderRecords(used, library, { handles, clients, grants });
    const resources = createResourceIndicators(used, library);
    const request = createHttpClient({
      allows: isPublicAddress,
      timeout: requestTimeout,
      maxBytes: maxResponseBytes,
    });
    const metadataRequests = createMetadataRequests(used, library);
    return { library, handles, clients, grants, records, resources, request, metadataRequests };
  };

  return async () => {
    const keys = await signingKeys.providerKeys();
    if (running?.version === keys.version) return running.current;
    parts ??= createParts().catch((error: unknown) => {
      parts = undefined;
      throw error;
    });
    const created = await parts;
    const { library, handles, clients, grants, records, resources, request, metadataRequests } = created;
    const issuer = issuerOf(config);
    const tokens = createResourceTokens({ handles, records }, issuer, () => ({ keys: [...keys.verifying] }));
    const provider = createProvider(used, {
      ...created,
      keys: keys.all,
      findAccount: createFindAccount(used),
      checkSecret: createSecretCheck(used),
      fetch: fetchWith(request),
      hasSecondFactor,
      base,
      locales: locales.all.map(({ tag }) => tag),
    });
    const defaultTtl = lifetimes.accessToken;
    allowTokenExchange(used, library, provider, { records, grants, resources, tokens, defaultTtl });
    const callback = provider.callback();
    const current: RunningProvider = {
      library,
      provider,
      records,
      resources,
      tokens,
      validTokens: createValidTokens(used, { issuer, records, clients, tokens }),
      handles,
      findClient: async (id, from) => {
        try {
          return await metadataRequests.findFor(from, () => provider.Client.find(id));
        } catch (error) {
          if (error instanceof library.errors.OIDCProviderError) return undefined;
          throw error;
        }
      },
      respond: (protocolRequest, exchange) => respond(callback, protocolRequest, exchange),
    };
    running = { version: keys.version, current };
    return current;
  };
}

/** The library's requests, through the client that checks addresses. */
const fetchWith =
  (request: ReturnType<typeof createHttpClient>) =>
  async (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { method = 'GET', headers, body, signal } = init;
    const response = await request(String(url), {
      method,
      ...(headers ? { headers } : {}),
      ...(body ? { body: String(body) } : {}),
      ...(signal ? { signal } : {}),
    });
    const type = response.headers.get('content-type') ?? '';
    if (method === 'GET' && !/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type))
      throw new Error(`${String(url)} returned ${type || 'no content type'} instead of JSON.`);
    return response;
  };

/** On Node 20, the library prints that it is made for later versions. */
async function loadLibrary({ log }: ProviderServices): Promise<Library> {
  const { warn } = console;
  console.warn = (text: string) => log.debug(text);
  try {
    return await import('./library.js');
  } finally {
    console.warn = warn;
  }
}
