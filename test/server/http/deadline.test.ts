import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import fastify from 'fastify';
import t, { type Test } from 'tap';
import { deadlinePlugin } from '../../../plugins/server/request-timeout.js';
import { exchange, listen } from '../../helpers/raw-http.js';

const deadline = 200;

/** A server whose POST first waits for an authentication hook, and only then reads the body. */
async function startServer(t: Test, { answersAfter }: { answersAfter: number }) {
  const failed: unknown[] = [];
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => {
    failed.push(error);
    return reply.status(503).send({});
  });
  await app.register(deadlinePlugin);
  app.addHook('onRequest', () => sleep(50));
  app.post('/', { config: { deadline } }, async () => {
    await sleep(answersAfter);
    return {};
  });
  const port = await listen(app);
  t.teardown(() => app.close());
  return { port, failed };
}

const post = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';

t.test('a request that takes too long gets 503', async (t) => {
  const { port, failed } = await startServer(t, { answersAfter: 2 * deadline });
  const { text } = await exchange(port, post);
  t.match(text, /^HTTP\/1\.1 503 /);
  t.match(failed, [{ code: 'SERVICE_UNAVAILABLE' }]);
});

t.test(
  'no deadline fails for a response in time, nor for a client that has disconnected, however many requests it has sent',
  async (t) => {
    const { port, failed } = await startServer(t, { answersAfter: 0 });
    t.match((await exchange(port, [post])).text, /^HTTP\/1\.1 200 /);
    const socket = connect(port, '127.0.0.1');
    socket.write(post.repeat(3));
    await sleep(20);
    socket.resetAndDestroy();
    await sleep(2 * deadline);
    t.strictSame(failed, []);
  },
);
