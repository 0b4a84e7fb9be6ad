import { type SQL, sql } from 'drizzle-orm';
import { inLowerCase } from '../lower-case.js';
import { type Collection, collections, type ValueField } from './collections.js';
import { literal } from './compile.js';

/** The fields in which a search looks for text, with their columns. */
export const searchedTexts = ({ fields }: Collection): [name: string, field: ValueField][] =>
  [...fields].filter(
    (entry): entry is [string, ValueField] =>
      entry[1].kind === 'value' && entry[1].type === 'text' && !entry[1].concealed && !entry[1].whole,
  );

/** What stands for a column of `users`: of the row of a statement, or of the table itself, as an index has it. */
export type UserColumn = (name: string) => SQL;

const lines = (column: UserColumn, fields: [string, ValueField][]): SQL => {
  const texts = fields.map(([, field]) => sql`coalesce(${column(field.column)}, '')`);
  return sql`(${sql.join(texts, sql` || e'\\n' || `)})`;
};

/**
 * What users are searched by, so that few of them have to be looked at. On PostgreSQL there are indexes on the first two, and one
 * on the texts of those to whom the third applies (`db/postgres/search-indexes.ts`): used only where a query has them word for word.
 */
export const userSearch = {
  /** All texts of a user in one, a line for each: a term that is in none of these lines is in none of the texts. */
  texts: (column: UserColumn): SQL => lines(column, searchedTexts(collections.users)),

  /** What stands before the @ of their e-mail address, backwards: those that end alike are next to each other. */
  beforeAt: (column: UserColumn): SQL => sql`reverse(split_part(${inLowerCase(column('email'))}, '@', 1))`,

  /** Whether they may have an @ elsewhere than in an e-mail address as it should be: one @, and ASCII before it. */
  hasOtherAt: (column: UserColumn): SQL => {
    const others = searchedTexts(collections.users).filter(([name]) => name !== 'email');
    return sql`(${lines(column, others)} like '%@%' or ${column('email')} !~ '^[!-?A-~]+@[^@]+$')`;
  },
};

/**
 * A condition that all users fulfil in whose texts there is this term, in any letter case, and few others: to be asked besides
 * whether there is. Of an address only what stands before the @ is looked for, in an index sorted by it: nearly all users
 * have the letters of the domain, and the letters of a name are those of many.
 */
export function mayContain(term: string, column: UserColumn): SQL {
  const containing = (part: string) => sql`${userSearch.texts(column)} ilike ${`%${literal(part)}%`}`;
  const [before = '', ...after] = term.split('@');
  if (after.length === 0 || !/^[ -~]+$/.test(before)) return containing(term);
  const start = [...before.toLowerCase()].reverse().join('');
  // Greater than whatever goes on after it in ASCII.
  const end = `${start}\x7f`;
  const beforeAt = userSearch.beforeAt(column);
  // The index on three letters has the last two of a word, too; of fewer it has nothing.
  const part = /[a-z0-9]{2}/i.test(before) ? `${before}@` : term;
  return sql`((${beforeAt} >= ${start} and ${beforeAt} < ${end}) or (${userSearch.hasOtherAt(column)} and ${containing(part)}))`;
}
