import { isIP } from 'node:net';
import { normalizeIP } from '@fastify/rate-limit';
import bowser from 'bowser';
import type { FastifyReply, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { ApiError } from '../../schemas/errors.js';

/** The origin of a request, as far as the service can determine it. */
export interface Client {
  /** A valid IP address, without a zone; null when a trusted proxy forwarded something else. */
  ip: string | null;
  userAgent: string | null;
  /** The unit by which requests are counted: the IPv4 address, or the /64 of an IPv6 address, which belongs to one customer. */
  network: string;
  /** The ID of the request, as in `x-request-id`. */
  requestId: string;
  /** Aborts when the response is no longer needed: the client has disconnected, or the request has timed out. */
  readonly abandoned: AbortSignal;
}

/** The user who causes an action, and their client. Every `Caller` is an `Origin`. */
export interface Origin {
  /** Null for an anonymous caller. */
  userId: string | null;
  client: Client;
}

declare module 'fastify' {
  interface FastifyRequest {
    client: Client;
    /** The cached result of `client`; null until the first access. */
    cachedClient: Client | null;
    /** The raw response; null until the first hook has run. */
    response: FastifyReply['raw'] | null;
  }
}

const maxUserAgentLength = 255;

/** A zone (`fe80::1%eth0`, RFC 4007) is meaningful only on its own host, and can have any length. */
const withoutZone = (address: string) => address.split('%', 1)[0] ?? '';

/**
 * If the forwarded value is not an IP address, the request is counted for the proxy that connected. An attacker therefore cannot
 * evade the limit with malformed values.
 */
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
    // Cutting can split a surrogate pair, and the database rejects JSON with half of one.
    this.userAgent = userAgent ? userAgent.slice(0, maxUserAgentLength).toWellFormed() : null;
    this.network = networkOf(request);
    this.requestId = request.id;
    this.#response = request.response;
  }

  get abandoned(): AbortSignal {
    this.#abandoned ??= abandonedSignal(this.#response);
    return this.#abandoned;
  }
}

/** Created once, because `close` also follows every normal response, where nothing reads this error. */
const disconnected = new ApiError('INVALID_PAYLOAD', { reason: 'The client has disconnected.' });

function abandonedSignal(response: FastifyReply['raw'] | null): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(disconnected);
  if (response?.destroyed || response?.writableEnded) abort();
  else response?.once('close', abort);
  return controller.signal;
}

/**
 * A readable name for a user agent: browser and system, such as `Firefox, Linux`, or the name of the program. Clients can send
 * any text, so the name only helps users to recognize a session or an unfamiliar sign-in. The service must not base any other decision
 * on it. It contains no versions, so an update of the browser does not change it.
 */
export function deviceOf(userAgent: string | null): string | null {
  if (userAgent === null) return null;
  const { browser, os } = bowser.parse(userAgent);
  // A program sends its name first, as in `curl/8.5.0` (RFC 9110, 10.1.5). The parser also uses it for programs that it does not know.
  const program = /^[\w.-]+(?=\/|$)/.exec(userAgent)?.[0];
  const name = browser.name || (program === 'Mozilla' ? undefined : program);
  return [name, os.name].filter(Boolean).join(', ') || null;
}

/** `request.client`: the IP address and the user agent, checked and shortened to the stored length. */
export const clientInfoPlugin = plugin(
  async (app) => {
    // Node.js remembers the address once it has been read. After the client has disconnected, the system no longer knows it.
    app.server.on('connection', (socket) => void socket.remoteAddress);
    app.decorateRequest('cachedClient', null);
    app.decorateRequest('response', null);
    app.addHook('onRequest', (request, reply, done) => {
      request.response = reply.raw;
      done();
    });
    app.decorateRequest('client', {
      getter(this: FastifyRequest): Client {
        this.cachedClient ??= new RequestClient(this);
        return this.cachedClient;
      },
    });
  },
  { name: 'client' },
);
