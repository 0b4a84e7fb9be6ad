import { sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { ReadOnlyError } from '../../failures.js';
import { rows } from '../../statements.js';

/**
 * Checks that the database accepts writes. Runs in a transaction, so that a connection to a read-only server is closed.
 * @throws {ReadOnlyError} when the server is read-only; any other error when there was no answer
 */
export async function pingDatabase(executor: Executor): Promise<void> {
  await executor.transaction(async (tx) => {
    const [row] = await rows<{ transaction_read_only: string }>(tx, sql`show transaction_read_only`);
    if (row?.transaction_read_only !== 'off') throw new ReadOnlyError();
  });
}
