import { randomUUID } from 'node:crypto';
import type { Adapter, AdapterPayload, KoaContextWithOIDC } from 'oidc-provider';
import { allowsUnregistered } from '../../../db/queries/applications/provider-clients.js';
import {
  consumeRecord,
  deleteFamily,
  deleteRecord,
  findRecord,
  insertNewRecord,
  type NewRecord,
  notePoll,
  type StoredRecord,
  saveRecord,
  storeTokenWork,
} from '../../../db/queries/applications/records.js';
import { clockOffset } from '../../platform/clock.js';
import { hashToken } from '../../tokens/refresh-tokens.js';
import { type ClientDirectory, isMetadataUrl } from './clients.js';
import { currentContext, type Exchange, exchangeOf, type Library, type ProviderServices } from './exchange.js';
import type { ClientGrants } from './grants.js';
import type { Handles } from './handles.js';
import { widenToFirstParty } from './resources.js';

/** What a client presents to get tokens, and the tokens themselves. The others belong to requests that are in progress. */
const tokenKinds = new Set(['AuthorizationCode', 'DeviceCode', 'AccessToken', 'RefreshToken', 'ClientCredentials']);

/** Milliseconds that a device must wait before it asks again (RFC 8628, 3.2). */
export const pollingInterval = 5_000;

/** Where the library stores its records. */
export interface ProviderRecords {
  /** The adapter for one kind of record. */
  adapterOf(kind: string): Adapter;
  /** Prepares a record for an access token in the form of a JWT. @param id its `jti` */
  recordOfJwt(kind: string, id: string, payload: AdapterPayload, seconds: number, resource: string | null): NewRecord;
  /**
   * Stores what a token request uses and issues, all or nothing.
   * @throws {errors.InvalidGrant} if another request was faster, or what the tokens depend on has ended
   */
  store(exchange: Exchange): Promise<void>;
  /** Finds a record, if it is still valid. @param handle what the client presents */
  find(handle: string): Promise<StoredRecord | undefined>;
}

/**
 * Stores codes, tokens, and pending requests by the hash of what the client presents. Whatever ends a session, a user, a grant, or a client
 * also ends its records, because every read joins them.
 *
 * The library checks first whether a code was used, and then marks it as used, so two parallel requests would both succeed. Therefore, a
 * token request only collects what it uses and issues, and `store` writes everything in one transaction at its end. If the process is
 * killed before that, nothing has happened, and the client can repeat its request.
 */
