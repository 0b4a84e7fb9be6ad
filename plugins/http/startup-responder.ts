import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { ApiError } from '../../schemas/errors.js';
import { pathOf } from './request-parsing.js';

/**
 * Milliseconds. Less than probes tolerate, but longer than any usual start: a proxy without health checks sends requests to other
 * instances only as long as nothing listens here.
 */
const delayMs = 10_000;

const unavailable = new ApiError('SERVICE_UNAVAILABLE', { service: 'server', reason: 'The service is starting' });

/**
 * Responds to requests while startup waits for the database or for a long migration: the process is alive, but not ready. Does
 * nothing if startup is fast.
 * @returns a function that stops this, so that the service itself can listen
 */
export function respondWhileStarting({ HOST: host, PORT: port }: { HOST: string; PORT: number }): () => Promise<void> {
  const server = createServer(respond);
  // The service itself reports a port that it cannot use.
  server.on('error', () => {});
  const timer = setTimeout(() => server.listen({ host, port }), delayMs);
  return async () => {
    clearTimeout(timer);
    if (!server.listening) return;
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  };
}

function respond({ url = '' }: IncomingMessage, response: ServerResponse): void {
  const path = pathOf(url).replace(/(.)\/$/, '$1');
  const headers = { connection: 'close', 'cache-control': 'no-store' };
  if (path === '/server/ping') {
    response.writeHead(200, { ...headers, 'content-type': 'text/plain; charset=utf-8' }).end('pong');
  } else if (path === '/server/health') {
    response.writeHead(503, { ...headers, 'content-type': 'application/health+json' }).end('{"status":"error"}');
  } else {
    const { message, code, extensions } = unavailable;
    const body = JSON.stringify({ errors: [{ message, extensions: { code, ...extensions } }] });
    response.writeHead(503, { ...headers, 'content-type': 'application/json', 'retry-after': '5' }).end(body);
  }
}
