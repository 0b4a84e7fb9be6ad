/**
 * `npm run bench:endurance`: whether memory, descriptors, or timers grow under a mixed load that lasts, and how much a million refreshes
 * enlarge the tables. Runs on PostgreSQL. Writes `bench/results/endurance.json`.
 *
 *   DATABASE_URL=postgres://… npm run bench:endurance -- [--minutes 20] [--refreshes 1000000]
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import postgres from 'postgres';
import { metricsOf } from '../test/helpers/measurements/metrics.js';
import { admin, fillDatabase, memberEmail } from './database.js';
import { load } from './load.js';
import { describeMachine } from './machine.js';
import { serviceFile, startServer } from './processes.js';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '20' }, refreshes: { type: 'string', default: '1000000' } },
});
const minutes = Number(values.minutes);
const refreshes = Number(values.refreshes);
const users = 10_000;
const metricsToken = 'the-token-of-this-measurement';
/** Seconds between two samples. */
const interval = 30;
/** The first part of the run is not part of a slope: memory grows until the code is compiled and the caches are full. */
const warmUp = 0.25;

interface Sample {
  /** Minutes since the start. */
  minute: number;
  /** Resident and heap memory in MB. */
  memory: number;
  heap: number;
  descriptors: number;
  timers: number;
}

const database = await fillDatabase('postgres', users);
const service = await startServer(serviceFile, { ...database.variables, METRICS_TOKEN: metricsToken });
const sql = postgres(database.place, { max: 1, onnotice() {} });
try {
  const before = await sizes();
  const [{ wal: start } = { wal: '0/0' }] = await sql<{ wal: string }[]>`select pg_current_wal_lsn()::text as wal`;
  const samples: Sample[] = [];
  const statuses: Record<string, number> = {};
  const begun = performance.now();
  const passed = () => (performance.now() - begun) / 60_000;
  const access = await logIn();
  const unused = [...database.refreshTokens.service];
  let refreshed = 0;
  let afterRefreshes: Awaited<ReturnType<typeof growth>> | undefined;

  while (passed() < minutes || refreshed < refreshes) {
    const common = { url: service.url, seconds: interval } as const;
    const results = await Promise.all([
      load({
        ...common,
        path: '/auth/refresh',
        method: 'POST',
        connections: 8,
        next: () => ({ body: { refresh_token: unused.shift() } }),
        onSuccess: (answer) => {
          refreshed++;
          unused.push(JSON.parse(answer).data.refresh_token);
        },
      }),
      load({ ...common, path: '/users/me', connections: 2, rate: 50, next: () => ({ token: access }) }),
      load({ ...common, path: '/users?limit=25', connections: 1, rate: 5, next: () => ({ token: access }) }),
      load({
        ...common,
        path: '/auth/login',
        method: 'POST',
        connections: 1,
        rate: 2,
        next: () => ({ body: { email: memberEmail(samples.length % 100), password: admin.password } }),
      }),
    ]);
    for (const result of results)
      for (const [status, count] of Object.entries(result.statuses)) statuses[status] = (statuses[status] ?? 0) + count;
    const sample = await sampleOf(passed());
    samples.push(sample);
    console.log(`${JSON.stringify(sample)}, ${refreshed} refreshes, ${JSON.stringify(statuses)}`);
    if (!afterRefreshes && refreshed >= refreshes) afterRefreshes = await growth(start);
  }

  const counted = samples.slice(Math.ceil(samples.length * warmUp));
  const slopes = Object.fromEntries(
    (['memory', 'heap', 'descriptors', 'timers'] as const).map((name) => [name, slopeOf(counted, name)]),
  );
  const results = {
    machine: describeMachine(),
    users,
    minutes: passed(),
    refreshed,
    statuses,
    before,
    ...afterRefreshes,
    slopes,
    samples,
  };
  mkdirSync('bench/results', { recursive: true });
  writeFileSync('bench/results/endurance.json', `${JSON.stringify(results, null, 2)}\n`);
  console.log(JSON.stringify({ before, ...afterRefreshes, slopes }, null, 2));
} finally {
  await sql.end();
  await service.stop();
  await database.drop();
}

async function logIn(): Promise<string> {
  const response = await fetch(`${service.url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: admin.email, password: admin.password }),
  });
  return ((await response.json()) as { data: { access_token: string } }).data.access_token;
}

async function sampleOf(minute: number): Promise<Sample> {
  const response = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
  const metrics = metricsOf(await response.text());
  return {
    minute: Number(minute.toFixed(2)),
    memory: Math.round(service.memory()?.now ?? Number.NaN),
    heap: Math.round((metrics.value('nodejs_heap_size_used_bytes') ?? Number.NaN) / 1024 ** 2),
    descriptors: readdirSync(`/proc/${service.pid}/fd`).length,
    timers: metrics.value('nodejs_active_resources', { type: 'Timeout' }) ?? 0,
  };
}

/** Bytes of the tables that a refresh could write, and of their indexes. */
async function sizes() {
  const rows = await sql<{ name: string; table: string; indexes: string }[]>`
    select relname as name, pg_table_size(oid)::text as "table", pg_indexes_size(oid)::text as indexes
    from pg_class where relname in ('users', 'sessions', 'user_uses') and relkind = 'r'`;
  return Object.fromEntries(
    rows.map(({ name, table, indexes }) => [name, { table: Number(table), indexes: Number(indexes) }]),
  );
}

/** What has been written since a position in the write-ahead log, and how. */
async function growth(since: string) {
  const [{ bytes } = { bytes: '0' }] = await sql<{ bytes: string }[]>`
    select pg_wal_lsn_diff(pg_current_wal_lsn(), ${since}::pg_lsn)::text as bytes`;
  const updates = await sql<{ name: string; updates: number; hot: number }[]>`
    select relname as name, n_tup_upd::int as updates, n_tup_hot_upd::int as hot from pg_stat_user_tables
    where relname in ('users', 'sessions', 'user_uses')`;
  return { after: await sizes(), walBytes: Number(bytes), updates };
}

/** The growth per minute, by least squares. */
function slopeOf(samples: readonly Sample[], name: Exclude<keyof Sample, 'minute'>): number {
  const count = samples.length;
  const mean = (of: (sample: Sample) => number) => samples.reduce((sum, sample) => sum + of(sample), 0) / count;
  const [x, y] = [mean(({ minute }) => minute), mean((sample) => sample[name])];
  const covariance = mean((sample) => (sample.minute - x) * (sample[name] - y));
  return Number((covariance / mean(({ minute }) => (minute - x) ** 2)).toFixed(3));
}
