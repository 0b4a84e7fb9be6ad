import type { ReadLimits } from '../../db/queries/items/items.js';
import type { QueryLimits } from '../../db/query-language/query.js';
import type { Caller } from '../server/caller.js';

/** How much a caller may ask for in one query, and how much is read for it. */
export type QueryLimitsOf = (caller: Pick<Caller, 'admin'>) => QueryLimits & { read: ReadLimits };

/** For callers who are not administrators, unless QUERY_LIMIT_MAX says otherwise. */
const defaultMaximum = 1_000;

/**
 * The limits of a query. They hold for what a caller asks for; the rules of permissions do not count.
 * @param rows how many items a list has when no limit is asked for
 * @param mostRows how many it has at the most
 * @param mostBytes of a response
 */
export function createQueryLimits({
  rows,
  mostRows,
  mostBytes,
}: {
  rows: number;
  mostRows?: number | undefined;
  mostBytes: number;
}): QueryLimitsOf {
  const forAdministrators: ReturnType<QueryLimitsOf> = {
    default: rows,
    maximum: mostRows ?? null,
    filter: null,
    columns: null,
    read: { bytes: mostBytes, listed: null },
  };
  const forOthers: ReturnType<QueryLimitsOf> = {
    default: rows,
    maximum: mostRows ?? defaultMaximum,
    filter: { conditions: 50, values: 500 },
    columns: 20,
    read: { bytes: mostBytes, listed: 10_000 },
  };
  return ({ admin }) => (admin ? forAdministrators : forOthers);
}
