/** Generates the tables of README.md and docs/comparison.md from `bench/results/postgres.json`. */
import { readFileSync } from 'node:fs';
import { fillTables } from './fill-tables.js';
import type { describeMachine } from './machine.js';
import type { Results } from './report.js';
import { comparisonTable, describeSetting, peersTable, summaryTable } from './tables.js';

export const resultsFile = 'bench/results/postgres.json';

/** Does nothing if the last run did not measure other systems. */
export function writeComparison(): void {
  const results: Results & { machine: ReturnType<typeof describeMachine> } = JSON.parse(
    readFileSync(resultsFile, 'utf8'),
  );
  const { machine, peers = [], paired } = results;
  if (peers.length === 0) return;
  const setting = describeSetting(machine, results);
  fillTables('README.md', { comparison: `${comparisonTable(peers).join('\n')}\n\n${setting}` });
  fillTables('docs/comparison.md', {
    comparison: `${peersTable(peers).join('\n')}\n\n${setting}`,
    floor: summaryTable(paired).join('\n'),
  });
}
