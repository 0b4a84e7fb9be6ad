import type { KoaContextWithOIDC } from 'oidc-provider';
import type { GrantRecord } from '../../../db/queries/applications/grants.js';
import type { ClientRecord, UnregisteredClients } from '../../../db/queries/applications/provider-clients.js';
import type { NewRecord, StoredRecord } from '../../../db/queries/applications/records.js';
import type { ActivityEvent } from '../../activity/service.js';
import type { Client, Origin } from '../../http/caller.js';
import type { Services } from '../../platform/plugin.js';

export type Library = typeof import('./library.js');

/** What the provider uses. It is read when the service starts, although the provider starts later. */
export type ProviderServices = Pick<Services, 'config' | 'db' | 'clock' | 'log' | 'activity'>;

/** The session of the browser that sent a request. */
export interface BrowserSession {
  id: string;
  user: string;
  /** When the user signed in, or confirmed their identity, in milliseconds since 1970. */
  authenticatedAt: number;
  /** Whether the user must still set up, or prove, a second factor. */
  isRestricted: boolean;
}

/** A request to the provider, and what its parts share while it is processed. */
export interface Exchange {
  client: Client;
  /** When the request arrived, as in `performance.now()`. */
  arrived: number;
  /** Null if the browser has no usable session cookie, or the endpoint does not use it. */
  session: BrowserSession | null;
  /** What has been read, so that it is read only once. */
  records: Map<string, Promise<StoredRecord | undefined>>;
  clients: Map<string, Promise<ClientRecord | undefined>>;
  grants: Map<string, GrantRecord>;
  unregistered: Map<string, Promise<UnregisteredClients>>;
  /** What a token request will store, all in one transaction. */
  work: {
    consumed: StoredRecord[];
    saved: NewRecord[];
    events: { origin: Origin; event: ActivityEvent }[];
  };
  /** The code or token that a token request presents. */
  source?: StoredRecord;
  /** The refresh token that replaces the presented one, if it has been issued before. */
  successor?: string;
  /** The request that the user has been asked about. */
  interaction?: StoredRecord;
  /** The refresh token to revoke. */
  revoked?: StoredRecord;
  /** The access token that a token exchange starts from. */
  parent?: StoredRecord;
  /** The actors of a token exchange, latest first (RFC 8693, 4.1). */
  act?: Actor;
  /** Whether the user gets an error page, because the browser cannot be redirected to the client. */
  needsErrorPage?: true;
  /** A failure of the service rather than of the request. */
  fault?: unknown;
}

export interface Actor {
  sub: string;
  act?: Actor;
}

export const createExchange = (
  client: Client,
  { arrived = performance.now(), session = null }: Partial<Pick<Exchange, 'arrived' | 'session'>> = {},
): Exchange => ({
  client,
  arrived,
  session,
  records: new Map(),
  clients: new Map(),
  grants: new Map(),
  unregistered: new Map(),
  work: { consumed: [], saved: [], events: [] },
});

/** The exchange of a request. `createProvider` attaches it to the request that it passes to the library. */
export const exchangeOf = ({ req }: Pick<KoaContextWithOIDC, 'req'>): Exchange =>
  (req as unknown as { exchange: Exchange }).exchange;

/** The context of the request that the library is processing; undefined outside a request. */
export const currentContext = ({ Provider }: Library): KoaContextWithOIDC | undefined =>
  (Provider as unknown as { ctx: KoaContextWithOIDC | undefined }).ctx;
