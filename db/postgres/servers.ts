import { takeOwnParameters } from './parameters.js';
import { readTarget } from './session.js';
import type { PostgresServer, PostgresTarget } from './socket.js';

/** The servers that a URL names. */
export interface PostgresServers {
  readonly url: string;
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

/** @param url may name several hosts; the one that accepts writes is used, whatever `target_session_attrs` says */
export function createServers(url: string, timeout: number): PostgresServers {
  const { attributes, tls, rest } = takeOwnParameters(url);
  const target = { ...readTarget(rest), tls };
  const servers = serversOf(target);
  const without = (server: PostgresServer) => servers.filter((other) => other !== server);

  return {
    url: rest,
    target,
    timeout,
    mustTakeWrites: servers.length > 1 || (attributes !== null && attributes !== 'any'),
    inOrder: () => [...servers],
    prefer: (server) => void servers.splice(0, Number.POSITIVE_INFINITY, server, ...without(server)),
    defer: (server) => void servers.splice(0, Number.POSITIVE_INFINITY, ...without(server), server),
  };
}

function serversOf({ host, port, path }: PostgresTarget): PostgresServer[] {
  const [first = 'localhost'] = host;
  if (path) return [{ host: first, port: port[0] ?? 5432, path }];
  return host.map((name, index) => ({ host: name, port: port[index] ?? 5432 }));
}
