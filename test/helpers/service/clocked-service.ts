import type { FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import { checkedFetch } from '../openapi/document.js';
import { freePort } from '../servers/ports.js';
import { startTestApp } from './app.js';
import type { TestClock } from './clock.js';
import type { Service } from './service.js';

/** Starts a service in the test process with a movable clock, so that browser tests do not wait for sessions to age. */
export async function startClockedService(
  t: Test,
  variables: Record<string, string> = {},
): Promise<Pick<Service, 'url' | 'post' | 'get'> & { app: FastifyInstance; clock: TestClock }> {
  const port = await freePort();
  const url = variables.PUBLIC_URL ?? `http://127.0.0.1:${port}`;
  const { app, clock } = await startTestApp(t, { PORT: String(port), PUBLIC_URL: url, ...variables });
  await app.listen({ host: '127.0.0.1', port: Number(variables.PORT ?? port) });
  return {
    url,
    app,
    clock,
    post: (path, body, headers = {}) =>
      checkedFetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    get: (path, headers = {}) => checkedFetch(`${url}${path}`, { headers, redirect: 'manual' }),
  };
}
