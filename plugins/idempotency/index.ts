import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Executor } from '../../db/client.js';
import { brokenConstraint } from '../../db/failures.js';
import {
  deleteExpiredResponses,
  fillResponse,
  findResponse,
  type StoredKey,
  storeResponse,
} from '../../db/queries/idempotency/stored-responses.js';
import { createUnitOfWork } from '../../db/unit-of-work.js';
import { ApiError, type ErrorCode } from '../../schemas/errors.js';
import type { Principal } from '../http/caller.js';
import {
  acceptsIdempotencyKey,
  fingerprintOf,
  IdempotencyKeyHeaders,
  idempotencyKeyOf,
} from '../http/idempotency-key.js';
import { createSecretBox } from '../platform/encryption.js';
import { keysFor } from '../platform/key-derivation.js';
import { definePlugin } from '../platform/plugin.js';
import { hour } from '../platform/scheduler.js';
import { createRequirePermitted } from './permitted.js';

/** A response, as it is stored. */
interface StoredResponse {
  /** Of the request. A different request with the same key is a mistake of the client. */
  fingerprint: string;
  status: number;
  body: string;
}

/** A request with a key. No other request with the same key runs in this process at the same time. */
interface KeyedRequest {
  stored: StoredKey;
  fingerprint: string;
  /** Lets the next request with the same key run. */
  release(): void;
  /** Whether the response is the stored one, or says why there will be none, so it is not stored. */
  isAnswered: boolean;
  /** Whether another process was faster. */
  isTaken: boolean;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set if the request has an Idempotency-Key that applies to it. */
    keyed: KeyedRequest | null;
  }
}

const lifetimeMs = 86_400_000;
/** Characters of a response. */
const maxResponseSize = 1_000_000;
/** What is stored for one user at the same time. */
const maxResponses = 10_000;
const maxStoredSize = 64_000_000;

/**
 * Errors that depend on what is stored. They are the result of the request, so they are stored, too. After all others, the request can be
 * repeated with the same key: it was malformed or not allowed, or it failed.
 */
const results: ReadonlySet<ErrorCode> = new Set([
  'RECORD_NOT_UNIQUE',
  'INVALID_FOREIGN_KEY',
  'INVALID_INVITE',
  'UNPROCESSABLE_CONTENT',
]);

/**
 * The header `Idempotency-Key`. The response to a request is stored in the transaction of what the request writes (`UnitOfWork`), so after
 * a crash there are both or neither. A repeated request waits for the first one: in the same process here, and in another process for the
 * row of the key, which each transaction of the request inserts first.
 */
