import { setImmediate } from 'node:timers/promises';
import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { QueryTimeoutError } from '../../failures.js';
import { type Collection, type CollectionName, collections } from '../../query-language/collections.js';
import { createCompiler } from '../../query-language/compile.js';
import type { AccessView, Filter } from '../../query-language/filter.js';
import { invalidQuery } from '../../query-language/invalid-query.js';
import type { Query } from '../../query-language/query.js';
import { rows } from '../../statements.js';
import { selected } from './items.js';

/** Target duration of each part of a query, in milliseconds. */
const partTimeMs = 40;

/** Comparisons that one statement may make: about a tenth of a second. */
const maxAtOnce = 60_000;

/** Milliseconds for which a row count is reused. */
const rememberedForMs = 2_000;

/** Row counts stop at this number. */
const maxCounted = 200_000;

type Costly = Pick<Query, 'filter' | 'search' | 'sort' | 'aggregate' | 'limit' | 'offset' | 'cursor' | 'meta'>;

/** Comparisons for each row of the collection, and for each row of other collections that a statement reads in full. */
interface Cost {
  own: number;
  others: Map<CollectionName, number>;
  /** Number of values in lists. */
  values: number;
}

/**
 * The embedded engine cannot cancel a statement, and all other requests wait while it runs one. So a query that would take long
 * is split: the matching rows are found part by part, and the query is then restricted to them. A query that cannot be split is
 * rejected.
 */
export interface CostlyQueries {
  /**
   * Returns the query unchanged, or restricted to the rows that match it.
   * @throws {ApiError} INVALID_QUERY when it can be neither run in one statement nor split
   * @throws {QueryTimeoutError} when the parts together take too long
   */
  split<T extends Costly>(
    executor: Executor,
    collection: Collection,
    query: T,
    access: AccessView,
  ): Promise<T & { among?: readonly (string | number)[] }>;
  /** Whether one statement can count the rows that match a filter without delaying other requests. */
  isCheap(executor: Executor, collection: Collection, filter: Filter | null): Promise<boolean>;
}

/** PostgreSQL cancels statements that take too long, so queries are not split. */
export const withoutSplitting: CostlyQueries = {
  split: async (_executor, _collection, query) => query,
  isCheap: async () => true,
};

