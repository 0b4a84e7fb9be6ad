import { type IncomingHttpHeaders, request as plainRequest } from 'node:http';
import { type RequestOptions, request as tlsRequest } from 'node:https';

/** A complete response. */
export interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/**
 * Sends a request with Node's own client, which can choose the local address and the connection. Without an agent, each
 * request has its own connection.
 * @throws if the response is incomplete
 */
export function send(url: string, options: RequestOptions, body?: string): Promise<Received> {
  const request = url.startsWith('https:') ? tlsRequest : plainRequest;
  const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body ?? '') };
  const headers = { ...(body === undefined ? {} : length), ...options.headers };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent: false, ...options, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    outgoing.on('error', reject).end(body);
  });
}
