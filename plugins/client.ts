import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';

/** Where a request comes from, as far as that can be known. */
export interface Client {
  /** A valid IP address, without a zone; null when a trusted proxy forwarded something else. */
  ip: string | null;
  userAgent: string | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    client: Client;
  }
}

const longestUserAgent = 255;

/** `request.client`: the address and the user agent, checked and cut to what is kept of them. */
export const clientPlugin = plugin(
  async (app) => {
    app.decorateRequest('client', {
      getter(this: FastifyRequest): Client {
        const userAgent = this.headers['user-agent'];
        return {
          // A zone (`fe80::1%eth0`, RFC 4007) means something on its own host only, and may be of any length.
          ip: isIP(this.ip) === 0 ? null : (this.ip.split('%', 1)[0] ?? null),
          userAgent: userAgent ? userAgent.slice(0, longestUserAgent) : null,
        };
      },
    });
  },
  { name: 'client' },
);
