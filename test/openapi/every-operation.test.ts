import { sql } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { beforeTfa } from '../../routes/index.js';
import type { ErrorCode } from '../../schemas/errors.js';
import { bearer, startTestApp, type TestApp } from '../helpers/app.js';
import { committedDocument } from '../helpers/document.js';
import { accessTokenKey, decodeJwt, signJwt } from '../helpers/jwt.js';
import { createPolicy } from '../helpers/records.js';
import { refused } from '../helpers/refusals.js';
import { tokenHolder } from '../helpers/rights.js';

/** Every operation of the document, with a path that leads to it. */
const operations = Object.entries(committedDocument().paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId }]) => ({
    operationId,
    method: method.replace(/^x-/, '').toUpperCase() as 'GET',
    url: path.replace('{provider}', 'nobody').replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000'),
  })),
);

interface Presented {
  query?: string;
  headers: Record<string, string>;
}

/** Presents something to every operation, one after the other. */
async function presentEverywhere(
  { request }: TestApp,
  { query = '', headers }: Presented,
  see: (response: LightMyRequestResponse, operationId: string) => void,
) {
  for (const { operationId, method, url } of operations) {
    see(await request({ method, url: `${url}${query}`, headers }), operationId);
  }
}

t.test('every operation refuses a credential that cannot be used', async (t) => {
  const service = await startTestApp(t);
  const { app, clock, post } = service;
  const someone = await tokenHolder(app);
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

t.test('every operation but those that set it up is closed until a demand for a second factor is met', async (t) => {
  const service = await startTestApp(t);
  const policy = await createPolicy(service.app, { enforceTfa: true, adminAccess: true });
  const { headers } = await tokenHolder(service.app, { policies: [policy] });
  await presentEverywhere({ ...service }, { headers }, (response, operationId) => {
    const { code, reason } = response.body === '' ? {} : (response.json().errors?.[0]?.extensions ?? {});
    const isClosed = code === 'FORBIDDEN' && /two-factor/.test(reason);
    t.equal(isClosed, !beforeTfa.has(operationId), operationId);
  });
});

t.test('every operation says that something went wrong when the database is not as it should be', async (t) => {
  const service = await startTestApp(t);
  const { headers } = await tokenHolder(service.app);
  await service.app.db.execute(sql`alter table users rename to put_away`);
  await presentEverywhere(service, { headers }, (response, operationId) => {
    refused(t, response, 'INTERNAL_SERVER_ERROR', operationId);
  });
});

t.test('every operation says that the database is not there, and when to come back', async (t) => {
  const service = await startTestApp(t);
  const { headers } = await tokenHolder(service.app);
  const { $client } = service.app.db as unknown as { $client: { end?(): Promise<void>; close?(): Promise<void> } };
  await ($client.end ?? $client.close)?.call($client);
  await presentEverywhere(service, { headers }, (response, operationId) => {
    refused(t, response, 'SERVICE_UNAVAILABLE', operationId);
    t.equal(response.headers['retry-after'], '1', operationId);
  });
});

t.test('every operation says that there were too many requests, and when to come back', async (t) => {
  const service = await startTestApp(t, {
    RATE_LIMITER_ENABLED: 'true',
    RATE_LIMITER_POINTS: '1',
    RATE_LIMITER_DURATION: '3600',
  });
  await service.get('/server/info');
  // Without a credential, the probes of a load balancer are always answered.
  await presentEverywhere(service, { headers: bearer('a-token') }, (response, operationId) => {
    refused(t, response, 'REQUESTS_EXCEEDED', operationId);
    t.ok(Number(response.headers['retry-after']) > 0, operationId);
  });
});
