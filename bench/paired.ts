import { loadConfig } from '../plugins/platform/config.js';
import { admin, memberEmail, secret } from './database.js';
import type { HashingInput } from './hashing.js';
import { load, only, type Throughput } from './load.js';
import { runProgram } from './processes.js';
import { medianTime, type ProcessorTime, withProcessorTime } from './processor-time.js';
import { reads, type Setting } from './setting.js';
import { mean, type Spread, spread } from './statistics.js';

/** A case that is measured alternately on the service and on the floor. */
export interface PairedCase {
  name: string;
  /** A description of the floor. */
  floor: string;
  unit: 'requests/s' | 'hashes/s';
  /** The target share of the floor. */
  target: number;
  measure(side: 'service' | 'floor', seconds: number): Promise<Throughput>;
}

export interface PairedResult extends Pick<PairedCase, 'name' | 'floor' | 'unit' | 'target'> {
  /** One value per round. */
  rounds: { service: number; floor: number; ratio: number }[];
  ratio: Spread;
  /** The medians of the rounds. `floor` is absent if the floor only hashes passwords. */
  processor: { service: ProcessorTime; floor?: ProcessorTime };
}

const connections = 16;
/** Passwords at a time: the default concurrency of the service. */
export const concurrency = loadConfig({ SECRET: secret }).PASSWORD_HASH_CONCURRENCY;

/** The cases of a setting. */
export function pairedCases(setting: Setting): PairedCase[] {
  const { tokens, application, database } = setting;
  const unused = { service: [...database.refreshTokens.service], floor: [...database.refreshTokens.floor] };
  const next = { me: 0, login: 0, application: 0 };
  const applicationToken = () => application.tokens[next.application++ % application.tokens.length] ?? '';
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
    {
      name: 'GET /server/ping',
      floor: 'the same bytes',
      unit: 'requests/s',
      target: 0.5,
      measure: async (side, seconds) => {
        const { url } = setting[side];
        return only(await load({ url, path: '/server/ping', connections, seconds, next: () => ({}) }), '200');
      },
    },
    reading('me', 'GET /users/me', 0.8),
    reading('list', 'GET /users?limit=100', 0.8),
    reading('filtered', 'GET /users?filter=…&sort=-last_access&fields=id,email,role.name&limit=25', 0.8),
    {
      name: 'POST /auth/refresh',
      floor: 'the same two statements in one transaction',
      unit: 'requests/s',
      target: 0.9,
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
      name: 'GET /oauth/userinfo',
      floor: 'the same statements, the same bytes',
      unit: 'requests/s',
      target: 0.6,
      measure: async (side, seconds) => {
        const { url } = setting[side];
        const path = '/oauth/userinfo';
        return only(
          await load({ url, path, connections, seconds, next: () => ({ token: applicationToken() }) }),
          '200',
        );
      },
    },
    {
      name: 'POST /oauth/introspect',
      floor: 'the same statements, the same bytes',
      unit: 'requests/s',
      target: 0.6,
      measure: async (side, seconds) => {
        const { authorization } = application;
        const result = await load({
          url: setting[side].url,
          path: '/oauth/introspect',
          method: 'POST',
          connections,
          seconds,
          next: () => ({ authorization, form: { token: applicationToken() } }),
        });
        return only(result, '200');
      },
    },
    {
      name: 'POST /auth/login',
      floor: 'Argon2 alone, as many at a time',
      unit: 'hashes/s',
      target: 0.97,
      measure: async (side, seconds) => {
        if (side === 'floor') {
          const input: HashingInput = { seconds, concurrency, work: 'verify' };
          return runProgram<Throughput>('bench/hashing.js', input);
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

/** Measures the two sides alternately and swaps their order each round, so that changes on the machine affect both. */
export async function measurePaired(
  { name, floor, unit, target, measure }: PairedCase,
  setting: Setting,
  { rounds: count, seconds }: { rounds: number; seconds: number },
): Promise<PairedResult> {
  const times: Record<'service' | 'floor', ProcessorTime[]> = { service: [], floor: [] };
  const measureWithTime = async (side: 'service' | 'floor') => {
    const { rate, processor } = await withProcessorTime(setting[side], setting.database, () => measure(side, seconds));
    times[side].push(processor);
    return rate;
  };
  // Warm up both sides: code is slow until it has run often enough.
  for (const side of ['service', 'floor'] as const) await measure(side, seconds);
  const rounds: PairedResult['rounds'] = [];
  for (let round = 0; round < count; round++) {
    const rates = { service: 0, floor: 0 };
    const order = ['service', 'floor'] as const;
    for (const side of round % 2 === 0 ? order : order.toReversed()) rates[side] = await measureWithTime(side);
    rounds.push({ ...rates, ratio: rates.service / rates.floor });
  }
  const ratio = spread(rounds.map((round) => round.ratio));
  const average = (side: 'service' | 'floor') => Math.round(mean(rounds.map((round) => round[side])));
  const processor = {
    service: medianTime(times.service),
    ...(unit === 'requests/s' && { floor: medianTime(times.floor) }),
  };
  console.log(
    `${name}: ${average('service')} of ${average('floor')} ${unit}, ${percent(ratio.median)} (target: ${percent(target)})`,
  );
  return { name, floor, unit, target, rounds, ratio, processor };
}

export const percent = (share: number) => `${(share * 100).toFixed(1)}%`;
