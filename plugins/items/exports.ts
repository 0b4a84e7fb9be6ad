import { setTimeout as sleep } from 'node:timers/promises';
import { databaseOutageOf } from '../../db/failures.js';
import type { CostlyQueries } from '../../db/queries/items/costly-queries.js';
import { detachPosition, type Item, type Position, partSizeOf, readItems } from '../../db/queries/items/items.js';
import { withKnownKeys } from '../../db/queries/items/known-keys.js';
import type { Key } from '../../db/queries/items/writes.js';
import { type Collection, type CollectionName, collections } from '../../db/query-language/collections.js';
import { invalidQuery } from '../../db/query-language/invalid-query.js';
import type { QueryInput } from '../../db/query-language/query.js';
import type { ActivityCollection } from '../../schemas/activity.js';
import { ApiError, unavailable } from '../../schemas/errors.js';
import type { ExportFormat } from '../../schemas/item-requests.js';
import type { Caller } from '../http/caller.js';
import type { Host, Services } from '../platform/plugin.js';
import type { Cursors } from './cursors.js';
import { type ExportWriter, exportWriters } from './export-formats.js';
import type { QueryLimitsOf } from './query-limits.js';
import { prepareQuery } from './service.js';

export interface Export {
  mediaType: string;
  fileName: string;
  /** The text of the file, in parts. Reading it fails if the caller may no longer read the items. */
  text: AsyncGenerator<string>;
}

export interface Exports {
  /**
   * Starts to write a list to a file. The first part has been read when this returns.
   * @param checkCallerAgain returns the caller with their current rights, or fails if they no longer have access
   * @throws {ApiError} INVALID_QUERY, FORBIDDEN, REQUESTS_EXCEEDED, SERVICE_UNAVAILABLE
   */
  start(
    caller: Caller,
    name: CollectionName & ActivityCollection,
    input: QueryInput,
    format: ExportFormat,
    checkCallerAgain: () => Promise<Caller>,
  ): Promise<Export>;
}

/** How many exports one instance writes at the same time, and how many of them for one caller. */
const maxAtOnce = 4;
const maxPerCaller = 1;

/** Seconds after which a client should retry if there are too many exports. */
const retryAfter = 5;

/**
 * How many keys are read in one statement. Sorting by a field without an index reads the whole table for each of these statements, but on
 * the embedded engine, other requests wait for them.
 */
const keysAtOnce = { postgres: 20_000, embedded: 2_000 };

/** How often a part is read again if the database is unavailable, and the milliseconds in between. */
const [maxRetries, retryPause] = [3, 1_000];

/** The maximum size of one part, in bytes. A part that would be larger is split. */
const maxPartBytes = 8_000_000;

