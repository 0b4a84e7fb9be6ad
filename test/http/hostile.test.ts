// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: tries hundreds of cases

import fc from 'fast-check';
import type { InjectOptions } from 'fastify';
import t from 'tap';
import { faultOfError, isContractError } from '../helpers/openapi/contract-error.js';
import { codeOf, startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';

// All tests share one app, because no request may affect the response to a later one.
const { get, post, request } = await startTestApp(t, { TRUST_PROXY: 'true' });

t.test('malformed cookies', async (t) => {
  const login = await post('/auth/login', { ...administrator, mode: 'session' });
  const session = String(login.headers['set-cookie']).split(';', 1)[0] ?? '';

  t.test('malformed cookies are ignored, with or without a valid cookie among them', async (t) => {
    for (const rubbish of [
      '',
      ';',
      ';;;;',
      '=',
      '==',
      '=a',
      'a',
      'a=',
      'a="',
      'a="b',
      'a="b"c"',
      'a=%',
      'a=%zz',
      'a=%00',
      'a=%c3%28',
      'a=é\u00ff',
      'a=b,c=d',
      '__proto__=a',
      'constructor=a; toString=b; hasOwnProperty=c',
      '$Version=1; $Path=/',
      ' '.repeat(1_000),
      Array.from({ length: 1_000 }, (_, index) => `name${index}=value${index}`).join('; '),
      `a=${'b'.repeat(100_000)}`,
    ]) {
      const what = JSON.stringify(rubbish).slice(0, 50);
      isContractError(t, await get('/users/me', { cookie: rubbish }), 'INVALID_CREDENTIALS', `${what} alone`);
      t.equal((await get('/server/info', { cookie: rubbish })).statusCode, 200, `${what} on a public route`);
      const behind = await get('/users/me', { cookie: `${rubbish}; ${session}` });
      t.ok(behind.statusCode === 200 || codeOf(behind) === 'INVALID_CREDENTIALS', `${what} before a valid one`);
      t.equal(
        (await get('/users/me', { cookie: `${session}; ${rubbish}` })).statusCode,
        200,
        `${what} after a valid one`,
      );
    }
  });

  t.test('a malformed credential cookie is treated as an unusable credential', async (t) => {
    for (const value of [
      'x',
      '"x"',
      '%zz',
      '%00',
      '%22',
      '\u00e9',
      'a.b.c',
      '..',
      'x'.repeat(10_000),
      '[object Object]',
    ]) {
      const headers = { cookie: `gatehouse_session_token=${value}` };
      const response = await get('/users/me', headers);
      isContractError(t, response, 'INVALID_CREDENTIALS', value.slice(0, 20));
      t.match(response.headers['set-cookie'], 'gatehouse_session_token=;', 'it is cleared');
      const open = await get('/server/info', headers);
      t.equal(open.statusCode, 200, 'it does not block a public route');
      t.match(open.headers['set-cookie'], 'gatehouse_session_token=;', 'the public route clears it, too');
    }
    for (const value of ['', '   ']) {
      const { statusCode } = await get('/server/info', { cookie: `gatehouse_session_token=${value}` });
      t.equal(statusCode, 200, `${value} is treated as missing`);
    }
    for (const mode of ['cookie', 'session']) {
      for (const value of ['x', '%zz', '%00', '\u00e9', '"x"', 'a.b.c', 'x'.repeat(10_000)]) {
        const name = mode === 'cookie' ? 'gatehouse_refresh_token' : 'gatehouse_session_token';
        const response = await request({
          method: 'POST',
          url: '/auth/refresh',
          headers: { cookie: `${name}=${value}` },
          payload: { mode },
        });
        isContractError(t, response, 'INVALID_CREDENTIALS', `${mode} ${value.slice(0, 20)}`);
      }
    }
  });

  t.test('duplicate cookies never grant more than one of them would', async (t) => {
    for (const cookie of [
      `${session}; gatehouse_session_token=x`,
      `gatehouse_session_token=x; ${session}`,
      `${session}; ${session}`,
    ]) {
      const response = await get('/users/me', { cookie });
      t.ok(response.statusCode === 200 || codeOf(response) === 'INVALID_CREDENTIALS', cookie.slice(0, 40));
    }
  });
});

t.test('malformed headers', async (t) => {
  const good = await get('/server/info');

  t.test('a malformed Authorization header is ignored or rejected (GHSA-xmf8-cvqr-rfgj)', async (t) => {
    for (const value of [
      '',
      ' ',
      'Bearer',
      'Bearer ',
      'Bearer  x',
      'Bearer a b',
      'Basic YTpi',
      'x',
      'BearerX y',
      '"',
    ]) {
      t.equal((await get('/server/info', { authorization: value })).body, good.body, `${value} is not a token`);
      isContractError(t, await get('/users/me', { authorization: value }), 'INVALID_CREDENTIALS', value);
    }
    for (const token of [
      'x',
      '.',
      '..',
      'a.b.c',
      '%00',
      '\u00e9',
      "'",
      '"',
      '{}',
      'null',
      'undefined',
      'x'.repeat(100_000),
    ]) {
      const response = await get('/server/info', { authorization: `Bearer ${token}` });
      isContractError(t, response, 'INVALID_CREDENTIALS', token.slice(0, 20));
    }
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    for (const [header, claims] of [
      [{ alg: 'none' }, { iss: 'gatehouse' }],
      [{ alg: 'HS256' }, { iss: 'gatehouse', id: { a: 1 } }],
      [{ alg: ['HS256'] }, { iss: 'gatehouse' }],
      [
        { alg: 'HS256', typ: 'at+jwt', crit: ['x'] },
        { iss: 'gatehouse', exp: 'never' },
      ],
      [null, { iss: 'gatehouse' }],
      [{}, { iss: 'gatehouse', __proto__: 1 }],
    ]) {
      for (const signature of ['', 'x', part({})]) {
        const response = await get('/server/info', {
          authorization: `Bearer ${part(header)}.${part(claims)}.${signature}`,
        });
        const fault = faultOfError(response);
        t.equal(fault, undefined, JSON.stringify(header));
        t.match(codeOf(response), /^INVALID_(TOKEN|CREDENTIALS)$/);
      }
    }
  });

  t.test('malformed forwarded headers from trusted proxies are ignored', async (t) => {
    for (const value of [
      '',
      ',',
      ', ,,',
      'rubbish',
      '1.2.3.4.5',
      '999.999.999.999',
      '1.2.3.4, rubbish',
      'rubbish, 1.2.3.4',
      '::ffff:1.2.3.4',
      '[::1]:80',
      'fe80::1%eth0',
      `fe80::1%${'x'.repeat(200)}`,
      '1.2.3.4:80',
      "'; drop table users; --",
      '\u00e9',
      'unknown',
      '_hidden',
      'x'.repeat(10_000),
      '1.2.3.4, '.repeat(1_000),
    ]) {
      for (const name of ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'forwarded', 'host']) {
        const response = await get('/server/info', { [name]: value });
        t.equal(response.body, good.body, `${name}: ${value.slice(0, 30)}`);
      }
    }
  });

  t.test('malformed values of other headers cause no error', async (t) => {
    for (const name of [
      'accept',
      'accept-encoding',
      'accept-language',
      'user-agent',
      'origin',
      'referer',
      'range',
      'te',
    ]) {
      for (const value of ['', '\u00e9', ';;;,,,', 'x'.repeat(50_000), '*/*;q=NaN', 'bytes=9-1', "' or 1=1"]) {
        t.equal((await get('/server/info', { [name]: value })).body, good.body, `${name}: ${value.slice(0, 20)}`);
      }
    }
    for (const range of ['bytes=999999999-', 'bytes=a-b', 'bytes=1-0', `bytes=${'0-1,'.repeat(1_000)}`]) {
      const { statusCode } = await get('/docs/style.css', { range });
      t.ok(statusCode < 500, `a range of a file: ${range.slice(0, 30)} → ${statusCode}`);
    }
  });
});

