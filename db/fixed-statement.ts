import { fillPlaceholders, type Placeholder, type Query, SQL, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import { type Executor, rows } from './client.js';

/** A statement whose text never changes; only its values do. */
export type FixedStatement<Values extends Record<string, unknown>, Row> = (
  executor: Executor,
  values: Values,
) => Promise<Row[]>;

const dialect = new PgDialect();

/** The text of a statement, and its values. */
export const writeStatement = (statement: SQL): ReturnType<PgDialect['sqlToQuery']> => dialect.sqlToQuery(statement);

/** A statement whose text, with `$1`, `$2`, … in place of its values, is already written. */
export class WrittenStatement extends SQL {
  constructor(private readonly query: Query) {
    super([]);
  }
  override toQuery(): Query {
    return this.query;
  }
}

/**
 * Builds the text of a statement once, on first use, instead of on every request. For statements that are on the path of every
 * request.
 * @param write receives a function that returns the placeholder of a value, given its name
 */
export function fixedStatement<Values extends Record<string, unknown>, Row extends object>(
  write: (value: (name: keyof Values & string) => Placeholder) => SQL,
): FixedStatement<Values, Row> {
  let query: Query | undefined;
  return async (executor, values) => {
    query ??= writeStatement(write((name) => sql.placeholder(name)));
    return rows(executor, new WrittenStatement({ ...query, params: fillPlaceholders(query.params, values) }));
  };
}
