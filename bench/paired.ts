import { loadConfig } from '../plugins/platform/config.js';
import { admin, memberEmail, secret } from './database.js';
import type { HashingInput } from './hashing.js';
import { load } from './load.js';
import { processorTimes, runProgram, timeBetween } from './processes.js';
import { reads, type Setting } from './setting.js';
import { mean, median } from './statistics.js';

/** A case that is measured alternately on the service and on the floor. */
export interface PairedCase {
  name: string;
  /** A description of the floor. */
  floor: string;
  unit: 'requests/s' | 'hashes/s';
  /** The target share of the floor. */
  target: number;
  /** @returns the number of operations per second */
  measure(side: 'service' | 'floor', seconds: number): Promise<number>;
}

/** Processor time of one request, in milliseconds. On the embedded engine, the server includes the database. */
export interface ProcessorTime {
  server: number;
  database: number;
}

export interface PairedResult extends Pick<PairedCase, 'name' | 'floor' | 'unit' | 'target'> {
  /** One value per round. */
  rounds: { service: number; floor: number; ratio: number }[];
  ratio: { median: number; lowest: number; highest: number };
  /** Medians of the rounds; absent if hashing is all that is compared. */
  processor?: Record<'service' | 'floor', ProcessorTime>;
}

const connections = 16;
/** Passwords at a time: the default concurrency of the service. */
export const concurrency = loadConfig({ SECRET: secret }).PASSWORD_HASH_CONCURRENCY;

/** The cases of a setting. */
export function pairedCases(setting: Setting): PairedCase[] {
  const { tokens, database } = setting;
  const unused = { service: [...database.refreshTokens.service], floor: [...database.refreshTokens.floor] };
  const next = { me: 0, login: 0 };
  const tokenOf = { admin: () => tokens.admin, member: () => tokens.members[next.me++ % tokens.members.length] ?? '' };

  const reading = (name: keyof typeof reads, title: string, target: number): PairedCase => ({
    name: title,
    floor: 'the same statements, the same bytes',
    unit: 'requests/s',
    target,
    measure: async (side, seconds) => {
      const { path, caller } = reads[name];
      const { url } = setting[side];
      return only(await load({ url, path, connections, seconds, next: () => ({ token: tokenOf[caller]() }) }), '200');
    },
  });

  return [
    reading('me', 'GET /users/me', 0.7),
    reading('list', 'GET /users?limit=100', 0.7),
    reading('filtered', 'GET /users?filter=…&sort=-last_access&fields=id,email,role.name&limit=25', 0.6),
    {
      name: 'POST /auth/refresh',
      floor: 'the same two statements in one transaction',
      unit: 'requests/s',
      target: 0.6,
      measure: async (side, seconds) => {
        // Rotate through the sessions, as many clients would, instead of refreshing one session a hundred times per second.
        const waiting = unused[side];
        const result = await load({
          url: setting[side].url,
          path: '/auth/refresh',
          method: 'POST',
          connections,
          seconds,
          next: () => ({ body: { refresh_token: waiting.shift() } }),
          onSuccess: (answer) => waiting.push(JSON.parse(answer).data.refresh_token),
        });
        return only(result, '200');
      },
    },
    {
      name: 'POST /auth/login',
      floor: 'Argon2 alone, as many at a time',
      unit: 'hashes/s',
      target: 0.92,
      measure: async (side, seconds) => {
        if (side === 'floor') {
          const input: HashingInput = { seconds, concurrency, work: 'verify' };
          return (await runProgram<{ rate: number }>('bench/hashing.js', input)).rate;
        }
        const result = await load({
          url: setting.service.url,
          path: '/auth/login',
          method: 'POST',
          connections,
          seconds,
          next: () => ({
            body: { email: memberEmail(next.login++ % (database.users / 20)), password: admin.password },
          }),
        });
        return only(result, '200');
      },
    },
  ];
}

function only({ rate, statuses }: { rate: number; statuses: Record<string, number> }, status: string): number {
  const others = Object.keys(statuses).filter((other) => other !== status);
  if (others.length > 0) throw new Error(`Not every answer is ${status}: ${JSON.stringify(statuses)}`);
  return rate;
}

/** Measures the two sides alternately and swaps their order each round, so that changes on the machine affect both. */
export async function measurePaired(
  { name, floor, unit, target, measure }: PairedCase,
  setting: Setting,
  { rounds: count, seconds }: { rounds: number; seconds: number },
): Promise<PairedResult> {
  const times: Record<'service' | 'floor', ProcessorTime[]> = { service: [], floor: [] };
  const measureWithTimes = async (side: 'service' | 'floor') => {
    const [start, before] = [performance.now(), await processorTimesOf(setting, side)];
    const rate = await measure(side, seconds);
    const requests = (rate * (performance.now() - start)) / 1_000;
    const after = await processorTimesOf(setting, side);
    const each = (part: 'server' | 'database') => (timeBetween(before[part], after[part]) * 1_000) / requests;
    times[side].push({ server: each('server'), database: each('database') });
    return rate;
  };
  // Warm up both sides: code is slow until it has run often enough.
  for (const side of ['service', 'floor'] as const) await measure(side, seconds);
  const rounds: PairedResult['rounds'] = [];
  for (let round = 0; round < count; round++) {
    const rates = { service: 0, floor: 0 };
    const order = ['service', 'floor'] as const;
    for (const side of round % 2 === 0 ? order : order.toReversed()) rates[side] = await measureWithTimes(side);
    rounds.push({ ...rates, ratio: rates.service / rates.floor });
  }
  const ratios = rounds.map(({ ratio }) => ratio);
  const ratio = { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) };
  const average = (side: 'service' | 'floor') => Math.round(mean(rounds.map((round) => round[side])));
  const timeOf = (side: 'service' | 'floor') => ({
    server: median(times[side].map(({ server }) => server)),
    database: median(times[side].map(({ database }) => database)),
  });
  const processor = { service: timeOf('service'), floor: timeOf('floor') };
  console.log(
    `${name}: ${average('service')} of ${average('floor')} ${unit}, ${percent(ratio.median)} (target: ${percent(target)})`,
  );
  return { name, floor, unit, target, rounds, ratio, ...(unit === 'requests/s' && { processor }) };
}

const processorTimesOf = async ({ database, ...servers }: Setting, side: 'service' | 'floor') => ({
  server: processorTimes([servers[side].pid]),
  database: processorTimes(await database.backends()),
});

export const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
