import { createHash } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { type Executor, rows } from '../client.js';
import { sqlStateOf } from '../failures.js';
import { writeStatement } from '../fixed-statement.js';
import { indexedTextOfUsers } from '../query-language/search-text.js';
import { users } from '../schema.js';

/** Not allowed to have the extension, or it is not installed: 42501, 0A000, 58P01, 42704. */
const unavailable = new Set(['42501', '0A000', '58P01', '42704']);

/**
 * Makes the index by which users are searched for three letters and more (pg_trgm), and does away with that of another
 * version. Without it, on a server that does not let us have the extension, searches find the same and take longer.
 * @returns whether it is there
 */
export async function ensureSearchIndex(db: Executor): Promise<boolean> {
  const text = indexedTextOfUsers();
  const version = createHash('sha256').update(writeStatement(text).sql).digest('hex').slice(0, 8);
  const name = `users_search_${version}`;
  const found = await rows<{ name: string }>(
    db,
    sql`select indexname as name from pg_indexes
      where schemaname = current_schema() and tablename = 'users' and indexname like ${'users\\_search\\_%'}`,
  );
  if (found.length === 1 && found[0]?.name === name) return true;
  try {
    await db.transaction(async (tx) => {
      for (const old of found) await tx.execute(sql`drop index ${sql.identifier(old.name)}`);
      await tx.execute(sql`create extension if not exists pg_trgm`);
      // What waits to be sorted in is read by every search: little may wait, in kB.
      await tx.execute(
        sql`create index ${sql.identifier(name)} on ${users} using gin (${text} gin_trgm_ops) with (gin_pending_list_limit = 256)`,
      );
    });
    return true;
  } catch (error) {
    if (unavailable.has(sqlStateOf(error) ?? '')) return false;
    throw error;
  }
}
