import { sql } from 'drizzle-orm';
import { type Executor, rows } from '../../client.js';
import { ReadOnlyError } from '../../failures.js';

/**
 * Asks the database whether it takes writes. In a transaction, so that a connection to one that does not is given up.
 * @throws {ReadOnlyError} it is a standby; or why there was no answer
 */
export async function pingDatabase(executor: Executor): Promise<void> {
  await executor.transaction(async (tx) => {
    const [row] = await rows<{ transaction_read_only: string }>(tx, sql`show transaction_read_only`);
    if (row?.transaction_read_only !== 'off') throw new ReadOnlyError();
  });
}
