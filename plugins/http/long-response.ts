import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { definePlugin } from '../platform/plugin.js';

declare module 'fastify' {
  interface FastifyReply {
    /** Sends a body of any length, as fast as the client reads it. The text is not read for a HEAD request. */
    sendLong(text: AsyncGenerator<string>): FastifyReply;
  }
}

/** Milliseconds that the client may take to read a part, so that a client that has stopped reading does not keep its response. */
const stallTimeoutMs = 60_000;

/** `reply.sendLong` */
export const longResponsePlugin = definePlugin('http/long-response', (_services, app) => {
  app.decorateReply('sendLong', function (this: FastifyReply, text) {
    return this.send(this.request.method === 'HEAD' ? '' : Readable.from(sending(this, text)));
  });
  return undefined;
});

/**
 * The text. If it ends early, the connection is reset, so that no client and no proxy takes what it has received for the complete body.
 * (Over HTTP/1.0, nothing else would show this.)
 */
async function* sending(reply: FastifyReply, text: AsyncGenerator<string>) {
  const { socket } = reply.request.raw;
  try {
    for await (const part of text) {
      const timer = setTimeout(() => socket.resetAndDestroy(), stallTimeoutMs).unref();
      try {
        yield part;
      } finally {
        clearTimeout(timer);
      }
    }
  } catch (error) {
    reply.log.warn({ err: error }, 'a response ended early');
    reply.raw.destroy();
    socket.resetAndDestroy?.();
    throw error;
  }
}
