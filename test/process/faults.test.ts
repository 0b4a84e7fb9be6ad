// @suite long-only: keeps instances under load, and needs an idle machine

import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { engine } from '../helpers/database/databases.js';
import { startCluster, withoutPrograms } from '../helpers/database/postgres-cluster.js';
import { recoveryAfter, statusesOf } from '../helpers/load/availability.js';
import { firstPassword, memberOf } from '../helpers/load/clients.js';
import { assertAcknowledgedKept, assertStoredCompletely } from '../helpers/load/kept.js';
import { summaryOf } from '../helpers/load/ledger.js';
import { createLoad } from '../helpers/load/world.js';
import { freePort } from '../helpers/servers/ports.js';
import { startRedis, withoutRedis } from '../helpers/servers/redis-server.js';
import { createHome, type Service, startService } from '../helpers/service/service.js';
import { startSession } from '../helpers/users/session-client.js';
import { modes } from '../helpers/users/sessions.js';

/** `npm run test:faults` runs the long form. */
const isLong = process.env.FAULTS === 'long';
const gracePeriod = isLong ? 10 : 4;
/** For how many seconds the table of sessions is locked: longer than a request waits, and than the grace period. */
const lockTimes = isLong ? [11, 14, 20, 25, 40, 60] : [7];
const pauseTimes = isLong ? [15, 30] : [6];
/** How often each of the other faults occurs. */
const rounds = isLong ? 5 : 1;
/** Milliseconds. On an idle machine, the service recovers within a second. */
const maxRecoveryMs = 30_000;

const skip = (engine === 'embedded' && 'PostgreSQL only') || withoutPrograms || withoutRedis;
const crowd = { registers: 1, invites: 1, resets: 1, refreshes: 2, logsIn: 1 };

t.test('what is acknowledged is kept, and no session is lost, whatever fails', { skip }, async (t) => {
  const cluster = await startCluster(t);
  const redis = await startRedis(t);
  const home = await createHome(t, { databaseUrl: `postgres://postgres@127.0.0.1:${cluster.port}/postgres` });
  const instances: Service[] = [];
  let turn = 0;
  /** The clients use the instances in turn, as behind a load balancer. */
  const origin = () => instances[turn++ % instances.length]?.url ?? '';
  const load = await createLoad(t, origin, crowd);
  const variables = {
    ...load.variables,
    REDIS_URL: redis.url,
    PUBLIC_URL: 'http://127.0.0.1',
    SESSION_REFRESH_GRACE_PERIOD: `${gracePeriod}s`,
  };
  const ports = [await freePort(), await freePort()];
  const start = (index: number) => startService(home, { ...variables, PORT: String(ports[index]) });
  for (const index of ports.keys()) instances.push(await start(index));
  await load.begin();

  const sessions = await keepSessions(instances, load.variables.ADMIN_PASSWORD ?? '');
  const recoveries: Record<string, number[]> = {};

  /** Runs one fault while all clients continue, and waits until the service has recovered. */
  const endure = (name: string, fault: () => Promise<unknown>) =>
    t.test(name, async (t) => {
      const begun = performance.now();
      await fault();
      const ended = performance.now();
      let recovery = Number.POSITIVE_INFINITY;
      for (; recovery > maxRecoveryMs && performance.now() < ended + maxRecoveryMs + 5_000; await sleep(500)) {
        recovery = recoveryAfter(load.asking.notes, ended);
      }
      const during = load.asking.notes.filter(({ asked }) => asked >= begun && asked < ended);
      t.comment(`${JSON.stringify(statusesOf(during))}; recovered after ${Math.round(recovery)} ms`);
      recoveries[name] = [...(recoveries[name] ?? []), Math.round(recovery)];
      t.ok(recovery <= maxRecoveryMs, `recovered after ${Math.round(recovery)} ms`);
      t.strictSame(sessions.lost, [], 'no session is lost');
    });

  for (const seconds of lockTimes) {
    await endure(`the sessions are locked for ${seconds} s`, () =>
      cluster.ask(`begin; lock table sessions in access exclusive mode; select pg_sleep(${seconds}); commit`),
    );
  }
  for (const seconds of pauseTimes) {
    await endure(`PostgreSQL hangs for ${seconds} s`, async () => {
      cluster.freeze();
      await sleep(seconds * 1_000);
      cluster.resume();
    });
  }
  for (let round = 0; round < rounds; round++) {
    await endure('an instance is killed', async () => {
      const index = round % 2;
      await instances[index]?.stop('SIGKILL');
      instances[index] = await start(index);
    });
    await endure('Redis is killed', async () => {
      await redis.kill();
      await sleep(1_000);
      await redis.start();
    });
    await endure('the mail server is unavailable', async () => {
      await load.letters.stop();
      await sleep(2_000);
      await load.letters.start();
    });
    await endure('many more logins arrive than can be hashed', () => overload(t, instances[0] as Service));
    // In the everyday suite, `postgres-failover` covers this.
    if (isLong) {
      await endure('PostgreSQL is restarted', async () => {
        await cluster.stop(round % 2 === 0 ? 'immediate' : 'fast');
        await sleep(1_000);
        await cluster.start();
      });
    }
  }

  await sessions.end();
  await load.end();
  t.comment(`${summaryOf(load.ledger)}; ${sessions.refreshes()} refreshes by clients that wait for Retry-After`);
  t.comment(`recovery in ms: ${JSON.stringify(recoveries)}`);
  await assertAcknowledgedKept(t, load);
  for (const instance of instances) t.strictSame(await instance.stop(), { code: 0, signal: null });
  await assertStoredCompletely(t, home, load.variables, load.ledger);
});

