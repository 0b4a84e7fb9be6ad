import { admin, type FilledDatabase, memberEmail } from './database.js';
import { startNginx, startRedis } from './front.js';
import { type Load, type LoadResult, load } from './load.js';
import { processorTimes, type Server, serviceFile, startServer, timeBetween } from './processes.js';
import { median } from './statistics.js';

/** Number of instances behind the proxy; 0: one instance without a proxy. */
const counts = [0, 1, 2, 4] as const;
const connections = 16;
/**
 * Number of accounts that log in. Few, so that each has logged in before and its attempts are not counted as those of an unknown
 * network.
 */
const accounts = 100;

/** CPU time per response, in milliseconds. */
export interface ProcessorTimes {
  services: number;
  postgres: number;
  redis: number;
  nginx: number;
}

export interface InstancesResult {
  name: string;
  instances: (typeof counts)[number];
  /** Medians of the rounds. */
  rate: number;
  /** In milliseconds. */
  median: number;
  p99: number;
  /** Relative to the rate without the proxy. */
  share: number;
  processor: ProcessorTimes;
}

/** Measures one, two and four instances in turn, round by round. They share one PostgreSQL and one Redis, which counts every request. */
export async function measureInstances(
  database: FilledDatabase,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<InstancesResult[]> {
  const redis = await startRedis();
  const variables = {
    ...database.variables,
    REDIS_URL: redis.url,
    TRUST_PROXY: '127.0.0.1',
    RATE_LIMITER_ENABLED: 'true',
    RATE_LIMITER_POINTS: '1000000',
  };
  const services: Server[] = [];
  for (let number = 0; number < 4; number++) services.push(await startServer(serviceFile, variables));
  const nginx = await startNginx(
    services,
    counts.filter((count) => count > 0),
  );
  const [first] = services as [Server];
  const cases = await casesOf(database, first);
  const results: InstancesResult[] = [];
  try {
    for (const { name, ...what } of cases) {
      const measured = new Map(counts.map((count) => [count, [] as Measured[]]));
      for (let round = -1; round < rounds; round++) {
        for (const count of counts) {
          const pids = { services: services.map(({ pid }) => pid), redis: [redis.pid], nginx: [nginx.pid] };
          const before = timesOf({ ...pids, postgres: await database.backends() });
          const url = nginx.urlOf.get(count) ?? first.url;
          const result = await load({ ...what, url, connections, seconds: round < 0 ? 2 : seconds });
          const answers = Object.values(result.statuses).reduce((sum, one) => sum + one, 0);
          if (answers !== result.statuses['200']) throw new Error(`${name}: ${JSON.stringify(result.statuses)}`);
          const after = timesOf({ ...pids, postgres: await database.backends() });
          const each = (key: keyof ProcessorTimes) => (timeBetween(before[key], after[key]) * 1_000) / answers;
          const processor = {
            services: each('services'),
            postgres: each('postgres'),
            redis: each('redis'),
            nginx: each('nginx'),
          };
          // The first round only warms up the caches.
          if (round >= 0) measured.get(count)?.push({ ...result, processor });
        }
      }
      results.push(...summed(name, measured));
    }
  } finally {
    await Promise.all([nginx.stop(), ...services.map((service) => service.stop())]);
    await redis.stop();
  }
  return results;
}

type Measured = LoadResult & { processor: ProcessorTimes };

function summed(name: string, measured: ReadonlyMap<(typeof counts)[number], Measured[]>): InstancesResult[] {
  const rateOf = (count: (typeof counts)[number]) => median((measured.get(count) ?? []).map(({ rate }) => rate));
  return counts.map((instances) => {
    const all = measured.get(instances) ?? [];
    const rate = rateOf(instances);
    const time = (key: keyof ProcessorTimes) => median(all.map(({ processor }) => processor[key]));
    const result = {
      name,
      instances,
      rate,
      median: median(all.map(({ latency }) => latency.median)),
      p99: median(all.map(({ latency }) => latency.p99)),
      share: rate / rateOf(0),
      processor: {
        services: time('services'),
        postgres: time('postgres'),
        redis: time('redis'),
        nginx: time('nginx'),
      },
    };
    const place = instances === 0 ? 'one, no proxy' : `${instances} behind nginx`;
    console.log(`${name}, ${place}: ${rate.toFixed(0)}/s, p50 ${result.median} ms, p99 ${result.p99} ms`);
    return result;
  });
}

const timesOf = (pids: Record<keyof ProcessorTimes, (number | undefined)[]>) => ({
  services: processorTimes(pids.services),
  postgres: processorTimes(pids.postgres),
  redis: processorTimes(pids.redis),
  nginx: processorTimes(pids.nginx),
});

async function casesOf(database: FilledDatabase, service: Server) {
  const logIn = async (number: number) => {
    const answer = await fetch(`${service.url}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: memberEmail(number), password: admin.password }),
    });
    if (answer.status !== 200) throw new Error(`${memberEmail(number)}: ${answer.status}`);
    const { data } = (await answer.json()) as { data: { access_token: string } };
    return data.access_token;
  };
  const tokens: string[] = [];
  for (let number = 0; number < accounts; number++) tokens.push(await logIn(number));
  const unused = [...database.refreshTokens.growth];
  let turn = 0;
  const cases: (Pick<Load, 'path' | 'method' | 'next' | 'onSuccess'> & { name: string })[] = [
    {
      name: 'GET /users/me',
      path: '/users/me',
      next: () => ({ token: tokens[turn++ % accounts] ?? '' }),
    },
    {
      name: 'POST /auth/refresh',
      path: '/auth/refresh',
      method: 'POST',
      next: () => ({ body: { refresh_token: unused.shift() } }),
      onSuccess: (answer) => unused.push(JSON.parse(answer).data.refresh_token),
    },
    {
      name: 'POST /auth/login',
      path: '/auth/login',
      method: 'POST',
      next: () => ({ body: { email: memberEmail(turn++ % accounts), password: admin.password } }),
    },
  ];
  return cases;
}
