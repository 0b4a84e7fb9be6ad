// @suite not-everyday: keeps a service under load

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import t from 'tap';
import { activity } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { slowness } from '../helpers/measurements/slowness.js';
import { startTestApp } from '../helpers/service/app.js';
import { logIn } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

/** Work that is costly and that many callers can cause has its own limits, and does not delay other requests. */

const service = await startTestApp(t, { TRUST_PROXY: '1' });
const { app, get, post, request } = service;

const timed = async <T>(work: () => Promise<T>): Promise<[result: T, time: number]> => {
  const start = performance.now();
  return [await work(), performance.now() - start];
};

t.test('exports do not delay other requests', async (t) => {
  const user = await createUser(app);
  const { headers } = await logIn(service, 'json', user);
  const others = await logIn(service, 'json');
  const event = { timestamp: new Date(), action: 'login', outcome: 'success', user: user.id, seal: 'x' } as const;
  await app.db.insert(activity).values(Array.from({ length: 1_000 }, () => ({ ...event, id: randomUUID() })));
  t.equal((await get('/users/me/export', headers)).json().data.activity.length, 1_000);

  const running = new Set<Promise<number>>();
  const statuses: number[] = [];
  const times: number[] = [];
  for (let count = 0; count < 45; count++) {
    // Not checked against the OpenAPI document, which would take longer than the export.
    const one = app.inject({ url: '/users/me/export', headers }).then(({ statusCode }) => statusCode);
    running.add(one);
    void one.then((status) => {
      statuses.push(status);
      running.delete(one);
    });
  }
  while (running.size > 0) {
    const [response, time] = await timed(() => get('/users/me', others.headers));
    t.equal(response.statusCode, 200);
    times.push(time);
    // Without a socket, nothing else would let the timers of the queue run.
    await sleep(1);
  }
  t.ok(Math.max(...times) < 250 * slowness(), `${Math.max(...times)} ms`);
  t.ok(statuses.includes(200) && statuses.includes(503), 'the queue is bounded');
  t.equal(statuses.length, 45);
});

t.test('a user can export their data 10 times per minute, wherever they are', async (t) => {
  const limited = await startTestApp(t, {
    RATE_LIMITER_ENABLED: 'true',
    RATE_LIMITER_POINTS: '1000',
    TRUST_PROXY: '1',
  });
  const [own, other] = [await createUser(limited.app), await createUser(limited.app)];
  const { headers } = await logIn(limited, 'json', own);
  const from = (index: number) => ({ ...headers, 'x-forwarded-for': `203.0.113.${index}` });
  for (let count = 0; count < 10; count++) {
    t.equal((await limited.get('/users/me/export', from(count))).statusCode, 200);
  }
  refused(t, await limited.get('/users/me/export', from(99)), 'REQUESTS_EXCEEDED', 'the eleventh');
  t.equal((await limited.get('/users/me', headers)).statusCode, 200);
  const { headers: others } = await logIn(limited, 'json', other);
  t.equal((await limited.get('/users/me/export', others)).statusCode, 200, 'another user');

  const read = (url: string) => limited.request({ url, headers: { 'x-forwarded-for': '198.51.100.9' } });
  const urls = ['/docs', '/docs/scalar.js', '/openapi.json', '/openapi.yaml'];
  for (let count = 0; count < 120; count++) {
    t.equal((await read(urls[count % 4] ?? '')).statusCode, 200);
  }
  for (const url of urls) refused(t, await read(url), 'REQUESTS_EXCEEDED', url);
  t.equal((await read('/server/info')).statusCode, 200, 'other requests are not affected');
});

t.test('password checks by anonymous callers do not delay callers who set a password', async (t) => {
  const { headers } = await logIn(service, 'json');
  const slow = 'p4$$w0rd'.repeat(16);
  const check = (index: number) =>
    request({
      method: 'POST',
      url: '/auth/password/check',
      payload: { password: `${slow.slice(0, -3)}${index}` },
      headers: { 'x-forwarded-for': `203.0.113.${index % 16}` },
    });
  await Promise.all([
    check(0),
    post('/users', { email: 'warm-up@example.com', password: 'a good long password' }, headers),
  ]);
  let open = 0;
  const checks = Array.from({ length: 64 }, async (_, index) => {
    open++;
    const { statusCode } = await check(index);
    open--;
    return statusCode;
  });
  const [created, time] = await timed(() =>
    post('/users', { email: 'in-between@example.com', password: 'another good long password' }, headers),
  );
  t.equal(created.statusCode, 200, created.body);
  t.ok(open > 0, `the checks still run after ${time} ms`);
  const statuses = await Promise.all(checks);
  t.ok(statuses.includes(200) && statuses.includes(503), 'the queue of checks is bounded');
});

t.test('a check evaluates the first 64 characters', async (t) => {
  const acceptable = async (password: string) =>
    (await post('/auth/password/check', { password })).json().data.acceptable;
  t.equal(await acceptable(`${'a'.repeat(64)}dGhp8c7Qz2`), false);
  t.equal(await acceptable(`${'a'.repeat(54)}dGhp8c7Qz2`), true);
});

t.test('files are sent in the best form that a client accepts, and cached', async (t) => {
  const page = (await get('/docs')).body;
  const [, script = ''] = /src="([^"]*scalar\.js[^"]*)"/.exec(page) ?? [];
  const [, asset = ''] = /src="([^"]*sign-in\.js[^"]*)"/.exec((await get('/account/login')).body) ?? [];
  for (const url of [script, asset, '/openapi.json', '/openapi.yaml']) {
    const plain = await get(url);
    t.equal(plain.headers['content-encoding'], undefined);
    t.match(plain.headers.vary, 'Accept-Encoding');
    const forms: Record<string, string | undefined> = {
      'gzip, deflate, br, zstd': 'br',
      'br;q=1.0, gzip;q=0.5': 'br',
      BR: 'br',
      gzip: 'gzip',
      'gzip, br;q=0': 'gzip',
      '*': 'br',
      '*, br;q=0': 'gzip',
      'gzip;q=0, br; q=0.000': undefined,
      '*;q=0': undefined,
      identity: undefined,
      'xbr, brotli': undefined,
      '': undefined,
    };
    const tags = new Map<string | undefined, string>();
    for (const [accepted, form] of Object.entries(forms)) {
      const answer = await request({ url, headers: { 'accept-encoding': accepted } });
      const { etag, ...headers } = answer.headers;
      t.equal(headers['content-encoding'], form, `${url} ${accepted}`);
      const body =
        form === 'br'
          ? brotliDecompressSync(answer.rawPayload)
          : form === 'gzip'
            ? gunzipSync(answer.rawPayload)
            : answer.rawPayload;
      t.ok(body.equals(plain.rawPayload), `${url} ${accepted}: the same content`);
      if (form !== undefined) t.ok(answer.rawPayload.length < plain.rawPayload.length / 2.5, `${url} ${form}`);
      tags.set(form, String(etag));
      const known = await request({ url, headers: { 'accept-encoding': accepted, 'if-none-match': String(etag) } });
      t.strictSame([known.statusCode, known.body, known.headers.etag], [304, '', etag]);
      t.equal(
        headers['cache-control'],
        url.includes('?v=') ? 'public, max-age=31536000, immutable' : 'public, no-cache',
      );
    }
    t.equal(new Set(tags.values()).size, 3, 'each form has its own ETag');
  }
});
