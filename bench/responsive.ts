import { setTimeout as sleep } from 'node:timers/promises';
import { admin, memberEmail } from './database.js';
import type { HashingInput } from './hashing.js';
import { concurrency } from './paired.js';
import { runProgram } from './processes.js';
import type { Setting } from './setting.js';
import { median, quantile } from './statistics.js';
import type { SteadyInput, SteadyResult } from './steady.js';

/** Response times of other requests, in milliseconds. */
export interface Waiting {
  median: number;
  p99: number;
  statuses: Record<string, number>;
}

export interface ResponsiveResult {
  unloaded: Waiting;
  /** While logins arrive at twice the rate at which passwords can be verified. */
  flood: { waiting: Waiting; offered: number; statuses: Record<string, number>; withoutRetryAfter: number };
  /** A thousand users with passwords in one request. */
  batch: { rounds: { service: number; floor: number; ratio: number }[]; ratio: number; waiting: Waiting };
  memory: { now: number; highest: number } | undefined;
}

const rate = 100;

/** Measures whether other requests are answered while the processors are busy hashing passwords. */
export async function measureResponsive(
  { service, tokens, database }: Setting,
  { seconds, rounds: count }: { seconds: number; rounds: number },
): Promise<ResponsiveResult> {
  const ask = (input: SteadyInput) => runProgram<SteadyResult>('bench/steady.js', input);
  const wait = async (duration: number): Promise<Waiting> => {
    const url = `${service.url}/users/me`;
    const { times, statuses } = await ask({ url, token: tokens.members[0] ?? '', seconds: duration, rate });
    return { median: median(times), p99: quantile(times, 0.99), statuses };
  };
  const hashRate = async (work: HashingInput['work']) => {
    const input: HashingInput = { seconds: Math.min(seconds, 5), concurrency, work };
    return (await runProgram<{ rate: number }>('bench/hashing.js', input)).rate;
  };

  // Long enough that a single pause of the server does not dominate the result.
  const long = 3 * seconds;
  await wait(2);
  const unloaded = await wait(long);
  console.log(`GET /users/me, ${rate} a second: p99 ${unloaded.p99.toFixed(1)} ms`);

  const offered = Math.round(2 * (await hashRate('verify')));
  const bodies = Array.from({ length: database.users / 20 }, (_, number) => ({
    email: memberEmail(number),
    password: admin.password,
  }));
  const [flooded, waiting] = await Promise.all([
    ask({ url: `${service.url}/auth/login`, bodies: bodies.slice(0, 2_000), rate: offered, seconds: long + 5 }),
    // Wait until the queue is full.
    sleep(4_000).then(() => wait(long)),
  ]);
  const flood = { waiting, offered, statuses: flooded.statuses, withoutRetryAfter: flooded.withoutRetryAfter };
  console.log(
    `… while ${offered} logins a second arrive: p99 ${waiting.p99.toFixed(1)} ms (target: ${(5 * unloaded.p99).toFixed(1)}); logins ${JSON.stringify(flooded.statuses)}`,
  );

  const batch = async () => {
    const start = performance.now();
    const stamp = Date.now();
    const users = Array.from({ length: 1_000 }, (_, index) => ({
      email: `new${index}-${stamp}@example.com`,
      password: 'the password of somebody new',
    }));
    const answer = await fetch(`${service.url}/users?fields=id`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokens.admin}`, 'content-type': 'application/json' },
      body: JSON.stringify(users),
    });
    if (answer.status !== 200) throw new Error(`A thousand users: ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
    return 1_000_000 / (performance.now() - start);
  };
  const rounds: ResponsiveResult['batch']['rounds'] = [];
  for (let round = 0; round < count; round++) {
    const floor = await hashRate('hash');
    const own = await batch();
    rounds.push({ service: own, floor, ratio: own / floor });
  }
  const ratio = median(rounds.map((round) => round.ratio));
  const [meanwhile] = await Promise.all([wait(4), batch()]);
  console.log(
    `POST /users with 1,000 users: ${(ratio * 100).toFixed(1)} % of hashing alone (target: 90 %), others' p99 ${meanwhile.p99.toFixed(1)} ms`,
  );
  return { unloaded, flood, batch: { rounds, ratio, waiting: meanwhile }, memory: service.memory() };
}
