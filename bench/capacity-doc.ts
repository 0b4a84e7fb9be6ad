/** Generates the tables of `docs/capacity.md` from `bench/results/capacity.json`. */
import { readFileSync } from 'node:fs';
import { fillTables } from './fill-tables.js';
import type { InstancesResult } from './instances.js';
import type { ConnectionResult, OperationResult } from './operations.js';
import type { SizeResult } from './sizes.js';

export const resultsFile = 'bench/results/capacity.json';
const documentFile = 'docs/capacity.md';

export interface CapacityResults {
  machine: { node: string; postgres: string; processors: number; model: string; at: string };
  users: number;
  rounds: number;
  seconds: number;
  /** Password verifications per second, for each concurrency. */
  hashing: { concurrency: number; rate: number }[];
  operations: OperationResult[];
  sizes: SizeResult[];
  connections: ConnectionResult[];
  instances: InstancesResult[];
}

const row = (...cells: (string | number)[]) => `| ${cells.join(' | ')} |`;
const table = (head: string[], rows: (string | number)[][]) =>
  [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n');
const code = (text: string) => `\`${text}\``;
/** Rounds to three significant digits. */
const number = (value: number) =>
  value === 0 ? '0' : Number(value.toPrecision(3)).toLocaleString('en-US', { maximumFractionDigits: 4 });
const size = (bytes: number) => (bytes >= 1e9 ? `${number(bytes / 1e9)} GB` : `${number(bytes / 1e6)} MB`);

/** The content of each section of the document between `<!-- measured: name -->` and `<!-- end -->`, by name. */
export function capacityTables(results: CapacityResults): Record<string, string> {
  const { machine, users, rounds, seconds, hashing, operations, sizes, connections, instances } = results;
  const setting = `${machine.at.slice(0, 10)}, Node ${machine.node}, PostgreSQL ${machine.postgres}, ${machine.processors} processors (${machine.model}), ${number(users)} users; medians of ${rounds} rounds of ${seconds} seconds.`;
  return {
    setting,
    hashing: table(
      ['concurrent passwords', 'verified per second', 'compared with one'],
      hashing.map(({ concurrency, rate }) => [
        concurrency,
        rate.toFixed(1),
        `${(rate / (hashing[0]?.rate ?? rate)).toFixed(2)} ×`,
      ]),
    ),
    operations: table(
      ['', 'statements', 'transactions', 'rows written', 'write-ahead log', 'requests per second per connection'],
      operations.map(({ name, statements, commits, rowsWritten, wal }) => [
        code(name),
        statements,
        commits.toFixed(1),
        rowsWritten.toFixed(1),
        `${(wal / 1_000).toFixed(1)} kB`,
        number(connections.find((one) => one.name === name)?.rate ?? 0).replace(/^0$/, '–'),
      ]),
    ),
    sizes: table(
      ['one row of', 'table', 'indexes', 'total'],
      sizes.map(({ table: name, heap, indexes }) => [
        code(name),
        `${heap.toFixed(0)} B`,
        `${indexes.toFixed(0)} B`,
        `${(heap + indexes).toFixed(0)} B`,
      ]),
    ),
    instances: table(
      ['', 'instances', 'requests/s', 'share', 'p50', 'p99', 'services', 'PostgreSQL', 'Redis', 'nginx'],
      instances.map(({ name, instances: count, rate, share, median, p99, processor }) => [
        code(name),
        count === 0 ? '1, no proxy' : count,
        number(rate),
        `${(share * 100).toFixed(0)}%`,
        `${median} ms`,
        `${p99} ms`,
        ...[processor.services, processor.postgres, processor.redis, processor.nginx].map(
          (ms) => `${ms.toFixed(2)} ms`,
        ),
      ]),
    ),
    'hundred million': hundredMillion(results),
  };
}

/** Assumptions about a hundred million users. Yours will differ. */
const given = {
  users: 100e6,
  dailyShare: 0.1,
  weeklyShare: 0.25,
  devices: 1.5,
  loginsADay: 0.2,
  refreshesADay: 8,
  requestsADay: 40,
  peak: 4,
  refusedOf100: 20,
  auditDays: 90,
  networks: 0.8,
  load: 0.6,
};

function hundredMillion({ hashing, operations, sizes, connections, instances }: CapacityResults): string {
  const bytes = (name: string) => {
    const found = sizes.find((one) => one.table === name);
    return Math.round((found?.heap ?? 0) + (found?.indexes ?? 0));
  };
  const daily = given.users * given.dailyShare;
  const aSecond = (aDay: number) => (daily * aDay * given.peak) / 86_400;
  const rates = {
    'GET /users/me': aSecond(given.requestsADay),
    'POST /auth/refresh': aSecond(given.refreshesADay),
    'POST /auth/login': aSecond(given.loginsADay),
  };
  const names = Object.keys(rates) as (keyof typeof rates)[];
  const over = (each: (name: keyof typeof rates) => number) => ({
    sum: names.reduce((sum, name) => sum + rates[name] * each(name), 0),
    text: names.map((name) => `${number(rates[name])} × ${number(each(name))}`).join(' + '),
  });
  const hash = hashing[0]?.rate ?? Number.NaN;
  const processor = (name: string) => instances.find((one) => one.name === name && one.instances === 0)?.processor;
  const logins = rates['POST /auth/login'];
  const hashCores = logins / hash / given.load;
  const hashMs = 1_000 / hash;
  // The hashing of a login is counted separately above.
  const serviceMs = (name: keyof typeof rates) =>
    Math.max(0, (processor(name)?.services ?? 0) - (name === 'POST /auth/login' ? hashMs : 0));
  const service = over(serviceMs);
  const database = over((name) => processor(name)?.postgres ?? 0);
  const operation = (name: string) => operations.find((one) => one.name === name);
  const written = over((name) => operation(name)?.rowsWritten ?? 0);
  const wal = over((name) => (operation(name)?.wal ?? 0) / 1_000);
  // A login holds a connection while its statements run. The time is estimated from that of a refresh, in proportion to the statements.
  const held = (name: keyof typeof rates) => {
    const own = connections.find((one) => one.name === name)?.rate;
    if (own) return 1_000 / own;
    const refresh = 1_000 / (connections.find((one) => one.name === 'POST /auth/refresh')?.rate ?? Number.NaN);
    return (refresh * (operation(name)?.statements ?? 0)) / (operation('POST /auth/refresh')?.statements ?? 1);
  };
  const busy = over(held);
  const sessions = given.users * given.weeklyShare * given.devices;
  const auditRows = daily * given.loginsADay * (1 + given.refusedOf100 / 100) * given.auditDays;
  const networks = given.users * given.networks;
  const instancesNeeded = Math.ceil(service.sum / 1_000 / given.load);
  const m = (value: number) => `${number(value / 1e6)} M`;
  return table(
    ['', 'formula', ''],
    [
      [
        'users, on disk',
        `100 M × (${bytes('users')} + ${bytes('user_uses')}) B`,
        size(given.users * (bytes('users') + bytes('user_uses'))),
      ],
      [
        'sessions, on disk',
        `100 M × ${given.weeklyShare} per week × ${given.devices} devices = ${m(sessions)}; × ${bytes('sessions')} B`,
        size(sessions * bytes('sessions')),
      ],
      [
        'known networks, on disk',
        `100 M × ${given.networks} = ${m(networks)}; × ${bytes('known_networks')} B`,
        size(networks * bytes('known_networks')),
      ],
      [
        'audit log, on disk',
        `${m(daily)} × ${given.loginsADay} logins × ${1 + given.refusedOf100 / 100} × ${given.auditDays} days = ${m(auditRows)}; × ${bytes('activity')} B`,
        size(auditRows * bytes('activity')),
      ],
      ['logins per second', `${m(daily)} × ${given.loginsADay} ÷ 86,400 × ${given.peak}`, number(logins)],
      [
        'refreshes per second',
        `${m(daily)} × ${given.refreshesADay} ÷ 86,400 × ${given.peak}`,
        number(rates['POST /auth/refresh']),
      ],
      [
        'other requests per second',
        `${m(daily)} × ${given.requestsADay} ÷ 86,400 × ${given.peak}`,
        number(rates['GET /users/me']),
      ],
      [
        'processors for hashing',
        `${number(logins)} ÷ ${number(hash)} per second ÷ ${given.load} busy`,
        String(Math.ceil(hashCores)),
      ],
      [
        'instances, each with one processor for everything except hashing',
        `(${service.text}) ms ÷ 1,000 ÷ ${given.load} busy`,
        String(instancesNeeded),
      ],
      [
        'processors of PostgreSQL',
        `(${database.text}) ms ÷ 1,000 ÷ ${given.load} busy`,
        String(Math.ceil(database.sum / 1_000 / given.load)),
      ],
      ['rows written per second', written.text, number(written.sum)],
      ['write-ahead log per second', `(${wal.text}) kB`, size(wal.sum * 1_000)],
      [
        'busy connections',
        `(${busy.text}) ms ÷ 1,000`,
        `${number(busy.sum / 1_000)}; \`default_pool_size\` (four times as many, at least 20): ${Math.max(20, Math.ceil((4 * busy.sum) / 1_000))}`,
      ],
    ],
  );
}

export const writeCapacityDoc = () =>
  fillTables(documentFile, capacityTables(JSON.parse(readFileSync(resultsFile, 'utf8')) as CapacityResults));
