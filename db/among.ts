import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { arrayOf } from './query-language/compile.js';

/** Whether a column contains one of these keys. They are passed as one parameter, so the statement is the same for any number of keys. */
export const isAmong = (
  column: SQLWrapper,
  keys: readonly (string | number)[],
  type: 'uuid' | 'integer' | 'text' = 'uuid',
): SQL => sql`${column} = any(${arrayOf({ type }, keys)})`;
