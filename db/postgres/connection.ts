import type postgres from 'postgres';
import { isDatabaseUnavailable, ReadOnlyError } from '../failures.js';
import type { PostgresServers } from './servers.js';
import { createSession, type PostgresSession, type TypeHandlers } from './session.js';
import { ConnectionError, nameServer, tooSlow } from './socket.js';

/** A session with the first server that accepts writes. Once lost, it stays lost, and a new one must be opened. */
export interface PostgresConnection extends PostgresSession {
  /** On the clock of `performance.now()`. */
  readonly opened: number;
}

/** A connection that is opened on first use. */
export function createConnection(servers: PostgresServers, types: TypeHandlers): PostgresConnection {
  const opened = performance.now();
  /** The most recent attempt. */
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
      faults.push(nameServer(refusal, server).message);
    }
    fault = new ConnectionError('ECONNREFUSED', `no server accepts writes: ${faults.join('; ')}`);
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
    run: async (work) => {
      const found = isOpen && session ? session : await open();
      isOpen = true;
      return found.run(work);
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
 * Checks whether a server accepts writes, and closes the session if it does not.
 * @returns the reason why the server cannot be used right now; undefined when it accepts writes
 * @throws errors that another server would return as well, such as a wrong password
 */
async function refusalOf(session: PostgresSession, timeout: number): Promise<Error | undefined> {
  const giveUp = setTimeout(() => session.destroy(tooSlow()), timeout);
  try {
    await session.run(requireWrites);
    return undefined;
  } catch (error) {
    session.destroy(error as Error);
    if (isDatabaseUnavailable(error)) return error as Error;
    throw error;
  } finally {
    clearTimeout(giveUp);
  }
}

/** Standbys are read-only, and so is a primary that is set to read-only. */
async function requireWrites(sql: postgres.Sql): Promise<void> {
  const [row] = await sql.unsafe('show transaction_read_only');
  if (row?.transaction_read_only !== 'off') throw new ReadOnlyError();
}

const isSilence = (error: Error): boolean =>
  ['ETIMEDOUT', 'CONNECT_TIMEOUT'].includes(String((error as NodeJS.ErrnoException).code));
