import { once } from 'node:events';
import postgres from 'postgres';
import { Line } from './driver-socket.js';
import { openSocket, type PostgresServer, type PostgresTarget } from './socket.js';

/** How values are read and written, by the number of their type: what Drizzle sets on a client. */
export interface TypeHandlers {
  parsers: Record<string, unknown>;
  serializers: Record<string, unknown>;
}

/** Identifies a session to the server in a cancel request. The driver stores it with each statement. */
export interface CancelKey {
  pid: number;
  secret: number;
}

/** PostgreSQL's protocol, 55.7: a cancel request, which is sent on a connection of its own. */
const cancelRequest = ({ pid, secret }: CancelKey): Buffer => {
  const message = Buffer.from([0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e, 0, 0, 0, 0, 0, 0, 0, 0]);
  message.writeUInt32BE(pid >>> 0, 8);
  message.writeUInt32BE(secret >>> 0, 12);
  return message;
};

/** One session with one server. When it is lost it stays lost: another is to be opened. */
export interface PostgresSession {
  readonly isLost: boolean;
  /** When the server was last heard, on the clock of `performance.now()`. */
  readonly heard: number;
  /**
   * Does `work` on this session. One at a time.
   * @throws what `work` throws, or why the session was lost meanwhile
   */
  use<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T>;
  /** Asks the server to cancel the statement that this session is running. */
  cancel(key: CancelKey): Promise<void>;
  /** Breaks it off: whoever uses it is told `error`. */
  destroy(error: Error): void;
  /** Takes leave of the server. */
  end(): Promise<void>;
}

/** What every client is made with. Types and times are said here, once. */
const clientOptions = {
  max: 1,
  idle_timeout: 0,
  max_lifetime: null,
  onnotice: () => {},
  // A session that is lost while the driver asks for the array types of the server would end the process. Drizzle reads
  // and writes arrays itself.
  fetch_types: false,
};

/** Reads a URL as postgres.js does, so that every parameter that it knows works. Connects to nothing. */
export function readTarget(url: string): PostgresTarget {
  return postgres(url, clientOptions).options as unknown as PostgresTarget;
}

/** A session with one of the servers that a URL names, opened by its first use. @param timeout milliseconds for that */
export function createSession(
  { url, target, timeout }: { url: string; target: PostgresTarget; timeout: number },
  server: PostgresServer,
  types: TypeHandlers,
): PostgresSession {
  const created = performance.now();
  let line: Line | undefined;
  let isLost = false;
  let failUser: (error: Error) => void = () => {};

  const lose = async (error: Error) => {
    isLost = true;
    failUser(error);
    // From here on the client refuses everything, also what a transaction that was cut off goes on to ask.
    await client.end({ timeout: 0 });
  };

  const connect = async (): Promise<Line> => {
    try {
      const socket = await openSocket(server, target, timeout);
      line = new Line(socket, lose);
      if (isLost) line.destroy();
      return line;
    } catch (error) {
      void lose(error as Error);
      throw error;
    }
  };

  const { host, port } = server;
  const place = { host: [host], port: [port], ssl: false, connect_timeout: timeout / 1_000, socket: connect };
  const client = postgres(url, { ...clientOptions, ...place } as unknown as typeof clientOptions);
  Object.assign(client.options.parsers, types.parsers);
  Object.assign(client.options.serializers, types.serializers);

  return {
    get isLost() {
      return isLost;
    },
    get heard() {
      return line?.heard ?? created;
    },
    use: (work) =>
      new Promise((resolve, reject) => {
        failUser = reject;
        work(client).then(resolve, reject);
      }),
    cancel: async (key) => {
      const socket = await openSocket(server, target, timeout);
      socket.setTimeout(timeout, () => socket.destroy());
      socket.resume().write(cancelRequest(key));
      // The server closes the connection when it has passed the request on; PgBouncer drops it when the client does so before.
      if (!socket.closed) await once(socket, 'close');
    },
    destroy: (error) => {
      if (line) line.destroy(error);
      else void lose(error);
    },
    end: () => client.end({ timeout: 1 }),
  };
}
