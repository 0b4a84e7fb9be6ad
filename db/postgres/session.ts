import { once } from 'node:events';
import { hostname } from 'node:os';
import postgres from 'postgres';
import type { DatabaseUrl } from './database-url.js';
import { DriverSocket } from './driver-socket.js';
import {
  type Encryption,
  nameServer,
  openSocket,
  type PostgresServer,
  type PostgresTarget,
  tooSlow,
} from './socket.js';

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
  run<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T>;
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

/**
 * Settings that affect how values are written as text, and how SQL is read. They take precedence over those of the database and the
 * role. PgBouncer keeps them for each client, in all versions and modes, and accepts no others.
 */
const sessionSettings = { DateStyle: 'ISO, MDY', TimeZone: 'UTC', standard_conforming_strings: 'on' };

/** Options of the driver. */
export type DriverOptions = postgres.Options<Record<string, never>>;

/** What the driver uses if a URL does not say otherwise: the variables of libpq, such as PGHOST. */
export function readDefaultPlace(): { host: string; port: number } {
  const { host, port } = postgres(clientOptions).options;
  return { host: host[0] ?? 'localhost', port: port[0] ?? 5432 };
}

/** The options of the driver for a URL. @param schema the schema of the tables, if it is not that of the role or the database */
export function driverOptionsOf({ user, password, database, parameters }: DatabaseUrl, schema?: string): DriverOptions {
  const name = parameters.get('application_name') ?? parameters.get('fallback_application_name') ?? applicationName;
  const [options, prepare] = [parameters.get('options'), parameters.get('prepare')];
  const ssl = parameters.get('sslmode') ?? parameters.get('ssl') ?? impliedSsl(parameters);
  const sslnegotiation = parameters.get('sslnegotiation');
  return {
    ...clientOptions,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
    ...(ssl !== undefined && { ssl: ssl === 'disable' || ssl === 'false' ? false : ssl }),
    ...(sslnegotiation !== undefined && { sslnegotiation }),
    ...(prepare === 'false' && { prepare: false }),
    connection: {
      application_name: name,
      ...(options !== undefined && { options }),
      ...sessionSettings,
      ...(schema !== undefined && { search_path: `"${schema.replaceAll('"', '""')}"` }),
    },
  } as unknown as DriverOptions;
}

/** An operator who names an authority does not want an unencrypted connection. */
const impliedSsl = (parameters: DatabaseUrl['parameters']) =>
  parameters.has('sslrootcert') ? 'verify-full' : undefined;

/** Completes the options the way postgres.js does. Opens no connection. */
export function readTarget(options: DriverOptions): Omit<PostgresTarget, 'tls'> {
  const target = postgres(options).options as unknown as Omit<PostgresTarget, 'tls'>;
  // False is the default of the driver, if neither the URL nor PGSSL says anything.
  return { ...target, ssl: options.ssl === false ? false : target.ssl || undefined };
}

/** A session with one of the servers, opened on first use. @param timeout milliseconds for opening it */
export function createSession(
  { options, target, timeout }: { options: DriverOptions; target: PostgresTarget; timeout: number },
  server: PostgresServer,
  ssl: Encryption,
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
      driverSocket = new DriverSocket(await openSocket(server, ssl, target, timeout), lose);
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
  const client = postgres({ ...options, ...place } as unknown as typeof clientOptions);
  Object.assign(client.options.parsers, types.parsers);
  Object.assign(client.options.serializers, types.serializers);

  return {
    get isLost() {
      return isLost;
    },
    get heard() {
      return driverSocket?.heard ?? created;
    },
    run: (work) =>
      new Promise((resolve, reject) => {
        failUser = reject;
        // The driver's own message names neither the server nor the fault.
        const explain = (error: NodeJS.ErrnoException) =>
          reject(error.code === 'CONNECT_TIMEOUT' ? nameServer(tooSlow(), server) : error);
        work(client).then(resolve, explain);
      }),
    cancel: async (key) => {
      const socket = await openSocket(server, ssl, target, timeout);
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