t.test('a login works with any forwarded address and any user agent', async (t) => {
  for (const headers of [
    { 'x-forwarded-for': 'rubbish' },
    { 'x-forwarded-for': `fe80::1%${'x'.repeat(200)}` },
    { 'x-forwarded-for': '2001:db8:85a3:8d3:1319:8a2e:370:7348' },
    { 'x-forwarded-for': 'x'.repeat(5_000) },
    { 'user-agent': 'x'.repeat(5_000) },
    { 'user-agent': 'é'.repeat(1_000) },
    { 'user-agent': '' },
    { 'user-agent': '😀'.repeat(200) },
    { 'user-agent': `${'x'.repeat(254)}😀` },
  ]) {
    const response = await request({ method: 'POST', url: '/auth/login', headers, payload: administrator });
    t.equal(response.statusCode, 200, `${JSON.stringify(headers).slice(0, 60)} → ${response.body.slice(0, 100)}`);
  }
});

/** A text that may contain anything, and often something known to cause trouble. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ maxLength: 40 }),
  fc.constantFrom(
    '\u0000',
    '\ud800',
    '__proto__',
    'constructor',
    "'; --",
    '%00',
    '../..',
    'json',
    'session',
    'cookie',
    administrator.email,
    'a.b.c',
    '*',
    'id',
    'password',
    '',
  ),
);

/** Printable text with one byte per character, as allowed in a header. */
const headerText = fc.oneof(
  fc.string({
    unit: fc
      .integer({ min: 0x20, max: 0xff })
      .filter((code) => code !== 0x7f)
      .map((code) => String.fromCharCode(code)),
    maxLength: 60,
  }),
  fc.constantFrom(
    'Bearer x',
    'Bearer a.b.c',
    'application/json',
    'gatehouse_session_token=x',
    'gatehouse_refresh_token=x',
  ),
);

