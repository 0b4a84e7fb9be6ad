import { sql } from 'drizzle-orm';
import type { Executor } from '../client.js';

/** Asks the database for an answer, any answer. */
export async function pingDatabase(executor: Executor): Promise<void> {
  await executor.execute(sql`select 1`);
}
