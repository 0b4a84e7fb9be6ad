// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: tries hundreds of cases

import { METHODS } from 'node:http';
import type { InjectOptions } from 'fastify';
import t from 'tap';
import { faultOfError, isContractError } from '../helpers/openapi/contract-error.js';
import { startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';

/** The existing paths, with the methods of each. */
const operations: Record<string, string[]> = {
  '/auth/login': ['POST'],
  '/auth/logout': ['POST'],
  '/auth/refresh': ['POST'],
  // DELETE matches the path of an item with the id `me`, which no user has.
  '/users/me': ['GET', 'HEAD', 'PATCH', 'DELETE'],
  '/users/me/track/page': ['PATCH'],
  '/users': ['GET', 'HEAD', 'SEARCH', 'POST', 'PATCH', 'DELETE'],
  '/settings': ['GET', 'HEAD', 'PATCH'],
  '/server/ping': ['GET', 'HEAD'],
  '/server/info': ['GET', 'HEAD'],
  '/server/health': ['GET', 'HEAD'],
  '/openapi.json': ['GET', 'HEAD'],
  '/openapi.yaml': ['GET', 'HEAD'],
};

const asMethod = (method: string) => method as NonNullable<InjectOptions['method']>;

t.test('routing', async (t) => {
  const { app, get, post, request } = await startTestApp(t);

  t.test('an unsupported method, or any method on an unknown path, returns ROUTE_NOT_FOUND', async (t) => {
    // CONNECT has no path; another test sends it over a real socket.
    for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
      for (const [url, methods] of [...Object.entries(operations), ['/', ['GET', 'HEAD']], ['/nope', []]] as const) {
        if (methods.some((known) => known === method)) continue;
        const response = await app.inject({ method: asMethod(method), url: `${url}?a=b` });
        const fault = faultOfError(response, method !== 'HEAD');
        if (fault !== undefined) t.fail(`${method} ${url}: ${fault}`);
        else t.equal(response.statusCode, 404, `${method} ${url}`);
        if (method === 'HEAD') continue;
        t.strictSame(response.json().errors[0].extensions, { code: 'ROUTE_NOT_FOUND', path: url });
      }
    }
  });

  t.test('an unknown route returns ROUTE_NOT_FOUND, whatever the request contains', async (t) => {
    for (const payload of ['{', 'null', '{"__proto__":1}', '\u0000', 'x'.repeat(2_000_000)]) {
      for (const type of ['application/json', 'text/plain', 'a/b/c']) {
        for (const [method, url] of [
          ['POST', '/nope'],
          ['PUT', '/auth/login'],
          ['DELETE', '/users/me/track/page'],
          ['PATCH', '/server/ping'],
        ] as const) {
          const response = await request({ method, url, headers: { 'content-type': type }, payload });
          isContractError(t, response, 'ROUTE_NOT_FOUND', `${method} ${url} ${type} ${payload.slice(0, 20)}`);
        }
      }
    }
  });

  t.test('a trailing slash is accepted', async (t) => {
    t.equal((await post('/auth/login/', administrator)).statusCode, 200);
    t.equal((await get('/server/ping/')).body, 'pong');
    t.equal((await get('/server/ping/?a=b')).body, 'pong');
    isContractError(t, await get('/users/me/'), 'INVALID_CREDENTIALS', '/users/me/');
  });

  t.test('HEAD works like GET, without the body', async (t) => {
    for (const url of Object.keys(operations).filter((path) => operations[path]?.includes('HEAD'))) {
      const [head, full] = [await request({ method: 'HEAD', url }), await get(url)];
      t.equal(head.statusCode, full.statusCode, url);
      t.equal(head.headers['content-type'], full.headers['content-type']);
      t.equal(head.body, '');
      t.ok(head.headers['x-request-id']);
    }
  });

  t.test('an invalid id is treated like one that does not exist', async (t) => {
    for (const key of [
      'me;a=b',
      'me%00',
      'me%2f',
      'me%20',
      'me.json',
      'me%3Ffields=id',
      'constructor',
      '__proto__',
      'a'.repeat(9_000),
    ]) {
      isContractError(t, await get(`/users/${key}`), 'FORBIDDEN', key.slice(0, 60));
    }
  });

  t.test('almost correct paths are unknown routes', async (t) => {
    for (const url of [
      '/USERS/ME',
      '/users//me',
      '//users/me',
      '///',
      '/users/me//',
      '/users%2fme',
      '/%00',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/..;/users/me',
      '/*',
      '/:id',
      '/auth/login/unknown',
      '/__proto__',
      '/constructor',
      '/docs/nope',
      '/docs/static/nope.js',
      '/docs/static/..%2f..%2fpackage.json',
      '/docs/static/%2e%2e%2f%2e%2e%2fpackage.json',
      `/${'a'.repeat(9_000)}`,
      `/${'a/'.repeat(4_000)}b`,
    ]) {
      const response = await get(url);
      isContractError(t, response, 'ROUTE_NOT_FOUND', url.slice(0, 60));
      t.type(response.json().errors[0].extensions.path, 'string');
    }
    for (const url of ['/users/%6de', '/%75sers/me']) {
      isContractError(t, await get(url), 'INVALID_CREDENTIALS', `${url} is /users/me`);
    }
  });

  t.test('the error repeats the requested path, without the query', async (t) => {
    const response = await get('/no%20such/<b>"path"?access_token=secret');
    t.strictSame(response.json().errors[0].extensions.path, '/no%20such/%3Cb%3E%22path%22');
    t.notMatch(response.body, 'secret');
  });

  t.test('malformed URLs are rejected', async (t) => {
    for (const url of ['/%zz', '/%', '/%c3%28', '/users/%e0%a4%a', '/users/me%ff', '/%ed%a0%80']) {
      isContractError(t, await get(url), 'INVALID_PAYLOAD', url);
    }
  });

  t.test('malformed queries are ignored or rejected', async (t) => {
    const { json } = await post('/auth/login', administrator);
    const authorization = `Bearer ${json().data.access_token}`;
    const brackets = (depth: number) => `fields${'[a]'.repeat(depth)}=b`;
    for (const [query, status] of [
      ['%', 200],
      ['%zz=%zz', 200],
      ['fields=%zz', 200],
      ['fields=%00', 200],
      ['fields=%ff%fe', 200],
      ['fields=%ed%a0%80', 200],
      ['&&&&====&', 200],
      ['?????', 200],
      ['fields', 200],
      ['fields=', 200],
      ['fields[]=', 200],
      ['fields[]=id&fields[]=email', 200],
      ['fields=id&fields=email', 200],
      ['fields[0]=id', 200],
      ['fields[a]=id', 400],
      ['fields[toString]=id', 400],
      ['fields[][a]=id', 400],
      ['fields[0][0]=id', 400],
      ['fields[99999999]=id', 400],
      ['fields[length]=100000', 400],
      [brackets(1), 400],
      [brackets(11), 400],
      [brackets(1_000), 400],
      ['fields[__proto__]=id', 400],
      ['__proto__[fields]=id', 200],
      ['__proto__=id&constructor=x&hasOwnProperty=y', 200],
      ['constructor[prototype][fields]=id', 200],
      [Array.from({ length: 10_000 }, (_, index) => `a${index}=${index}`).join('&'), 200],
      [`${'a=b&'.repeat(10_000)}`, 200],
      [`fields=${'id,'.repeat(900)}`, 200],
      [`fields=${'id,'.repeat(5_000)}`, 400],
      [`a=${'x'.repeat(200_000)}`, 200],
      [`${'[a]'.repeat(10_000)}=x`, 200],
      [`${'a['.repeat(10_000)}=x`, 200],
    ] as const) {
      const response = await get(`/users/me?${query}`, { authorization });
      const what = query.slice(0, 60);
      if (status === 200) t.equal(response.statusCode, 200, `${what} → ${response.body.slice(0, 100)}`);
      else isContractError(t, response, 'INVALID_QUERY', what);
    }
    t.equal(({} as { fields?: unknown }).fields, undefined, 'no object has a new property');
  });
});

