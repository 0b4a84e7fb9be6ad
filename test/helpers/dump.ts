import { sql } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import { rows } from '../../db/client.js';

/** Everything that is in the database, as text: to show that a secret is not. */
export async function dumpDatabase(app: FastifyInstance): Promise<string> {
  const tables = await rows<{ name: string }>(
    app.db,
    sql`select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  );
  if (tables.length < 5) throw new Error('The dump does not see the tables.');
  const contents: string[] = [];
  for (const { name } of tables) {
    const found = await rows<{ row: string }>(app.db, sql.raw(`select to_jsonb(t)::text as row from ${name} t`));
    contents.push(...found.map(({ row }) => `${name} ${row}`));
  }
  return contents.join('\n');
}
