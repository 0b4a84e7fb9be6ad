import { type SQL, sql } from 'drizzle-orm';
import { type Collection, collections, type ValueField } from './collections.js';

/** The fields in which a search looks for text, with their columns. */
export const searchedTexts = ({ fields }: Collection): [name: string, field: ValueField][] =>
  [...fields].filter(
    (entry): entry is [string, ValueField] =>
      entry[1].kind === 'value' && entry[1].type === 'text' && !entry[1].concealed,
  );

/**
 * All texts of a row in one, a line for each: a term that is in none of these lines is in none of the texts. On PostgreSQL
 * there is an index on it for users (`db/postgres/search-index.ts`), used only where a query has it word for word.
 */
export function textOf(collection: Collection, column: (name: string) => SQL): SQL {
  const lines = searchedTexts(collection).map(([, field]) => sql`coalesce(${column(field.column)}, '')`);
  return sql`(${sql.join(lines, sql` || e'\\n' || `)})`;
}

/** The same for the columns of the table itself, as the index has it. */
export const indexedTextOfUsers = (): SQL => textOf(collections.users, (name) => sql`${sql.identifier(name)}`);