/** Refreshes sessions of each mode until the end: with clients that stay with one instance, and with clients that change it. */
async function keepSessions(instances: readonly Service[], password: string) {
  const at = (index: number) => instances[index % instances.length] as Service;
  const patterns: Record<string, (attempt: number) => Service> = {
    same: () => at(0),
    alternating: (attempt) => at(attempt),
    'another after the first': (attempt) => at(attempt === 0 ? 0 : 1),
  };
  const lost: string[] = [];
  let isOver = false;
  let refreshes = 0;
  const keep = async (name: string, mode: (typeof modes)[number], choose: (attempt: number) => Service) => {
    const client = await startSession(at(0), password, { mode, maxRetryAfter: gracePeriod / 2 });
    return async () => {
      while (!isOver) {
        const statuses = await client.refresh(choose);
        if (statuses.at(-1) !== 200) {
          lost.push(`mode ${mode}, ${name}: ${statuses}`);
          return;
        }
        refreshes++;
        await sleep(100 + Math.random() * 400);
      }
    };
  };
  const loops: (() => Promise<void>)[] = [];
  for (const [name, choose] of Object.entries(patterns)) {
    for (const mode of modes) loops.push(await keep(name, mode, choose));
  }
  const running = Promise.all(loops.map((loop) => loop()));
  return {
    lost,
    refreshes: () => refreshes,
    end: async () => {
      isOver = true;
      await running;
    },
  };
}

/** Sends ten times as many logins as an instance can queue, at a steady rate, by clients that wait for the response. */
async function overload(t: Test, { post }: Service): Promise<void> {
  const seconds = isLong ? 15 : 4;
  const rate = 150;
  const results: { status: number; ms: number; retryAfter: number }[] = [];
  const login = async () => {
    const start = performance.now();
    const response = await post('/auth/login', { email: memberOf('logsIn', 0), password: firstPassword }).catch(
      () => undefined,
    );
    await response?.arrayBuffer();
    const retryAfter = Number(response?.headers.get('retry-after') ?? 0);
    results.push({ status: response?.status ?? 0, ms: performance.now() - start, retryAfter });
  };
  const sent: Promise<void>[] = [];
  const start = performance.now();
  for (let number = 0; number < seconds * rate; number++) {
    sent.push(login());
    const wait = start + ((number + 1) * 1_000) / rate - performance.now();
    if (wait > 0) await sleep(wait);
  }
  await Promise.all(sent);
  const succeeded = results.filter(({ status }) => status === 200);
  const refused = results.filter(({ status }) => status === 503);
  t.comment(`of ${results.length} logins, ${succeeded.length} succeeded and ${refused.length} were refused`);
  t.equal(succeeded.length + refused.length, results.length, 'all others are refused with 503');
  t.ok(succeeded.length > 0);
  t.ok(
    refused.every(({ retryAfter }) => retryAfter >= 1),
    'with Retry-After',
  );
}
