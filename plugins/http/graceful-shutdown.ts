import { type Socket, Server as TcpServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { definePlugin } from '../platform/plugin.js';

/** Milliseconds for a request to arrive on a connection that was open when the shutdown began. */
const arrivalTimeoutMs = 500;

/**
 * Lets the service stop as soon as it has responded to all current requests, even if connections are still open.
 * - Connections that are not accepted yet are accepted before the listener closes, one in each turn of the event loop. Otherwise, they
 *   would be reset.
 * - Idle connections remain open for a moment, because a request from a proxy may be on its way. Its response has `connection: close`.
 *   Fastify then closes the connections that are still idle.
 * - Connections without any request so far, such as those that browsers open in advance, are closed at the same time: Node considers
 *   them busy, and would wait a minute for a request.
 */
export const gracefulShutdownPlugin = definePlugin('http/graceful-shutdown', (_services, app) => {
  const open = new Set<Socket>();
  let isClosing = false;
  let accepted = 0;
  const acceptWaiting = async () => {
    for (let turn = 0, quiet = 0; quiet < 5 && turn < 1_000; turn++) {
      const before = accepted;
      await nextTurn();
      quiet = accepted === before ? quiet + 1 : 0;
    }
  };
  /** Unlike `close` of the HTTP server, this closes no idle connections. */
  const stopListening = () => TcpServer.prototype.close.call(app.server);

  app.server.on('connection', (socket) => {
    accepted++;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close');
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    await acceptWaiting();
    if (app.server.listening) stopListening();
    for (let waited = 0; open.size > 0 && waited < arrivalTimeoutMs; waited += 10) await sleep(10);
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  });
});
