import { Agent, request } from 'node:http';
import { admin, type FilledDatabase, memberEmail } from './database.js';
import { type Server, serviceFile, startServer } from './processes.js';
import { startRecorder } from './statements.js';
import { median } from './statistics.js';

/** A service on a database, with credentials of its callers. */
export interface Place {
  database: FilledDatabase;
  service: Server;
  admin: string;
  member: string;
  unusedRefreshTokens: string[];
}

export interface GrowthResult {
  name: string;
  /** Median times in milliseconds. */
  few: number;
  many: number;
  ratio: number;
}

export interface Asked {
  method: 'GET' | 'POST';
  path: string;
  token?: string;
  body?: object;
}

const filter = (value: object) => encodeURIComponent(JSON.stringify(value));

/** Requests that must not become slower as the number of users grows. Each finds the same number of items in both databases. */
export const growthCases: { name: string; times: number; ask(place: Place): Asked }[] = [
  {
    name: 'GET /users/me',
    times: 200,
    ask: ({ member }) => ({ method: 'GET', path: '/users/me', token: member }),
  },
  {
    name: 'POST /auth/login',
    times: 40,
    ask: ({ database }) => {
      const email = memberEmail(Math.floor(Math.random() * (database.users / 20)));
      return { method: 'POST', path: '/auth/login', body: { email, password: admin.password } };
    },
  },
  {
    name: 'POST /auth/refresh',
    times: 200,
    ask: ({ unusedRefreshTokens }) => ({
      method: 'POST',
      path: '/auth/refresh',
      body: { refresh_token: unusedRefreshTokens.pop() },
    }),
  },
  ...Object.entries({
    'users by e-mail address': `/users?filter=${filter({ email: { _eq: memberEmail(17) } })}`,
    'users by status': `/users?limit=25&filter=${filter({ status: { _eq: 'suspended' } })}`,
    'users by role': `/users?limit=25&filter=${filter({ role: { name: { _eq: 'Role 3' } } })}`,
    'users by last access': '/users?limit=25&sort=-last_access',
    'users by search, one found': `/users?search=${memberEmail(17)}`,
    'users by search of three letters': '/users?limit=25&search=lis',
    'meta=filter_count by e-mail address': `/users?meta=filter_count&filter=${filter({ email: { _eq: memberEmail(17) } })}`,
  }).map(([name, path]) => ({
    name,
    times: 100,
    ask: (place: Place): Asked => ({ method: 'GET', path, token: place.admin }),
  })),
];

export async function startPlace(database: FilledDatabase): Promise<Place> {
  const recorder = await startRecorder(database.variables);
  const tokenOf = async (email: string) => {
    const payload = { email, password: admin.password };
    const { body } = await recorder.record({ method: 'POST', url: '/auth/login', payload });
    return String(JSON.parse(body).data.access_token);
  };
  const place = { admin: await tokenOf(admin.email), member: await tokenOf(memberEmail(0)) };
  await recorder.close();
  const service = await startServer(serviceFile, database.variables);
  return { ...place, database, service, unusedRefreshTokens: [...database.refreshTokens.growth] };
}

/** Sends one request after the other, alternating between the small and the large database. */
export async function measureGrowth(few: Place, many: Place, rounds: number): Promise<GrowthResult[]> {
  const results: GrowthResult[] = [];
  for (const { name, times, ask } of growthCases) {
    const medians: Record<'few' | 'many', number[]> = { few: [], many: [] };
    for (const place of [few, many]) await repeat(place, ask, times / 2);
    for (let round = 0; round < rounds; round++) {
      medians.few.push(median(await repeat(few, ask, times)));
      medians.many.push(median(await repeat(many, ask, times)));
    }
    const result = { few: median(medians.few), many: median(medians.many) };
    const ratio = result.many / result.few;
    console.log(`${name}: ${result.few.toFixed(2)} → ${result.many.toFixed(2)} ms, ${ratio.toFixed(2)} ×`);
    results.push({ name, ...result, ratio });
  }
  return results;
}

async function repeat(place: Place, ask: (place: Place) => Asked, times: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const taken: number[] = [];
  for (let time = 0; time < times; time++) taken.push(await timed(place.service.url, agent, ask(place)));
  agent.destroy();
  return taken;
}

const timed = (url: string, agent: Agent, { method, path, token, body }: Asked) =>
  new Promise<number>((resolve, reject) => {
    const headers = {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    };
    const start = performance.now();
    request(url + path, { agent, method, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${method} ${path}: ${response.statusCode}`));
      response.resume().once('end', () => resolve(performance.now() - start));
    })
      .once('error', reject)
      .end(body ? JSON.stringify(body) : undefined);
  });
