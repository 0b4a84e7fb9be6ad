// Verifies that the audit log is unaltered: `npm run audit:verify [-- --head=<position>:<hash>]`. Exits with 0 if it is, with 1
// at the first fault, and with 2 if it could not be read.
import { parseArgs } from 'node:util';
import { createSignatures } from '../plugins/activity/signatures.js';
import { type NotedHead, type Verdict, verifyActivity } from '../plugins/activity/verify.js';
import { loadConfig } from '../plugins/platform/config.js';
import { keysFor } from '../plugins/platform/key-derivation.js';
import { CommandError, explainFailure, withServices } from './command.js';

try {
  const noted = readHead();
  const verdict = await verify(noted);
  process.stdout.write(`${sentence(verdict, noted)}\n`);
  process.exit(verdict.isIntact ? 0 : 1);
} catch (error) {
  process.stderr.write(`The audit log cannot be verified. ${explainFailure(error)}\n`);
  process.exit(2);
}

async function verify(noted: NotedHead | undefined): Promise<Verdict> {
  const config = loadConfig();
  const signatures = createSignatures(keysFor(config, 'activity'));
  return withServices(config, ({ db }) =>
    // Read a consistent snapshot, although the service keeps running.
    db.transaction((tx) => verifyActivity(tx, signatures, noted), {
      isolationLevel: 'repeatable read',
      accessMode: 'read only',
    }),
  );
}

/** A head that was noted during an earlier run. */
function readHead(): NotedHead | undefined {
  const { values } = parseArgs({ options: { head: { type: 'string' } } });
  if (values.head === undefined) return undefined;
  const [, position, hash] = /^(\d{1,15}):([\w-]{8}\.[\w-]{43})$/.exec(values.head) ?? [];
  if (position === undefined || hash === undefined) {
    throw new CommandError('--head must be a position and a hash from an earlier run, such as 1024:0PoUb1cN.….');
  }
  return { position: Number(position), hash };
}

function sentence(verdict: Verdict, noted: NotedHead | undefined): string {
  if (!verdict.isIntact) return `The audit log was altered or is incomplete. ${verdict.fault}`;
  const { first, head, linked, unlinked } = verdict;
  const waiting = `${unlinked} ${unlinked === 1 ? 'row is' : 'rows are'} signed but not yet linked.`;
  if (!head) return `The audit log is intact: it is new, and no rows are linked yet; ${waiting}`;
  const places = linked === 0 ? 'no linked rows are stored' : `${linked} rows, positions ${first} to ${head.position}`;
  const kept = noted && noted.position >= first - 1 ? ' It contains the head that you passed.' : '';
  return [
    `The audit log is intact: ${places}; ${waiting}${kept}`,
    `Store its head elsewhere, and pass it to a later run: --head=${head.position}:${head.hash}`,
  ].join('\n');
}
