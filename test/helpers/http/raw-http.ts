import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Answered } from '../openapi/contract-error.js';

/** Makes an app listen on a free port of this machine and returns the port. */
export async function listen(app: FastifyInstance): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

export interface ExchangeOptions {
  /** The time between two chunks, in milliseconds. */
  pause?: number;
  /** Closes the writing side at the end. */
  end?: boolean;
}

/**
 * Writes bytes to a socket and reads until the server hangs up or is silent for three seconds.
 * @returns the received bytes as Latin-1 text, and the code of the error that ended the connection, if any
 */
export async function exchange(
  port: number,
  chunks: string | Buffer | readonly (string | Buffer)[],
  { pause = 0, end = false }: ExchangeOptions = {},
): Promise<{ text: string; error: string | undefined }> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let error: string | undefined;
  socket.setTimeout(3000, () => socket.destroy());
  socket.on('data', (data) => {
    text += data.toString('latin1');
  });
  socket.on('error', (fault: NodeJS.ErrnoException) => {
    error = fault.code ?? fault.message;
  });
  const closed = new Promise((resolve) => socket.on('close', resolve));
  for (const chunk of [chunks].flat()) {
    if (socket.destroyed) break;
    if (!socket.write(chunk)) await Promise.race([once(socket, 'drain').catch(() => {}), closed]);
    if (pause > 0) await sleep(pause);
  }
  if (end) socket.end();
  await closed;
  return { text, error };
}

/** The responses in the text received over a socket, except `100 Continue`. */
export function answersIn(text: string): Answered[] {
  const answers: Answered[] = [];
  let rest = text;
  while (rest !== '') {
    const [head = '', ...others] = rest.split('\r\n\r\n');
    const [statusLine = '', ...lines] = head.split('\r\n');
    const statusCode = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    if (Number.isNaN(statusCode)) throw new Error(`This is not an HTTP response: ${JSON.stringify(rest)}`);
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const body = others.join('\r\n\r\n').slice(0, Number(headers['content-length'] ?? 0));
    if (statusCode !== 100) answers.push({ statusCode, headers, body });
    rest = rest.slice(head.length + 4 + body.length);
  }
  return answers;
}
