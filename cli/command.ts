import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { databaseLocation } from '../plugins/platform/database.js';
import type { Services } from '../plugins/platform/plugin.js';
import { explainStartFailure } from '../plugins/platform/startup-errors.js';
import type { Config } from '../schemas/config.js';
import { openServices } from '../services.js';

/** Explains why a command cannot run, in a message written for the operator. */
export class CommandError extends Error {}

/** Runs a command with the services, on their database, which must already exist. Warnings appear on stderr. */
export async function withServices<T>(config: Config, work: (services: Services) => Promise<T>): Promise<T> {
  const database = databaseLocation(config);
  // Opening an embedded database would create it.
  if (database.kind === 'embedded' && !existsSync(join(database.dataDir, 'database'))) {
    throw new CommandError(
      `There is no database in ${database.dataDir}. Set DATA_DIR or DATABASE_URL to the same value as for the service.`,
    );
  }
  const stream = { write: (line: string) => process.stderr.write(`Warning: ${sentenceOf(line)}\n`) };
  const services = await openServices(config, { database, logger: { level: 'warn', base: null, stream } });
  try {
    return await work(services);
  } finally {
    await services.close();
  }
}

/** A line of the log, for people: the message and what it is about. */
function sentenceOf(line: string): string {
  const { level, time, msg, ...facts } = JSON.parse(line) as Record<string, unknown>;
  return Object.keys(facts).length === 0 ? String(msg) : `${msg} ${JSON.stringify(facts)}`;
}

/** Explains a failure to the person who runs the command. */
export function explainFailure(error: unknown): string {
  const isMistyped = error instanceof TypeError && /^ERR_PARSE_ARGS_/.test((error as NodeJS.ErrnoException).code ?? '');
  return error instanceof CommandError || isMistyped ? error.message : explainStartFailure(error);
}
