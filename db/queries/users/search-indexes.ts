import { createHash } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { sqlStateOf } from '../../failures.js';
import { collections } from '../../query-language/collections.js';
import { emailSearch, searchedTexts } from '../../query-language/search-text.js';
import { users } from '../../schema.js';
import { rows, writeStatement } from '../../statements.js';

/** The extension is not installed or not permitted: 42501, 0A000, 58P01, 42704. */
const unavailable = new Set(['42501', '0A000', '58P01', '42704']);

const lockNotAvailable = '55P03';

const email = sql.identifier('email');

/** The definitions of the indexes. @param operators the operator class of the extension, with its schema if needed */
const definitionsWith = (operators: SQL): Record<string, SQL> => ({
  // One entry for each column, because many callers may search only some. Every search also reads the entries that wait to be merged, so
  // that list is kept small (in kB).
  texts: sql`using gin (${sql.join(
    searchedTexts(collections.users).map(([, { column }]) => sql`${sql.identifier(column)} ${operators}`),
    sql`, `,
  )}) with (gin_pending_list_limit = 256)`,
  addresses: sql`using btree ((${emailSearch.beforeAt(email)}))`,
  other_addresses: sql`using btree (id) where ${emailSearch.isUnusual(email)}`,
});

const prefix = 'users_search_';

/**
 * Creates the indexes for searches by three or more letters (pg_trgm) and by address, and drops those of other versions. On a
 * server that does not permit the extension, searches work without the indexes but take longer.
 * @returns whether the indexes exist
 */
export async function ensureSearchIndexes(db: Executor): Promise<boolean> {
  const wanted = new Map(
    Object.entries(definitionsWith(sql`gin_trgm_ops`)).map(([name, definition]) => {
      const version = createHash('sha256').update(writeStatement(definition).sql).digest('hex').slice(0, 8);
      return [`${prefix}${name}_${version}`, name];
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
    // While this runs, users can be read but not written.
    await db.transaction(async (tx) => {
      await tx.execute(sql`create extension if not exists pg_trgm`);
      const definitions = definitionsWith(await trigramOperators(tx));
      for (const [name, kind] of missing) {
        await tx.execute(sql`create index ${sql.identifier(name)} on ${users} ${definitions[kind]}`);
      }
    });
    for (const name of outdated) await dropIndex(db, name);
    return true;
  } catch (error) {
    if (unavailable.has(sqlStateOf(error) ?? '')) return false;
    throw error;
  }
}

/** The extension may be in a schema that is not in the search path. */
async function trigramOperators(tx: Executor): Promise<SQL> {
  const [found] = await rows<{ schema: string }>(
    tx,
    sql`select n.nspname as schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'`,
  );
  return sql`${sql.identifier(found?.schema ?? 'public')}.gin_trgm_ops`;
}

/**
 * While this waits for running reads of users to finish, all further reads wait behind it. So it stops waiting after one second
 * and leaves the index to a later start.
 */
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
