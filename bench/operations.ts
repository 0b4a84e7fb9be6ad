import { setTimeout as sleep } from 'node:timers/promises';
import type postgres from 'postgres';
import { admin, type FilledDatabase, memberEmail } from './database.js';
import { load } from './load.js';
import { serviceFile, startServer } from './processes.js';
import { startRecorder } from './statements.js';

/** The work that one request of a kind causes in PostgreSQL. */
export interface OperationResult {
  name: string;
  /** Statements that the request waits for. */
  statements: number;
  commits: number;
  rowsWritten: number;
  /** Bytes of the write-ahead log. */
  wal: number;
}

export interface ConnectionResult {
  name: string;
  /** Maximum requests per second for each connection. */
  rate: number;
}

const agent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
const operations = { me: 'GET /users/me', refresh: 'POST /auth/refresh', login: 'POST /auth/login' };

/** Measures the activity of the database, on a server that nothing else uses. */
export async function measureOperations(database: FilledDatabase, sql: postgres.Sql): Promise<OperationResult[]> {
  const statements = await countStatements(database);
  const service = await startServer(serviceFile, database.variables);
  const ask = async (method: string, path: string, headers: Record<string, string>, body?: object) => {
    const answer = await fetch(service.url + path, {
      method,
      headers: { 'user-agent': agent, 'x-forwarded-for': '203.0.113.77', ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status}`);
    return ((await answer.json()) as { data: { access_token: string; refresh_token: string } }).data;
  };
  const json = { 'content-type': 'application/json' };
  let number = 0;
  const logIn = () =>
    ask('POST', '/auth/login', json, { email: memberEmail(number++ % 200), password: admin.password });
  let session = await logIn();
  const works = {
    me: () => ask('GET', '/users/me', { authorization: `Bearer ${session.access_token}` }),
    refresh: async () => {
      session = await ask('POST', '/auth/refresh', json, { refresh_token: session.refresh_token });
    },
    login: logIn,
  };
  const times = { me: 500, refresh: 500, login: 150 };
  const counters = async () => {
    // Wait until work after the responses is done and reported: an idle session reports its statistics within ten seconds.
    await sleep(11_000);
    const [found] =
      await sql`select xact_commit::float8 as commits, (tup_inserted + tup_updated + tup_deleted)::float8 as written,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal from pg_stat_database where datname = current_database()`;
    return { at: performance.now(), ...(found as unknown as { commits: number; written: number; wal: number }) };
  };
  try {
    // Background activity of the service: the quieter of two intervals, because the database server may be busy in the other one.
    const first = await counters();
    const second = await counters();
    const third = await counters();
    const background = (what: 'commits' | 'written' | 'wal') =>
      Math.min(
        (second[what] - first[what]) / (second.at - first.at),
        (third[what] - second[what]) / (third.at - second.at),
      );
    let before = third;
    const results: OperationResult[] = [];
    for (const [key, name] of Object.entries(operations) as [keyof typeof operations, string][]) {
      for (let time = 0; time < times[key]; time++) await works[key]();
      const after = await counters();
      // Subtract the background activity, such as polling for emails.
      const each = (what: 'commits' | 'written' | 'wal') =>
        Math.max(0, after[what] - before[what] - background(what) * (after.at - before.at)) / times[key];
      const result = { name, statements: statements[key], commits: each('commits') };
      results.push({ ...result, rowsWritten: each('written'), wal: each('wal') });
      before = after;
      console.log(`${name}: ${JSON.stringify(results.at(-1))}`);
    }
    return results;
  } finally {
    await service.stop();
  }
}

async function countStatements(database: FilledDatabase) {
  const recorder = await startRecorder(database.variables);
  const logIn = async () => {
    const payload = { email: memberEmail(0), password: admin.password };
    const { body, sent } = await recorder.record({ method: 'POST', url: '/auth/login', payload });
    return { ...(JSON.parse(body).data as { access_token: string; refresh_token: string }), sent };
  };
  try {
    await logIn();
    const { access_token, refresh_token, sent: login } = await logIn();
    const headers = { authorization: `Bearer ${access_token}` };
    // The first request also reads what the policies of the user grant.
    await recorder.record({ url: '/users/me', headers });
    const { sent: me } = await recorder.record({ url: '/users/me', headers });
    const { sent: refresh } = await recorder.record({
      method: 'POST',
      url: '/auth/refresh',
      payload: { refresh_token },
    });
    return { me: me.length, refresh: refresh.length, login: login.length };
  } finally {
    await recorder.close();
  }
}

/**
 * Measures how many requests one connection serves. The pool has two connections, the minimum for an instance, and more clients
 * than they can serve.
 */
export async function measureConnections(
  database: FilledDatabase,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<ConnectionResult[]> {
  const pool = 2;
  const service = await startServer(serviceFile, { ...database.variables, DATABASE_POOL_MAX: String(pool) });
  const login = await fetch(`${service.url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: memberEmail(0), password: admin.password }),
  });
  const { data } = (await login.json()) as { data: { access_token: string } };
  const unused = [...database.refreshTokens.service];
  const cases = [
    { name: operations.me, path: '/users/me', next: () => ({ token: data.access_token }) },
    {
      name: operations.refresh,
      path: '/auth/refresh',
      method: 'POST' as const,
      next: () => ({ body: { refresh_token: unused.shift() } }),
      onSuccess: (answer: string) => unused.push(JSON.parse(answer).data.refresh_token),
    },
  ];
  try {
    const results: ConnectionResult[] = [];
    for (const { name, ...what } of cases) {
      let best = 0;
      for (let round = 0; round < rounds; round++) {
        const { rate } = await load({ ...what, url: service.url, connections: 16, seconds });
        best = Math.max(best, rate / pool);
      }
      results.push({ name, rate: best });
      console.log(`${name}: ${best.toFixed(0)} a second and connection`);
    }
    return results;
  } finally {
    await service.stop();
  }
}
