import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { Executor } from './client.js';

/** A statement that is always the same but for its values. */
export type FixedStatement<Values extends Record<string, unknown>, Row> = (
  executor: Executor,
  values: Values,
) => Promise<Row[]>;

const dialect = new PgDialect();

/** The text of a statement, and its values. */
export const writeStatement = (statement: SQL): ReturnType<PgDialect['sqlToQuery']> => dialect.sqlToQuery(statement);

/**
 * Writes a statement once, when it is first asked, instead of at each request: for those on which every request waits.
 * @param write gets what stands for a value in the statement, by its name
 */
export function fixedStatement<Values extends Record<string, unknown>, Row extends object>(
  write: (value: (name: keyof Values & string) => Placeholder) => SQL,
): FixedStatement<Values, Row> {
  let query: ReturnType<typeof writeStatement> | undefined;
  return async (executor, values) => {
    query ??= writeStatement(write((name) => sql.placeholder(name)));
    const prepared = executor._.session.prepareQuery(query, undefined, undefined, false);
    const result = (await prepared.execute(values)) as Row[] | { rows: Row[] };
    return Array.isArray(result) ? result : result.rows;
  };
}
