import { connect, type Socket } from 'node:net';

/** A complete response, as it arrived over a socket. */
export interface WireAnswer {
  status: number;
  headers: Record<string, string | string[]>;
  body: string;
}

/** The service must respond within this time, in milliseconds, even on a busy machine. */
const timeoutMs = 30_000;

/** Sends requests as bytes, one after the other, on one connection for as long as the service keeps it open. */
export function createWire(port: number) {
  let socket: Socket | undefined;

  return {
    /** @throws if there is no response, or not a response of HTTP */
    send: (method: string, bytes: Buffer): Promise<WireAnswer> =>
      new Promise((resolve, reject) => {
        const used = socket?.writable ? socket : connect(port, '127.0.0.1').setNoDelay();
        socket = used;
        let received = Buffer.alloc(0);
        const settle = (answer: WireAnswer | Error) => {
          clearTimeout(timer);
          used.removeAllListeners().on('error', () => {});
          if (answer instanceof Error || answer.headers.connection === 'close') {
            used.destroy();
            socket = undefined;
          }
          if (answer instanceof Error) reject(answer);
          else resolve(answer);
        };
        const timer = setTimeout(() => settle(new Error(`no response within ${timeoutMs} ms`)), timeoutMs);
        used.on('data', (data) => {
          received = Buffer.concat([received, data]);
          try {
            const answer = readAnswer(received, method);
            if (answer) settle(answer);
          } catch (error) {
            settle(error as Error);
          }
        });
        used.on('error', () => {});
        used.on('close', () => settle(new Error(`closed without a complete response: ${received.toString('latin1')}`)));
        used.write(bytes);
      }),
    close: () => socket?.destroy(),
  };
}

/** @returns undefined if the response is not complete yet */
function readAnswer(bytes: Buffer, method: string): WireAnswer | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
  if (Number.isNaN(status)) throw new Error(`not a response of HTTP: ${first}`);
  if (status < 200) return readAnswer(bytes.subarray(end + 4), method);
  const headers: WireAnswer['headers'] = {};
  for (const line of lines) {
    const name = line.slice(0, line.indexOf(':')).toLowerCase();
    const value = line.slice(name.length + 1).trim();
    headers[name] = name === 'set-cookie' ? [...(headers[name] ?? []), value] : value;
  }
  const { 'transfer-encoding': encoding } = headers;
  if (encoding !== undefined && encoding !== 'chunked') throw new Error(`a response with the encoding ${encoding}`);
  if (encoding !== undefined && method !== 'HEAD') {
    const body = readChunks(bytes, end + 4);
    return body && { status, headers, body: body.toString() };
  }
  const length = method === 'HEAD' ? 0 : Number(headers['content-length'] ?? 0);
  if (bytes.length < end + 4 + length) return undefined;
  return { status, headers, body: bytes.toString('utf8', end + 4, end + 4 + length) };
}

/** Reads a body of unknown length (RFC 9112, section 7.1). @returns undefined if it is not complete yet */
function readChunks(bytes: Buffer, start: number): Buffer | undefined {
  const parts: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (Number.isNaN(size)) throw new Error('a chunk without a size');
    at = lineEnd + 2 + size + 2;
    if (bytes.length < at) return undefined;
    if (size === 0) return Buffer.concat(parts);
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
  }
}
