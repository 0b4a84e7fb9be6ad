import { fillPlaceholders, type Placeholder, type Query, SQL, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { Executor } from './client.js';
import { brokenConstraint } from './failures.js';

/** Runs a statement that the query builder cannot express, and returns its rows on either engine. */
export async function rows<Row extends object>(executor: Executor, statement: SQL): Promise<Row[]> {
  const result = (await executor.execute(statement)) as unknown as Row[] | { rows: Row[] };
  return Array.isArray(result) ? result : result.rows;
}

/** A statement whose text never changes; only its values do. */
export type FixedStatement<Values extends Record<string, unknown>, Row> = (
  executor: Executor,
  values: Values,
) => Promise<Row[]>;

const dialect = new PgDialect();

/** The text of a statement, and its values. */
export const writeStatement = (statement: SQL): ReturnType<PgDialect['sqlToQuery']> => dialect.sqlToQuery(statement);

/** A statement whose text, with `$1`, `$2`, … in place of its values, is already written. */
export class CompiledStatement extends SQL {
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
    return rows(executor, new CompiledStatement({ ...query, params: fillPlaceholders(query.params, values) }));
  };
}

/** How often a transaction is attempted if the database rejects a value because another row already has it. */
const maxUniqueAttempts = 3;

/**
 * Runs a transaction, and repeats it if another transaction has written the same unique value in the meantime. In the next attempt, the
 * checks of the work see that value. The pool itself repeats what a deadlock aborts.
 */
export async function transact<T>(db: Executor, work: (tx: Executor) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction(work);
    } catch (error) {
      if (brokenConstraint(error)?.kind !== 'unique' || attempt === maxUniqueAttempts) throw error;
    }
  }
}

/** Runs work in a transaction that is then rolled back. Throws the error that would prevent the work from being done. */
export async function dryRun<T>(db: Executor, work: (tx: Executor) => Promise<T>): Promise<T> {
  const outcome: { result?: T } = {};
  const end = new Error('Rolled back: dry run.');
  await transact(db, async (tx) => {
    outcome.result = await work(tx);
    throw end;
  }).catch((error: unknown) => {
    if (error !== end) throw error;
  });
  return outcome.result as T;
}
