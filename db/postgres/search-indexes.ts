import { createHash } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { type Executor, rows } from '../client.js';
import { sqlStateOf } from '../failures.js';
import { writeStatement } from '../fixed-statement.js';
import { type UserColumn, userSearch } from '../query-language/search-text.js';
import { users } from '../schema.js';

/** Not allowed to have the extension, or it is not installed: 42501, 0A000, 58P01, 42704. */
const unavailable = new Set(['42501', '0A000', '58P01', '42704']);

const lockNotAvailable = '55P03';

const column: UserColumn = (name) => sql`${sql.identifier(name)}`;
// What waits to be sorted in is read by every search: little may wait, in kB.
const byThreeLetters = sql`using gin (${userSearch.texts(column)} gin_trgm_ops) with (gin_pending_list_limit = 256)`;

const indexes: Record<string, SQL> = {
  texts: byThreeLetters,
  addresses: sql`using btree ((${userSearch.beforeAt(column)}))`,
  other_addresses: sql`${byThreeLetters} where ${userSearch.hasOtherAt(column)}`,
};

const prefix = 'users_search_';

/**
 * Makes the indexes by which users are searched for three letters and more (pg_trgm) and for addresses, and does away with
 * those of another version. Without them, on a server that does not let us have the extension, searches find the same and
 * take longer.
 * @returns whether they are there
 */
export async function ensureSearchIndexes(db: Executor): Promise<boolean> {
  const wanted = new Map(
    Object.entries(indexes).map(([name, definition]) => {
      const version = createHash('sha256').update(writeStatement(definition).sql).digest('hex').slice(0, 8);
      return [`${prefix}${name}_${version}`, definition];
    }),
  );
  const found = await rows<{ name: string }>(
    db,
    sql`select indexname as name from pg_indexes
      where schemaname = current_schema() and tablename = 'users' and starts_with(indexname, ${prefix})`,
  );
  const existing = new Set(found.map(({ name }) => name));
  const missing = [...wanted].filter(([name]) => !existing.has(name));
  const outdated = [...existing].filter((name) => !wanted.has(name));
  if (missing.length + outdated.length === 0) return true;
  try {
    // Meanwhile users can be read, and not written.
    await db.transaction(async (tx) => {
      await tx.execute(sql`create extension if not exists pg_trgm`);
      for (const [name, definition] of missing) {
        await tx.execute(sql`create index ${sql.identifier(name)} on ${users} ${definition}`);
      }
    });
    for (const name of outdated) await dropIndex(db, name);
    return true;
  } catch (error) {
    if (unavailable.has(sqlStateOf(error) ?? '')) return false;
    throw error;
  }
}

/** Nobody reads users from when this begins to wait for those who read them already: so it soon leaves it to another start. */
async function dropIndex(db: Executor, name: string): Promise<void> {
  try {
    await db.transaction(async (tx) => {
      await tx.execute(sql`set local lock_timeout = '1s'`);
      await tx.execute(sql`drop index ${sql.identifier(name)}`);
    });
  } catch (error) {
    if (sqlStateOf(error) !== lockNotAvailable) throw error;
  }
}
