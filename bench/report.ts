import { mkdirSync, writeFileSync } from 'node:fs';
import { chart } from './chart.js';
import type { CountingResult } from './counting.js';
import type { GrowthResult } from './growth.js';
import { describeMachine } from './machine.js';
import { type PairedResult, percent } from './paired.js';
import type { Comparison } from './peers/compare.js';
import type { ResponsiveResult } from './responsive.js';
import { describeSetting, met, ms, pairedTable, peersTable, row } from './tables.js';

export interface Results {
  engine: 'postgres' | 'embedded';
  users: number;
  paired: PairedResult[];
  /** Absent or empty if no other system was measured. */
  peers?: Comparison[];
  responsive?: ResponsiveResult;
  growth?: GrowthResult[];
  counting?: CountingResult;
}

/** Writes JSON, a table and a chart to `bench/results`. @returns the table */
export function writeResults(results: Results): string {
  const folder = 'bench/results';
  mkdirSync(folder, { recursive: true });
  const machine = describeMachine();
  const table = markdown(results, machine);
  writeFileSync(`${folder}/${results.engine}.json`, `${JSON.stringify({ machine, ...results }, null, 2)}\n`);
  writeFileSync(`${folder}/${results.engine}.md`, table);
  writeFileSync(`${folder}/${results.engine}.svg`, chart(results.paired));
  return table;
}

function markdown(results: Results, machine: ReturnType<typeof describeMachine>): string {
  const { engine, users, paired, peers = [], responsive, growth, counting } = results;
  const lines = [
    `# Results on ${engine === 'postgres' ? 'PostgreSQL' : 'the embedded engine'}`,
    '',
    describeSetting(machine, results),
    'The columns in milliseconds are the processor time of one request.',
    '',
    ...pairedTable(paired),
  ];
  if (peers.length > 0) lines.push('', ...peersTable(peers));
  if (responsive) {
    const { unloaded, flood, batch, memory } = responsive;
    const limit = 5 * unloaded.p99;
    lines.push(
      '',
      row('while passwords are hashed', 'measured', 'target', 'met'),
      row('---', '---', '---', '---'),
      row('`GET /users/me`, 100 a second, nothing else: p99', ms(unloaded.p99), '', ''),
      row(
        `the same while ${flood.offered} logins a second come: p99`,
        ms(flood.waiting.p99),
        `≤ ${ms(limit)}`,
        met(flood.waiting.p99 <= limit),
      ),
      row(
        'those logins',
        Object.entries(flood.statuses)
          .map(([status, count]) => `${count} × ${status}`)
          .join(', '),
        '503 with Retry-After',
        met(flood.withoutRetryAfter === 0 && Object.keys(flood.statuses).every((one) => ['200', '503'].includes(one))),
      ),
      row(
        '`POST /users` with 1,000 users, of hashing alone',
        percent(batch.ratio),
        percent(0.9),
        met(batch.ratio >= 0.9),
      ),
      row('`GET /users/me` meanwhile: p99', ms(batch.waiting.p99), `≤ ${ms(limit)}`, met(batch.waiting.p99 <= limit)),
      ...(memory
        ? [
            row(
              'resident memory at its highest',
              `${memory.highest.toFixed(0)} MB`,
              '≤ 250 MB',
              met(memory.highest <= 250),
            ),
          ]
        : []),
    );
  }
  if (growth) {
    lines.push(
      '',
      row(
        'one request after the other',
        '10,000 users',
        `${users.toLocaleString('en-US')} users`,
        'growth',
        'target',
        'met',
      ),
      row('---', '---', '---', '---', '---', '---'),
      ...growth.map(({ name: title, few, many, ratio }) =>
        row(title, ms(few), ms(many), `${ratio.toFixed(2)} ×`, '≤ 1.5 ×', met(ratio <= 1.5)),
      ),
    );
  }
  if (counting) {
    lines.push(
      '',
      `\`meta=total_count\`: ${ms(counting.service)} for the whole request, ${ms(counting.floor)} for PostgreSQL's own \`count(*)\`.`,
    );
  }
  return `${lines.join('\n')}\n`;
}
