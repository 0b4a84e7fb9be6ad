/**
 * Shows that the time of an answer does not tell whether somebody is there: pairs of requests over real HTTP, in random order,
 * against a service in a process of its own with the default cost of hashing. The 95 % interval of the difference is to lie
 * within a millisecond. Not part of `npm test`: it takes about half an hour, and wants a machine with little else to do.
 *
 *   npm run test:timing -- [--case login,reset] [--pairs 10000] [--lanes 1] [--delay 3]
 *
 * `--case` are some of those in `helpers/timing-cases.ts`; all of them are the default, and after them one that must not
 * pass: each request about somebody unknown is held up for 3 ms, and that is to be found. `--delay` does so for any
 * case. With TEST_ENGINE=postgres and DATABASE_URL it runs on PostgreSQL.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createTestDatabase, engine } from '../helpers/databases.js';
import { freePort } from '../helpers/ports.js';
import { interval, median, standardDeviation } from '../helpers/statistics.js';
import { type TimedRequest, type TimingCase, timingCases } from '../helpers/timing-cases.js';
import { noLimits } from '../helpers/variables.js';

/** Milliseconds within which the 95 % interval of the difference lies. */
const bound = 1;

const { values } = parseArgs({
  options: {
    case: { type: 'string' },
    pairs: { type: 'string', default: '10000' },
    lanes: { type: 'string' },
    delay: { type: 'string' },
  },
});
const [pairs, delay, lanesWanted] = [values.pairs, values.delay ?? '0', values.lanes ?? '0'].map(Number) as [
  number,
  number,
  number,
];
if (!(Number.isInteger(pairs) && pairs > 9 && delay >= 0 && Number.isInteger(lanesWanted))) {
  throw new Error('--pairs, --lanes and --delay are numbers, and there are at least ten pairs.');
}

const admin = { email: 'admin@example.com', password: 'the password of the administrator' };
const adminToken = 'the-static-token-of-the-administrator';
const secret = 'a secret for tests, long enough to be taken';
const port = await freePort();

type Side = 'known' | 'unknown';

async function send(agent: Agent, { method, path, headers = {}, body }: TimedRequest & { method: string }) {
  const text = body === undefined ? '' : JSON.stringify(body);
  const sent = request({
    agent,
    host: '127.0.0.1',
    port,
    path,
    method,
    headers: {
      ...headers,
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    },
  }).end(text);
  const [response] = await once(sent, 'response');
  let answer = '';
  for await (const chunk of response.setEncoding('utf8')) answer += chunk;
  return { status: response.statusCode as number, answer };
}

const newAgent = () => new Agent({ keepAlive: true, maxSockets: 1 });

/**
 * @returns for each pair, by how much longer the one about somebody unknown took
 */
async function measure(one: TimingCase, amount: number, heldUp: number): Promise<Record<Side, number[]>> {
  const times: Record<Side, number[]> = { unknown: [], known: [] };
  // The first are for warming up.
  const warmUp = Math.min(100, Math.ceil(amount / 10));
  const lanes = lanesWanted || one.lanes;
  let begun = -warmUp;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const agent = newAgent();
      // Apart from each other, so that no two ask at the same moment all the time.
      await sleep((150 / lanes) * lane);
      while (begun < amount) {
        const pair = begun++;
        const order: Side[] = Math.random() < 0.5 ? ['unknown', 'known'] : ['known', 'unknown'];
        const taken: Record<Side, number> = { unknown: 0, known: 0 };
        for (const side of order) {
          const asked = one[side]();
          const start = performance.now();
          if (side === 'unknown' && heldUp > 0) await sleep(heldUp);
          const { status, answer } = await send(agent, asked);
          taken[side] = performance.now() - start;
          if (status !== one.status)
            throw new Error(`${one.what}: the answer is ${status}, not ${one.status}: ${answer}`);
        }
        if (pair < 0) continue;
        times.unknown.push(taken.unknown);
        times.known.push(taken.known);
      }
      agent.destroy();
    }),
  );
  return times;
}

type Verdict = 'alike' | 'TOLD APART' | 'too noisy to tell: a quieter machine, or more pairs';

