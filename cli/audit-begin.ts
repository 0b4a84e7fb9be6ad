// Begins a new chain of the audit log, after both of its tables have been emptied: `npm run audit:begin`. See docs/audit-log.md.
import type { Executor } from '../db/client.js';
import { highestPosition } from '../db/queries/activity/activity.js';
import { beginChain } from '../plugins/activity/chain.js';
import { createSignatures } from '../plugins/activity/signatures.js';
import { loadConfig } from '../plugins/platform/config.js';
import { keysFor } from '../plugins/platform/key-derivation.js';
import { CommandError, explainFailure, withServices } from './command.js';

try {
  const config = loadConfig();
  const signatures = createSignatures(keysFor(config, 'activity'));
  await withServices(config, ({ db }) =>
    db.transaction(async (tx: Executor) => {
      if ((await highestPosition(tx)) !== null || !(await beginChain(tx, signatures))) {
        throw new CommandError('Save the tables activity and activity_chain, and empty both first.');
      }
    }),
  );
  process.stdout.write('The audit log begins a new chain.\n');
} catch (error) {
  process.stderr.write(`No new chain was begun. ${explainFailure(error)}\n`);
  process.exit(1);
}
