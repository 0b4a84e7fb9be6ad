import { readDatabaseUrl, readTlsFiles } from './database-url.js';
import { type DriverOptions, driverOptionsOf, readDefaultPlace, readTarget } from './session.js';
import type { PostgresServer, PostgresTarget } from './socket.js';

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
  /** Moves a server that accepts writes to the front of the list. */
  prefer(server: PostgresServer): void;
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
  const attributes = read.parameters.get('target_session_attrs') ?? 'any';

  return {
    options,
    target,
    timeout: Number(read.parameters.get('connect_timeout') ?? 0) * 1_000 || timeout,
    mustTakeWrites: servers.length > 1 || attributes !== 'any',
    inOrder: () => [...servers],
    prefer: (server) => void servers.splice(0, Number.POSITIVE_INFINITY, server, ...without(server)),
    defer: (server) => void servers.splice(0, Number.POSITIVE_INFINITY, ...without(server), server),
  };
}