export function createExports(
  { dbOf, clock, reachOf, rateLimits, exportQueue, activity, databaseConnection }: Services,
  app: Pick<Host, 'addHook'>,
  own: { limitsOf: QueryLimitsOf; cursors: Cursors; costly: CostlyQueries },
): Exports {
  const { limitsOf, cursors, costly } = own;
  const chunk = keysAtOnce[databaseConnection.engine];
  /** The exports that are being written, by their owner. */
  const running = new Map<string, number>();
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });

  /** Takes the place of one export. @returns a function that gives it back */
  const takePlace = (owner: string): (() => void) => {
    const total = [...running.values()].reduce((sum, count) => sum + count, 0);
    const current = running.get(owner) ?? 0;
    if (total >= maxAtOnce || current >= maxPerCaller) throw unavailable('export_queue_full', { retryAfter });
    running.set(owner, current + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      const left = (running.get(owner) ?? 1) - 1;
      if (left > 0) running.set(owner, left);
      else running.delete(owner);
    };
  };

  const prepare = async (caller: Caller, name: CollectionName, input: QueryInput, now: Date) => {
    const limits = limitsOf(caller);
    // The maximum number of items does not apply, because items are neither read nor kept at the same time.
    const prepared = await prepareQuery(reachOf, caller, name, input, { ...limits, maximum: null }, now);
    const [onRequest] = prepared.query.onRequest;
    if (onRequest !== undefined) throw invalidQuery(`${onRequest} cannot be exported`);
    return { ...prepared, limits };
  };

  /** Reads a part when it is its turn. A short outage of the database does not end an export that has begun. */
  const patiently = async (caller: Caller, hasBegun: boolean, read: () => Promise<Item[]>): Promise<Item[]> => {
    for (let retries = 0; ; retries++) {
      try {
        return await exportQueue.push(caller, read);
      } catch (error) {
        const isTransient = databaseOutageOf(error) !== undefined && hasBegun && !isClosing;
        if (!isTransient || retries === maxRetries) throw error;
        await sleep(retryPause);
      }
    }
  };

  /** The items of the list. Each part is read with the rights that the caller has then. */
  async function* partsOf(
    starter: Caller,
    name: CollectionName,
    input: QueryInput,
    checkCallerAgain: () => Promise<Caller>,
  ): AsyncGenerator<Item[]> {
    // The same for all parts, so that `$NOW` does not move.
    const now = clock();
    let caller = starter;
    const { collection, query, ...start } = await prepare(caller, name, input, now);
    let { view } = start;
    const filter = await withKnownKeys(dbOf(caller), collection, query.filter, view);
    const wanted = await costly.split(dbOf(caller), collection, { ...query, filter }, view);
    let after: Position | null = query.cursor === null ? null : cursors.read(collection, query.sort, query.cursor);
    let { offset } = wanted;
    let hasBegun = false;
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    const partSize = partSizeOf(collection, query.fields);

    const readPart = async (keys: readonly Key[]): Promise<Item[]> => {
      try {
        return await patiently(caller, hasBegun, async () => {
          if (isClosing) throw unavailable('export_queue_full', { retryAfter });
          caller = await checkCallerAgain();
          const { limits, ...current } = await prepare(caller, name, input, now);
          view = current.view;
          const bytes = keys.length > 1 ? Math.min(maxPartBytes, limits.read.bytes) : limits.read.bytes;
          const part = { ...current.query, keys, limit: null, offset: 0 };
          return readItems(dbOf(caller), collection, part, view, { ...limits.read, bytes, soFar: { listed: 0 } });
        });
      } catch (error) {
        const isTooLarge = error instanceof ApiError && error.code === 'INVALID_QUERY' && keys.length > 1;
        if (!isTooLarge) throw error;
        const half = Math.ceil(keys.length / 2);
        return [...(await readPart(keys.slice(0, half))), ...(await readPart(keys.slice(half)))];
      }
    };

    while (left > 0) {
      // The first part only needs a few keys, so that the download begins at once.
      const size = Math.min(left, hasBegun ? chunk : partSize);
      const page = { ...wanted, fields: new Map(), after, offset, limit: size, hasPositions: true };
      const found = await patiently(caller, hasBegun, () =>
        readItems(dbOf(caller), collection, page, view, start.limits.read),
      );
      const positions = found.map(detachPosition);
      const keys = found.map(({ id }) => id as Key);
      for (let first = 0; first < keys.length; first += partSize) {
        yield await readPart(keys.slice(first, first + partSize));
        hasBegun = true;
      }
      if (keys.length < size) return;
      left -= keys.length;
      after = positions.at(-1) ?? after;
      offset = 0;
    }
  }

  async function* textOf(
    { head, write }: ExportWriter,
    first: IteratorResult<Item[]>,
    parts: AsyncGenerator<Item[]>,
    release: () => void,
  ): AsyncGenerator<string> {
    try {
      if (head !== '') yield head;
      if (first.done) return;
      yield write(first.value);
      for await (const items of parts) yield write(items);
    } finally {
      release();
    }
  }

  return {
    start: async (caller, name, input, format, checkCallerAgain) => {
      if (input.aggregate !== undefined) throw invalidQuery('export cannot be combined with aggregate');
      if (input.meta !== undefined) throw invalidQuery('export cannot be combined with meta');
      const { collection, query } = await prepare(caller, name, input, clock());
      const owner = caller.userId ?? caller.client.network;
      await rateLimits.enforceRateLimit('list export', owner);
      const release = takePlace(owner);
      const { abandoned } = caller.client;
      abandoned.addEventListener('abort', release, { once: true });
      try {
        const fields = [...query.fields.keys()];
        await activity.record(dbOf(caller), caller, [{ action: 'export', collection: name, changed: fields }]);
        const parts = partsOf(caller, name, input, checkCallerAgain);
        const first = await parts.next();
        const writer = exportWriters[format](query.fields, (path) => isList(collection, path));
        const day = clock().toISOString().slice(0, 10);
        return {
          mediaType: writer.mediaType,
          fileName: `${name}-${day}.${format}`,
          text: textOf(writer, first, parts, release),
        };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

/** Whether a field that is reached through relations is a list. */
function isList({ fields }: Collection, [name = '', ...rest]: readonly string[]): boolean {
  const field = fields.get(name);
  if (rest.length === 0 || field?.target === undefined) return field?.kind === 'list';
  return isList(collections[field.target], rest);
}
