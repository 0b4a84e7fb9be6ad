import { type SQL, sql } from 'drizzle-orm';
import { inLowerCase } from '../lower-case.js';
import { type Collection, collections, type ValueField } from './collections.js';
import { literal } from './compile.js';

/** The fields that a search looks at, with their columns. */
export const searchedTexts = ({ fields }: Collection): [name: string, field: ValueField][] =>
  [...fields].filter(
    (entry): entry is [string, ValueField] =>
      entry[1].kind === 'value' && entry[1].type === 'text' && !entry[1].concealed && !entry[1].whole,
  );

/** Returns the expression for a column of `users`: on a row of a statement, or on the table itself in an index definition. */
export type UserColumn = (name: string) => SQL;

/**
 * What a search for users looks up. On PostgreSQL there are indexes on the texts and on the first expression, and one on the users to whom
 * the second applies (`db/queries/users/search-indexes.ts`). An index is used only if a query contains exactly the same expression.
 */
export const userSearch = {
  texts: (column: UserColumn): SQL[] => searchedTexts(collections.users).map(([, field]) => column(field.column)),

  /** The part of the email address before the @, reversed, so that addresses with the same ending are adjacent. */
  beforeAt: (column: UserColumn): SQL => sql`reverse(split_part(${inLowerCase(column('email'))}, '@', 1))`,

  /** Whether the email address is not well-formed: it has not a single @, or not only ASCII characters before it. */
  hasOtherAt: (column: UserColumn): SQL => sql`${column('email')} !~ '^[!-?A-~]+@[^@]+$'`,
};

/** Whether a text contains a term, in any letter case. */
export const contains = (text: SQL, term: string): SQL => sql`${text} ilike ${`%${literal(term)}%`}`;

/**
 * The same for the email address of a user. If the term is an address, the part before the @ is looked up in an index sorted by it: nearly
 * all users share the letters of the domain, and many share the letters of a name.
 */
export function emailContains(column: UserColumn, term: string): SQL {
  const found = contains(column('email'), term);
  const [before = '', ...after] = term.split('@');
  if (after.length === 0 || !/^[ -~]+$/.test(before)) return found;
  const start = [...before.toLowerCase()].reverse().join('');
  // Greater than any continuation in ASCII.
  const end = `${start}\x7f`;
  const beforeAt = userSearch.beforeAt(column);
  return sql`(((${beforeAt} >= ${start} and ${beforeAt} < ${end}) or ${userSearch.hasOtherAt(column)}) and ${found})`;
}
