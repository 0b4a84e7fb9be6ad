/**
 * Shows that the time of an answer does not tell whether an e-mail address is known: pairs of requests over real HTTP, in
 * random order, against a service in a process of its own with the default cost of hashing, and Welch's t-test over their
 * times. Not part of `npm test`: it takes minutes, and wants a machine with little else to do.
 *
 *   npm run test:timing -- [--case login] [--pairs 2000] [--handicap 3]
 *
 * `--case` is one of those below; `--handicap` adds so many milliseconds to one side, to see that a difference is found.
 * With TEST_ENGINE=postgres and DATABASE_URL it runs on PostgreSQL.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createTestDatabase, engine } from '../helpers/databases.js';
import { mean, median, standardDeviation, welch } from '../helpers/statistics.js';
import { noLimits } from '../helpers/variables.js';

/** Chance goes beyond this about once in a thousand runs. */
const limit = 3.3;

const { values } = parseArgs({
  options: {
    case: { type: 'string', default: 'login' },
    pairs: { type: 'string', default: '2000' },
    handicap: { type: 'string', default: '0' },
  },
});
const [pairs, handicap] = [Number(values.pairs), Number(values.handicap)];
if (!(Number.isInteger(pairs) && pairs > 1 && handicap >= 0)) throw new Error('--pairs and --handicap are numbers.');

const admin = { email: 'admin@example.com', password: 'the password of the administrator' };
const adminToken = 'the-static-token-of-the-administrator';
const password = 'not the password of anybody at all';
const notAllowed = 'https://elsewhere.example/';
let count = 0;
const stranger = () => `stranger-${++count}@example.com`;

interface Case {
  path: string;
  status: number;
  body(email: string): object;
}

const cases: Record<string, Case> = {
  login: { path: '/auth/login', status: 401, body: (email) => ({ email, password }) },
  reset: { path: '/auth/password/request', status: 204, body: (email) => ({ email }) },
  'reset-error': {
    path: '/auth/password/request',
    status: 400,
    body: (email) => ({ email, reset_url: notAllowed }),
  },
  register: { path: '/users/register', status: 204, body: (email) => ({ email, password }) },
  'register-error': {
    path: '/users/register',
    status: 400,
    body: (email) => ({ email, password, verification_url: notAllowed }),
  },
};
const chosen = cases[values.case];
if (!chosen) throw new Error(`--case is one of ${Object.keys(cases).join(', ')}.`);

const sides = { unknown: stranger, known: () => admin.email };
type Side = keyof typeof sides;

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** @returns the status of the answer */
async function post(port: number, path: string, body: object, method = 'POST'): Promise<number | undefined> {
  const text = JSON.stringify(body);
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(method === 'POST' ? {} : { authorization: `Bearer ${adminToken}` }),
  };
  const sent = request({ agent, host: '127.0.0.1', port, path, method, headers }).end(text);
  const [response] = await once(sent, 'response');
  await once(response.resume(), 'end');
  return response.statusCode;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function measure(port: number, { path, status, body }: Case): Promise<Record<Side, number[]>> {
  const times: Record<Side, number[]> = { unknown: [], known: [] };
  for (let pair = -100; pair < pairs; pair++) {
    const order: Side[] = Math.random() < 0.5 ? ['unknown', 'known'] : ['known', 'unknown'];
    for (const side of order) {
      const start = performance.now();
      const answered = await post(port, path, body(sides[side]()));
      const time = performance.now() - start + (side === 'unknown' ? handicap : 0);
      if (answered !== status) throw new Error(`The answer is ${answered}, not ${status}.`);
      // The first hundred are for warming up.
      if (pair >= 0) times[side].push(time);
    }
    if (pair > 0 && pair % 200 === 0) console.log(`${pair} of ${pairs} pairs`);
  }
  return times;
}

function report(times: Record<Side, number[]>): boolean {
  for (const [side, all] of Object.entries(times)) {
    const [average, middle, spread] = [mean(all), median(all), standardDeviation(all)].map((ms) => ms.toFixed(3));
    console.log(`${side.padEnd(8)} mean ${average} ms, median ${middle} ms, standard deviation ${spread} ms`);
  }
  const { difference, standardError, t, degreesOfFreedom } = welch(times.unknown, times.known);
  const margin = 1.96 * standardError;
  console.log(`difference of the means ${difference.toFixed(3)} ms ± ${margin.toFixed(3)} ms (95 %)`);
  console.log(`Welch’s t = ${t.toFixed(2)} with ${degreesOfFreedom.toFixed(0)} degrees of freedom, limit ${limit}`);
  return Math.abs(t) <= limit;
}

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-timing-'));
const database = engine === 'postgres' ? await createTestDatabase() : undefined;
const port = await freePort();
const service = spawn(process.execPath, [fileURLToPath(new URL('../../server.js', import.meta.url))], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: {
    PATH: process.env.PATH,
    HOST: '127.0.0.1',
    PORT: String(port),
    SECRET: 'a secret for tests, long enough to be taken',
    ADMIN_EMAIL: admin.email,
    ADMIN_PASSWORD: admin.password,
    ADMIN_TOKEN: adminToken,
    LOG_LEVEL: 'warn',
    ...noLimits,
    DATA_DIR: directory,
    ...(database?.url ? { DATABASE_URL: database.url } : {}),
  },
});
const ended = once(service, 'exit');
try {
  for (let tries = 0; (await post(port, '/auth/login', admin).catch(() => undefined)) !== 200; tries++) {
    if (tries > 600 || service.exitCode !== null) throw new Error('The service does not start.');
    await sleep(100);
  }
  await post(port, '/settings', { public_registration: true, auth_login_attempts: null }, 'PATCH');
  console.log(
    `${values.case}: ${pairs} pairs on the ${engine} engine${handicap ? `, one side ${handicap} ms slower` : ''}`,
  );
  const isAlike = report(await measure(port, chosen));
  console.log(isAlike ? 'They cannot be told apart.' : 'They can be told apart.');
  process.exitCode = isAlike ? 0 : 1;
} finally {
  agent.destroy();
  service.kill();
  await ended;
  await database?.drop();
  rmSync(directory, { recursive: true, force: true });
}
