import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { createTestDatabase, dataDirectory, engine } from '../database/databases.js';
import { checkedFetch } from '../openapi/document.js';
import { atEndOf } from '../runner/teardown.js';
import { freePort } from '../servers/ports.js';
import { administrator } from '../users/credentials.js';
import { noLimits } from './variables.js';

export const serverFile = fileURLToPath(new URL('../../../server.js', import.meta.url));

export type Variables = Readonly<Record<string, string | undefined>>;

/** The working directory of a service, and the variables that it needs for its database. */
export interface Home {
  directory: string;
  /** On PostgreSQL, the URL of its own database and a secret. Empty on the embedded engine. */
  variables: Readonly<Record<string, string>>;
}

/** A service in its own process. */
export interface Service {
  /** The URL on which it listens; empty until it does. */
  readonly url: string;
  readonly pid: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The log entry that reports that it is ready. */
  readonly announcement: Readonly<Record<string, unknown>>;
  /** The generated password of the administrator, if any, from the file that the log names. */
  readonly password: string | undefined;
  /** Resolves when the process ends. */
  readonly ended: Promise<Ending>;
  post(path: string, body: object, headers?: Record<string, string>): Promise<Response>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  stop(signal?: NodeJS.Signals): Promise<Ending>;
}

export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
}

const running = new Map<Home, Set<Service>>();

/**
 * Creates an empty directory and, on PostgreSQL, a database. Both are removed when the test ends, after all
 * services that use them have stopped.
 * @param options.databaseUrl the URL of a database to use instead
 * @param options.prepared starts with empty tables, which saves the time needed to create them
 */
export async function createHome(
  t: Test,
  { prepared = false, databaseUrl }: { prepared?: boolean; databaseUrl?: string } = {},
): Promise<Home> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  if (prepared && engine === 'embedded') {
    cpSync(await dataDirectory(), join(directory, 'data/database'), { recursive: true });
  }
  const database =
    engine === 'postgres' && !databaseUrl ? await createTestDatabase({ hasTables: prepared }) : undefined;
  const url = databaseUrl ?? database?.url;
  const variables = url ? { DATABASE_URL: url, SECRET: 'a secret for tests, long enough to be taken' } : {};
  const home = { directory, variables };
  running.set(home, new Set());
  atEndOf(t, async () => {
    await Promise.all([...(running.get(home) ?? [])].map((service) => service.stop('SIGKILL')));
    running.delete(home);
    await database?.drop();
    rmSync(directory, { recursive: true, force: true });
  });
  return home;
}

/** Starts a service and waits until it responds. @param file the server file of another build, if not the tests' own */
export async function startService(home: Home, variables: Variables = {}, file = serverFile): Promise<Service> {
  const service = launchService(home, variables, {}, file);
  await untilStarted(service, async () => service.url !== '');
  await service.get('/server/ping');
  return service;
}

/**
 * Starts a service that does not log requests, for tests that send very many. Its log does not contain its URL, so the
 * port is chosen in advance.
 */
export async function startQuietService(home: Home, variables: Variables = {}): Promise<Service> {
  const port = await freePort();
  const service = launchService(home, { ...variables, LOG_LEVEL: 'warn', PORT: String(port) });
  Object.defineProperty(service, 'url', { value: `http://127.0.0.1:${port}` });
  const responds = () =>
    service.get('/server/ping').then(
      () => true,
      () => false,
    );
  await untilStarted(service, responds, 50);
  return service;
}

/** Waits until a service has started. @throws what it has printed if it ends, or takes too long */
async function untilStarted(service: Service, hasStarted: () => Promise<boolean>, pauseMs = 5): Promise<void> {
  const end = performance.now() + 90_000;
  while (!(await hasStarted())) {
    const ending = await Promise.race([service.ended, sleep(pauseMs)]);
    if (ending || performance.now() > end)
      throw new Error(`The service did not start: ${service.stdout}${service.stderr}`);
  }
}

/** Runs a service that is expected to fail at startup and returns the result. */
export async function refusedService(home: Home, variables: Variables = {}, user: { uid?: number; gid?: number } = {}) {
  const start = performance.now();
  const service = launchService(home, { START_TIMEOUT: '0', ...variables }, user);
  const ending = await Promise.race([service.ended, sleep(30_000, undefined, { ref: false })]);
  if (!ending) await service.stop('SIGKILL');
  return {
    code: ending?.code,
    stdout: service.stdout,
    stderr: service.stderr,
    ms: performance.now() - start,
  };
}

/** Starts a service on a free port without waiting for it. Its environment contains `variables` and little else. */
export function launchService(
  home: Home,
  variables: Variables = {},
  user: { uid?: number; gid?: number } = {},
  file = serverFile,
): Service {
  // tap injects itself into every child process through NODE_OPTIONS, but this process should run as in production.
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, file], {
    ...user,
    cwd: home.directory,
    env: environment(home, variables),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return follow(child, home);
}

/** The environment of a service: the basics of a process, and `variables`. Limits are off unless `variables` sets them. */
export function environment(home: Home, variables: Variables = {}): Record<string, string | undefined> {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, HOST: '127.0.0.1', PORT: '0', ...noLimits, ...home.variables, ...variables };
}

function follow(child: ChildProcess, home: Home): Service {
  const said = { stdout: '', stderr: '' };
  let announcement: Record<string, unknown> = {};
  const ended = new Promise<Ending>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    said.stderr += chunk;
  });
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    said.stdout += chunk;
    if (announcement.listening) return;
    announcement = logLines(said.stdout).find((line) => 'listening' in line) ?? {};
  });
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);

  const service: Service = {
    get url() {
      return typeof announcement.listening === 'string' ? announcement.listening : '';
    },
    get stdout() {
      return said.stdout;
    },
    get stderr() {
      return said.stderr;
    },
    get announcement() {
      return announcement;
    },
    get password() {
      const { passwordFile } = announcement;
      return typeof passwordFile === 'string'
        ? readFileSync(resolve(home.directory, passwordFile), 'utf8').trim()
        : undefined;
    },
    pid: child.pid ?? 0,
    ended,
    post: (path, body, headers = {}) =>
      checkedFetch(`${service.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    get: (path, headers = {}) => checkedFetch(`${service.url}${path}`, { headers, redirect: 'manual' }),
    stop: (signal = 'SIGTERM') => {
      child.kill(signal);
      return ended;
    },
  };
  running.get(home)?.add(service);
  ended.then(() => {
    running.get(home)?.delete(service);
    process.removeListener('exit', killAtExit);
  });
  return service;
}

/** Logs in over HTTP. */
export async function logIn(service: Service, password: string | undefined, email = administrator.email) {
  const response = await service.post('/auth/login', { email, password });
  const body = (await response.json()) as { data: { access_token: string; refresh_token: string } };
  return { status: response.status, body };
}

/** Parses the complete lines of a JSON log. @throws if a line is not JSON */
export function logLines(log: string): Record<string, unknown>[] {
  return log
    .slice(0, log.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
