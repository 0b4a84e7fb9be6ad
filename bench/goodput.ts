/**
 * `npm run bench:goodput`: how many logins a second succeed when more arrive than the instance can hash. Clients send at a steady
 * rate, whether or not responses arrive. Writes `bench/results/goodput.json` and the chart in `docs/images/goodput.svg`.
 *
 *   DATABASE_URL=postgres://… npm run bench:goodput -- [--seconds 10]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { lineChart } from './chart.js';
import { admin, fillDatabase, memberEmail } from './database.js';
import { load } from './load.js';
import { describeMachine } from './machine.js';
import { runProgram, serviceFile, startServer } from './processes.js';
import { median, quantile } from './statistics.js';
import type { SteadyInput, SteadyResult } from './steady.js';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '10' } } });
const seconds = Number(values.seconds);
const users = 10_000;
const factors = [0.5, 0.75, 1, 1.5, 2, 3, 4, 5];

/** Response times in milliseconds. */
interface Step {
  factor: number;
  /** Logins per second. */
  offered: number;
  succeeded: number;
  statuses: Record<string, number>;
  median: number;
  p99: number;
  withoutRetryAfter: number;
  /** Milliseconds after the last request until a login succeeds. */
  recovery: number;
}

const database = await fillDatabase('postgres', users);
const service = await startServer(serviceFile, database.variables);
try {
  const bodies = Array.from({ length: users / 20 }, (_, index) => ({
    email: memberEmail(index),
    password: admin.password,
  }));
  let next = 0;
  const logIn = async () => {
    const response = await fetch(`${service.url}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(bodies[next++ % bodies.length]),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const measureCapacity = async () => {
    const nextBody = () => ({ body: bodies[next++ % bodies.length] as object });
    const options = { path: '/auth/login', method: 'POST', connections: 8, next: nextBody } as const;
    return (await load({ url: service.url, seconds, ...options })).rate;
  };

  await measureCapacity();
  const steps: Step[] = [];
  const capacities: number[] = [];
  for (const factor of factors) {
    // Measured before each step, because the speed of the machine changes.
    const capacity = await measureCapacity();
    capacities.push(capacity);
    await sleep(500);
    const rate = Math.max(1, Math.round(factor * capacity));
    const input: SteadyInput = { url: `${service.url}/auth/login`, bodies, rate, seconds };
    const sent = runProgram<SteadyResult>('bench/steady.js', input);
    const { times, statuses, withoutRetryAfter } = await sent;
    const end = performance.now();
    while ((await logIn()) !== 200) await sleep(50);
    const step: Step = {
      factor,
      offered: rate,
      succeeded: (statuses['200'] ?? 0) / (seconds + 1),
      statuses,
      median: median(times),
      p99: quantile(times, 0.99),
      withoutRetryAfter,
      recovery: performance.now() - end,
    };
    steps.push(step);
    console.log(
      `${factor} × ${capacity.toFixed(1)}/s: ${step.succeeded.toFixed(1)}/s succeed (${((100 * step.succeeded) / capacity).toFixed(0)} %), ${JSON.stringify(statuses)}, median ${step.median.toFixed(0)} ms, p99 ${step.p99.toFixed(0)} ms, recovered after ${step.recovery.toFixed(0)} ms`,
    );
  }
  const capacity = median(capacities);
  const machine = {
    ...describeMachine(),
    /** Processes that are ready to run, on average over five minutes. More than the processors: other work was slowing this down. */
    load: Number((loadavg()[1] ?? 0).toFixed(1)),
  };
  mkdirSync('bench/results', { recursive: true });
  const results = { machine, seconds, capacities, steps };
  writeFileSync('bench/results/goodput.json', `${JSON.stringify(results, null, 2)}\n`);
  const points = steps.map(({ factor, succeeded }, index) => ({
    x: factor,
    y: succeeded / (capacities[index] ?? capacity),
  }));
  writeFileSync(
    'docs/images/goodput.svg',
    lineChart(
      'Successful logins, in percent of the hashing capacity',
      'Logins sent, as a multiple of the capacity',
      points,
      0.8,
    ),
  );
} finally {
  await service.stop();
  await database.drop();
}
