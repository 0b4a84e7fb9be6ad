import { once } from 'node:events';
import { connect, isIP, isIPv6, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';

/** Certificates and keys for TLS, in PEM. */
export interface TlsFiles {
  /** The authorities to trust instead of those that Node trusts. */
  ca?: string;
  cert?: string;
  key?: string;
  passphrase?: string;
}

/** How to connect to the servers, as postgres.js reads it from its options and the environment. */
export interface PostgresTarget {
  /** The value of `sslmode`, or false. Undefined: the URL does not say. See {@link encryptionsFor}. */
  readonly ssl?: Encryption | undefined;
  readonly tls: TlsFiles;
  /** `direct` starts with TLS immediately, without negotiation (PostgreSQL 17). */
  readonly sslnegotiation?: unknown;
  /** False: no statement is prepared. */
  readonly prepare?: unknown;
}

/** False: without TLS. Otherwise the value of `sslmode` to connect with. {@link verification} says which verify the certificate. */
export type Encryption = string | boolean;

/** One of the servers of a target. */
export interface PostgresServer {
  readonly host: string;
  readonly port: number;
  /** The path of a Unix socket, which is used instead of the host. */
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

/** TLS cannot be set up with the server. */
export class TlsError extends ConnectionError {
  constructor(message: string) {
    super('ECONNRESET', message);
    this.name = 'TlsError';
  }
}

export const closedByPeer = () => new ConnectionError('ECONNRESET', 'it closed the connection');
export const tooSlow = () => new ConnectionError('ETIMEDOUT', 'it did not respond in time');

/** The server as error messages name it. */
export const nameOf = ({ host, port, path }: PostgresServer): string =>
  path ?? `${isIPv6(host) ? `[${host}]` : host}:${port}`;

/** Adds the server to the message of a failed connection, because the errors of the operating system do not always name it. */
export function nameServer(error: Error, server: PostgresServer): Error {
  if (error.message.startsWith(nameOf(server))) return error;
  // Node tries all addresses of a host, and reports all failures together, without a message.
  const [first] = error instanceof AggregateError ? error.errors : [];
  const reason = error.message || (first instanceof Error ? first.message : 'it cannot be reached');
  const message = `${nameOf(server)}: ${reason}`;
  if (error instanceof TlsError) return new TlsError(message);
  const { code } = error as NodeJS.ErrnoException;
  return Object.assign(new Error(message), { code });
}

/**
 * The ways to connect to a server, in the order in which libpq tries them. Unlike libpq, connections to this machine, which nobody else
 * can read, are encrypted only if the server requires it, unless the URL says otherwise.
 */
export function encryptionsFor({ host, path }: PostgresServer, ssl: Encryption | undefined): readonly Encryption[] {
  if (path !== undefined) return [false];
  const mode = ssl ?? (/^(localhost|127\.[\d.]+|::1)$/i.test(host) ? 'allow' : 'prefer');
  if (mode === 'allow') return [false, 'allow'];
  return mode === 'prefer' ? ['prefer', false] : [mode];
}

/** Connects to a server. @param milliseconds time limit */
export async function openSocket(
  server: PostgresServer,
  ssl: Encryption,
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
    return ssl === false ? socket : await encrypt(socket, host, ssl, target, signal);
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
  ssl: Encryption,
  { sslnegotiation, tls }: PostgresTarget,
  signal: AbortSignal,
): Promise<Socket> {
  const isDirect = sslnegotiation === 'direct';
  if (!isDirect) {
    socket.write(tlsRequest);
    const [answer] = (await once(socket, 'data', { signal })) as [Buffer];
    // More than one byte means that an attacker in the middle injected data before the encryption started (CVE-2021-23222).
    if (answer.toString('latin1') !== 'S') {
      if (ssl === 'prefer' && answer.toString('latin1') === 'N') return socket;
      throw new TlsError('it does not offer TLS, which DATABASE_URL requires');
    }
  }
  const options: ConnectionOptions = { socket, ...tls, ...verification(ssl, tls) };
  if (!isIP(host)) options.servername = host;
  if (isDirect) options.ALPNProtocols = ['postgresql'];
  const encrypted = connectTls(options);
  encrypted.on('error', () => {});
  try {
    await once(encrypted, 'secureConnect', { signal });
  } catch (error) {
    encrypted.destroy();
    throw signal.aborted || !(error instanceof Error) ? error : new TlsError(`TLS: ${error.message}`);
  }
  return encrypted;
}

/**
 * What is verified for a value of `sslmode`, as libpq documents it: `allow` and `prefer` accept any certificate, and so does `require`
 * unless `sslrootcert` names the authorities. With `verify-ca`, these can issue the certificate for any host name. All other values
 * also verify the host name.
 */
function verification(
  ssl: Encryption,
  { ca }: TlsFiles,
): Pick<ConnectionOptions, 'rejectUnauthorized' | 'checkServerIdentity'> {
  if (ssl === 'allow' || ssl === 'prefer' || (ssl === 'require' && ca === undefined))
    return { rejectUnauthorized: false };
  // Without named authorities, any public one could issue a certificate for another host.
  return (ssl === 'require' || ssl === 'verify-ca') && ca !== undefined ? { checkServerIdentity: () => undefined } : {};
}
