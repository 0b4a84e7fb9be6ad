// @suite embedded-only: hardly depends on the engine

import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import fastify from 'fastify';
import t, { type Test } from 'tap';
import { requestTimeoutPlugin } from '../../plugins/http/request-timeout.js';
import type { ApiError } from '../../schemas/errors.js';
import { exchange, listen } from '../helpers/http/raw-http.js';

const timeoutMs = 200;

/** A server whose POST first waits for an authentication hook, and only then reads the body. */
async function startServer(t: Test, { answersAfter }: { answersAfter: number }) {
  const failed: unknown[] = [];
  const app = fastify();
  app.setErrorHandler((error: ApiError, _request, reply) => {
    failed.push(error);
    return reply.status(error.status).send({});
  });
  await app.register(requestTimeoutPlugin);
  app.addHook('onRequest', () => sleep(50));
  app.post('/', { config: { timeoutMs } }, async () => {
    await sleep(answersAfter);
    return {};
  });
  const port = await listen(app);
  t.teardown(() => app.close());
  return { port, failed };
}

const post = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';

t.test('a request that takes too long gets 503', async (t) => {
  const { port, failed } = await startServer(t, { answersAfter: 2 * timeoutMs });
  const { text } = await exchange(port, post);
  t.match(text, /^HTTP\/1\.1 503 /);
  t.match(failed, [{ code: 'SERVICE_UNAVAILABLE' }]);
});

t.test('a body that does not arrive in time gets 400, and the connection is closed', async (t) => {
  const { port, failed } = await startServer(t, { answersAfter: 0 });
  const { text, error } = await exchange(port, post.slice(0, -1));
  t.equal(error, undefined, 'the connection ends after the response');
  t.match(text, /^HTTP\/1\.1 400 [\s\S]*\r\nconnection: close\r\n/i);
  t.match(failed, [{ code: 'INVALID_PAYLOAD' }]);
});

t.test('a body that has not been read yet does not make a slow service the fault of the client', async (t) => {
  const app = fastify();
  const failed: unknown[] = [];
  app.setErrorHandler((error: ApiError, _request, reply) => {
    failed.push(error);
    return reply.status(error.status).send({});
  });
  await app.register(requestTimeoutPlugin);
  app.addHook('onRequest', () => sleep(2 * timeoutMs));
  app.post('/', { config: { timeoutMs } }, async () => ({}));
  const port = await listen(app);
  t.teardown(() => app.close());
  const large = JSON.stringify('x'.repeat(500_000));
  const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${large.length}\r\n\r\n`;
  t.match((await exchange(port, head + large)).text, /^HTTP\/1\.1 503 /);
  t.match(failed, [{ code: 'SERVICE_UNAVAILABLE' }]);
});

t.test(
  'a request does not time out if its response is in time, or if its client has disconnected after several requests',
  async (t) => {
    const { port, failed } = await startServer(t, { answersAfter: 0 });
    t.match((await exchange(port, [post])).text, /^HTTP\/1\.1 200 /);
    const socket = connect(port, '127.0.0.1');
    socket.write(post.repeat(3));
    await sleep(20);
    socket.resetAndDestroy();
    await sleep(2 * timeoutMs);
    t.strictSame(failed, []);
  },
);
