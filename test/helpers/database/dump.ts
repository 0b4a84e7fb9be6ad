import { type SQL, sql } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import { rows } from '../../../db/statements.js';
import { schemas } from './databases.js';

const statements = { all: new WeakMap<FastifyInstance, SQL>(), changes: new WeakMap<FastifyInstance, SQL>() };

/**
 * Returns all rows of the database as text, for tests that check that a secret is not stored or that nothing has changed.
 * @param what `changes` omits the audit log entries of rejected requests, and that users used the API
 */
export async function dumpDatabase(app: FastifyInstance, what: keyof typeof statements = 'all'): Promise<string> {
  const statement = statements[what].get(app) ?? (await statementFor(app, what));
  statements[what].set(app, statement);
  const found = await rows<{ row: string }>(app.db, statement);
  return found.map(({ row }) => row).join('\n');
}

/** What every request can write, even if it is rejected. */
const unchanging: Record<string, string> = { activity: ` where outcome = 'success'`, active_hours: ' where false' };

/** One statement for all tables, because tests dump the database very often. */
async function statementFor(app: FastifyInstance, what: keyof typeof statements): Promise<SQL> {
  // The table `version` of the queue is excluded because the queue records its maintenance there, independently of requests.
  const tables = await rows<{ name: string }>(
    app.db,
    sql`select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema', 'pristine')
        and (table_schema, table_name) <> (${schemas.queue}, 'version')`,
  );
  if (tables.length < 5) throw new Error('The dump cannot find the tables.');
  return sql.raw(
    tables
      .map(({ name }) => {
        const condition = what === 'changes' ? (unchanging[name.slice(schemas.tables.length + 1)] ?? '') : '';
        return `select '${name} ' || to_jsonb(t)::text as row from ${name} t${condition}`;
      })
      .join(' union all '),
  );
}
