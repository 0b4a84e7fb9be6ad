/**
 * Shows that the response time does not reveal whether an account exists. It sends pairs of requests over real HTTP, in
 * random order, to a service in its own process with the default cost of hashing. The 95 % interval of the difference
 * must be within a millisecond. Not part of `npm test`: it takes about half an hour, and requires a quiet machine.
 *
 *   npm run test:timing -- [--case login,reset] [--pairs 10000] [--lanes 1] [--delay 3]
 *
 * `--case` selects cases from `helpers/measurements/timing-cases.ts`. By default, all cases run, followed by one that must be
 * distinguishable: each request about an unknown account is delayed by 3 ms. `--delay` does so for any case. With
 * TEST_ENGINE=postgres and DATABASE_URL, the test runs on PostgreSQL.
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
import { createTestDatabase, engine } from '../helpers/database/databases.js';
import { interval, median, standardDeviation } from '../helpers/measurements/statistics.js';
import { type TimedRequest, type TimingCase, timingCases } from '../helpers/measurements/timing-cases.js';
import { freePort } from '../helpers/servers/ports.js';
import { noLimits } from '../helpers/service/variables.js';
import { createAuthenticator } from '../helpers/users/authenticator.js';

/** The 95 % interval of the difference must be within this number of milliseconds. */
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
  throw new Error('--pairs, --lanes, and --delay must be numbers, and --pairs must be at least 10.');
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
 * @returns the times of the requests, in pairs: about an unknown account, and about a known one
 */
async function measure(one: TimingCase, amount: number, delayMs: number): Promise<Record<Side, number[]>> {
  const times: Record<Side, number[]> = { unknown: [], known: [] };
  // The first pairs are a warm-up.
  const warmUp = Math.min(100, Math.ceil(amount / 10));
  const lanes = lanesWanted || one.connections;
  let begun = -warmUp;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const agent = newAgent();
      // Staggered, so that the lanes do not always send at the same time.
      await sleep((150 / lanes) * lane);
      while (begun < amount) {
        const pair = begun++;
        const order: Side[] = Math.random() < 0.5 ? ['unknown', 'known'] : ['known', 'unknown'];
        const taken: Record<Side, number> = { unknown: 0, known: 0 };
        for (const side of order) {
          const asked = one[side]();
          const start = performance.now();
          if (side === 'unknown' && delayMs > 0) await sleep(delayMs);
          const { status, answer } = await send(agent, asked);
          taken[side] = performance.now() - start;
          if (status !== one.status)
            throw new Error(`${one.what}: the response is ${status}, not ${one.status}: ${answer}`);
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

type Verdict = 'indistinguishable' | 'DISTINGUISHABLE' | 'too noisy: use a quieter machine, or more pairs';

function report(name: string, { unknown, known }: Record<Side, number[]>): Verdict {
  const differences = unknown.map((time, index) => time - (known[index] ?? Number.NaN));
  const { low, high } = interval(differences);
  const isWithin = low >= -bound && high <= bound;
  const isBeyond = low > bound || high < -bound;
  const tooNoisy = 'too noisy: use a quieter machine, or more pairs';
  const verdict = isWithin ? 'indistinguishable' : isBeyond ? 'DISTINGUISHABLE' : tooNoisy;
  const [middle, spread] = [median(known), standardDeviation(known)].map((ms) => ms.toFixed(2));
  const range = `${low.toFixed(3)} to ${high.toFixed(3)} ms`;
  console.log(
    `${name.padEnd(16)} ${known.length} pairs, median ${middle} ms ± ${spread}: difference ${range}: ${verdict}`,
  );
  return verdict;
}

/** Creates the accounts for the cases. */
async function prepare() {
  const agent = newAgent();
  const call = async (method: 'POST' | 'PATCH', path: string, body: object, token = adminToken) => {
    const headers = { authorization: `Bearer ${token}` };
    const { status, answer } = await send(agent, { method: method as 'POST', path, headers, body });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${answer}`);
    return JSON.parse(answer).data;
  };
  for (let tries = 0; ; tries++) {
    const started = await send(agent, { method: 'POST', path: '/auth/login', body: admin }).catch(() => undefined);
    if (started?.status === 200) break;
    if (tries > 600 || service.exitCode !== null) throw new Error('The service does not start.');
    await sleep(100);
  }
  await call('PATCH', '/settings', { public_registration: true, email_login: true, auth_login_attempts: null });
  const { id: role } = await call('POST', '/roles', { name: 'Members' });
  const [email, emailOfProvider] = ['known@example.com', 'of-a-provider@example.com'];
  const { id } = await call('POST', '/users', { email, password: 'the password of who is known', role });
  await call('POST', '/users', { email: emailOfProvider, provider: 'elsewhere', external_identifier: 'x', role });
  const member = { email: 'member@example.com', password: 'the password of who requests an address' };
  await call('POST', '/users', { ...member, role });
  const { access_token: memberToken } = await call('POST', '/auth/login', member);
  const leaver = { email: 'leaver@example.com', password: 'the password of who is suspended' };
  const { id: leaverId } = await call('POST', '/users', { ...leaver, role });
  const { access_token: leaverToken } = await call('POST', '/auth/login', leaver);
  const addPasskey = async (token: string) => {
    const passkey = createAuthenticator();
    const credential = passkey.create(await call('POST', '/users/me/passkeys/options', {}, token));
    await call('POST', '/users/me/passkeys', { credential }, token);
    return passkey;
  };
  const passkeys = { active: await addPasskey(memberToken), suspended: await addPasskey(leaverToken) };
  await call('PATCH', `/users/${leaverId}`, { status: 'suspended' });
  agent.destroy();
  return { secret, adminToken, role, email, id, emailOfProvider, memberToken, passkeys };
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
    // The origin of the passkeys.
    PUBLIC_URL: 'http://localhost:8055',
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
  if (unknown.length > 0) throw new Error(`Unknown case: ${unknown}. The cases are ${Object.keys(cases).join(', ')}.`);
  console.log(`On the ${engine} engine${delay ? `, one side delayed by ${delay} ms` : ''}`);
  let isGood = true;
  for (const name of chosen) {
    const start = performance.now();
    const verdict = report(name, await measure(cases[name] as TimingCase, pairs, delay));
    console.log(`  ${cases[name]?.what}, ${((performance.now() - start) / 1000).toFixed(0)} s`);
    isGood &&= verdict === 'indistinguishable';
  }
  if (values.case === undefined && delay === 0) {
    const times = await measure(cases['reset-error'] as TimingCase, Math.min(pairs, 2_000), 3);
    const isFound = report('delayed by 3 ms', times) === 'DISTINGUISHABLE';
    console.log(isFound ? '  as expected.' : '  This delay must be found. The measurement is invalid.');
    isGood &&= isFound;
  }
  console.log(isGood ? 'All cases passed.' : 'Some cases failed.');
  process.exitCode = isGood ? 0 : 1;
} finally {
  service.kill();
  await ended;
  await database?.drop();
  rmSync(directory, { recursive: true, force: true });
}
