import { readFileSync } from 'node:fs';
import { nameOf, type PostgresServer, type TlsFiles } from './socket.js';

/** A host, or the directory of a Unix socket, and a port. */
interface Place {
  host: string;
  port: number;
}

/** What DATABASE_URL contains, decoded. */
export interface DatabaseUrl {
  /** At least one. */
  readonly servers: readonly PostgresServer[];
  readonly user?: string;
  readonly password?: string;
  readonly database?: string;
  /** All other parameters. */
  readonly parameters: ReadonlyMap<string, string>;
}

const tlsFiles = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const;

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** Parameters that this service or the driver handles. `ssl` and `prepare` are those of the driver, and the others those of libpq. */
const supported = new Set([
  ...['host', 'port', 'user', 'password', 'dbname', 'options', 'application_name', 'fallback_application_name'],
  ...['connect_timeout', 'target_session_attrs', 'sslmode', 'sslnegotiation', 'sslpassword', ...Object.keys(tlsFiles)],
  ...['ssl', 'prepare'],
  // The service detects lost connections without them.
  ...['keepalives', 'keepalives_idle', 'keepalives_interval', 'keepalives_count', 'tcp_user_timeout'],
]);

/**
 * Parameters of libpq that neither the driver nor this service supports, each with the values that request nothing. An operator
 * who sets another value relies on a protection or a behavior that would be missing.
 */
const unsupported: Readonly<Record<string, readonly string[]>> = {
  channel_binding: ['prefer', 'disable'],
  client_encoding: ['auto', 'UTF8', 'utf8', 'UTF-8', 'utf-8'],
  gssencmode: ['prefer', 'disable'],
  gssdelegation: ['0'],
  gsslib: [],
  hostaddr: [],
  krbsrvname: [],
  load_balance_hosts: ['disable'],
  max_protocol_version: ['3.0', 'latest'],
  min_protocol_version: ['3.0'],
  passfile: [],
  replication: ['false', 'off', 'no', '0'],
  require_auth: [],
  requirepeer: [],
  requiressl: ['0'],
  scram_client_key: [],
  scram_server_key: [],
  service: [],
  sslcertmode: ['allow'],
  sslcompression: ['0'],
  sslcrl: [],
  sslcrldir: [],
  sslkeylogfile: [],
  sslsni: ['1'],
  ssl_max_protocol_version: [],
  ssl_min_protocol_version: ['TLSv1', 'TLSv1.1', 'TLSv1.2'],
};

/** The values of parameters that have only a few. A server that accepts writes is used, whatever `target_session_attrs` says. */
const choicesOf: Readonly<Record<string, readonly string[]>> = {
  sslmode: sslModes,
  sslnegotiation: ['postgres', 'direct'],
  target_session_attrs: ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'],
  prepare: ['true', 'false'],
};

/** The message completes "DATABASE_URL: ". It never contains a part of the URL that may be a password. */
class DatabaseUrlError extends Error {}

/**
 * Reads a URL as libpq does. `URL` cannot parse several hosts, sockets, or a missing host.
 * @param defaultPlace where a URL without a host or port leads to
 * @throws {DatabaseUrlError}
 */
