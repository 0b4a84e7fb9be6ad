// @suite not-everyday: starts many processes

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { slowness } from '../helpers/measurements/slowness.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { freePort } from '../helpers/servers/ports.js';
import { createHome, environment, type Home, serverFile } from '../helpers/service/service.js';
import { startOnTerminal, withoutTerminals } from '../helpers/service/terminal.js';

/** Milliseconds within which a stopped service must end. */
const stopTimeoutMs = 9_000 * slowness();

/** Sends requests that are logged, as JSON or as text. */
async function responds(url: string): Promise<number[]> {
  const statuses: number[] = [];
  for (const path of ['/server/info', '/users', '/server/health', '/server/info']) {
    const { status } = await fetch(`${url}${path}`);
    statuses.push(status);
    await sleep(20);
  }
  return statuses;
}

const normalResponses = [200, 403, 200, 200];

t.test('closing the terminal stops the service gracefully', { skip: withoutTerminals }, async (t) => {
  const home = await createHome(t, { prepared: true });
  const service = await startOnTerminal(t, home);
  t.strictSame(await responds(service.url), normalResponses);
  t.match(service.screen, /INFO/, 'the log is readable');
  service.closeTerminal();
  // The shell of a terminal sends the signal to its jobs, after the kernel has sent it.
  for (let times = 0; times < 3; times++) {
    await sleep(20);
    try {
      process.kill(service.pid, 'SIGHUP');
    } catch {
      // It has ended already.
    }
  }
  t.equal(await service.ended(stopTimeoutMs), 0);
});

t.test('SIGHUP stops a service whose terminal is still open', { skip: withoutTerminals }, async (t) => {
  const home = await createHome(t, { prepared: true });
  const service = await startOnTerminal(t, home);
  process.kill(service.pid, 'SIGHUP');
  t.equal(await service.ended(stopTimeoutMs), 0);
});

t.test(
  'a service that only writes to a terminal outlives it, and can be stopped',
  { skip: withoutTerminals },
  async (t) => {
    const home = await createHome(t, { prepared: true });
    const service = await startOnTerminal(t, home, { input: '/dev/null' });
    service.closeTerminal();
    await sleep(200);
    for (let times = 0; times < 3; times++) t.strictSame(await responds(service.url), normalResponses);
    process.kill(service.pid, 'SIGTERM');
    t.equal(await service.ended(stopTimeoutMs), 0);
  },
);

t.test('a service whose log cannot be written responds as usual, and can be stopped', async (t) => {
  const home = await createHome(t, { prepared: true });
  await t.test('the readers of both streams have gone', async (t) => {
    const { child, url } = await start(home, 'pipe');
    child.stdout?.destroy();
    child.stderr?.destroy();
    for (let times = 0; times < 3; times++) t.strictSame(await responds(url), normalResponses);
    child.kill('SIGTERM');
    t.strictSame(await ending(child), [0, null]);
  });
  await t.test('the disk is full', async (t) => {
    const { child, url } = await start(home, openSync('/dev/full', 'w'));
    for (let times = 0; times < 3; times++) t.strictSame(await responds(url), normalResponses);
    child.kill('SIGTERM');
    t.strictSame(await ending(child), [0, null]);
  });
});

async function start(home: Home, output: 'pipe' | number) {
  const port = await freePort();
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, serverFile], {
    cwd: home.directory,
    env: environment(home, { PORT: String(port) }),
    stdio: ['ignore', output, output],
  });
  atEndOf(t, () => child.kill('SIGKILL'));
  child.stdout?.resume();
  child.stderr?.resume();
  const url = `http://127.0.0.1:${port}`;
  const end = performance.now() + 90_000;
  while (
    !(await fetch(`${url}/server/health`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null || performance.now() > end) throw new Error('The service did not start.');
    await sleep(50);
  }
  return { child, url };
}

async function ending(child: ReturnType<typeof spawn>): Promise<unknown> {
  const ended = once(child, 'exit');
  return Promise.race([ended, sleep(stopTimeoutMs, 'it did not end', { ref: false })]);
}