export function createProviderRecords(
  { db, clock, config, activity }: ProviderServices,
  library: Library,
  { handles, clients, grants }: { handles: Handles; clients: ClientDirectory; grants: ClientGrants },
): ProviderRecords {
  const { errors } = library;
  const { SESSION_REFRESH_GRACE_PERIOD: gracePeriod, SESSION_MAX_AGE } = config;
  const limits = () => ({ now: clock(), maxAge: SESSION_MAX_AGE || null, shift: clockOffset(clock) });

  /** @param successors the refresh tokens that could replace it, if it is a refresh token that a token request presents */
  const read = async (handle: string, successors: readonly string[] = []): Promise<StoredRecord | undefined> => {
    const found = await findRecord(db, hashToken(handle), successors.map(hashToken), limits());
    return found && isAllowed(found) ? found : undefined;
  };

  const isTokenRequest = (ctx: KoaContextWithOIDC | undefined): ctx is KoaContextWithOIDC =>
    ctx?.oidc?.route === 'token';

  /** Reads a record once for each request, because the library looks for a token among several kinds. */
  const readOnce = (handle: string, ctx: KoaContextWithOIDC | undefined): Promise<StoredRecord | undefined> => {
    const known = ctx && exchangeOf(ctx).records;
    const found = known?.get(handle) ?? read(handle, isTokenRequest(ctx) ? handles.successorsOf(handle) : []);
    known?.set(handle, found);
    return found;
  };

  /**
   * Decides whether a refresh token that has been replaced is accepted: only within the grace period, and only as long as its successor has
   * not been used. Presented later, it may have been stolen, so everything that was issued with it ends (RFC 9700, 4.14.2).
   */
  const isRepeatable = async (record: StoredRecord, token: string, exchange: Exchange): Promise<boolean> => {
    const waited = performance.now() - exchange.arrived;
    const isWithin = (ago: number | null | undefined) => typeof ago === 'number' && ago - waited <= gracePeriod;
    const { successor } = record;
    const isUsed = typeof successor?.consumed_ago === 'number';
    if (isUsed && isWithin(successor.consumed_ago)) return false;
    if (!successor || isUsed || !isWithin(record.consumed_ago)) {
      await deleteFamily(db, record.family);
      return false;
    }
    const again = handles.successorsOf(token).find((each) => hashToken(each) === successor.hash);
    if (again !== undefined) exchange.successor = again;
    return again !== undefined;
  };

  /** What a token request presents. @returns undefined if it cannot be used */
  const presented = async (record: StoredRecord, id: string, ctx: KoaContextWithOIDC) => {
    const exchange = exchangeOf(ctx);
    const { kind } = record;
    if (kind === 'DeviceCode') {
      const since = await notePoll(db, record.hash, clock());
      if (since !== null && since < pollingInterval) throw new errors.SlowDown();
    }
    if (record.consumed_ago !== null) {
      if (kind === 'RefreshToken') {
        if (!(await isRepeatable(record, id, exchange))) return undefined;
      } else {
        await deleteFamily(db, record.family);
        return undefined;
      }
    }
    exchange.source = record;
    const payload = { ...record.payload, jti: id };
    return kind === 'DeviceCode' ? payload : widenToFirstParty(payload, ctx);
  };

  const newRecord = (
    kind: string,
    id: string,
    payload: AdapterPayload,
    seconds: number,
    ctx?: KoaContextWithOIDC,
  ): NewRecord => {
    const { jti: _id, userCode, session: _session, ...stored } = payload as AdapterPayload & { session?: unknown };
    const exchange = ctx && exchangeOf(ctx);
    const client = payload.clientId ?? payload.params?.client_id ?? ctx?.oidc?.client?.clientId ?? null;
    const isToken = tokenKinds.has(kind);
    const parent = isToken ? exchange?.parent : undefined;
    const isOffline = payload.scope?.split(' ').includes('offline_access') || exchange?.source?.offline || false;
    const now = clock();
    return {
      hash: hashToken(id),
      kind,
      payload: stored,
      client: typeof client === 'string' ? client : null,
      registered_client: typeof client === 'string' && !isMetadataUrl(client) ? client : null,
      user: (isToken && payload.accountId) || null,
      session: (isToken && payload.sessionUid) || null,
      grant: (isToken && payload.grantId) || null,
      resource: null,
      parent: parent?.hash ?? null,
      family: exchange?.source?.family ?? randomUUID(),
      // An exchanged token outlives the session only if its source does.
      offline: parent ? parent.offline : isOffline,
      user_code_hash: userCode ? handles.userCodes(userCode)[0] : null,
      // A request that continues, such as with consent after a sign-in, began when it was first received.
      created_at: new Date((kind === 'Interaction' && exchange?.interaction?.created_at) || now).toISOString(),
      expires_at: new Date(Math.min(now.getTime() + seconds * 1_000, parent?.expires_at ?? Infinity)).toISOString(),
    };
  };

  const adapterOf = (kind: string): Adapter => ({
    find: async (id) => {
      // An OIDC session is a session of the service, which `sessions.ts` reads.
      if (kind === 'Session') return undefined;
      if (kind === 'Client') return clients.metadata(id);
      const ctx = currentContext(library);
      if (kind === 'Grant') return grants.payload(id);
      const record = await readOnce(id, ctx);
      if (record?.kind !== kind) return undefined;
      if (record.grant_record) grants.remember(record.grant_record);
      if (ctx && kind === 'Interaction') exchangeOf(ctx).interaction = record;
      if (tokenKinds.has(kind)) {
        if (isTokenRequest(ctx) && kind !== 'AccessToken') return presented(record, id, ctx);
        if (record.consumed_ago !== null) return undefined;
        if (ctx?.oidc?.route === 'revocation' && kind === 'RefreshToken') exchangeOf(ctx).revoked = record;
      }
      return { ...record.payload, jti: id, ...(record.consumed_ago === null ? {} : { consumed: true }) };
    },

    upsert: async (id, payload, seconds: number | undefined) => {
      if (kind === 'Session' || kind === 'Grant') return;
      const ctx = currentContext(library);
      const record = newRecord(kind, id, payload, seconds ?? 0, ctx);
      if (kind === 'ReplayDetection') {
        // The library has just looked for it. Only one of several parallel requests can store it.
        if (!(await insertNewRecord(db, record))) throw new errors.InvalidDpopProof('the DPoP proof was used before');
        return;
      }
      if (isTokenRequest(ctx) && tokenKinds.has(kind)) {
        exchangeOf(ctx).work.saved.push(record);
        return;
      }
      if (!(await saveRecord(db, record))) throw new errors.AccessDenied('the session has ended');
    },

    consume: async (id) => {
      const ctx = currentContext(library);
      const record = await readOnce(id, ctx);
      if (!record) return;
      if (isTokenRequest(ctx)) {
        // A refresh token that is presented again has been marked before.
        if (record.consumed_ago === null) exchangeOf(ctx).work.consumed.push(record);
      } else if (!(await consumeRecord(db, record.hash))) {
        throw new errors.InvalidRequestUri('the request_uri was used before');
      }
    },

    /**
     * A refresh token that is revoked ends together with everything that was issued with the same code, in one statement: if the process were
     * killed in between, the client would repeat its request, and the token would be unknown.
     */
    destroy: async (id) => {
      if (kind === 'Session' || kind === 'Grant') return;
      const ctx = currentContext(library);
      const revoked = kind === 'RefreshToken' && ctx && exchangeOf(ctx).revoked;
      if (revoked) await deleteFamily(db, revoked.family);
      else await deleteRecord(db, hashToken(id));
    },

    // Called after `destroy`. A grant belongs to all sessions of the user, so it does not end.
    revokeByGrantId: async () => {},

    findByUid: async () => undefined,
    // The service has its own page for the codes that users enter.
    findByUserCode: async () => undefined,
  });

  return {
    adapterOf,

    recordOfJwt: (kind, id, payload, seconds, resource) => ({
      ...newRecord(kind, handles.jwts(id)[0], payload, seconds, currentContext(library)),
      resource,
    }),

    store: async ({ work: { consumed, saved, events } }) => {
      if (consumed.length + saved.length === 0) return;
      const ended = new errors.InvalidGrant('the session or the access of the client has ended');
      const outcome = await db.transaction(async (tx) => {
        const work = { consumed, saved, grants: saved.flatMap(({ grant }) => grant ?? []) };
        const stored = await storeTokenWork(tx, work, limits());
        if (stored === 'ended') throw ended;
        for (const { origin, event } of events) await activity.record(tx, origin, [event]);
        return stored;
      });
      if (outcome === 'used') throw new errors.InvalidGrant('it was used before');
    },

    find: (handle) => read(handle),
  };
}

/** Whether the settings still allow the clients of a record, if nobody registered them. */
function isAllowed({ client, former_clients: former, unregistered }: StoredRecord): boolean {
  return [client, ...former].every((id) => {
    if (id === null || !isMetadataUrl(id)) return true;
    return unregistered !== null && allowsUnregistered(unregistered, id);
  });
}
