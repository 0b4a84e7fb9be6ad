import { createHash } from 'node:crypto';
import type { DatabaseConnection, Executor } from './client.js';
import { readSessionSchemas, schemasWithTables } from './queries/platform/schemas.js';
import { SchemaError } from './schema-error.js';

/** The schemas that the service uses. */
export interface DatabaseSchemas {
  tables: string;
  /** The record of the migrations that have run. */
  journal: string;
  /** The tables of the queue. */
  queue: string;
}

/**
 * The schemas of a service whose tables are in the given one. Each service has its own, so that several services can share a database.
 * `db/grants.sql` determines the same names.
 */
export function schemasFor(tables: string): DatabaseSchemas {
  if (tables === 'public') return { tables, journal: 'drizzle', queue: 'pgboss' };
  // pg-boss accepts no other characters.
  const isPlain = /^[a-z0-9_]{1,40}$/.test(tables);
  const suffix = isPlain ? tables : createHash('sha256').update(tables).digest('hex').slice(0, 16);
  return { tables, journal: `drizzle_${suffix}`, queue: `pgboss_${suffix}` };
}

/**
 * Determines the schemas, and checks that the database suits the service. Without DATABASE_SCHEMA, the tables are in the first schema
 * of the search path that exists. If none exists, it is the first that can be created.
 * @throws {SchemaError}
 */
export async function findSchemas({ db, schema }: DatabaseConnection): Promise<DatabaseSchemas> {
  const { encoding, current, path, role } = await readSessionSchemas(db);
  if (encoding !== 'UTF8') {
    throw new SchemaError(
      `The encoding of the database is ${encoding}, and the service requires UTF8, because names and texts can contain any character. Create a database with \`CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0\`, and use it in DATABASE_URL.`,
    );
  }
  if (schema !== undefined && current !== null && current !== schema) {
    throw new SchemaError(
      `DATABASE_SCHEMA is ${schema}, but the connections use the schema ${current}: a pooler ignores the setting. Unset DATABASE_SCHEMA, and set the schema of the role: \`ALTER ROLE … SET search_path = ${schema}\`.`,
    );
  }
  const schemas = schemasFor(current ?? schema ?? firstOf(path, role));
  if (schema === undefined && schemas.tables !== 'public' && (await isNewBesidePublic(db, schemas))) {
    throw new SchemaError(
      `The tables of the service are in the schema public, but the search_path of the role begins with ${schemas.tables}. Set DATABASE_SCHEMA to public to use these tables, or to ${schemas.tables} to create new ones.`,
    );
  }
  return schemas;
}

/** The first schema in the setting `search_path`, such as `"$user", public`. */
function firstOf(path: string, role: string): string {
  const [, quoted, plain] = /^\s*(?:"((?:[^"]|"")*)"|([^,\s]+))/.exec(path) ?? [];
  const name = quoted?.replaceAll('""', '"') ?? plain ?? 'public';
  return name === '$user' ? role : name;
}

/** Whether `public` contains the tables of a service, and the given schema does not. */
async function isNewBesidePublic(db: Executor, { tables }: DatabaseSchemas): Promise<boolean> {
  const found = await schemasWithTables(db, ['public', tables]);
  return found.length > 0 && !found.includes(tables);
}
