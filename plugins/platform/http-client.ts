import { type LookupAddress, type LookupAllOptions, lookup as resolve } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { type Observe, requestOf, unobserved } from './traced-operations.js';

/** Like the global `fetch`, with the limits of {@link createHttpClient}. */
export type Fetch = (url: string, init?: RequestOptions) => Promise<Response>;

export type RequestOptions = Pick<RequestInit, 'method' | 'headers' | 'signal'> & { body?: string };

export interface HttpClientOptions {
  /**
   * Which IP addresses the client connects to: {@link isPublicAddress} if a caller or an administrator can choose the URL at run time,
   * {@link anyAddress} if only the operator can.
   */
  allows: (address: string) => boolean;
  /** Milliseconds from resolving the name of the host to the last byte of the response. */
  timeout: number;
  /** Maximum size of the body of a response. */
  maxBytes: number;
  /** Whether a larger body is cut off, so that the response can be used. Otherwise, the request fails. */
  truncates?: boolean;
  /** Records each request, with its URL but without its query. */
  observe?: Observe;
  lookup?: Lookup;
}

/** Resolves the name of a host, like `dns.lookup`. */
export type Lookup = (
  host: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** For URLs from the configuration: operators may use their private network. */
export const anyAddress = (): boolean => true;

/** Milliseconds. Most servers keep unused connections open for longer, so that none is closed just when it is used again. */
const idleTimeout = 2_000;

/**
 * The client for all requests to other servers. It resolves the name of the host once and connects to an address that it has checked,
 * so that a name cannot lead to another address after the check (DNS rebinding). Redirects are not followed: the response is that of the
 * first server. The body is complete when the promise resolves.
 */
export function createHttpClient(options: HttpClientOptions): Fetch {
  const { allows, timeout, maxBytes, truncates = false, observe = unobserved, lookup = resolve } = options;

  const refusal = (host: string, address: string): Error | null =>
    allows(address)
      ? null
      : new Error(`The service does not connect to ${host}: the address ${address} is not allowed.`);

  /** Every address of the host has to be allowed, because the connection may use any of them. */
  const checkedLookup: LookupFunction = (host, lookupOptions, callback) =>
    lookup(host, { ...lookupOptions, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      const fault = error ?? addresses.map(({ address }) => refusal(host, address)).find((each) => each !== null);
      if (fault || !first) callback(fault ?? new Error(`${host} has no address.`), []);
      else if (lookupOptions.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });

  // Not shared with other clients: their connections may be to addresses that this client does not allow.
  const agentOptions = { keepAlive: true, timeout: idleTimeout, lookup: checkedLookup };
  const agents = { 'http:': new http.Agent(agentOptions), 'https:': new https.Agent(agentOptions) };

  const send = (url: URL, { method = 'GET', headers, body }: RequestOptions, signal: AbortSignal) =>
    new Promise<http.IncomingMessage>((fulfill, reject) => {
      const { request } = url.protocol === 'https:' ? https : http;
      const agent = agents[url.protocol as keyof typeof agents];
      request(url, {
        method,
        headers: { 'accept-encoding': 'identity', ...Object.fromEntries(new Headers(headers)) },
        agent,
        signal,
      })
        .on('response', fulfill)
        .on('error', reject)
        // For instance, when the server switches to another protocol.
        .on('close', () => reject(new Error(`${url.host} closed the connection.`)))
        .end(body);
    });

  const read = async (url: URL, message: http.IncomingMessage): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of message as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= maxBytes) continue;
      if (!truncates) throw new Error(`${url.origin}${url.pathname} returned more than ${maxBytes} bytes.`);
      break;
    }
    return Buffer.concat(chunks).subarray(0, maxBytes);
  };

  return (given, init = {}) =>
    observe(requestOf(init.method ?? 'GET', given), async (note) => {
      const url = new URL(given);
      if (!(url.protocol in agents)) throw new Error(`${url.protocol} is not supported.`);
      if (url.username || url.password) throw new Error(`The URL for ${url.host} contains credentials.`);
      // Node.js resolves no address. The URL parser has already normalized forms such as 0x7f.1.
      const host = url.hostname.replace(/^\[|\]$/g, '');
      const refused = isIP(host) === 0 ? null : refusal(url.host, host);
      if (refused) throw refused;

      const limit = AbortSignal.timeout(timeout);
      const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;
      try {
        const message = await send(url, init, signal);
        const { statusCode: status = 0 } = message;
        note({ 'http.response.status_code': status });
        const body = await read(url, message);
        return new Response(nullBody.has(status) ? null : body, { status, headers: headersOf(message) });
      } catch (error) {
        throw signal.aborted ? signal.reason : error;
      }
    });
}

/** The statuses that `Response` accepts only without a body. */
const nullBody: ReadonlySet<number> = new Set([204, 205, 304]);

function headersOf({ rawHeaders }: http.IncomingMessage): Headers {
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
  }
  return headers;
}
