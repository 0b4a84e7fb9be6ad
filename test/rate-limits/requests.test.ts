// @suite not-everyday: sends many requests

import { request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { createMemoryCounters } from '../../plugins/rate-limits/counters.js';
import { refused } from '../helpers/http/refusals.js';
import { bearer, startTestApp, type TestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';

/** A service that allows three requests per hour and address. */
const startStrict = (t: Test, variables: Record<string, string> = {}) =>
  startTestApp(t, {
    RATE_LIMITER_ENABLED: 'true',
    RATE_LIMITER_POINTS: '3',
    RATE_LIMITER_DURATION: '3600',
    ...variables,
  });

const url = '/server/info';

/** Sends a request from an address, through proxies with the given header. */
const ask = ({ request }: TestApp, remoteAddress: string, forwarded?: string) =>
  request({ url, remoteAddress, ...(forwarded === undefined ? {} : { headers: { 'x-forwarded-for': forwarded } }) });

/** Checks that all these requests share one count. Three of them are accepted, and all others are rejected. */
async function areOne(t: Test, service: TestApp, from: [remote: string, forwarded?: string][], what: string) {
  const answers: number[] = [];
  for (const [remote, forwarded] of from) answers.push((await ask(service, remote, forwarded)).statusCode);
  t.strictSame(answers, [200, 200, 200, ...Array(from.length - 3).fill(429)], what);
}

t.test('by default, each address can send 50 requests per second', async (t) => {
  let now = Date.parse('2030-01-01T00:00:00.250Z');
  const service = await startTestApp(t, { RATE_LIMITER_ENABLED: 'true' }, { clock: () => new Date(now) });
  const from = (remoteAddress: string, amount: number) =>
    Promise.all(Array.from({ length: amount }, () => service.request({ url, remoteAddress })));
  const statuses = (await from('198.51.100.1', 60)).map(({ statusCode }) => statusCode);
  t.equal(statuses.filter((status) => status === 200).length, 50);
  t.equal(statuses.filter((status) => status === 429).length, 10);

  now += 300;
  const [late] = await from('198.51.100.1', 1);
  if (!late) throw new Error('There is no response.');
  refused(t, late, 'REQUESTS_EXCEEDED', 'the error');
  t.match(late.json().errors[0].extensions, { limit: 50, reset: '2030-01-01T00:00:01.250Z' });
  t.equal(late.headers['retry-after'], '1');
  t.equal(late.headers['cache-control'], 'no-store', 'RFC 6585, 4');
  t.match(late.headers['x-request-id'], /./);
  t.equal((await from('198.51.100.2', 1))[0]?.statusCode, 200, 'another address');

  now += 700;
  t.equal((await from('198.51.100.1', 1))[0]?.statusCode, 200, 'a second later');
});

t.test('the limit is checked before anything expensive', async (t) => {
  const { request } = await startStrict(t);
  const remoteAddress = '198.51.100.1';
  for (let asked = 0; asked < 3; asked++) await request({ url, remoteAddress });
  for (const [what, options] of Object.entries({
    'a credential that would be looked up': { url: '/users/me', headers: bearer('x'.repeat(64)) },
    'a password that would be hashed': { method: 'POST', url: '/auth/login', payload: administrator },
    'a body that would be parsed': {
      method: 'POST',
      url: '/users',
      payload: '{',
      headers: { 'content-type': 'application/json' },
    },
    'a route that does not exist': { url: '/nowhere' },
  } as const)) {
    refused(t, await request({ remoteAddress, ...options }), 'REQUESTS_EXCEEDED', what);
  }
});

t.test('no spelling of a path, and no method, bypasses the limit (GHSA-x732-6j76-qmhm)', async (t) => {
  const { app } = await startStrict(t, { HOST: '127.0.0.1', PORT: '0' });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const send = (localAddress: string, method: string, path: string, headers = {}) =>
    new Promise<number>((resolve, reject) => {
      const options = { host: '127.0.0.1', port, localAddress, method, path, headers, agent: false };
      httpRequest(options, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      })
        .on('error', reject)
        .end();
    });
  const spellings: [method: string, path: string, headers?: Record<string, string>][] = [
    ['GET', '//server/info'],
    ['GET', '/server//info'],
    ['GET', '/server/info/'],
    ['GET', '/SERVER/INFO'],
    ['GET', '/server/info?x=1'],
    ['GET', '/server/inf%6f'],
    ['GET', '/server/./info'],
    ['GET', '/%2e%2e/server/info'],
    ['GET', '/%zz'],
    ['GET', '/nowhere'],
    ['GET', '//server/ping'],
    ['GET', '/server/ping/'],
    ['GET', '/server/ping?x'],
    ['GET', '/server/ping', { authorization: 'Bearer x' }],
    ['GET', '/server/health', { cookie: 'gatehouse_session_token=x' }],
    ['HEAD', '/server/info'],
    ['OPTIONS', '/server/info'],
    ['DELETE', '/server/info'],
    ['POST', '/server/ping'],
    ['SEARCH', '/users'],
    ['PROPFIND', '/server/info'],
    ['GET', '/'],
    ['GET', '/account/login'],
    ['GET', '/openapi.json'],
    ['GET', '/docs/'],
    ['GET', '/mailbox'],
  ];
  for (const [index, [method, path, headers]] of spellings.entries()) {
    const what = `${method} ${path}`;
    const address = `127.0.1.${index + 1}`;
    for (let asked = 0; asked < 3; asked++) t.not(await send(address, method, path, headers), 429, what);
    t.equal(await send(address, method, path, headers), 429, `${what} is limited`);
    t.equal(await send(address, 'GET', url), 429, `${what} is counted`);
  }
  const statuses = await Promise.all(
    ['/server/ping', '/server/health'].flatMap((path) =>
      ['GET', 'HEAD'].flatMap((method) => Array.from({ length: 5 }, () => send('127.0.2.1', method, path))),
    ),
  );
  t.ok(
    statuses.every((status) => status === 200),
    'a load balancer may call these as often as it likes',
  );
  t.equal(await send('127.0.2.1', 'GET', url), 200, 'these calls are not counted');
});

t.test('an IPv6 network is treated as one address, however it is written (CVE-2026-45364)', async (t) => {
  const service = await startStrict(t);
  await areOne(
    t,
    service,
    [
      ['2001:db8:1:2::1'],
      ['2001:db8:1:2::2'],
      ['2001:DB8:1:2:ffff:ffff:ffff:ffff'],
      ['2001:db8:0001:0002:0:0:0:1'],
      ['2001:db8:1:2:3::%eth0'],
    ],
    'different addresses in a /64',
  );
  t.equal((await ask(service, '2001:db8:1:3::1')).statusCode, 200, 'the next /64 is counted separately');
  await areOne(
    t,
    service,
    [['203.0.113.9'], ['::ffff:203.0.113.9'], ['::FFFF:cb00:7109'], ['0:0:0:0:0:ffff:cb00:7109']],
    'an IPv4-mapped address',
  );
  t.equal((await ask(service, '::ffff:203.0.113.10')).statusCode, 200, 'another mapped address is counted separately');
});

t.test('forwarded headers are used only from trusted senders', async (t) => {
  const rotating = (remote: string, format: (index: number) => string) =>
    Array.from({ length: 6 }, (_, index): [string, string] => [remote, format(index)]);

  t.test('with TRUST_PROXY=false, forwarded headers are never used', async (t) => {
    const service = await startStrict(t);
    await areOne(
      t,
      service,
      rotating('198.51.100.1', (index) => `203.0.113.${index}`),
      'forged',
    );
    t.equal((await ask(service, '203.0.113.1')).statusCode, 200, 'the forged address is not affected');
    for (const name of ['forwarded', 'x-real-ip', 'client-ip', 'true-client-ip', 'cf-connecting-ip']) {
      const answer = await service.request({ url, remoteAddress: '198.51.100.1', headers: { [name]: '203.0.113.77' } });
      t.equal(answer.statusCode, 429, `${name} is never used`);
    }
  });

  t.test('with TRUST_PROXY=1, the address added by the nearest proxy is used', async (t) => {
    const service = await startStrict(t, { TRUST_PROXY: '1' });
    await areOne(
      t,
      service,
      rotating('10.0.0.1', (index) => `203.0.113.${index}, 198.51.100.1`),
      'addresses sent by the client are ignored',
    );
    t.equal((await ask(service, '10.0.0.1', '198.51.100.2')).statusCode, 200, 'other clients of the proxy');
    t.equal((await ask(service, '10.0.0.1', '203.0.113.1, 198.51.100.1')).statusCode, 429);
    await areOne(
      t,
      service,
      ['2001:db8:1:2::1', '2001:db8:1:2::2', '2001:db8:1:2::3', '2001:db8:1:2::4'].map((by) => ['10.0.0.1', by]),
      'an IPv6 network',
    );
  });

  t.test('with a list of addresses, forwarded headers are used only from these', async (t) => {
    const service = await startStrict(t, { TRUST_PROXY: '10.0.0.0/8, 2001:db8:ffff::/48' });
    await areOne(
      t,
      service,
      rotating('198.51.100.1', (index) => `203.0.113.${index}`),
      'from any other sender',
    );
    await areOne(
      t,
      service,
      rotating('10.1.2.3', (index) => `192.0.2.${index}, 198.51.100.77, 10.9.9.9`),
      'the last address that is not trusted',
    );
    t.equal((await ask(service, '2001:db8:ffff::1', '198.51.100.78')).statusCode, 200);
  });

  t.test('an invalid address is treated as the proxy that forwarded it (CVE-2024-47070)', async (t) => {
    const service = await startStrict(t, { TRUST_PROXY: '1' });
    const garbage = ['unknown', '1.2.3.4.5', '_hidden', '::g', 'x'.repeat(4000), "' or 1=1"];
    await areOne(
      t,
      service,
      garbage.map((text) => ['10.0.0.1', text]),
      'garbage',
    );
    t.equal((await ask(service, '10.0.0.1', '198.51.100.2')).statusCode, 200, 'others are not affected');
    t.equal((await ask(service, '10.0.0.1', '')).statusCode, 429, 'an empty header means the proxy itself');
  });
});

t.test('the limit can be disabled', async (t) => {
  const service = await startStrict(t, { RATE_LIMITER_ENABLED: 'false' });
  for (let asked = 0; asked < 20; asked++) t.equal((await ask(service, '198.51.100.1')).statusCode, 200);
});

t.test('an instance counts requests in memory, with a limited capacity', async (t) => {
  let now = 1_000_000;
  const count = createMemoryCounters(() => new Date(now), 100);
  t.strictSame(await count('a', 'x', 60), { current: 1, ttl: 60 });
  now += 59;
  t.strictSame(await count('a', 'x', 60), { current: 2, ttl: 1 });
  t.strictSame(await count('b', 'x', 60), { current: 1, ttl: 60 }, 'another kind');
  now += 1;
  t.strictSame(await count('a', 'x', 60), { current: 1, ttl: 60 }, 'a new window');
  now -= 1_000;
  t.strictSame(await count('a', 'x', 60), { current: 1, ttl: 60 }, 'a clock that was set back blocks no caller');

  await count('b', 'kept', 1_000);
  for (let key = 0; key < 10_000; key++) {
    await count('a', `key ${key}`, 1_000);
    if (key % 50 === 0) await count('a', 'busy', 1_000);
  }
  t.equal((await count('a', 'busy', 1_000)).current, 201, 'many other keys do not displace a busy one');
  t.equal((await count('b', 'kept', 1_000)).current, 2, 'nor do they displace one of another kind');
  t.equal((await count('a', 'key 9000', 1_000)).current, 1, 'the capacity is limited');
});
