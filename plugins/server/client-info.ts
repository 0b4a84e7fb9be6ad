import { isIP } from 'node:net';
import { normalizeIP } from '@fastify/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { ApiError } from '../../schemas/errors.js';

/** Where a request comes from, as far as that can be known. */
export interface Client {
  /** A valid IP address, without a zone; null when a trusted proxy forwarded something else. */
  ip: string | null;
  userAgent: string | null;
  /** What requests are counted by: the IPv4 address, or the /64 of an IPv6 address, which one customer has for themselves. */
  network: string;
  /** What `x-request-id` says of the request. */
  requestId: string;
  /** Aborts as soon as nobody waits for the response any longer: the client has disconnected, or the request has timed out. */
  readonly abandoned: AbortSignal;
}

/** Who does something, and from where; a caller is one. */
export interface Origin {
  /** Null: somebody who has not proved who they are. */
  userId: string | null;
  client: Client;
}

declare module 'fastify' {
  interface FastifyRequest {
    client: Client;
    /** What `client` has found out; null until it is asked. */
    knownClient: Client | null;
    /** Where the response goes; null before any hook has run. */
    response: FastifyReply['raw'] | null;
  }
}

const longestUserAgent = 255;

/** A zone (`fe80::1%eth0`, RFC 4007) means something on its own host only, and may be of any length. */
const withoutZone = (address: string) => address.split('%', 1)[0] ?? '';

/** Who forwards anything but an address is counted as the proxy that took it on: by no spelling does one get past. */
export function networkOf({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  const address = [ip, socket.remoteAddress].find((candidate) => candidate !== undefined && isIP(candidate) !== 0);
  return address === undefined ? 'unknown' : normalizeIP(withoutZone(address), 64);
}

class RequestClient implements Client {
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly network: string;
  readonly requestId: string;
  readonly #response: FastifyReply['raw'] | null;
  #abandoned: AbortSignal | undefined;

  constructor(request: FastifyRequest) {
    const userAgent = request.headers['user-agent'];
    this.ip = isIP(request.ip) === 0 ? null : withoutZone(request.ip);
    // No half of a character: JSON with one is refused by the database.
    this.userAgent = userAgent ? userAgent.slice(0, longestUserAgent).toWellFormed() : null;
    this.network = networkOf(request);
    this.requestId = request.id;
    this.#response = request.response;
  }

  get abandoned(): AbortSignal {
    this.#abandoned ??= abandonmentOf(this.#response);
    return this.#abandoned;
  }
}

function abandonmentOf(response: FastifyReply['raw'] | null): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(new ApiError('INVALID_PAYLOAD', { reason: 'The client has disconnected.' }));
  if (response?.destroyed || response?.writableEnded) abort();
  else response?.once('close', abort);
  return controller.signal;
}

/** `request.client`: the address and the user agent, checked and cut to what is kept of them. */
export const clientPlugin = plugin(
  async (app) => {
    app.decorateRequest('knownClient', null);
    app.decorateRequest('response', null);
    app.addHook('onRequest', (request, reply, done) => {
      request.response = reply.raw;
      done();
    });
    app.decorateRequest('client', {
      getter(this: FastifyRequest): Client {
        this.knownClient ??= new RequestClient(this);
        return this.knownClient;
      },
    });
  },
  { name: 'client' },
);
