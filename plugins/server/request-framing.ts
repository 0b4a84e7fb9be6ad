import type { IncomingMessage } from 'node:http';

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
