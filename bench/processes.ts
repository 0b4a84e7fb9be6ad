import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import * as proc from '../test/helpers/measurements/proc.js';
import { freePort } from '../test/helpers/servers/ports.js';

/** A server in a separate process, to be measured. */
export interface Server {
  url: string;
  /** Resident memory in MB, current and peak; undefined where there is no /proc. */
  memory(): { now: number; highest: number } | undefined;
  pid: number | undefined;
  stop(): Promise<void>;
}

const dist = (file: string) => fileURLToPath(new URL(`../${file}`, import.meta.url));
export const serviceFile = dist('server.js');
export const floorFile = dist('bench/floor/server.js');

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** How a server is started, if it differs from the service. */
export interface ServerOptions {
  /** The Node to start it with. */
  node?: string;
  /** Parameters of the program. */
  parameters?: readonly string[];
  /** The working directory. */
  folder?: string;
  /** The path that responds as soon as the server is ready. */
  ping?: string;
}

/** Starts a server and waits until it responds. The environment contains `variables` and little else. */
export async function startServer(
  file: string,
  variables: Readonly<Record<string, string>>,
  { ping = '/server/ping', ...options }: ServerOptions = {},
): Promise<Server> {
  const port = await freePort();
  const child = start(file, { HOST: '127.0.0.1', PORT: String(port), ...variables }, options);
  const ended = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  while (!(await answers(url + ping))) {
    if (child.exitCode !== null) throw new Error(`${file} did not start.`);
    await sleep(10);
  }
  return {
    url,
    pid: child.pid,
    memory: () => orNothing(() => proc.memoryOf(child.pid ?? 0)),
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}

/** Runs a program until it exits. @returns its output, parsed as JSON */
export async function runProgram<Result>(file: string, input: object): Promise<Result> {
  const child = start(dist(file), {}, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin?.end(JSON.stringify(input));
  let written = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    written += chunk;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${file} ended with ${code}.`);
  return JSON.parse(written) as Result;
}

/** The input that {@link runProgram} passed to this program. */
export const inputOfProgram = <Input>(): Input => JSON.parse(readFileSync(process.stdin.fd, 'utf8')) as Input;

function start(
  file: string,
  variables: Readonly<Record<string, string>>,
  {
    node = process.execPath,
    parameters = [],
    folder,
    stdio = ['ignore', 'ignore', 'inherit'],
  }: Omit<ServerOptions, 'ping'> & { stdio?: StdioOptions },
) {
  const { PATH } = process.env;
  const child = spawn(node, [file, ...parameters], {
    cwd: folder,
    env: { PATH, NODE_ENV: 'production', ...variables },
    stdio,
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

/** Starts a program other than the service, and waits until its port is open. */
export async function startProgram(command: string, parameters: readonly string[], port: number) {
  const child = spawn(command, parameters, { stdio: ['ignore', 'ignore', 'inherit'] });
  running.add(child);
  let failure: Error | undefined;
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      running.delete(child);
      resolve();
    };
    child.once('exit', end).once('error', (error) => {
      failure = error;
      end();
    });
  });
  while (!(await isOpen(port))) {
    if (failure || child.exitCode !== null) throw failure ?? new Error(`${command} did not start.`);
    await sleep(20);
  }
  return {
    pid: child.pid,
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}

const isOpen = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

/** CPU seconds that each of these processes and each of their descendants have used; 0 where there is no /proc. */
export function processorTimes(pids: readonly (number | undefined)[]): ReadonlyMap<number, number> {
  const all = pids.filter((pid) => pid !== undefined).flatMap(withDescendants);
  return new Map(all.map((pid) => [pid, orNothing(() => proc.processorTime(pid)) ?? 0]));
}

const withDescendants = (pid: number): number[] => [
  pid,
  ...(orNothing(() => proc.childrenOf(pid)) ?? []).flatMap(withDescendants),
];

/** CPU seconds between two readings. Processes that have ended in between are ignored; otherwise their time would be subtracted. */
export const timeBetween = (before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): number =>
  [...after].reduce((sum, [pid, time]) => sum + time - (before.get(pid) ?? 0), 0);

function orNothing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
