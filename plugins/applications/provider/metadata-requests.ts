import { AsyncLocalStorage } from 'node:async_hooks';
import type { Client as LibraryClient } from 'oidc-provider';
import type { Client } from '../../http/caller.js';
import { requestsExceeded } from '../../rate-limits/requests-exceeded.js';
import { isMetadataUrl } from './clients.js';
import { currentContext, exchangeOf, type Library, type ProviderServices } from './exchange.js';

type Find = (id: string) => Promise<LibraryClient | undefined>;

/** Limits what anonymous callers can cause by naming clients whose metadata the service has to fetch. */
export interface MetadataRequests {
  /** A `find` of the library that releases what {@link admit} has reserved, and remembers failures. */
  limit(find: Find): Find;
  /**
   * Whether the metadata of a client that is not cached may be fetched now. If it is being fetched already, the caller waits for the result.
   * @throws {ApiError} REQUESTS_EXCEEDED if too many callers wait already
   */
  admit(id: string): boolean;
  /** Looks for a client outside a request to the library. */
  findFor(client: Client, find: () => Promise<LibraryClient | undefined>): Promise<LibraryClient | undefined>;
}

/** How many requests can wait for metadata at the same time: of one network, and of all of them on this instance. */
const maxWaitingPerNetwork = 5;
const maxWaiting = 50;
/** Milliseconds for which a failure is remembered. Successes are cached for at least as long. */
const failureLifetime = 30_000;
/** Callers choose the URLs. */
const maxFailures = 1_000;
/** Milliseconds after which a refused caller can try again. */
const retryAfter = 1_000;

export function createMetadataRequests({ clock }: ProviderServices, library: Library): MetadataRequests {
  /** The IDs whose metadata could not be used, and until when they are refused. The oldest comes first. */
  const failures = new Map<string, number>();
  /** How many requests of each network wait. */
  const waiting = new Map<string, number>();
  let allWaiting = 0;
  const callers = new AsyncLocalStorage<Client>();
  const lookups = new AsyncLocalStorage<{ network?: string }>();

  const hasFailed = (id: string): boolean => (failures.get(id) ?? 0) > clock().getTime();
  const rememberFailure = (id: string) => {
    failures.delete(id);
    failures.set(id, clock().getTime() + failureLifetime);
    const [oldest] = failures.keys();
    if (failures.size > maxFailures && oldest !== undefined) failures.delete(oldest);
  };
  const wait = (network: string, change: 1 | -1) => {
    allWaiting += change;
    const count = (waiting.get(network) ?? 0) + change;
    if (count > 0) waiting.set(network, count);
    else waiting.delete(network);
  };

  return {
    limit: (find) => async (id) => {
      if (!isMetadataUrl(id)) return find(id);
      const lookup: { network?: string } = {};
      try {
        return await lookups.run(lookup, () => find(id));
      } catch (error) {
        const isFaultOfClient = error instanceof library.errors.OIDCProviderError;
        if (lookup.network !== undefined && isFaultOfClient) rememberFailure(id);
        throw error;
      } finally {
        if (lookup.network !== undefined) wait(lookup.network, -1);
      }
    },

    admit: (id) => {
      const ctx = currentContext(library);
      const caller = ctx ? exchangeOf(ctx).client : callers.getStore();
      const lookup = lookups.getStore();
      if (!caller || !lookup || hasFailed(id)) return false;
      const { network } = caller;
      for (const [count, limit] of [
        [waiting.get(network) ?? 0, maxWaitingPerNetwork],
        [allWaiting, maxWaiting],
      ] as const) {
        if (count >= limit) throw requestsExceeded(limit, retryAfter, clock());
      }
      lookup.network = network;
      wait(network, 1);
      return true;
    },

    findFor: (client, find) => callers.run(client, find),
  };
}
