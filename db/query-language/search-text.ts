import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { inLowerCase } from '../lower-case.js';
import type { Collection, ValueField } from './collections.js';
import { literal } from './compile.js';

/** The fields that a search looks at, with their columns. */
export const searchedTexts = ({ fields }: Collection): [name: string, field: ValueField][] =>
  [...fields].filter(
    (entry): entry is [string, ValueField] =>
      entry[1].kind === 'value' && entry[1].type === 'text' && !entry[1].concealed && !entry[1].whole,
  );

/**
 * What a search looks up for the email address of a user. On PostgreSQL there are indexes for both, and one on all texts
 * (`db/queries/users/search-indexes.ts`). An index is used only if a query contains exactly the same expression.
 */
export const emailSearch = {
  /** The part before the @, reversed, so that addresses with the same ending are adjacent. */
  beforeAt: (email: SQLWrapper): SQL => sql`reverse(split_part(${inLowerCase(email)}, '@', 1))`,

  /** Whether there is not a single @, or not only ASCII characters before it. */
  isUnusual: (email: SQLWrapper): SQL => sql`${email} !~ '^[!-?A-~]+@[^@]+$'`,
};

/** Whether a text contains a term, in any letter case. */
export const contains = (text: SQL, term: string): SQL => sql`${text} ilike ${`%${literal(term)}%`}`;

/**
 * The same for the email address of a user. If the term is an address, the part before the @ is looked up in an index sorted by it: nearly
 * all users share the letters of the domain, and many share the letters of a name.
 */
export function emailContains(email: SQL, term: string): SQL {
  const found = contains(email, term);
  const [before = '', ...after] = term.split('@');
  if (after.length === 0 || !/^[ -~]+$/.test(before)) return found;
  const start = [...before.toLowerCase()].reverse().join('');
  // Greater than any continuation in ASCII.
  const end = `${start}\x7f`;
  const beforeAt = emailSearch.beforeAt(email);
  return sql`(((${beforeAt} >= ${start} and ${beforeAt} < ${end}) or ${emailSearch.isUnusual(email)}) and ${found})`;
}
