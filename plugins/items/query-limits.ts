import type { ReadLimits } from '../../db/queries/items/items.js';
import type { QueryLimits } from '../../db/query-language/query.js';
import type { Caller } from '../http/caller.js';

/** How much a caller can request in one query, and how much the service reads to answer it. */
export type QueryLimitsOf = (caller: Pick<Caller, 'admin'>) => QueryLimits & { read: ReadLimits };

/** Maximum number of items for callers who are not administrators, unless QUERY_LIMIT_MAX is set. */
const defaultMaximum = 1_000;

/**
 * The limits of a query. They apply to the query that the caller sends, not to the rules of permissions.
 * @param rows number of items in a list if the query has no limit
 * @param maxRows maximum number of items in a list
 * @param maxBytes maximum size of a response in bytes
 */
export function createQueryLimits({
  rows,
  maxRows,
  maxBytes,
}: {
  rows: number;
  maxRows?: number | undefined;
  maxBytes: number;
}): QueryLimitsOf {
  const forAdministrators: ReturnType<QueryLimitsOf> = {
    default: rows,
    maximum: maxRows ?? null,
    filter: null,
    columns: null,
    read: { bytes: maxBytes, listed: null },
  };
  const forOthers: ReturnType<QueryLimitsOf> = {
    default: rows,
    maximum: maxRows ?? defaultMaximum,
    filter: { conditions: 50, values: 500 },
    columns: 20,
    read: { bytes: maxBytes, listed: 10_000 },
  };
  return ({ admin }) => (admin ? forAdministrators : forOthers);
}
