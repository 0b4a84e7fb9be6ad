import { connect, type Socket } from 'node:net';

/** Where to connect to, in the words of postgres.js. */
export interface PostgresTarget {
  host: string[];
  port: number[];
  path?: string | false;
}

/** A fault of a connection, with the code that the operating system gives to its like. */
class ConnectionError extends Error {
  constructor(
    readonly code: 'ECONNRESET' | 'ETIMEDOUT',
    message: string,
  ) {
    super(message);
    this.name = 'ConnectionError';
  }
}

/**
 * Makes the sockets for postgres.js, which by itself waits for ever in two cases. When the peer hangs up before a
 * session has begun (a proxy with nothing behind it), it tries again without end: here that is an error. When a peer
 * never answers (its machine is gone, or it hangs), nothing ends the connection: here it is ended after `patience`
 * milliseconds in which nothing came. An idle connection is silent, too: postgres.js must close it sooner than that.
 * The bytes are counted below TLS, so this holds for encrypted connections as well.
 */
export function createSocketFactory(patience: () => number): (target: PostgresTarget) => Socket {
  let attempts = 0;
  return ({ host, port, path }) => {
    const turn = attempts++ % host.length;
    const address = { host: host[turn] ?? 'localhost', port: port[turn] ?? 5432 };
    const socket = connect(path ? { path } : address);
    socket.once('end', () => {
      if (!socket.writableEnded) socket.destroy(new ConnectionError('ECONNRESET', 'it closed the connection'));
    });
    // postgres.js stops listening to a socket before that is closed; an error that comes late must not end the process.
    socket.on('error', () => {});
    watch(socket, patience);
    // postgres.js checks the certificate against this name.
    return Object.assign(socket, address);
  };
}

function watch(socket: Socket, patience: () => number): void {
  let received = 0;
  let since = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    if (socket.destroyed) {
      clearInterval(timer);
    } else if (socket.bytesRead !== received) {
      received = socket.bytesRead;
      since = now;
    } else if (now - since > patience()) {
      socket.destroy(new ConnectionError('ETIMEDOUT', 'it did not answer in time'));
    }
  }, 1_000);
  timer.unref();
}