t.test('x-request-id', async (t) => {
  const { get, post, request } = await startTestApp(t);
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

  t.test('every response has a unique id', async (t) => {
    const responses = [
      await get('/server/ping'),
      await get('/server/ping'),
      await get('/server/info'),
      await get('/server/health'),
      await get('/users/me'),
      await get('/nope'),
      await get('/%zz'),
      await get('/docs'),
      await get('/openapi.json'),
      await post('/auth/login', administrator),
      await post('/auth/login', {}),
      await request({ method: 'POST', url: '/auth/logout', headers: { cookie: 'gatehouse_refresh_token=x' } }),
      await request({
        method: 'POST',
        url: '/auth/login',
        headers: { 'content-type': 'application/json' },
        payload: '{',
      }),
      await request({ method: 'OPTIONS', url: '/server/ping' }),
    ];
    const ids = responses.map(({ headers }) => String(headers['x-request-id']));
    for (const id of ids) t.match(id, uuid);
    t.equal(new Set(ids).size, ids.length);
  });

  t.test('the id of a trusted proxy is kept on every kind of response', async (t) => {
    const { get } = await startTestApp(t, { TRUST_PROXY: 'loopback' });
    for (const id of ['a', 'A-b_c.9', '0'.repeat(128), '01J9ZQ3W6Y8K2V5X7B4N1M0P9R']) {
      for (const url of ['/server/ping', '/nope', '/%zz', '/users/me']) {
        t.equal((await get(url, { 'x-request-id': id })).headers['x-request-id'], id, `${url} ${id}`);
      }
    }
  });

  t.test('the id of any other client is replaced', async (t) => {
    const id = 'chosen-by-the-client';
    const services = new Map<string, ReturnType<typeof startTestApp>>();
    const answered = async (TRUST_PROXY: string, remoteAddress: string) => {
      const service = services.get(TRUST_PROXY) ?? startTestApp(t, { TRUST_PROXY });
      services.set(TRUST_PROXY, service);
      const { request } = await service;
      const headers = { 'x-request-id': id, 'x-forwarded-for': '10.0.0.1' };
      return (await request({ method: 'GET', url: '/server/ping', remoteAddress, headers })).headers['x-request-id'];
    };
    for (const [setting, address] of [
      ['false', '127.0.0.1'],
      ['0', '127.0.0.1'],
      ['10.0.0.0/8', '192.0.2.1'],
      ['10.0.0.0/8', '::ffff:192.0.2.1'],
      ['10.0.0.0/8,2001:db8::/32', '2001:db9::1'],
      ['loopback', '10.0.0.1'],
      ['10.0.0.1', '10.0.0.2'],
    ] as const) {
      t.match(String(await answered(setting, address)), uuid, `${setting}: ${address}`);
    }
    for (const [setting, address] of [
      ['true', '192.0.2.1'],
      ['1', '192.0.2.1'],
      ['10.0.0.0/8', '10.1.2.3'],
      ['10.0.0.0/8', '::ffff:10.1.2.3'],
      ['10.0.0.1, 2001:db8::/32', '2001:db8::7'],
      ['linklocal', 'fe80::1%eth0'],
      ['uniquelocal', '172.16.0.9'],
      ['loopback', '::1'],
    ] as const) {
      t.equal(await answered(setting, address), id, `${setting}: ${address}`);
    }
  });

  t.test('an id that could forge a log line is replaced', async (t) => {
    const { get } = await startTestApp(t, { TRUST_PROXY: 'true' });
    for (const id of ['', ' ', 'a b', '"', "'", '{}', '<script>', 'a\tb', 'é', '\u001b[31m', '0'.repeat(129), 'a,b']) {
      for (const url of ['/server/ping', '/nope', '/%zz']) {
        const answered = (await get(url, { 'x-request-id': id })).headers['x-request-id'];
        t.match(String(answered), uuid, `${url} ${JSON.stringify(id).slice(0, 40)}`);
      }
    }
  });
});
