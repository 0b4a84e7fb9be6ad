import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';

/** Where the servers are, as postgres.js reads it from a URL and the environment. */
export interface PostgresTarget {
  readonly host: readonly string[];
  readonly port: readonly number[];
  /** A Unix socket, instead of hosts. */
  readonly path?: string | false | undefined;
  /** `prefer` may fall back to no TLS. `prefer`, `require` and `allow` accept any certificate; other values except `false` verify it. */
  readonly ssl?: unknown;
  /** `direct` starts with TLS immediately, without negotiation (PostgreSQL 17). */
  readonly sslnegotiation?: unknown;
  /** False: no statement is prepared. */
  readonly prepare?: unknown;
}

/** One of the servers of a target. */
export interface PostgresServer {
  readonly host: string;
  readonly port: number;
  readonly path?: string;
}

/** A connection failure, with the code that the operating system uses for such failures. */
export class ConnectionError extends Error {
  constructor(
    readonly code: 'ECONNREFUSED' | 'ECONNRESET' | 'ETIMEDOUT',
    message: string,
  ) {
    super(message);
    this.name = 'ConnectionError';
  }
}

export const closedByPeer = () => new ConnectionError('ECONNRESET', 'it closed the connection');
export const tooSlow = () => new ConnectionError('ETIMEDOUT', 'it did not respond in time');

/** Connects to a server, with TLS if the target requires it. @param milliseconds time limit */
export async function openSocket(
  server: PostgresServer,
  target: PostgresTarget,
  milliseconds: number,
): Promise<Socket> {
  const { host, port, path } = server;
  const socket = connect(path ? { path } : { host, port });
  // Callers that wait for the socket receive its errors; an error that occurs later must not crash the process.
  socket.on('error', () => {});
  const hangUp = () => socket.destroy(closedByPeer());
  socket.once('end', hangUp);
  const signal = AbortSignal.timeout(milliseconds);
  try {
    await once(socket, 'connect', { signal });
    socket.setNoDelay(true).setKeepAlive(true, 60_000);
    return target.ssl ? await encrypt(socket, host, target, signal) : socket;
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? tooSlow() : error;
  } finally {
    socket.removeListener('end', hangUp);
  }
}

/** PostgreSQL's protocol, 55.2.10: the client asks for TLS, and the server accepts or refuses in one byte. */
const tlsRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

async function encrypt(
  socket: Socket,
  host: string,
  { ssl, sslnegotiation }: PostgresTarget,
  signal: AbortSignal,
): Promise<Socket> {
  const isDirect = sslnegotiation === 'direct';
  if (!isDirect) {
    socket.write(tlsRequest);
    const [answer] = (await once(socket, 'data', { signal })) as [Buffer];
    // More than one byte means that an attacker in the middle injected data before the encryption started (CVE-2021-23222).
    if (answer.toString('latin1') !== 'S') {
      if (ssl === 'prefer' && answer.toString('latin1') === 'N') return socket;
      throw new ConnectionError('ECONNRESET', 'it does not offer TLS, which DATABASE_URL requires');
    }
  }
  const options: ConnectionOptions = { socket };
  if (!isIP(host)) options.servername = host;
  if (isDirect) options.ALPNProtocols = ['postgresql'];
  if (ssl === 'require' || ssl === 'allow' || ssl === 'prefer') options.rejectUnauthorized = false;
  const encrypted = connectTls(options);
  encrypted.on('error', () => {});
  try {
    await once(encrypted, 'secureConnect', { signal });
  } catch (error) {
    encrypted.destroy();
    throw signal.aborted || !(error instanceof Error)
      ? error
      : new ConnectionError('ECONNRESET', `TLS: ${error.message}`);
  }
  return encrypted;
}
