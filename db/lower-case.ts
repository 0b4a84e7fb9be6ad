import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';

/**
 * A text in lower case, by the rules of the "C" collation instead of the database's locale: a Turkish locale, for example, maps
 * `I` to another letter. Indexes and queries must use exactly this expression; otherwise the index is not used.
 */
export const inLowerCase = (text: SQLWrapper): SQL => sql`lower(${text} collate "C")`;

/** The same for a value. `toLowerCase` would also convert other letters than A to Z. */
export const foldCase = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
