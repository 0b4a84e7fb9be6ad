import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';

/**
 * A text in lower case, by the rules of "C" and not of the database's locale: a Turkish one, say, has another lower case for `I`.
 * Indexes have it and queries ask for it, word for word: an index on anything else would not be used.
 */
export const inLowerCase = (text: SQLWrapper): SQL => sql`lower(${text} collate "C")`;
