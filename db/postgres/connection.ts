import type postgres from 'postgres';
import { isDatabaseUnavailable, ReadOnlyError } from '../failures.js';
import type { PostgresServers } from './servers.js';
import { createSession, type PostgresSession, type TypeHandlers } from './session.js';
import { ConnectionError, type PostgresServer, tooSlow } from './socket.js';

/** A session with whichever server takes writes. When it is lost it stays lost: another is to be opened. */
export interface PostgresConnection extends PostgresSession {
  /** On the clock of `performance.now()`. */
  readonly opened: number;
}

/** A connection that is opened by its first use. */
export function createConnection(servers: PostgresServers, types: TypeHandlers): PostgresConnection {
  const opened = performance.now();
  /** The latest that was tried. */
  let session: PostgresSession | undefined;
  let isOpen = false;
  let fault: Error | undefined;

  const open = async (): Promise<PostgresSession> => {
    const faults: string[] = [];
    for (const server of servers.inOrder()) {
      session = createSession(servers, server, types);
      const refusal = servers.mustTakeWrites ? await refusalOf(session, servers.timeout) : undefined;
      if (fault) throw fault;
      if (!refusal) {
        servers.prefer(server);
        return session;
      }
      if (isSilence(refusal)) servers.defer(server);
      faults.push(`${nameOf(server)}: ${refusal.message || 'it cannot be reached'}`);
    }
    fault = new ConnectionError('ECONNREFUSED', `no server takes writes: ${faults.join('; ')}`);
    throw fault;
  };

  return {
    get isLost() {
      return fault !== undefined || session?.isLost === true;
    },
    opened,
    get heard() {
      return isOpen ? (session?.heard ?? opened) : opened;
    },
    use: async (work) => {
      const found = isOpen && session ? session : await open();
      isOpen = true;
      return found.use(work);
    },
    cancel: async (key) => session?.cancel(key),
    destroy: (error) => {
      fault = error;
      session?.destroy(error);
    },
    end: async () => session?.end(),
  };
}

/**
 * Why a server will not do just now; it is left then. Undefined: it takes writes.
 * @throws what another server would say as well, such as a wrong password
 */
async function refusalOf(session: PostgresSession, timeout: number): Promise<Error | undefined> {
  const giveUp = setTimeout(() => session.destroy(tooSlow()), timeout);
  try {
    await session.use(requireWrites);
    return undefined;
  } catch (error) {
    session.destroy(error as Error);
    if (isDatabaseUnavailable(error)) return error as Error;
    throw error;
  } finally {
    clearTimeout(giveUp);
  }
}

/** Standbys only read, and so does a primary that was told to. */
async function requireWrites(sql: postgres.Sql): Promise<void> {
  const [row] = await sql.unsafe('show transaction_read_only');
  if (row?.transaction_read_only !== 'off') throw new ReadOnlyError();
}

const isSilence = (error: Error): boolean =>
  ['ETIMEDOUT', 'CONNECT_TIMEOUT'].includes(String((error as NodeJS.ErrnoException).code));

const nameOf = ({ host, port }: PostgresServer): string => `${host}:${port}`;
