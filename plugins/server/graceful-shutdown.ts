import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import plugin from 'fastify-plugin';

/** Milliseconds for the first request to arrive on a connection that was opened just before the shutdown. */
const arrival = 500;

/**
 * Lets the service stop as soon as it has responded to all current requests, even if connections are still open. Fastify closes
 * the connections that are idle when the shutdown begins. This plugin handles the others:
 * - Connections that become idle later: their last response has `connection: close`.
 * - Connections without any request so far, such as those that browsers open in advance: Node considers them busy, and would wait
 *   a minute for a request. They remain open for a moment, because a request from a proxy may be on its way.
 * - Connections that are not accepted yet: they are accepted before the listener closes, one in each turn of the event loop.
 *   Otherwise, they would be reset.
 */
export const closingPlugin = plugin(
  async (app) => {
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
      setTimeout(() => {
        for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
      }, arrival).unref();
      await acceptWaiting();
    });
  },
  { name: 'closing' },
);