const json = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.dictionary(
    fc.constantFrom('email', 'password', 'mode', 'otp', 'refresh_token', 'x'),
    fc.oneof(text, fc.jsonValue()),
  ),
);

const body = fc.oneof(
  json.map((value) => JSON.stringify(value) ?? ''),
  fc.constantFrom('{"refresh_token":"x"}', JSON.stringify({ ...administrator, password: 'x' })),
  text,
  // A truncated document.
  fc.tuple(json, fc.nat(200)).map(([value, cut]) => JSON.stringify(value).slice(0, cut)),
  fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
);

const knownRoute = fc.constantFrom<[method: 'GET' | 'POST', path: string]>(
  ['POST', '/auth/login'],
  ['POST', '/auth/refresh'],
  ['POST', '/auth/logout'],
  ['GET', '/users/me'],
  ['GET', '/server/info'],
  ['GET', '/server/health'],
  ['GET', '/docs/static/nope'],
);

// `inject` reads the start of a path with two slashes as a host, so such a request never arrives.
const path = fc
  .oneof(
    fc.webPath(),
    text.map((part) => encodeURIComponent(part.toWellFormed())),
    fc.string({ unit: fc.constantFrom('/', '%', '.', 'a', '0', ';', ':', '*', '2', 'f'), maxLength: 20 }),
  )
  .map((part) => `/${part.replace(/^[\\/]+/, '')}`);

const anyRoute = fc.tuple(
  fc.constantFrom(
    'GET' as const,
    'POST' as const,
    'PUT' as const,
    'PATCH' as const,
    'DELETE' as const,
    'OPTIONS' as const,
  ),
  fc.oneof(
    path,
    knownRoute.map(([, known]) => known),
  ),
);

const query = fc.oneof(
  fc.constant(''),
  fc
    .string({ unit: fc.constantFrom('a', '[', ']', '=', '&', '%', '.', '0', ','), maxLength: 30 })
    .map((part) => `?${part}`),
  fc
    .tuple(fc.constantFrom('fields', 'fields[]', 'fields[a]', 'access_token', '__proto__[a]', 'filter', 'x'), text)
    .map(([name, value]) => `?${name}=${encodeURIComponent(value.toWellFormed())}`),
);

const headers = fc.dictionary(
  fc.constantFrom(
    'authorization',
    'cookie',
    'x-request-id',
    'x-forwarded-for',
    'user-agent',
    'accept',
    'range',
    'host',
    'expect',
  ),
  headerText,
  { maxKeys: 4 },
);

const requests = fc
  .record({
    route: fc.oneof({ arbitrary: knownRoute, weight: 4 }, { arbitrary: anyRoute, weight: 1 }),
    query,
    headers,
    contentType: fc.oneof(
      { arbitrary: fc.constant('application/json'), weight: 5 },
      headerText,
      fc.constant(undefined),
    ),
    payload: body,
  })
  .map(
    ({ route: [method, url], query: end, headers: given, contentType, payload }): InjectOptions => ({
      method,
      url: url + end,
      headers: contentType === undefined ? given : { ...given, 'content-type': contentType },
      payload,
    }),
  );

t.test('three thousand random requests get valid responses', async (t) => {
  const statuses = new Map<number, number>();
  const result = await fc.check(
    fc.asyncProperty(requests, async (options) => {
      const response = await request(options);
      const { statusCode } = response;
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
      if (statusCode >= 400) {
        const fault = faultOfError(response);
        if (fault !== undefined) throw new Error(fault);
      } else if (!response.headers['x-request-id']) throw new Error('x-request-id is missing');
    }),
    { numRuns: 3_000, endOnFailure: false },
  );
  // The report contains the seed: `fc.check(…, { seed, path })` repeats the requests.
  if (result.failed) t.fail(fc.defaultReportMessage(result) ?? 'a request got a wrong response');
  t.comment([...statuses].map(([status, count]) => `${status}: ${count}`).join(', '));
  for (const status of [200, 204, 400, 401, 404]) t.ok(statuses.has(status), `some responses were ${status}`);
  t.equal((await get('/server/health')).statusCode, 200, 'the service is still healthy');
});
