import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Executor, openDatabase } from '../db/client.js';
import { sqlStateOf } from '../db/failures.js';
import { databaseLocation } from '../plugins/platform/database.js';
import { explainStartFailure } from '../plugins/platform/startup-errors.js';
import type { Config } from '../schemas/config.js';

/** Explains why a command cannot run, in a message written for the operator. */
export class CommandError extends Error {}

/** Runs a command on the database of the service, which must already exist. */
export async function withServiceDatabase<T>(config: Config, work: (db: Executor) => Promise<T>): Promise<T> {
  const location = databaseLocation(config);
  // Opening an embedded database would create it.
  if (location.kind === 'embedded' && !existsSync(join(location.dataDir, 'database'))) {
    throw new CommandError(
      `There is no database in ${location.dataDir}. Set DATA_DIR or DATABASE_URL to the same value as for the service.`,
    );
  }
  const connection = await openDatabase(location);
  try {
    return await work(connection.db);
  } finally {
    await connection.close();
  }
}

/** Explains a failure to the person who runs the command. */
export function explainFailure(error: unknown): string {
  const isMistyped = error instanceof TypeError && /^ERR_PARSE_ARGS_/.test((error as NodeJS.ErrnoException).code ?? '');
  if (error instanceof CommandError || isMistyped) return error.message;
  if (sqlStateOf(error) === '42P01')
    return 'The database does not have the required table yet. Start the service once to create it.';
  return explainStartFailure(error);
}
