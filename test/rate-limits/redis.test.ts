// @suite not-everyday: sends many requests

import { setTimeout as sleep } from 'node:timers/promises';
import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { refused } from '../helpers/http/refusals.js';
import { type RedisServer, startRedis, withoutRedis } from '../helpers/servers/redis-server.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { countChecks, loginsOf } from '../helpers/users/logins.js';
import { createUser } from '../helpers/users/users.js';

const limits = (redis: RedisServer) => ({
  REDIS_URL: redis.url,
  RATE_LIMITER_ENABLED: 'true',
  RATE_LIMITER_POINTS: '5',
  RATE_LIMITER_DURATION: '3600',
});

/** Milliseconds. One command times out after 150. The rest is a margin for slow machines. */
const bound = 600;

let network = 0;
const freshAddress = () => {
  network += 1;
  return `198.18.${network >> 8}.${network & 255}`;
};

t.test('limits with Redis', { skip: withoutRedis }, async (t) => {
  const redis = await startRedis(t);
  const service = await startTestApp(t, limits(redis));
  const { app, request, clock } = service;
  const { right, wrong } = loginsOf(service);

  const ask = async (from: string, instance: { inject: typeof app.inject } = app) =>
    (await instance.inject({ url: '/nowhere', remoteAddress: from })).statusCode;

  /** Whether this instance counts in Redis. */
  const isShared = async (): Promise<boolean> => {
    const from = freshAddress();
    await ask(from);
    const keys = await redis.ask((client) => client.keys(`gatehouse:limit:requests:${from}`)).catch(() => []);
    return keys.length === 1;
  };
  const recovers = async (t: Test) => {
    const start = performance.now();
    while (!(await isShared())) {
      if (performance.now() - start > 10_000) return t.fail('it does not count in Redis again');
      await sleep(100);
    }
    t.pass(`counts in Redis again after ${Math.round(performance.now() - start)} ms`);
  };

  /**
   * Checks that limits apply, nothing fails, no request is delayed, and the password is still checked, whatever the
   * state of Redis.
   */
  const holds = async (t: Test) => {
    const answers: number[] = [];
    const from = freshAddress();
    for (let asked = 0; asked < 8; asked++) {
      const start = performance.now();
      answers.push(await ask(from));
      const taken = performance.now() - start;
      if (taken > bound) t.fail(`a response took ${Math.round(taken)} ms`);
    }
    t.strictSame(answers, [404, 404, 404, 404, 404, 429, 429, 429], 'the limit applies');

    const start = performance.now();
    const many = await Promise.all(Array.from({ length: 100 }, () => ask(freshAddress())));
    t.ok(
      many.every((status) => status === 404),
      'no other caller is rejected, and nothing fails',
    );
    t.ok(
      performance.now() - start < 5 * bound,
      `a hundred parallel requests took ${Math.round(performance.now() - start)} ms`,
    );

    const ada = await createUser(app);
    refused(t, await wrong(ada, freshAddress()), 'INVALID_CREDENTIALS', 'a wrong password');
    t.equal((await right(ada, freshAddress())).statusCode, 200, 'the correct password');
    const checks = countChecks(app);
    const before = checks();
    const guesses = await Promise.all(Array.from({ length: 60 }, () => wrong(ada, freshAddress())));
    t.equal(checks() - before, 25, 'login attempts are counted in the database');
    t.ok(guesses.every(({ statusCode }) => statusCode === 401 || statusCode === 429));
    clock.advance(60_000);
  };

  const health = async (): Promise<LightMyRequestResponse> => {
    const remoteAddress = freshAddress();
    const login = await request({ method: 'POST', url: '/auth/login', remoteAddress, payload: administrator });
    const headers = bearer(login.json().data.access_token);
    await sleep(1_100);
    return request({ url: '/server/health', remoteAddress, headers });
  };

  t.test('all instances share their counts', async (t) => {
    const { app: twin } = await startTestApp(t, limits(redis));
    const from = freshAddress();
    const answers: number[] = [];
    for (let asked = 0; asked < 8; asked++) answers.push(await ask(from, asked % 2 ? twin : app));
    t.strictSame(answers, [404, 404, 404, 404, 404, 429, 429, 429]);
    t.match((await health()).json(), { status: 'ok', checks: { redis: { status: 'ok' } } });
    await holds(t);
    const left = await redis.ask((client) => client.pttl(`gatehouse:limit:requests:${from}`));
    t.ok(left > 0 && left <= 3_600_000, 'counts expire');
  });

  t.test('no content of Redis can lock a caller out permanently', async (t) => {
    const from = freshAddress();
    const key = `gatehouse:limit:requests:${from}`;
    await redis.ask((client) => client.set(key, 1_000));
    t.equal(await ask(from), 429, 'a count without an expiry');
    const left = await redis.ask((client) => client.pttl(key));
    t.ok(left > 0 && left <= 3_600_000, 'the count gets an expiry');
    await redis.ask((client) => client.set(key, 'rubbish'));
    t.equal(await ask(from), 404, 'an invalid count is ignored');
    t.ok(await isShared(), 'others are still counted in Redis');
  });

  t.test('after Redis is flushed, counts restart', async (t) => {
    const from = freshAddress();
    for (let asked = 0; asked < 6; asked++) await ask(from);
    t.equal(await ask(from), 429);
    await redis.ask((client) => client.flushall());
    await redis.ask((client) => client.script('FLUSH'));
    t.equal(await ask(from), 404, 'the count restarts');
    await holds(t);
  });

  t.test('limits still apply while Redis hangs', async (t) => {
    redis.pause();
    await holds(t);
    const answer = await health();
    t.equal(answer.statusCode, 200, 'the service works');
    t.match(answer.json(), { status: 'ok', checks: { database: { status: 'ok' }, redis: { status: 'error' } } });
    t.strictSame((await request({ url: '/server/health', remoteAddress: freshAddress() })).json(), { status: 'ok' });
    redis.resume();
    await recovers(t);
    await holds(t);
  });

  t.test('limits still apply while Redis is down, and use it again after its restart', async (t) => {
    await redis.kill();
    await holds(t);
    t.match((await health()).json(), { status: 'ok', checks: { redis: { status: 'error' } } });
    await redis.start();
    await recovers(t);
    await holds(t);
  });

  t.test('limits still apply while Redis is full', async (t) => {
    await redis.ask((client) => client.config('SET', 'maxmemory', '1'));
    await holds(t);
    await redis.ask((client) => client.config('SET', 'maxmemory', '0'));
    await recovers(t);
  });
});

t.test('the service starts without Redis, and uses it once it is available', { skip: withoutRedis }, async (t) => {
  const redis = await startRedis(t);
  await redis.kill();
  const start = performance.now();
  const { app } = await startTestApp(t, limits(redis));
  t.ok(performance.now() - start < 15_000, 'the start does not wait for Redis');
  const statuses: number[] = [];
  for (let asked = 0; asked < 7; asked++) {
    statuses.push((await app.inject({ url: '/server/info', remoteAddress: '198.51.100.1' })).statusCode);
  }
  t.strictSame(statuses, [200, 200, 200, 200, 200, 429, 429]);
  await redis.start();
  for (let tries = 0; ; tries++) {
    await app.inject({ url: '/server/info', remoteAddress: `198.51.101.${tries}` });
    if ((await redis.ask((client) => client.dbsize())) > 0) break;
    if (tries > 100) return t.fail('Redis is never used');
    await sleep(100);
  }
  t.pass('Redis is used as soon as it is available');
});