export const idempotencyPlugin = definePlugin('idempotency', (services, app) => {
  const { config, db, maintenanceDb, clock, every } = services;
  const box = createSecretBox(keysFor(config, 'idempotency'));
  const requirePermitted = createRequirePermitted(services);
  every(hour, () => deleteExpiredResponses(maintenanceDb, clock()), 'expired responses could not be deleted');

  /** The last request with each key. */
  const running = new Map<string, Promise<void>>();

  const seal = ({ stored, fingerprint }: KeyedRequest, status: number, body: string) =>
    box.seal(JSON.stringify({ fingerprint, status, body } satisfies StoredResponse), ownerOf(stored));

  const open = (sealed: string, stored: StoredKey): StoredResponse => {
    try {
      return JSON.parse(box.open(sealed, ownerOf(stored))) as StoredResponse;
    } catch {
      throw new ApiError('UNPROCESSABLE_CONTENT', {
        reason: 'The response to this Idempotency-Key can no longer be read. Check the result, and use a new key.',
      });
    }
  };

  const times = () => {
    const now = clock();
    return { now, expiresAt: new Date(now.getTime() + lifetimeMs) };
  };

  /** Waits until no other request with this key runs. */
  const takeTurn = async (turn: string, { client }: Principal): Promise<() => void> => {
    for (let other = running.get(turn); other; other = running.get(turn)) await other;
    // Another response was sent to the client in the meantime, or the client has left.
    client.abandoned.throwIfAborted();
    let finish = () => {};
    running.set(
      turn,
      new Promise((resolve) => {
        finish = resolve;
      }),
    );
    return () => {
      running.delete(turn);
      finish();
    };
  };

  /** Makes the response the stored one. @throws {ApiError} UNPROCESSABLE_CONTENT, FORBIDDEN */
  const replay = (request: FastifyRequest, reply: FastifyReply, keyed: KeyedRequest, sealed: string): string => {
    keyed.isAnswered = true;
    const { fingerprint, status, body } = open(sealed, keyed.stored);
    if (fingerprint !== keyed.fingerprint) {
      throw new ApiError('UNPROCESSABLE_CONTENT', {
        reason: 'This Idempotency-Key was used for another request. Use a new key for each request.',
      });
    }
    if (request.principal) requirePermitted(request.principal, request.routeOptions.config.needs, request.body, body);
    reply.code(status).header('idempotency-replayed', 'true');
    if (body === '') reply.removeHeader('content-type');
    else reply.type('application/json; charset=utf-8');
    return body;
  };

  const begin = async (request: FastifyRequest, reply: FastifyReply) => {
    const caller = request.principal;
    // In a dry run, there is nothing that must not be repeated.
    if (!caller || request.cachedClient?.unit) return;
    const key = idempotencyKeyOf(request);
    if (key === undefined) return;
    const stored = { user: caller.userId, key: hashOf(caller, key) };
    const release = await takeTurn(`${stored.user} ${stored.key}`, caller);
    const keyed = { stored, fingerprint: fingerprintOf(request), release, isAnswered: false, isTaken: false };
    request.keyed = keyed;
    const { response, count, bytes, next } = await findResponse(db, stored, clock());
    if (response !== null) return reply.send(replay(request, reply, keyed, response));
    if (count >= maxResponses || bytes >= maxStoredSize) {
      keyed.isAnswered = true;
      const reset = next ?? clock();
      const seconds = Math.max(1, Math.ceil((reset.getTime() - clock().getTime()) / 1000));
      throw new ApiError('REQUESTS_EXCEEDED', { limit: maxResponses, reset: reset.toISOString() }, seconds);
    }
    caller.client.unit = createUnitOfWork({
      onBegin: async (tx) => {
        if (await storeResponse(tx, stored, '', times())) return;
        keyed.isTaken = true;
        // Replaced by the stored response when it is sent.
        throw new ApiError('INVALID_PAYLOAD', { reason: 'The request is being repeated' });
      },
    });
  };

  /** Commits what the request has written together with its response. @returns whether the response is stored */
  const store = async (
    request: FastifyRequest,
    keyed: KeyedRequest,
    status: number,
    body: string,
  ): Promise<boolean> => {
    const { client } = request;
    const sealed = body.length > maxResponseSize ? null : seal(keyed, status, body);
    const fill = async (tx: Executor) => {
      if (sealed === null) throw tooLarge();
      await fillResponse(tx, keyed.stored, sealed);
    };
    try {
      if (await client.unit?.commit(fill)) return true;
      // The request has written nothing, or nothing that could not be repeated.
      return sealed !== null && (await storeResponse(db, keyed.stored, sealed, times()));
    } catch (error) {
      // The caller was deleted in the meantime.
      if (brokenConstraint(error)?.kind === 'foreign-key') throw new ApiError('INVALID_CREDENTIALS');
      throw error;
    }
  };

  const finish = async (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> => {
    const { keyed } = request;
    if (!keyed) return payload;
    request.keyed = null;
    try {
      if (keyed.isAnswered) return payload;
      const body = typeof payload === 'string' ? payload : '';
      const { statusCode: status } = reply;
      const isResult = status < 400 || results.has(codeIn(body) as ErrorCode);
      if (!keyed.isTaken && isResult && (await store(request, keyed, status, body))) return payload;
      await request.client.unit?.rollBack();
      if (status >= 500 || status === 429) return payload;
      // What the request found may be the work of another process with the same key.
      const { response } = await findResponse(db, keyed.stored, clock());
      return response === null ? payload : replay(request, reply, keyed, response) || null;
    } finally {
      keyed.release();
    }
  };

  app.decorateRequest('keyed', null);
  app.addHook('onRoute', function (route) {
    const { schema } = route;
    if (!this.protocol.isApi || !schema || !acceptsIdempotencyKey(route)) return;
    route.preHandler = [begin, ...[route.preHandler ?? []].flat()];
    route.onSend = [finish, ...[route.onSend ?? []].flat()];
    schema.documented = { ...schema.documented, headers: IdempotencyKeyHeaders };
  });
});

const tooLarge = () =>
  new ApiError('INVALID_QUERY', {
    reason: `With an Idempotency-Key, a response can have at most ${maxResponseSize} characters. Request fewer fields.`,
  });

/** Applications have keys of their own, because they must not get the response to a request of the user or of another application. */
const hashOf = ({ credential }: Principal, key: string): string =>
  createHash('sha256')
    .update(JSON.stringify([credential.client, key]))
    .digest('hex');

const ownerOf = ({ user, key }: StoredKey): string => `${user}.${key}`;

function codeIn(body: string): string | undefined {
  const { errors } = JSON.parse(body || '{}') as { errors?: { extensions?: { code?: string } }[] };
  return errors?.[0]?.extensions?.code;
}