/** @param timeout milliseconds that all parts of a query together may take */
export function createCostlyQueries(timeout: number): CostlyQueries {
  const counts = new Map<CollectionName, { count: number; until: number }>();
  const countOf = async (executor: Executor, name: CollectionName): Promise<number> => {
    const known = counts.get(name);
    if (known && known.until > performance.now()) return known.count;
    const [found] = await rows<{ count: number }>(
      executor,
      sql`select count(*) as count from (select from ${collections[name].table} limit ${maxCounted}) t`,
    );
    const count = found?.count ?? 0;
    counts.set(name, { count, until: performance.now() + rememberedForMs });
    return count;
  };

  /** Only one query is split at a time, so however many there are, another request waits for one part only. */
  let line: Promise<unknown> = Promise.resolve();

  const matching = async (
    executor: Executor,
    collection: Collection,
    { filter, search }: Costly,
    access: AccessView,
    firstPart: number,
    end: number,
  ) => {
    const found: (string | number)[] = [];
    let size = firstPart;
    let after: string | number | null = null;
    for (;;) {
      await setImmediate();
      const start = performance.now();
      if (start > end) throw new QueryTimeoutError();
      const compiler = createCompiler(access);
      const row = compiler.row(collection);
      const id = compiler.column(row, 'id');
      const later: SQL = after === null ? sql`true` : sql`${id} > ${after}`;
      const [last]: { id: string | number }[] = await rows(
        executor,
        sql`select ${id} as id from ${compiler.source(row)} where ${later} order by ${id} offset ${size - 1}::integer limit 1`,
      );
      const range = last ? sql`${later} and ${id} <= ${last.id}` : later;
      const part = await rows<{ id: string | number }>(
        executor,
        sql`select ${id} as id from ${compiler.source(row)} where ${range} and ${selected(compiler, row, { filter, search })}
          order by ${id}`,
      );
      for (const match of part) found.push(match.id);
      if (!last) return found;
      after = last.id;
      const took = performance.now() - start;
      size = Math.max(50, Math.min(2 * size, Math.floor((size * partTimeMs) / took)));
    }
  };

  /** The comparisons that do not depend on the rows of the query, and so cannot be split. */
  const fixedCostOf = async (executor: Executor, { values, others }: Cost): Promise<number> => {
    let fixed = values / 2;
    for (const [name, comparisons] of others) fixed += comparisons * (await countOf(executor, name));
    return fixed;
  };
  const fitsIntoOne = async (executor: Executor, collection: Collection, { own }: Cost): Promise<boolean> =>
    own * (await countOf(executor, collection.name)) <= maxAtOnce / 2;

  return {
    isCheap: async (executor, collection, filter) => {
      const cost = costOf(collection, { ...plain, filter });
      return (
        (await fixedCostOf(executor, cost)) <= maxAtOnce / 2 &&
        (cost.own === 0 || fitsIntoOne(executor, collection, cost))
      );
    },
    split: async (executor, collection, query, access) => {
      const cost = costOf(collection, query);
      if (cost.own === 0 && cost.others.size === 0) return query;
      if ((await fixedCostOf(executor, cost)) > maxAtOnce) {
        throw invalidQuery(
          'The query is too expensive for the embedded database. Use fewer conditions on related items, fewer values, columns or sort keys, or use PostgreSQL.',
        );
      }
      if (await fitsIntoOne(executor, collection, cost)) return query;
      const end = performance.now() + timeout;
      const firstPart = Math.max(50, Math.floor(maxAtOnce / 4 / cost.own));
      const before = line;
      const among = before.then(() => matching(executor, collection, query, access, firstPart, end));
      line = among.catch(() => {});
      const found = await among;
      const { offset, limit } = query;
      // The rows are found in the order of their ids, so the page can be sliced out of them.
      const isPage =
        query.sort.length === 0 && query.cursor === null && !query.aggregate && query.meta.size === 0 && limit !== null;
      if (isPage)
        return { ...query, filter: null, search: null, among: found.slice(offset, offset + limit + 1), offset: 0 };
      return { ...query, filter: null, search: null, among: found };
    },
  };
}

/** A query without anything that costs more than reading the rows. */
const plain: Omit<Costly, 'filter'> = {
  search: null,
  sort: [],
  aggregate: null,
  limit: null,
  offset: 0,
  cursor: null,
  meta: new Set(),
};

function costOf(collection: Collection, { filter, search, sort, aggregate, limit }: Costly): Cost {
  const cost: Cost = { own: 0, others: new Map(), values: 0 };
  const add = (name: CollectionName | null, comparisons: number) => {
    if (name === null) cost.own += comparisons;
    else cost.others.set(name, (cost.others.get(name) ?? 0) + comparisons);
  };

  /** @param within the collection that is read in full; null: the rows of the query themselves */
  const walk = (part: Filter, place: Collection, within: CollectionName | null, hops: number): void => {
    switch (part.kind) {
      case 'and':
      case 'or':
        for (const one of part.filters) walk(one, place, within, hops);
        return;
      case 'compare':
        cost.values += part.values.length > 20 ? part.values.length : 0;
        add(within, 1 + hops);
        return;
      case 'through': {
        const target = place.fields.get(part.field)?.target;
        if (target) walk(part.filter, collections[target], within, hops + 1);
        return;
      }
      case 'some':
      case 'none': {
        const list = place.fields.get(part.field);
        if (list?.kind !== 'list') return;
        // There are about as many links as users.
        if ('table' in list.link) add('users', 0.25);
        add(list.target, 0.25);
        walk(part.filter, collections[list.target], list.target, 0);
      }
    }
  };

  if (filter) walk(filter, collection, null, 0);
  if (search !== null) cost.own += collection.name === 'users' ? 5 : 2;
  const hops = sort.reduce((sum, { path }) => sum + path.length - 1, 0);
  if (hops > 0) add(collection.name, hops);
  if (aggregate) {
    const columns = aggregate.columns.length + aggregate.groupBy.length;
    // When there are many groups, each is a row of the response.
    add(collection.name, columns * (aggregate.groupBy.length > 0 && limit === null ? 1 : 0.25));
  }
  return cost;
}
