// @suite not-everyday: tries every operation

import { sql } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import type { ErrorCode } from '../../schemas/errors.js';
import { refused } from '../helpers/http/refusals.js';
import { adminToken, asAdmin } from '../helpers/http/writing.js';
import { allOperations, configOf, type Operation } from '../helpers/openapi/operations.js';
import { bearer, cutDatabase, startTestApp, type TestApp } from '../helpers/service/app.js';
import { accessTokenKey, decodeJwt, signJwt } from '../helpers/tokens/jwt.js';
import { assertUnchanged, createPolicy } from '../helpers/users/rights.js';
import { logIn } from '../helpers/users/sessions.js';
import { createUserWithToken } from '../helpers/users/users.js';

/** Only these operations are tested, if the variable is set: one or more `operationId`s, separated by commas. */
const chosen = process.env.OPERATION?.split(',');
const choose = (all: Operation[]) => all.filter(({ operationId }) => chosen?.includes(operationId) ?? true);
const operations = choose(allOperations());
if (chosen) t.equal(operations.length, chosen.length, `${process.env.OPERATION} are operations in openapi.yaml`);

interface Presented {
  query?: string;
  headers: Record<string, string>;
}

/** Presents a credential to every operation, one after the other. */
async function presentEverywhere(
  { request }: TestApp,
  { query = '', headers }: Presented,
  see: (response: LightMyRequestResponse, operationId: string) => void,
) {
  for (const { operationId, method, url } of operations) {
    see(await request({ method, url: `${url}${query}`, headers }), operationId);
  }
}

t.test('every operation rejects an unusable credential', async (t) => {
  const service = await startTestApp(t);
  const { app, clock, post } = service;
  const someone = await createUserWithToken(app);
  const login = await post('/auth/login', { email: someone.email, password: someone.password });
  const { access_token: access } = login.json().data;
  const now = Math.floor(clock.now().getTime() / 1000);
  const expired = signJwt(accessTokenKey(app), { ...decodeJwt(access).claims, iat: now - 1000, exp: now - 10 });

  const unusable: Partial<Record<ErrorCode, Presented>> = {
    INVALID_PAYLOAD: { query: `?access_token=${access}`, headers: bearer(access) },
    INVALID_CREDENTIALS: { headers: bearer('a-token-that-nobody-has') },
    TOKEN_EXPIRED: { headers: bearer(expired) },
    INVALID_TOKEN: { headers: bearer(`${access.slice(0, -10)}AAAAAAAAAA`) },
  };
  for (const [code, presented] of Object.entries(unusable)) {
    await presentEverywhere(service, presented, (response, operationId) => {
      refused(t, response, code as ErrorCode, operationId);
    });
  }
});

t.test('every response is only for its caller, and not cacheable (CVE-2024-45596, GHSA-c6w9-5g5j-jh2p)', async (t) => {
  const service = await startTestApp(t);
  const { app, request } = service;
  const policy = await createPolicy(app, { appAccess: true });
  const [ada, bob] = [
    await createUserWithToken(app, { policies: [policy] }),
    await createUserWithToken(app, { policies: [policy] }),
  ];
  const askers = [
    { headers: {}, others: [ada, bob] },
    { headers: ada.headers, others: [bob] },
    { headers: bob.headers, others: [ada] },
    { headers: ada.headers, others: [bob] },
  ];
  for (const { operationId, method, url } of choose(allOperations({ id: ada.id }))) {
    for (const { headers, others } of askers) {
      const answer = await request({ method, url, headers });
      // Public keys are the same for every caller, and may be cached.
      const expected = operationId === 'readKeySet' ? 'public, max-age=300' : 'no-store';
      t.equal(answer.headers['cache-control'], expected, `${operationId}: ${answer.statusCode}`);
      for (const { id, email } of others) {
        t.notOk(answer.body.includes(email) || (answer.body.includes(id) && !url.includes(id)), operationId);
      }
    }
  }
});

t.test(
  'every operation reads a body identically, however its content type is written (CVE-2026-25223, CVE-2026-33806)',
  async (t) => {
    const service = await startTestApp(t, { ADMIN_TOKEN: adminToken });
    const { app, request } = service;
    const spellings = [
      'APPLICATION/JSON',
      ' application/json',
      'application/json\t',
      'application/json ;charset=utf-8',
      'application/json\t; charset=utf-8',
      'application/json;charset=utf-8\t',
    ];
    let refusals = 0;
    await assertUnchanged(t, app, 'bodies that match no schema', async () => {
      for (const { operationId, method, url, fields, hasBody } of operations) {
        if (!hasBody) continue;
        const payload = JSON.stringify(Object.fromEntries([...fields.keys()].map((name) => [name, { $ne: null }])));
        const answerTo = async (type: string) => {
          const { statusCode, body } = await request({
            method,
            url,
            payload,
            headers: { ...asAdmin, 'content-type': type },
          });
          return `${statusCode} ${body}`;
        };
        const plain = await answerTo('application/json');
        if (plain.startsWith('400 ')) refusals++;
        for (const type of spellings) t.equal(await answerTo(type), plain, `${operationId}: ${JSON.stringify(type)}`);
      }
    });
    t.ok(chosen || refusals > 25, `${refusals} operations reject it`);
  },
);

/** Operations that can change something. A page on another site must not be able to trigger them through a browser. */
const changing = operations.filter(({ method }) => (method as string) !== 'GET');

