import { sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { databaseOutageOf } from '../../failures.js';
import type { Collection } from '../../query-language/collections.js';
import { createCompiler } from '../../query-language/compile.js';
import { type AccessView, type Filter, seesAll } from '../../query-language/filter.js';
import { dryRun, rows } from '../../statements.js';
import type { CostlyQueries } from './costly-queries.js';
import type { Key } from './writes.js';

/** What rules say about one item. */
export interface ItemReach {
  /** Whether it is visible. */
  isVisible: boolean;
  /** The fields that are shown on it, if it is visible. */
  shown: readonly string[];
  /** For each of the rules, whether the item matches it. */
  matches: readonly boolean[];
}

/**
 * What a caller may read of one item, and which rules it matches.
 * @returns undefined if the item does not exist
 */
export async function reachOfItem(
  executor: Executor,
  collection: Collection,
  key: Key,
  access: AccessView,
  rules: readonly (Filter | null)[],
): Promise<ItemReach | undefined> {
  const compiler = createCompiler(access);
  const row = compiler.row(collection);
  const names = [...collection.fields.keys()].filter((name) => compiler.readable(row, name));
  const list = (conditions: ReturnType<typeof sql>[]) => sql`json_build_array(${sql.join(conditions, sql`, `)})`;
  const shown = list(names.map((name) => sql`coalesce(${compiler.masked(row, name, sql`true`)}, false)`));
  const matches = list(rules.map((rule) => sql`coalesce(${compiler.matchesRule(row, rule)}, false)`));
  const isVisible = sql`coalesce(${compiler.visible(row)}, false)`;
  const [found] = await rows<{ visible: boolean; shown: boolean[]; matches: boolean[] }>(
    executor,
    sql`select ${isVisible} as visible, ${shown} as shown, ${matches} as matches
      from ${compiler.source(row)} where ${compiler.hasKey(row, sql`${key}`)}`,
  );
  return (
    found && {
      isVisible: found.visible,
      shown: names.filter((_, index) => found.visible && found.shown[index]),
      matches: found.matches,
    }
  );
}

/** A count stops at this number. */
export const maxReached = 1_000;

/** Milliseconds after which PostgreSQL gives up counting. */
const countTimeout = 500;

/**
 * Counts the items that match at least one of the rules.
 * @returns one more than `maxReached` if there are more; null if it would take too long
 */
export async function countReached(
  executor: Executor,
  costly: Pick<CostlyQueries, 'isCheap'>,
  collection: Collection,
  rules: readonly (Filter | null)[],
): Promise<number | null> {
  const filters = rules.filter((rule): rule is Filter => rule !== null);
  const filter = filters.length === rules.length ? ({ kind: 'or', filters } as const) : null;
  if (!(await costly.isCheap(executor, collection, filter))) return null;
  const compiler = createCompiler(seesAll);
  const row = compiler.row(collection);
  const condition = filter === null ? sql`true` : compiler.matches(row, filter);
  try {
    // In a nested transaction, so that a canceled statement does not abort the surrounding one. It is rolled back, because the timeout
    // would otherwise remain in effect until the surrounding one ends.
    return await dryRun(executor, async (tx) => {
      await rows(tx, sql`set local statement_timeout = ${sql.raw(String(countTimeout))}`);
      const [found] = await rows<{ count: number }>(
        tx,
        sql`select count(*) as count from (
          select from ${compiler.source(row)} where ${condition} limit ${sql.raw(String(maxReached + 1))}
        ) reached`,
      );
      return found?.count ?? 0;
    });
  } catch (error) {
    if (databaseOutageOf(error) === 'database_timeout') return null;
    throw error;
  }
}
