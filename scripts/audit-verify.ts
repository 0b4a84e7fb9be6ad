// Walks the audit log and says whether it is as it was written: `npm run audit:verify [-- --head=<position>:<hash>]`.
// Ends with 0 when it is, with 1 at the first fault, and with 2 when it could not be read.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openDatabase } from '../db/client.js';
import { sqlStateOf } from '../db/failures.js';
import { createSeals } from '../plugins/activity/seals.js';
import { type NotedHead, type Verdict, verifyActivity } from '../plugins/activity/verify.js';
import { loadConfig } from '../plugins/config.js';
import { databaseLocation } from '../plugins/database.js';
import { keysFor } from '../plugins/keys.js';
import { explainStartFailure } from '../plugins/start-failure.js';

/** Why it cannot be read, in a sentence of our own. */
class UnreadableError extends Error {}

try {
  const noted = readHead();
  const verdict = await verify(noted);
  process.stdout.write(`${sentence(verdict, noted)}\n`);
  process.exit(verdict.isIntact ? 0 : 1);
} catch (error) {
  process.stderr.write(`The audit log cannot be verified. ${reasonOf(error)}\n`);
  process.exit(2);
}

function reasonOf(error: unknown): string {
  if (error instanceof UnreadableError) return error.message;
  if (sqlStateOf(error) === '42P01') return 'The database has none yet: start the service once.';
  return explainStartFailure(error);
}

async function verify(noted: NotedHead | undefined): Promise<Verdict> {
  const config = loadConfig();
  const location = databaseLocation(config);
  // To open it would be to make it.
  if (location.kind === 'embedded' && !existsSync(join(location.dataDir, 'database'))) {
    throw new UnreadableError(
      `There is no database in ${location.dataDir}: set DATA_DIR or DATABASE_URL as the service has it.`,
    );
  }
  const connection = await openDatabase(location);
  try {
    // One moment of it, though the service goes on.
    return await connection.db.transaction(
      (tx) => verifyActivity(tx, createSeals(keysFor(config, 'activity')), noted),
      { isolationLevel: 'repeatable read', accessMode: 'read only' },
    );
  } finally {
    await connection.close();
  }
}

/** A head that was noted at an earlier time. */
function readHead(): NotedHead | undefined {
  const { values } = parseArgs({ options: { head: { type: 'string' } } });
  if (values.head === undefined) return undefined;
  const [, position, hash] = /^(\d{1,15}):([\w-]{8}\.[\w-]{43})$/.exec(values.head) ?? [];
  if (position === undefined || hash === undefined) {
    throw new UnreadableError(
      '--head takes a position and a hash, such as 1024:0PoUb1cN.…, as an earlier run has told them.',
    );
  }
  return { position: Number(position), hash };
}

function sentence(verdict: Verdict, noted: NotedHead | undefined): string {
  if (!verdict.isIntact) return `The audit log is not as it was written. ${verdict.fault}`;
  const { first, head, linked, unlinked } = verdict;
  const waiting = `${unlinked} ${unlinked === 1 ? 'row waits' : 'rows wait'} to be linked, each with its seal.`;
  if (!head) return `The audit log is intact: nothing is linked yet; ${waiting}`;
  const places = linked === 0 ? 'no row is kept' : `${linked} rows, positions ${first} to ${head.position}`;
  const kept = noted && noted.position >= first - 1 ? ' It goes through the head that was noted.' : '';
  return [
    `The audit log is intact: ${places}; ${waiting}${kept}`,
    `Note its head elsewhere, and give it to a later run: --head=${head.position}:${head.hash}`,
  ].join('\n');
}
