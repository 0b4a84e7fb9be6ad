import { readDatabaseUrl, readTlsFiles } from './database-url.js';
import { type DriverOptions, driverOptionsOf, readDefaultPlace, readTarget } from './session.js';
import { type Encryption, encryptionsFor, type PostgresServer, type PostgresTarget } from './socket.js';

/** The servers that a URL names. */
export interface PostgresServers {
  readonly options: DriverOptions;
  readonly target: PostgresTarget;
  /** Milliseconds within which each server must accept a connection, before the next one is tried. */
  readonly timeout: number;
  /** Whether to check that a server accepts writes: one of several may be a standby. */
  readonly mustTakeWrites: boolean;
  /** In the order in which they are to be tried. */
  inOrder(): readonly PostgresServer[];
  /** The ways to connect to a server, in the order in which they are to be tried. There is one once a connection has worked. */
  encryptionsFor(server: PostgresServer): readonly Encryption[];
  /** Moves a server that accepts writes to the front of the list, and remembers how to connect to it. */
  prefer(server: PostgresServer, encryption: Encryption): void;
  /** Tries all ways again, because the rules of a server may have changed. */
  forgetEncryption(): void;
  /** Moves a server that does not respond, which costs time, to the end of the list. */
  defer(server: PostgresServer): void;
}

/**
 * @param url may name several hosts; the one that accepts writes is used, whatever `target_session_attrs` says
 * @param timeout used if the URL does not contain `connect_timeout`
 * @param schema the schema of the tables, if it is not that of the role or the database
 */
export function createServers(url: string, timeout: number, schema?: string): PostgresServers {
  const read = readDatabaseUrl(url, readDefaultPlace());
  const options = driverOptionsOf(read, schema);
  const target = { ...readTarget(options), tls: readTlsFiles(read.parameters) };
  const servers = [...read.servers];
  const without = (server: PostgresServer) => servers.filter((other) => other !== server);
  const worked = new Map<PostgresServer, Encryption>();
  const attributes = read.parameters.get('target_session_attrs') ?? 'any';

  return {
    options,
    target,
    timeout: Number(read.parameters.get('connect_timeout') ?? 0) * 1_000 || timeout,
    mustTakeWrites: servers.length > 1 || attributes !== 'any',
    inOrder: () => [...servers],
    encryptionsFor: (server) => {
      const known = worked.get(server);
      return known === undefined ? encryptionsFor(server, target.ssl) : [known];
    },
    prefer: (server, encryption) => {
      worked.set(server, encryption);
      servers.splice(0, Number.POSITIVE_INFINITY, server, ...without(server));
    },
    forgetEncryption: () => worked.clear(),
    defer: (server) => void servers.splice(0, Number.POSITIVE_INFINITY, ...without(server), server),
  };
}