function report(name: string, { unknown, known }: Record<Side, number[]>): Verdict {
  const differences = unknown.map((time, index) => time - (known[index] ?? Number.NaN));
  const { low, high } = interval(differences);
  const isWithin = low >= -bound && high <= bound;
  const isBeyond = low > bound || high < -bound;
  const verdict = isWithin ? 'alike' : isBeyond ? 'TOLD APART' : 'too noisy to tell: a quieter machine, or more pairs';
  const [middle, spread] = [median(known), standardDeviation(known)].map((ms) => ms.toFixed(2));
  const range = `${low.toFixed(3)} to ${high.toFixed(3)} ms`;
  console.log(
    `${name.padEnd(16)} ${known.length} pairs, median ${middle} ms ± ${spread}: difference ${range}: ${verdict}`,
  );
  return verdict;
}

/** Makes those whom the cases are about. */
async function prepare() {
  const agent = newAgent();
  const call = async (method: 'POST' | 'PATCH', path: string, body: object) => {
    const headers = { authorization: `Bearer ${adminToken}` };
    const { status, answer } = await send(agent, { method: method as 'POST', path, headers, body });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${answer}`);
    return JSON.parse(answer).data as { id: string; access_token?: string };
  };
  for (let tries = 0; ; tries++) {
    const started = await send(agent, { method: 'POST', path: '/auth/login', body: admin }).catch(() => undefined);
    if (started?.status === 200) break;
    if (tries > 600 || service.exitCode !== null) throw new Error('The service does not start.');
    await sleep(100);
  }
  await call('PATCH', '/settings', { public_registration: true, auth_login_attempts: null });
  const { id: role } = await call('POST', '/roles', { name: 'Members' });
  const [email, emailOfProvider] = ['known@example.com', 'of-a-provider@example.com'];
  const { id } = await call('POST', '/users', { email, password: 'the password of who is known', role });
  await call('POST', '/users', { email: emailOfProvider, provider: 'elsewhere', external_identifier: 'x', role });
  const member = { email: 'member@example.com', password: 'the password of who requests an address' };
  await call('POST', '/users', { ...member, role });
  const { access_token: memberToken = '' } = await call('POST', '/auth/login', member);
  agent.destroy();
  return { secret, adminToken, role, email, id, emailOfProvider, memberToken };
}

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-timing-'));
const database = engine === 'postgres' ? await createTestDatabase() : undefined;
const service = spawn(process.execPath, [fileURLToPath(new URL('../../server.js', import.meta.url))], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: {
    PATH: process.env.PATH,
    HOST: '127.0.0.1',
    PORT: String(port),
    SECRET: secret,
    ADMIN_EMAIL: admin.email,
    ADMIN_PASSWORD: admin.password,
    ADMIN_TOKEN: adminToken,
    LOG_LEVEL: 'warn',
    // The member signs in once, for all pairs.
    ACCESS_TOKEN_TTL: '1d',
    REAUTHENTICATION_PERIOD: '1d',
    ...noLimits,
    DATA_DIR: directory,
    ...(database?.url ? { DATABASE_URL: database.url } : {}),
  },
});
const ended = once(service, 'exit');
try {
  const cases: Record<string, TimingCase> = timingCases(await prepare());
  const chosen = values.case?.split(',') ?? Object.keys(cases);
  const unknown = chosen.filter((name) => !cases[name]);
  if (unknown.length > 0) throw new Error(`There is no ${unknown}; there are ${Object.keys(cases).join(', ')}.`);
  console.log(`On the ${engine} engine${delay ? `, one side held up for ${delay} ms` : ''}`);
  let isGood = true;
  for (const name of chosen) {
    const start = performance.now();
    const verdict = report(name, await measure(cases[name] as TimingCase, pairs, delay));
    console.log(`  ${cases[name]?.what}, ${((performance.now() - start) / 1000).toFixed(0)} s`);
    isGood &&= verdict === 'alike';
  }
  if (values.case === undefined && delay === 0) {
    const times = await measure(cases['reset-error'] as TimingCase, Math.min(pairs, 2_000), 3);
    const isFound = report('held up by 3 ms', times) === 'TOLD APART';
    console.log(isFound ? '  and so it should.' : '  It should be told apart: nothing was measured here.');
    isGood &&= isFound;
  }
  console.log(isGood ? 'All is as it should be.' : 'Not all is as it should be.');
  process.exitCode = isGood ? 0 : 1;
} finally {
  service.kill();
  await ended;
  await database?.drop();
  rmSync(directory, { recursive: true, force: true });
}
