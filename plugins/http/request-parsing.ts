import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import qs from 'qs';
import { ApiError, routeNotFound } from '../../schemas/errors.js';
import { definePlugin } from '../platform/plugin.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The path of the URL, without the query. */
    path: string;
    /** A body was sent but not read, because its Content-Type is missing or not accepted. */
    hasIgnoredBody: boolean;
  }
}

// How the service reads a request: its framing, its path, its query string, and its body.

/**
 * Detects requests that two servers could interpret differently: with different hosts, or with a second request hidden in the
 * body (request smuggling). The service rejects such a request and closes the connection, because it is not certain where the
 * next request begins (RFC 9112, 3.2, 6.1 and 6.3). Node itself rejects the obvious cases.
 * @returns the reason; undefined if the request is unambiguous
 */
export function findFramingFault({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'The service supports only HTTP/1.1 and HTTP/1.0.';
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) return 'The request has more than one Host header.';
  if (hosts === 0 && httpVersion === '1.1') return 'The Host header is missing.';
  const { 'transfer-encoding': encoding, 'content-length': length } = headers;
  if (length !== undefined && !/^(?:0|[1-9]\d*)$/.test(length)) return 'The Content-Length header is malformed.';
  if (encoding === undefined) return undefined;
  if (length !== undefined) return 'The request has both a Content-Length and a Transfer-Encoding header.';
  const isChunked = httpVersion === '1.1' && encoding.toLowerCase() === 'chunked';
  return isChunked ? undefined : 'The only supported transfer encoding is chunked, and only in HTTP/1.1.';
}

/** The path of a URL. Use it wherever a URL is repeated or logged, because the query may contain a token. */
export const pathOf = (url: string): string => url.split('?', 1)[0] ?? '';

/**
 * Whatever exceeds these limits is kept in a form that no parameter accepts, so it is rejected later. Nothing may be dropped, because a
 * query without one of its conditions could return more than the client requested. So the limits allow more parameters than fit into a
 * request line, and names that every object has as properties, such as `toString`, are kept.
 */
const queryLimits: qs.IParseOptions = {
  depth: 60,
  parameterLimit: 100_000,
  arrayLimit: 1000,
  ignoreQueryPrefix: false,
  plainObjects: true,
  // The parser silently drops `__proto__`. In any other spelling it is an unknown name, which is rejected.
  decoder: (text, decode, charset, type) => {
    const decoded = decode(text, decode, charset);
    return type === 'key' ? decoded.replaceAll('__proto__', '__proto__ ') : decoded;
  },
};

/** The parameters of a query string, nested as in `filter[email][_eq]=…`. */
export const parseQueryString = (text: string): Record<string, unknown> => qs.parse(text, queryLimits);

const refuse = (reason: string) => new ApiError('INVALID_PAYLOAD', { reason });

const formType = 'application/x-www-form-urlencoded';

/** Levels. Deeper than any valid payload, but not deep enough to overflow the stack of a recursive function. */
const maxDepth = 64;

/** Rejects requests with ambiguous framing. A missing body is treated as `{}`. */
export const requestParsingPlugin = definePlugin('http/request-parsing', (_services, app) => {
  // The app is created with `requireHostHeader: false`, because Node's own response is not in the format of the API.
  app.addHook('onRequest', async (request) => {
    const reason = findFramingFault(request.raw);
    if (reason !== undefined) throw refuse(reason);
  });

  app.decorateRequest('path', {
    getter(this: FastifyRequest) {
      return pathOf(this.url);
    },
  });

  app.decorateRequest('hasIgnoredBody', false);
  app.addHook('preValidation', async (request) => {
    request.body ??= {};
  });
});

/** A type of body that a scope can accept (`protocol.ts`). `raw` means every type, as bytes. */
export type BodyType = 'json' | 'form' | 'raw';

/** Parses bodies of these types. Others are ignored and treated as `{}`, so only routes that require a field reject them. */
export function parseBodies(app: FastifyInstance, types: readonly BodyType[]): void {
  app.removeAllContentTypeParsers();
  if (types.includes('json')) {
    // Refuses `__proto__` and `constructor.prototype` keys.
    const parseJson = app.getDefaultJsonParser('error', 'error');
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
      if (body.length === 0) return done(null, {});
      let parsed: { error: Error | null; value?: unknown } | undefined;
      parseJson(request, decode(body), (error, value) => {
        parsed = { error, value };
      });
      if (!parsed || parsed.error) return done(refuse('The body is not valid JSON.'));
      const fault = faultOf(parsed.value);
      if (fault !== undefined) return done(refuse(fault));
      done(null, parsed.value);
    });
  }
  if (types.includes('form')) {
    app.addContentTypeParser(formType, { parseAs: 'buffer' }, (_request, body: Buffer, done) =>
      done(null, parseQueryString(decode(body))),
    );
  }
  if (types.includes('raw')) {
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    return;
  }
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    request.hasIgnoredBody = body.length > 0;
    done(null, {});
  });
}

/** Rejects requests for unknown routes before their body is read. */
export const unknownRoutesPlugin = definePlugin('http/unknown-routes', (_services, app) => {
  app.addHook('onRequest', async (request) => {
    if (request.is404) throw routeNotFound(request);
  });
});

function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw refuse('The body is not valid UTF-8.');
  }
}

/** The fault in a parsed body, if any. */
function faultOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'The body must be a JSON object or array.';
  if (isDeeperThan(value, maxDepth)) return `The body is nested more than ${maxDepth} levels deep.`;
  if (!isStorable(value)) return 'A string in the body contains a NUL character or an unpaired surrogate.';
  return undefined;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}

/** Whether all strings in a value can be stored and hashed without loss: well-formed, and without NUL, which PostgreSQL rejects. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, item]) => isStorable(key) && isStorable(item));
}