export function readDatabaseUrl(url: string, defaultPlace: Place = { host: 'localhost', port: 5432 }): DatabaseUrl {
  const parts = /^postgres(?:ql)?:\/\/(?:([^/?]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s.exec(url);
  if (!parts) throw new DatabaseUrlError('expected a URL such as postgres://user:password@host:5432/database');
  const [, login, places = '', path, query = ''] = parts;
  const parameters = new Map<string, string>();
  for (const pair of query.split('&').filter(Boolean)) {
    const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(pair) ?? [];
    parameters.set(decode(name, 'parameters'), decode(value, 'parameters'));
  }
  const take = (name: string) => {
    const value = parameters.get(name);
    parameters.delete(name);
    return value || undefined;
  };
  const [, loginUser, loginPassword] = /^([^:]*)(?::(.*))?$/s.exec(login ?? '') ?? [];
  const user = take('user') ?? decode(loginUser, 'user name');
  const password = take('password') ?? decode(loginPassword, 'password');
  const database = take('dbname') ?? decode(path, 'name of the database');
  return {
    servers: readServers(defaultPlace, places, take('host'), take('port')),
    ...(user && { user }),
    ...(password && { password }),
    ...(database && { database }),
    parameters,
  };
}

/** The servers of the URL. Hosts and ports in the parameters take precedence. */
function readServers(
  defaultPlace: Place,
  places: string,
  hostParameter?: string,
  portParameter?: string,
): PostgresServer[] {
  const listed = places.split(',').map((place) => {
    const [, address, name = '', port] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(.*))?$/s.exec(place) ?? [];
    if (address === undefined && name === '' && place !== '' && port === undefined)
      throw new DatabaseUrlError('an IPv6 address must be in brackets, as in postgres://user@[::1]:5432/database');
    return { host: decode(address ?? name, 'host') ?? '', port: decode(port, 'port') };
  });
  const hosts = hostParameter?.split(',') ?? listed.map(({ host }) => host);
  const ports = portParameter?.split(',') ?? listed.map(({ port }) => port ?? '');
  if (ports.length > 1 && ports.length !== hosts.length)
    throw new DatabaseUrlError('there must be one port, or as many ports as hosts');
  return hosts.map((host, index) => serverOf(defaultPlace, host, (ports.length > 1 ? ports[index] : ports[0]) ?? ''));
}

function serverOf(defaultPlace: Place, host: string, portText: string): PostgresServer {
  const port = Number(portText || defaultPlace.port);
  if (!/^\d*$/.test(portText) || port < 1 || port > 65_535)
    throw new DatabaseUrlError(
      'a port must be a number between 1 and 65535. Special characters in a user name or password must be percent-encoded',
    );
  const name = host || defaultPlace.host;
  // As for libpq, a path is the directory of a Unix socket.
  return name.startsWith('/')
    ? { host: 'localhost', port, path: `${name.replace(/\/$/, '')}/.s.PGSQL.${port}` }
    : { host: name, port };
}

function decode(text: string, part: string): string;
function decode(text: string | undefined, part: string): string | undefined;
function decode(text: string | undefined, part: string): string | undefined {
  if (text === undefined) return undefined;
  try {
    const decoded = decodeURIComponent(text);
    if (!decoded.includes('\0')) return decoded;
  } catch {
    // Reported below.
  }
  throw new DatabaseUrlError(`the ${part} cannot be decoded: write \`%\` as \`%25\``);
}

/** The servers in a URL, for messages. */
export function serversIn(url: string): string {
  return readDatabaseUrl(url).servers.map(nameOf).join(',');
}

/** What is wrong with a URL, with one sentence for each fault. */
export function databaseUrlFaults(url: string): string[] {
  try {
    // What follows a question mark in a password that is not encoded is read as parameters, up to the `@` before the host.
    return parameterFaults(readDatabaseUrl(url).parameters, /\?.*@/s.test(url));
  } catch (error) {
    if (error instanceof DatabaseUrlError) return [error.message];
    throw error;
  }
}

function parameterFaults(parameters: DatabaseUrl['parameters'], mayContainPassword: boolean): string[] {
  const faults: string[] = [];
  for (const [name, value] of parameters) {
    const harmless = Object.hasOwn(unsupported, name) ? unsupported[name] : undefined;
    if (harmless && !harmless.includes(value)) faults.push(`the parameter ${name} is not supported`);
    else if (!harmless && !supported.has(name))
      faults.push(
        /^\w+$/.test(name) && !mayContainPassword
          ? `the parameter ${name} is unknown; a setting of PostgreSQL is written as \`options=-c%20name%3Dvalue\``
          : 'a parameter is unknown; special characters in a user name or password must be percent-encoded',
      );
  }
  for (const [name, choices] of Object.entries(choicesOf)) {
    const choice = parameters.get(name);
    if (choice !== undefined && !choices.includes(choice))
      faults.push(`the parameter ${name} must be one of ${choices.join(', ')}`);
  }
  const timeout = parameters.get('connect_timeout');
  if (timeout !== undefined && !/^\d{1,5}$/.test(timeout))
    faults.push('the parameter connect_timeout must be a number of seconds');
  for (const name of Object.keys(tlsFiles)) {
    const file = parameters.get(name);
    if (file === undefined || isSystem(name, file)) continue;
    try {
      readFileSync(file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      faults.push(`the file in the parameter ${name}, ${file}, cannot be read (${code})`);
    }
  }
  if (parameters.has('sslcert') !== parameters.has('sslkey'))
    faults.push('the parameters sslcert and sslkey must be set together');
  return faults;
}

/** Whether a parameter selects the authorities that Node trusts. */
const isSystem = (name: string, file: string) => name === 'sslrootcert' && file === 'system';

/** Certificates and keys. The driver (3.4.9) ignores them. */
export function readTlsFiles(parameters: DatabaseUrl['parameters']): TlsFiles {
  const tls: TlsFiles = {};
  for (const [name, option] of Object.entries(tlsFiles)) {
    const file = parameters.get(name);
    if (file !== undefined && !isSystem(name, file)) tls[option] = readFileSync(file, 'utf8');
  }
  const passphrase = parameters.get('sslpassword');
  if (passphrase !== undefined) tls.passphrase = passphrase;
  return tls;
}
