// Measures the service the way an operator experiences it: `npm run measure:start [runs]`. Measures the time to the first
// response on an empty and on a filled data directory and, if DATABASE_URL is set, on PostgreSQL, and the memory after ten idle
// seconds.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { memoryOf } from '../dist/test/helpers/measurements/proc.js';
import { freePort } from '../dist/test/helpers/servers/ports.js';

const server = fileURLToPath(new URL('../dist/server.js', import.meta.url));
const runs = Number(process.argv[2] ?? 5);
const { DATABASE_URL, PATH } = process.env;
const report = [];
const directories = [];

await measure('embedded, first start', 8_000, async () => ({ DATA_DIR: emptyDirectory() }));

const filled = { DATA_DIR: emptyDirectory() };
await startOnce(filled);
await measure('embedded, warm start', 2_000, async () => filled);

if (DATABASE_URL) {
  const sql = postgres(DATABASE_URL, { max: 1, onnotice() {} });
  const database = `gatehouse_measure_${randomBytes(6).toString('hex')}`;
  const url = new URL(DATABASE_URL);
  url.pathname = `/${database}`;
  const variables = { DATABASE_URL: url.href, SECRET: randomBytes(32).toString('base64') };
  const recreate = async () => {
    await sql.unsafe(`drop database if exists ${database} with (force)`);
    await sql.unsafe(`create database ${database}`);
    return variables;
  };
  await measure('PostgreSQL, first start', undefined, recreate);
  await measure('PostgreSQL, warm start', 800, async () => variables, 110);
  await sql.unsafe(`drop database ${database} with (force)`);
  await sql.end();
} else {
  console.error('DATABASE_URL is not set: skipping PostgreSQL.');
}
for (const directory of directories) rmSync(directory, { recursive: true, force: true });

console.log(`\nNode ${process.version}, ${availableParallelism()} processors, ${runs} runs each\n`);
console.table(Object.fromEntries(report));

/** @param prepare returns the environment of one start */
async function measure(name, targetMs, prepare, targetMb) {
  const times = [];
  for (let run = 0; run < runs; run++) times.push(await startOnce(await prepare()));
  times.sort((a, b) => a - b);
  const idle = await idleMemory(await prepare());
  report.push([
    name,
    {
      'median ms': Math.round(times[Math.floor(times.length / 2)]),
      'slowest ms': Math.round(times.at(-1)),
      'target ms': targetMs ?? '',
      'idle MB': Math.round(idle),
      'target MB': targetMb ?? '',
    },
  ]);
}

/** Milliseconds from the start of the process to its first response. */
async function startOnce(variables) {
  const { ms, stop } = await start(variables);
  await stop();
  return ms;
}

async function idleMemory(variables) {
  const { pid, stop } = await start(variables);
  await sleep(10_000);
  const { now: megabytes } = memoryOf(pid);
  await stop();
  return megabytes;
}

async function start(variables) {
  const port = await freePort();
  const begin = performance.now();
  const child = spawn(process.execPath, [server], {
    env: { PATH, HOST: '127.0.0.1', PORT: String(port), ...variables },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error('The service did not start.');
    await sleep(5);
  }
  const stop = () => {
    child.kill();
    return ended;
  };
  return { ms: performance.now() - begin, pid: child.pid, stop };
}

async function answers(port) {
  try {
    return (await fetch(`http://127.0.0.1:${port}/server/ping`)).ok;
  } catch {
    return false;
  }
}

function emptyDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-measure-'));
  directories.push(directory);
  return directory;
}
