/** The tables in `results/`, README.md, and docs/comparison.md. */
import type { describeMachine } from './machine.js';
import { type PairedResult, percent } from './paired.js';
import type { Comparison } from './peers/compare.js';
import type { ProcessorTime } from './processor-time.js';
import { median } from './statistics.js';

export const row = (...cells: string[]) => `| ${cells.join(' | ')} |`;
export const table = (head: string[], rows: string[][]) => [
  row(...head),
  row(...head.map(() => '---')),
  ...rows.map((cells) => row(...cells)),
];
export const code = (text: string) => `\`${text}\``;
export const met = (isMet: boolean) => (isMet ? 'yes' : '**no**');
export const ms = (value: number) => `${value.toFixed(value < 10 ? 2 : 1)} ms`;
const count = (value: number) => Math.round(value).toLocaleString('en-US');
const times = (value: number) => `${value.toFixed(1)} ×`;

/** Where and when the results were measured. */
export const describeSetting = (
  { node, processors, model, at }: ReturnType<typeof describeMachine>,
  { users, paired }: { users: number; paired: readonly PairedResult[] },
) =>
  `${at.slice(0, 10)}, Node ${node}, ${processors} processors (${model}), shared by client, servers, and database; ${count(users)} users; medians of ${paired[0]?.rounds.length} rounds.`;

/** The service and the floor. */
export const pairedTable = (paired: readonly PairedResult[]) =>
  table(
    [
      'request',
      'per second',
      'service',
      'PostgreSQL',
      'floor: per second',
      'server',
      'PostgreSQL',
      'share',
      'lowest–highest',
      'target',
      'met',
    ],
    paired.map(({ name, rounds, ratio, target, processor: { service, floor } }) => [
      code(name),
      count(median(rounds.map((round) => round.service))),
      ...processorCells(service),
      count(median(rounds.map((round) => round.floor))),
      ...(floor ? processorCells(floor) : ['–', '–']),
      percent(ratio.median),
      `${percent(ratio.lowest)}–${percent(ratio.highest)}`,
      percent(target),
      met(ratio.median >= target),
    ]),
  );

/** The same without what only those need who work on the service. */
export const summaryTable = (paired: readonly PairedResult[]) =>
  table(
    ['request', 'per second', 'service', 'PostgreSQL', 'share of the floor', 'target', 'met'],
    paired.map(({ name, rounds, ratio, target, processor: { service } }) => [
      code(name),
      count(median(rounds.map((round) => round.service))),
      ...processorCells(service),
      percent(ratio.median),
      percent(target),
      met(ratio.median >= target),
    ]),
  );

const peerColumns = [
  'request',
  'system',
  'per second',
  'service',
  'PostgreSQL',
  'both, compared with Gatehouse',
  'lowest–highest',
  'target',
  'met',
];

const peerRows = (comparisons: readonly Comparison[]) =>
  comparisons.flatMap(({ name, service, peers }) => [
    [code(name), 'Gatehouse', count(service.rate), ...processorCells(service.processor), '1 ×', '', '', ''],
    ...peers.map(({ name: peer, path, rate, processor, ratio, target }) => [
      code(`GET ${path}`),
      peer,
      count(rate),
      ...processorCells(processor),
      times(ratio.median),
      `${times(ratio.lowest)}–${times(ratio.highest)}`,
      `≥ ${target} ×`,
      met(ratio.median >= target),
    ]),
  ]);

/** The service and its peers. */
export const peersTable = (comparisons: readonly Comparison[]) => table(peerColumns, peerRows(comparisons));

/** The same without the spread and the targets, for readers who choose between the systems. */
export const comparisonTable = (comparisons: readonly Comparison[]) => {
  const shown = peerColumns.indexOf('lowest–highest');
  return table(
    peerColumns.slice(0, shown),
    peerRows(comparisons).map((cells) => cells.slice(0, shown)),
  );
};

const processorCells = ({ server, database }: ProcessorTime) => [ms(server), ms(database)];
