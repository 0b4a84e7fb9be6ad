import { connect, type Socket } from 'node:net';

/** A response received over a socket. For errors, `body` contains the beginning of the body. */
export interface HostileAnswer {
  status: number;
  retryAfter: string | undefined;
  isLast: boolean;
  body: string;
}

const empty = Buffer.alloc(0);

/**
 * Creates a function that reads the bytes of a connection and reports each response in them.
 * @param methods the methods of the requests, in order
 */
export function createAnswerReader(methods: readonly string[], onAnswer: (answer: HostileAnswer) => void) {
  let bytes: Buffer = empty;
  let count = 0;

  /** @returns the end of the body; undefined until it has arrived */
  const endOfBody = (head: string, start: number, status: number): number | undefined => {
    if (status === 204 || status === 304 || methods[count] === 'HEAD') return start;
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length !== undefined) return bytes.length >= start + Number(length) ? start + Number(length) : undefined;
    if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
      const end = bytes.indexOf('\r\n0\r\n\r\n', start - 2);
      return end < 0 ? undefined : end + 7;
    }
    // The body ends with the connection, so this is the last response.
    return Number.POSITIVE_INFINITY;
  };

  return (data: Buffer): void => {
    bytes = bytes.length === 0 ? data : Buffer.concat([bytes, data]);
    while (bytes.length > 0) {
      const endOfHead = bytes.indexOf('\r\n\r\n');
      if (endOfHead < 0) return;
      const head = bytes.toString('latin1', 0, endOfHead);
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
      if (Number.isNaN(status)) throw new Error(`This is not an HTTP response: ${JSON.stringify(head.slice(0, 200))}`);
      const start = endOfHead + 4;
      const end = status < 200 ? start : endOfBody(head, start, status);
      if (end === undefined) return;
      const body = status < 400 ? '' : bytes.toString('utf8', start, Math.min(end, start + 500));
      bytes = end >= bytes.length ? empty : bytes.subarray(end);
      if (status < 200) continue;
      count++;
      onAnswer({
        status,
        retryAfter: /\r\nretry-after: *(\d+)/i.exec(head)?.[1],
        isLast: end === Number.POSITIVE_INFINITY || /\r\nconnection: *close/i.test(head),
        body,
      });
    }
  };
}

export interface Exchanged {
  answers: HostileAnswer[];
  /** Whether the connection timed out without being answered or closed. */
  isStuck: boolean;
}

export interface Sending {
  /** Pieces to send, with a pause between them. */
  pieces: readonly Buffer[];
  pause?: number;
  /** The method of each request in the pieces. */
  methods: readonly string[];
  /** What to do after the last piece: wait for all responses, close the writing side, or reset the connection. */
  ending: 'answers' | 'half-close' | 'reset';
}

const timeoutMs = 60_000;

/** A connection that is reused for as long as the service keeps it open. */
export function createConnection(port: number) {
  let socket: Socket | undefined;

  return {
    send: ({ pieces, pause = 0, methods, ending }: Sending): Promise<Exchanged> =>
      new Promise((resolve, reject) => {
        const used = socket && !socket.destroyed && socket.writable ? socket : connect(port, '127.0.0.1').setNoDelay();
        socket = used;
        const answers: HostileAnswer[] = [];
        let isStuck = false;
        const timer = setTimeout(() => {
          isStuck = true;
          used.destroy();
        }, timeoutMs);
        const settle = () => {
          clearTimeout(timer);
          used.removeAllListeners().on('error', () => {});
          if (used.destroyed || ending !== 'answers') socket = undefined;
          resolve({ answers, isStuck });
        };
        const read = createAnswerReader(methods, (answer) => {
          answers.push(answer);
          if (answer.isLast) used.end();
          else if (ending === 'answers' && answers.length >= methods.length) settle();
        });
        used.on('data', (data) => {
          try {
            read(data);
          } catch (error) {
            clearTimeout(timer);
            used.destroy();
            reject(error);
          }
        });
        // Data written after the service has hung up is lost, which `close` reports.
        used.on('error', () => {});
        used.on('close', settle);
        void (async () => {
          for (const piece of pieces) {
            if (used.destroyed || !used.writable) return;
            used.write(piece);
            if (pause > 0) await new Promise((done) => setTimeout(done, pause));
          }
          if (ending === 'half-close') used.end();
          if (ending === 'reset') setImmediate(() => used.resetAndDestroy());
        })();
      }),
    close: () => socket?.destroy(),
  };
}
