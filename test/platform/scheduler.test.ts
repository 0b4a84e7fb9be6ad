// @suite embedded-only: hardly depends on the engine

import { setTimeout as sleep } from 'node:timers/promises';
import Fastify from 'fastify';
import t, { type Test } from 'tap';
import { schedulerPlugin } from '../../plugins/platform/scheduler.js';
import { atEndOf } from '../helpers/runner/teardown.js';

const interval = 20;

/** An app whose log lines are recorded. */
async function createApp(t: Test) {
  const lines: { level: number; msg: string }[] = [];
  const app = Fastify({ logger: { level: 'warn', stream: { write: (line) => lines.push(JSON.parse(line)) } } });
  await app.register(schedulerPlugin);
  atEndOf(t, () => app.close());
  return { app, lines, listen: () => app.listen({ port: 0 }) };
}

const until = async (t: Test, isReached: () => boolean) => {
  for (let tries = 0; tries < 500 && !isReached(); tries++) await sleep(10);
  t.ok(isReached());
};

t.test('work is repeated from when the service listens until it is closed', async (t) => {
  const { app, listen } = await createApp(t);
  let runs = 0;
  app.every(interval, async () => void runs++, 'failed');
  await app.ready();
  await sleep(5 * interval);
  t.equal(runs, 0, 'not before');
  await listen();
  await until(t, () => runs >= 3);
  await app.close();
  const before = runs;
  await sleep(5 * interval);
  t.equal(runs, before, 'and not after');
});

t.test('a scheduled run does not keep the process alive', async (t) => {
  const { app, listen } = await createApp(t);
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  app.every(60_000, async () => {}, 'failed');
  await listen();
  t.equal(timers(), before);
});

t.test('runs of the same work never overlap', async (t) => {
  const { app, listen } = await createApp(t);
  let runs = 0;
  let running = 0;
  let most = 0;
  const work = async () => {
    runs++;
    most = Math.max(most, ++running);
    await sleep(3 * interval);
    running--;
  };
  app.every(interval, work, 'failed');
  await listen();
  await until(t, () => runs >= 3);
  t.equal(most, 1);
});

t.test('only the first of several failures in a row is logged', async (t) => {
  const { app, lines, listen } = await createApp(t);
  const outcomes = ['fails', 'fails', 'fails', 'succeeds', 'fails', 'fails'];
  let runs = 0;
  const work = async () => {
    if (outcomes[runs++] === 'fails') throw new Error('broken');
  };
  app.every(interval, work, 'it failed');
  await listen();
  await until(t, () => runs > outcomes.length);
  t.match(lines, [
    { level: 40, msg: 'it failed', err: { message: 'broken' } },
    { level: 40, msg: 'it failed' },
  ]);
  t.equal(lines.length, 2);
});

t.test('a failure is logged at the given level, also if the work throws before it returns a promise', async (t) => {
  const { app, lines, listen } = await createApp(t);
  const work = () => {
    throw new Error('broken');
  };
  app.every(interval, work, 'it failed', 'error');
  await listen();
  await until(t, () => lines.length > 0);
  t.match(lines[0], { level: 50, msg: 'it failed' });
});

t.test('closing waits for the current run', async (t) => {
  const { app, listen } = await createApp(t);
  const order: string[] = [];
  app.addHook('onClose', async () => void order.push('what was there before the work is closed'));
  const work = async () => {
    order.push('begins');
    await sleep(5 * interval);
    order.push('ends');
  };
  app.every(interval, work, 'failed');
  await listen();
  await until(t, () => order.length > 0);
  await app.close();
  t.strictSame(order, ['begins', 'ends', 'what was there before the work is closed']);
});

t.test('closing does not wait forever for a run that hangs', async (t) => {
  const { app, listen } = await createApp(t);
  let runs = 0;
  const work = () => {
    runs++;
    return new Promise<void>(() => {});
  };
  app.every(interval, work, 'failed');
  app.every(interval, work, 'failed');
  await listen();
  await until(t, () => runs === 2);
  const start = performance.now();
  // The scheduler’s own timer does not keep the process alive.
  const alive = setInterval(() => {}, 1_000);
  await app.close();
  clearInterval(alive);
  t.ok(performance.now() - start < 8_000);
});
