import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';
import { freePort } from '../servers/ports.js';

/** The directory of the newest PostgreSQL programs, in the location where Debian installs them. */
const programs = newestPrograms();

/** The reason to skip tests that start their own servers, or false. */
export const withoutPrograms =
  programs === undefined && 'the PostgreSQL server programs are not installed on this machine';

/** PostgreSQL refuses to run as root, so it runs as the user that its package creates. */
const owner = process.getuid?.() === 0 ? ownerByName('postgres') : undefined;

/** A PostgreSQL server for one test, which the test may destroy. Any local user can connect as `postgres`. */
export interface Cluster {
  readonly port: number;
  /** Resolves when it accepts connections. */
  start(): Promise<void>;
  /** `fast` ends all sessions. `immediate` stops without a shutdown, like a crash. */
  stop(how: 'fast' | 'immediate'): Promise<void>;
  /** Sends SIGKILL to all of its processes at the same time, like a power failure. */
  kill(): Promise<void>;
  /** Suspends all of its processes. It still accepts connections, but does not respond. */
  freeze(): void;
  /** Lets all suspended processes continue. */
  resume(): void;
  /** Creates a standby that replicates it. After that, no commit is acknowledged without the standby. */
  startSynchronousStandby(t: Test, port?: number): Promise<Cluster>;
  /** Promotes a standby to primary. Resolves when it accepts writes. */
  promote(): Promise<void>;
  ask(statement: string): Promise<Record<string, unknown>[]>;
  /** What the server has written to its log. */
  log(): string;
}

/** Creates an empty server and starts it. It is removed when the test ends. */
export async function startCluster(t: Test): Promise<Cluster> {
  const directory = makeDirectory(t);
  const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync'];
  await run('initdb', [`--pgdata=${directory}/data`, ...options]);
  const cluster = createCluster(t, directory, await freePort());
  await cluster.start();
  return cluster;
}

function createCluster(t: Test, directory: string, port: number): Cluster {
  const data = join(directory, 'data');
  const settings = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '', shared_buffers: '32MB' };
  let server: ChildProcess | undefined;

  const isRunning = () => server !== undefined && server.exitCode === null && server.signalCode === null;
  const end = async (signal: NodeJS.Signals) => {
    if (!server || !isRunning()) return;
    const ended = once(server, 'exit');
    server.kill(signal);
    await ended;
  };
  const signalAll = (signal: 'KILL' | 'STOP' | 'CONT') => {
    const all = [server?.pid, ...childrenOf(server?.pid)];
    // One command for all of them, so that they stop at almost the same time. It skips processes that have already ended.
    spawnSync('kill', [`-${signal}`, ...all.map(String)]);
  };
  const kill = async () => {
    if (!server || !isRunning()) return;
    const ended = once(server, 'exit');
    signalAll('KILL');
    await ended;
  };
  const ask = async (statement: string) => {
    const sql = postgres(`postgres://postgres@127.0.0.1:${port}/postgres`, { max: 1, onnotice: () => {} });
    try {
      return [...(await sql.unsafe(statement))];
    } finally {
      await sql.end();
    }
  };
  /** Waits until a condition is true. */
  const until = async (question: string) => {
    for (const end = performance.now() + 60_000; performance.now() < end; await sleep(20)) {
      const [answer] = await ask(`select ${question} as is_so`).catch(() => []);
      if (answer?.is_so === true) return;
      if (!isRunning()) throw new Error(`PostgreSQL has ended: ${readFileSync(join(directory, 'log'), 'utf8')}`);
    }
    throw new Error(`PostgreSQL did not reach this state: ${question}`);
  };
  const killAtExit = () => signalAll('KILL');
  process.once('exit', killAtExit);
  atEndOf(t, async () => {
    process.removeListener('exit', killAtExit);
    await kill();
    removeSharedMemory(join(data, 'postmaster.pid'));
    rmSync(directory, { recursive: true, force: true });
  });

  return {
    port,
    start: async () => {
      const parameters = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
      server = launch('postgres', ['-D', data, ...parameters], join(directory, 'log'));
      await until('true');
    },
    stop: (how) => end(how === 'fast' ? 'SIGINT' : 'SIGQUIT'),
    kill,
    freeze: () => signalAll('STOP'),
    resume: () => signalAll('CONT'),
    promote: async () => {
      await ask('select pg_promote()');
      await until('not pg_is_in_recovery()');
    },
    startSynchronousStandby: async (t, ownPort) => {
      const place = makeDirectory(t);
      const source = `host=127.0.0.1 port=${port} user=postgres application_name=standby`;
      await run('pg_basebackup', ['-D', join(place, 'data'), '-d', source, '-R', '-c', 'fast', '--no-sync']);
      const standby = createCluster(t, place, ownPort ?? (await freePort()));
      await standby.start();
      await ask("alter system set synchronous_standby_names = 'standby'");
      await ask('select pg_reload_conf()');
      await until("exists (select from pg_stat_replication where sync_state = 'sync')");
      return standby;
    },
    ask,
    log: () => readFileSync(join(directory, 'log'), 'utf8'),
  };
}

function newestPrograms(): string | undefined {
  const root = '/usr/lib/postgresql';
  try {
    const [newest] = readdirSync(root).sort((a, b) => Number(b) - Number(a));
    return newest && join(root, newest, 'bin');
  } catch {
    return undefined;
  }
}

/** The uid and gid of a local user. */
export function ownerByName(name: string): { uid: number; gid: number } | undefined {
  const { stdout, status } = spawnSync('sh', ['-c', `id -u ${name} && id -g ${name}`], { encoding: 'utf8' });
  const [uid, gid] = stdout.split('\n').map(Number);
  return status === 0 && uid && gid ? { uid, gid } : undefined;
}

function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-postgres-'));
  if (owner) chownSync(directory, owner.uid, owner.gid);
  atEndOf(t, () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function launch(program: string, parameters: readonly string[], log: string): ChildProcess {
  const command = `exec "$0" "$@" >>'${log}' 2>&1`;
  return spawn('sh', ['-c', command, join(programs ?? '', program), ...parameters], {
    ...owner,
    cwd: '/',
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    stdio: 'ignore',
  });
}

async function run(program: string, parameters: readonly string[]): Promise<void> {
  const child = spawn(join(programs ?? '', program), parameters, {
    ...owner,
    cwd: '/',
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${program} failed: ${said}`);
}

/** Removes the shared memory of a killed server, whose id is in the seventh line of the pid file. */
function removeSharedMemory(file: string): void {
  if (!existsSync(file)) return;
  const [, id] = readFileSync(file, 'utf8').split('\n')[6]?.trim().split(/\s+/) ?? [];
  if (id) spawnSync('ipcrm', ['-m', id]);
}

/** The child processes of a process, read from `/proc` on Linux. */
function childrenOf(parent: number | undefined): number[] {
  if (parent === undefined) return [];
  return readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}
