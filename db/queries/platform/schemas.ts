import { sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { rows } from '../../statements.js';

/** What the database says about itself, and about the schemas of the session. */
export interface SessionSchemas {
  encoding: string;
  /** The first schema of the search path that exists; null: none does. */
  current: string | null;
  path: string;
  role: string;
}

export async function readSessionSchemas(executor: Executor): Promise<SessionSchemas> {
  const [found] = await rows<SessionSchemas>(
    executor,
    sql`select current_setting('server_encoding') as encoding, current_schema() as current,
      current_setting('search_path') as path, current_user as role`,
  );
  if (!found) throw new Error('The database returned no row.');
  return found;
}

/** Which of these schemas contain the tables of a service. */
export async function schemasWithTables(executor: Executor, names: readonly string[]): Promise<string[]> {
  const found = await rows<{ schema: string }>(
    executor,
    sql`select n.nspname as schema from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relname = 'migration_compatibility' and n.nspname in ${names}`,
  );
  return found.map(({ schema }) => schema);
}

/** Creates the schema of the tables, if the search path leads to none. */
export async function createMissingSchema(executor: Executor, name: string): Promise<void> {
  const [found] = await rows<{ name: string | null }>(executor, sql`select current_schema() as name`);
  if (found?.name !== null) return;
  await executor.execute(sql`create schema if not exists ${sql.identifier(name)}`);
}
