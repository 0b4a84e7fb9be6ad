import { readTarget } from './session.js';
import type { PostgresServer, PostgresTarget } from './socket.js';

/** The servers that a URL names. */
export interface PostgresServers {
  readonly url: string;
  readonly target: PostgresTarget;
  /** Milliseconds in which each must have let us in, before the next is tried. */
  readonly timeout: number;
  /** Whether a server must show that it takes writes: one of several may be a standby. */
  readonly mustTakeWrites: boolean;
  /** In the order in which they are to be tried. */
  inOrder(): readonly PostgresServer[];
  /** It takes writes: it comes first from now on. */
  prefer(server: PostgresServer): void;
  /** It does not answer, which costs time: it comes last from now on. */
  defer(server: PostgresServer): void;
}

/** @param url any number of hosts, of which the one that takes writes is meant, whatever `target_session_attrs` says */
export function createServers(url: string, timeout: number): PostgresServers {
  const { attributes, rest } = withoutSessionAttributes(url);
  const target = readTarget(rest);
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

/**
 * Takes `target_session_attrs` away from the driver (3.4.9): a standby passes for `read-write` with it, and while there is no
 * primary it goes round and round between the others without a pause.
 */
function withoutSessionAttributes(url: string): { attributes: string | null; rest: string } {
  const [place = '', query = ''] = url.split('?');
  const parameters = new URLSearchParams(query);
  const attributes = parameters.get('target_session_attrs');
  if (attributes === null) return { attributes, rest: url };
  parameters.delete('target_session_attrs');
  return { attributes, rest: parameters.size > 0 ? `${place}?${parameters}` : place };
}

function serversOf({ host, port, path }: PostgresTarget): PostgresServer[] {
  const [first = 'localhost'] = host;
  if (path) return [{ host: first, port: port[0] ?? 5432, path }];
  return host.map((name, index) => ({ host: name, port: port[index] ?? 5432 }));
}
