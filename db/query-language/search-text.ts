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

const lines = (column: UserColumn, fields: [string, ValueField][]): SQL => {
  const texts = fields.map(([, field]) => sql`coalesce(${column(field.column)}, '')`);
  return sql`(${sql.join(texts, sql` || e'\\n' || `)})`;
};

/**
 * Expressions that narrow down a search for users. On PostgreSQL there are indexes on the first two, and one on the texts of the
 * users to whom the third applies (`db/queries/users/search-indexes.ts`). An index is used only if a query contains exactly the same
 * expression.
 */
export const userSearch = {
  /** All texts of a user, one per line: a term that does not occur in these lines occurs in none of the texts. */
  texts: (column: UserColumn): SQL => lines(column, searchedTexts(collections.users)),

  /** The part of the email address before the @, reversed, so that addresses with the same ending are adjacent. */
  beforeAt: (column: UserColumn): SQL => sql`reverse(split_part(${inLowerCase(column('email'))}, '@', 1))`,

  /** Whether a user may have an @ outside of a well-formed email address, which has a single @ and only ASCII characters before it. */
  hasOtherAt: (column: UserColumn): SQL => {
    const others = searchedTexts(collections.users).filter(([name]) => name !== 'email');
    return sql`(${lines(column, others)} like '%@%' or ${column('email')} !~ '^[!-?A-~]+@[^@]+$')`;
  },
};

/**
 * A condition that is true for all users whose texts contain this term, in any letter case, and for few others. Use it in
 * addition to the exact condition. If the term is an address, only the part before the @ is searched, in an index sorted by it:
 * nearly all users share the letters of the domain, and many share the letters of a name.
 */
export function mayContain(term: string, column: UserColumn): SQL {
  const containing = (part: string) => sql`${userSearch.texts(column)} ilike ${`%${literal(part)}%`}`;
  const [before = '', ...after] = term.split('@');
  if (after.length === 0 || !/^[ -~]+$/.test(before)) return containing(term);
  const start = [...before.toLowerCase()].reverse().join('');
  // Greater than any continuation in ASCII.
  const end = `${start}\x7f`;
  const beforeAt = userSearch.beforeAt(column);
  // The trigram index also covers the last two letters of a word; it has no entries for shorter parts.
  const part = /[a-z0-9]{2}/i.test(before) ? `${before}@` : term;
  return sql`((${beforeAt} >= ${start} and ${beforeAt} < ${end}) or (${userSearch.hasOtherAt(column)} and ${containing(part)}))`;
}
