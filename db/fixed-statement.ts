import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { Executor } from './client.js';

/** A statement whose text never changes; only its values do. */
export type FixedStatement<Values extends Record<string, unknown>, Row> = (
  executor: Executor,
  values: Values,
) => Promise<Row[]>;

const dialect = new PgDialect();

/** The text of a statement, and its values. */
export const writeStatement = (statement: SQL): ReturnType<PgDialect['sqlToQuery']> => dialect.sqlToQuery(statement);

/**
 * Builds the text of a statement once, on first use, instead of on every request. For statements that are on the path of every
 * request.
 * @param write receives a function that returns the placeholder of a value, given its name
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