t.test(
  'no operation that changes something accepts a cookie from another site or a form (CVE-2022-41919, CVE-2023-27495)',
  async (t) => {
    const service = await startTestApp(t, { PUBLIC_URL: 'https://accounts.example.com' });
    const { app, request } = service;
    const sessions = await Promise.all((['cookie', 'session'] as const).map((mode) => logIn(service, mode)));
    const json = { 'content-type': 'application/json' };
    const strange: Record<string, string>[] = [
      { ...json, origin: 'https://evil.example' },
      { ...json, origin: 'https://blog.example.com' },
      { ...json, origin: 'null' },
      { ...json, 'sec-fetch-site': 'cross-site' },
      { ...json, 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'multipart/form-data; boundary=x' },
      { 'content-type': 'text/plain' },
      { 'content-type': 'text/plain;charset=UTF-8' },
    ];
    t.ok(chosen || changing.length > 40, `${changing.length} operations`);
    await assertUnchanged(t, app, 'requests from other sites', async () => {
      for (const { operationId, method, url } of changing) {
        for (const { carrier } of sessions) {
          for (const headers of strange) {
            const answer = await request({ method, url, payload: '{}', headers: { ...carrier.headers, ...headers } });
            refused(t, answer, 'FORBIDDEN', `${operationId}: ${JSON.stringify(headers)}`);
            if (answer.headers['set-cookie']) t.fail(`${operationId}: ${answer.headers['set-cookie']}`);
          }
        }
      }
    });
  },
);

t.test('every operation still works after a malformed content type (CVE-2022-39288)', async (t) => {
  const service = await startTestApp(t);
  const { headers } = await createUserWithToken(service.app);
  const types = ['/', 'application', 'application/', '/json', ';', 'a/b/c', ' ', '"', 'text/plain; =', '\u00e9/\u00ff'];
  for (const { operationId, method, url } of operations) {
    for (const type of types) {
      const response = await service.request({
        method,
        url,
        headers: { ...headers, 'content-type': type },
        ...(method === 'GET' ? {} : { payload: '{}' }),
      });
      if (response.statusCode >= 500) t.fail(`${operationId}: ${JSON.stringify(type)}: ${response.body}`);
    }
  }
  t.equal((await service.get('/server/ping')).statusCode, 200);
});

t.test('every operation still works after malformed credentials (GHSA-xmf8-cvqr-rfgj)', async (t) => {
  const service = await startTestApp(t);
  const rubbish = ['', ' ', 'Bearer', 'Bearer ', 'Bearer %', 'Bearer %zz', 'Bearer a.b.c', 'Basic YTpi', '"', '\u00e9'];
  for (const { operationId, method, url } of operations) {
    for (const text of rubbish) {
      for (const headers of [{ authorization: text }, { cookie: `gatehouse_session_token=${text}; ${text}` }]) {
        const { statusCode, body } = await service.request({ method, url, headers });
        if (statusCode >= 500) t.fail(`${operationId}: ${JSON.stringify(headers)}: ${body}`);
      }
    }
  }
  t.equal((await service.get('/server/ping')).statusCode, 200);
});

t.test('until a required second factor is set up, only the operations that set it up are open', async (t) => {
  const service = await startTestApp(t);
  const policy = await createPolicy(service.app, { enforceTfa: true, adminAccess: true });
  const { headers } = await createUserWithToken(service.app, { policies: [policy] });
  await presentEverywhere({ ...service }, { headers }, (response, operationId) => {
    const { code, reason } = response.body === '' ? {} : (response.json().errors?.[0]?.extensions ?? {});
    const isClosed = code === 'FORBIDDEN' && /two-factor/.test(reason);
    t.equal(isClosed, !configOf(service.app, operationId).beforeTfa, operationId);
  });
});

t.test(
  'every operation returns INTERNAL_SERVER_ERROR if the database schema is broken (GHSA-8fpg-xm3f-6cx3)',
  async (t) => {
    const service = await startTestApp(t);
    const { headers } = await createUserWithToken(service.app);
    await service.app.db.execute(sql`alter table users rename to put_away`);
    await presentEverywhere(service, { headers }, (response, operationId) => {
      refused(t, response, 'INTERNAL_SERVER_ERROR', operationId);
    });
  },
);

t.test('every operation returns SERVICE_UNAVAILABLE with Retry-After if the database is unavailable', async (t) => {
  const service = await startTestApp(t);
  const { headers } = await createUserWithToken(service.app);
  await cutDatabase(service);
  await presentEverywhere(service, { headers }, (response, operationId) => {
    refused(t, response, 'SERVICE_UNAVAILABLE', operationId);
    t.equal(response.headers['retry-after'], '1', operationId);
  });
});

t.test('every operation returns REQUESTS_EXCEEDED with Retry-After if the rate limit is exceeded', async (t) => {
  const service = await startTestApp(t, {
    RATE_LIMITER_ENABLED: 'true',
    RATE_LIMITER_POINTS: '1',
    RATE_LIMITER_DURATION: '3600',
  });
  await service.get('/server/info');
  // With a credential, because the probes of a load balancer, which have none, are exempt.
  await presentEverywhere(service, { headers: bearer('a-token') }, (response, operationId) => {
    refused(t, response, 'REQUESTS_EXCEEDED', operationId);
    t.ok(Number(response.headers['retry-after']) > 0, operationId);
  });
});
