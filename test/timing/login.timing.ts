/**
 * Shows that a login with an unknown e-mail address takes as long as one with a wrong password: pairs of both over real
 * HTTP, in random order, against a service in a process of its own with the default cost of hashing, and Welch's t-test
 * over their times. Not part of `npm test`: it takes minutes, and wants a machine with little else to do.
 *
 *   npm run test:timing -- [--pairs 2000] [--handicap 3]
 *
 * `--handicap` adds so many milliseconds to one side, to see that a difference is found.
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

/** Chance goes beyond this about once in a thousand runs. */
const limit = 3.3;

const { values } = parseArgs({
  options: { pairs: { type: 'string', default: '2000' }, handicap: { type: 'string', default: '0' } },
});
const [pairs, handicap] = [Number(values.pairs), Number(values.handicap)];
if (!(Number.isInteger(pairs) && pairs > 1 && handicap >= 0)) throw new Error('--pairs and --handicap are numbers.');

const admin = { email: 'admin@example.com', password: 'the password of the administrator' };
const password = 'not the password of anybody at all';
const sides = {
  unknown: { email: 'nimda@example.com', password },
  wrong: { email: admin.email, password },
};
type Side = keyof typeof sides;

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** @returns the status of the answer */
async function logIn(port: number, body: object): Promise<number | undefined> {
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const sent = request({ agent, host: '127.0.0.1', port, path: '/auth/login', method: 'POST', headers }).end(text);
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

async function measure(port: number): Promise<Record<Side, number[]>> {
  const times: Record<Side, number[]> = { unknown: [], wrong: [] };
  for (let pair = -100; pair < pairs; pair++) {
    const order: Side[] = Math.random() < 0.5 ? ['unknown', 'wrong'] : ['wrong', 'unknown'];
    for (const side of order) {
      const start = performance.now();
      const status = await logIn(port, sides[side]);
      const time = performance.now() - start + (side === 'unknown' ? handicap : 0);
      if (status !== 401) throw new Error(`A refused login was answered with ${status}.`);
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
  const { difference, standardError, t, degreesOfFreedom } = welch(times.unknown, times.wrong);
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
    LOG_LEVEL: 'warn',
    DATA_DIR: directory,
    ...(database?.url ? { DATABASE_URL: database.url } : {}),
  },
});
const ended = once(service, 'exit');
try {
  for (let tries = 0; (await logIn(port, admin).catch(() => undefined)) !== 200; tries++) {
    if (tries > 600 || service.exitCode !== null) throw new Error('The service does not start.');
    await sleep(100);
  }
  console.log(`${pairs} pairs of logins on the ${engine} engine${handicap ? `, one side ${handicap} ms slower` : ''}`);
  const isAlike = report(await measure(port));
  console.log(isAlike ? 'They cannot be told apart.' : 'They can be told apart.');
  process.exitCode = isAlike ? 0 : 1;
} finally {
  agent.destroy();
  service.kill();
  await ended;
  await database?.drop();
  rmSync(directory, { recursive: true, force: true });
}
