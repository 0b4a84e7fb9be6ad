import { once } from 'node:events';
import { hostname } from 'node:os';
import postgres from 'postgres';
import { DriverSocket } from './driver-socket.js';
import { nameServer, openSocket, type PostgresServer, type PostgresTarget, tooSlow } from './socket.js';

/** How to parse and serialize values, by type OID. Drizzle sets these handlers on a client. */
export interface TypeHandlers {
  parsers: Record<string, unknown>;
  serializers: Record<string, unknown>;
}

/** Identifies a session to the server in a cancel request. The driver stores it with each statement. */
export interface CancelKey {
  pid: number;
  secret: number;
}

/** PostgreSQL's protocol, 55.7: a cancel request, which is sent on a separate connection. */
const cancelRequest = ({ pid, secret }: CancelKey): Buffer => {
  const message = Buffer.from([0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e, 0, 0, 0, 0, 0, 0, 0, 0]);
  message.writeUInt32BE(pid >>> 0, 8);
  message.writeUInt32BE(secret >>> 0, 12);
  return message;
};

/** One session with one server. Once lost, it stays lost, and a new one must be opened. */
export interface PostgresSession {
  readonly isLost: boolean;
  /** When the server last sent data, on the clock of `performance.now()`. */
  readonly heard: number;
  /**
   * Runs `work` on this session, one task at a time.
   * @throws what `work` throws, or the reason why the session was lost in the meantime
   */
  use<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T>;
  /** Asks the server to cancel the statement that this session is running. */
  cancel(key: CancelKey): Promise<void>;
  /** Ends the session immediately; running work fails with `error`. */
  destroy(error: Error): void;
  /** Closes the session gracefully. */
  end(): Promise<void>;
}

/** Options of every client. Type handlers and timeouts are managed here and not by the driver. */
const clientOptions = {
  max: 1,
  idle_timeout: 0,
  max_lifetime: null,
  onnotice: () => {},
  // Losing a session while the driver asks for the server's array types would crash the process. Drizzle parses and serializes
  // arrays itself.
  fetch_types: false,
};

/** PostgreSQL keeps 63 bytes. */
const applicationName = Buffer.from(`gatehouse@${hostname()}`).subarray(0, 63).toString('latin1');

/** Parses a URL the way postgres.js does, so that every parameter it supports works. Opens no connection. */
export function readTarget(url: string): Omit<PostgresTarget, 'tls'> {
  return postgres(url, clientOptions).options as unknown as Omit<PostgresTarget, 'tls'>;
}

/** A session with one of the servers that a URL names, opened on first use. @param timeout milliseconds for opening it */
export function createSession(
  { url, target, timeout }: { url: string; target: PostgresTarget; timeout: number },
  server: PostgresServer,
  types: TypeHandlers,
): PostgresSession {
  const created = performance.now();
  let driverSocket: DriverSocket | undefined;
  let isLost = false;
  let failUser: (error: Error) => void = () => {};

  const lose = async (error: Error) => {
    isLost = true;
    failUser(nameServer(error, server));
    // From here on the client rejects everything, including further statements of a transaction that was cut off.
    await client.end({ timeout: 0 });
  };

  const connect = async (): Promise<DriverSocket> => {
    try {
      driverSocket = new DriverSocket(await openSocket(server, target, timeout), lose);
      if (isLost) driverSocket.destroy();
      return driverSocket;
    } catch (error) {
      const named = nameServer(error as Error, server);
      void lose(named);
      throw named;
    }
  };

  const { host, port } = server;
  const place = { host: [host], port: [port], ssl: false, connect_timeout: timeout / 1_000, socket: connect };
  // A name in the URL takes precedence.
  const connection = { application_name: applicationName };
  const client = postgres(url, { ...clientOptions, ...place, connection } as unknown as typeof clientOptions);
  Object.assign(client.options.parsers, types.parsers);
  Object.assign(client.options.serializers, types.serializers);

  return {
    get isLost() {
      return isLost;
    },
    get heard() {
      return driverSocket?.heard ?? created;
    },
    use: (work) =>
      new Promise((resolve, reject) => {
        failUser = reject;
        // The driver's own message names neither the server nor the fault.
        const explain = (error: NodeJS.ErrnoException) =>
          reject(error.code === 'CONNECT_TIMEOUT' ? nameServer(tooSlow(), server) : error);
        work(client).then(resolve, explain);
      }),
    cancel: async (key) => {
      const socket = await openSocket(server, target, timeout);
      socket.setTimeout(timeout, () => socket.destroy());
      socket.resume().write(cancelRequest(key));
      // The server closes the connection once it has forwarded the request. PgBouncer drops the request if the client closes first.
      if (!socket.closed) await once(socket, 'close');
    },
    destroy: (error) => {
      if (driverSocket) driverSocket.destroy(error);
      else void lose(error);
    },
    end: () => client.end({ timeout: 1 }),
  };
}
