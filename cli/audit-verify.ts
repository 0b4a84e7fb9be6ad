// Verifies that the audit log is unaltered: `npm run audit:verify [-- --head=<position>:<hash>]`. Exits with 0 if it is, with 1
// at the first fault, and with 2 if it could not be read.
import { parseArgs } from 'node:util';
import type { Verdict } from '../plugins/activity/verify.js';
import { loadConfig } from '../plugins/platform/config.js';
import { type NotedHead, readHead, writeHead } from '../schemas/activity.js';
import { CommandError, explainFailure, withServices } from './command.js';

try {
  const noted = readNoted();
  const verdict = await withServices(loadConfig(), ({ verifyActivity }) => verifyActivity({ noted }));
  process.stdout.write(`${sentence(verdict, noted)}\n`);
  process.exit(verdict.isIntact ? 0 : 1);
} catch (error) {
  process.stderr.write(`The audit log cannot be verified. ${explainFailure(error)}\n`);
  process.exit(2);
}

/** A head that was noted during an earlier run. */
function readNoted(): NotedHead | undefined {
  const { values } = parseArgs({ options: { head: { type: 'string' } } });
  if (values.head === undefined) return undefined;
  const noted = readHead(values.head);
  if (!noted) {
    throw new CommandError('--head must be a position and a hash from an earlier run, such as 1024:0PoUb1cN.….');
  }
  return noted;
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
    `Store its head elsewhere, and pass it to a later run: --head=${writeHead(head)}`,
  ].join('\n');
}
