import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { createAsking } from '../helpers/load/asking.js';
import { statusesOf } from '../helpers/load/availability.js';
import { firstPassword, memberOf } from '../helpers/load/clients.js';
import { assertAcknowledgedKept, assertStoredCompletely } from '../helpers/load/kept.js';
import { summaryOf } from '../helpers/load/ledger.js';
import { createLoad } from '../helpers/load/world.js';
import { startGuideProxy } from '../helpers/servers/guide-proxy.js';
import { freePort } from '../helpers/servers/ports.js';
import { startRedis, withoutRedis } from '../helpers/servers/redis-server.js';
import { createHome, type Service, startService } from '../helpers/service/service.js';

/** `npm run test:soak` repeats the test. */
const rounds = Number(process.env.KILLS ?? 0);

const withoutNginx = spawnSync('nginx', ['-v']).status !== 0 && 'nginx is not installed';
const skip = (engine === 'embedded' && 'PostgreSQL only') || withoutRedis || withoutNginx;

const crowd = { registers: 2, invites: 2, resets: 2, refreshes: 4, logsIn: 2 };
const clients = Object.values(crowd).reduce((sum, count) => sum + count, 0);
/** Requests per minute from one address. In this test, only one address sends more. */
const points = 150;
/** One of 2,000 addresses, so that limits apply but are not reached. */
const someAddress = () => `127.1.${Math.floor(Math.random() * 10)}.${1 + Math.floor(Math.random() * 200)}`;

t.test('two instances behind nginx keep working while one of them is killed under load', { skip }, async (t) => {
  const redis = await startRedis(t);
  const home = await createHome(t);
  const port = await freePort();
  const upstreams: [number, number] = [await freePort(), await freePort()];
  await startGuideProxy(t, 'nginx', { directory: home.directory, port, upstreams, isPlain: true });
  const origin = `http://127.0.0.1:${port}`;
  const load = await createLoad(t, () => origin, crowd, someAddress);
  const variables = {
    ...load.variables,
    PUBLIC_URL: origin,
    TRUST_PROXY: '127.0.0.1',
    REDIS_URL: redis.url,
    RATE_LIMITER_ENABLED: 'true',
    RATE_LIMITER_POINTS: String(points),
    RATE_LIMITER_DURATION: '60',
  };
  const start = (index: number) => startService(home, { ...variables, PORT: String(upstreams[index]) });
  const instances: [Service, Service] = [await start(0), await start(1)];
  await load.begin();
  await sleep(1_000);

  /** The responses to requests sent since a time. */
  const seen = (since: number) => load.asking.notes.filter(({ asked }) => asked >= since);
  /** Stops an instance and starts it again, with pauses in which clients can notice the change. */
  const replace = async (index: 0 | 1, signal: NodeJS.Signals) => {
    const since = performance.now();
    const ending = await instances[index].stop(signal);
    await sleep(500);
    instances[index] = await start(index);
    await sleep(500);
    const notes = seen(since);
    t.comment(`${signal}: ${JSON.stringify(statusesOf(notes))}`);
    return { ending, notes, failed: notes.filter(({ status }) => status >= 500 || status === 0) };
  };
  const kill = async (index: 0 | 1) => {
    const { notes, failed } = await replace(index, 'SIGKILL');
    t.strictSame(
      failed.filter(({ what }) => what.startsWith('GET ')),
      [],
      'no read request failed',
    );
    t.ok(
      failed.length <= clients,
      `${failed.length} of ${notes.length} failed: those that the instance was processing`,
    );
  };
  const stop = async (index: 0 | 1) => {
    const { ending, notes, failed } = await replace(index, 'SIGTERM');
    t.strictSame(ending, { code: 0, signal: null });
    // Occasionally, a request is lost at the moment when a listener closes.
    t.ok(failed.length <= 1, `${failed.length} of ${notes.length} failed while one was stopped`);
  };

  for (let round = 0; round < rounds; round++) {
    await kill((round % 2) as 0 | 1);
    if (round < 20) await stop(((round + 1) % 2) as 0 | 1);
  }

  await t.test(
    'the instances share the counts of requests and wrong passwords, including after a restart',
    async (t) => {
      const { ask } = createAsking(
        () => origin,
        () => '127.0.2.1',
      );
      const email = memberOf('logsIn', 0);
      let logins = 0;
      const logIn = async (password: string): Promise<number> => {
        logins++;
        const { status } = await ask('POST', '/auth/login', { email, password });
        // A busy instance asks clients to try again.
        return status === 503 ? sleep(500).then(() => logIn(password)) : status;
      };
      const guess = () => logIn('a wrong guess');
      const read = async () => (await ask('GET', '/server/info')).status;
      const many = (what: () => Promise<number>, count: number) => Promise.all(Array.from({ length: count }, what));
      const guesses = await many(guess, 12);
      const reads = await many(read, points / 2);
      await kill(0);
      guesses.push(...(await many(guess, 20)));
      const verified = guesses.filter((status) => status === 401).length;
      t.equal(verified, 25, `exactly this many guesses are verified: ${guesses}`);
      t.equal(await logIn(firstPassword), 429, 'the account is locked on both instances');
      t.equal(await logIn(firstPassword), 429);
      reads.push(...(await many(read, points)));
      const counted = reads.filter((status) => status === 200).length + logins;
      t.equal(counted, points, 'exactly this many requests are allowed');
    },
  );

  await t.test('clients do not notice when Redis hangs, is flushed, or is lost', async (t) => {
    const since = performance.now();
    redis.pause();
    await sleep(700);
    redis.resume();
    await redis.ask((client) => client.flushall());
    await redis.kill();
    await sleep(700);
    await redis.start();
    await sleep(500);
    t.comment(`Redis: ${JSON.stringify(statusesOf(seen(since)))}`);
    const failed = seen(since).filter(({ status }) => status === 0 || status === 429 || status >= 500);
    t.strictSame(failed, []);
  });

  await load.end();
  t.comment(summaryOf(load.ledger));
  await assertAcknowledgedKept(t, load);
  for (const instance of instances) t.strictSame(await instance.stop(), { code: 0, signal: null });
  await assertStoredCompletely(t, home, load.variables, load.ledger);
});
