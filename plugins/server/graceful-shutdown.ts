import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import plugin from 'fastify-plugin';

/** Milliseconds for a request to arrive on a connection that was made for it just before the service was told to end. */
const arrival = 500;

/**
 * Lets the service end as soon as what is under way has been answered, whatever connections are open. Fastify closes
 * those that are idle at that moment. That leaves those that become idle after it: their last answer says that they
 * close. And those on which nothing was ever asked, such as browsers open in advance: Node takes these for busy, and
 * would wait a minute for a request on them. They are given a moment, as a proxy may have sent one that is on its way. And
 * connections that still wait to be taken are taken first, one in each turn: with the listener they would be reset.
 */
export const closingPlugin = plugin(
  async (app) => {
    const open = new Set<Socket>();
    let isClosing = false;
    let taken = 0;
    const takeWaiting = async () => {
      for (let turn = 0, quiet = 0; quiet < 5 && turn < 1_000; turn++) {
        const before = taken;
        await nextTurn();
        quiet = taken === before ? quiet + 1 : 0;
      }
    };

    app.server.on('connection', (socket) => {
      taken++;
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
      await takeWaiting();
    });
  },
  { name: 'closing' },
);
