import type postgres from 'postgres';
import { isDatabaseUnavailable, ReadOnlyError, sqlStateOf } from '../failures.js';
import type { PostgresServers } from './servers.js';
import { createSession, type PostgresSession, type TypeHandlers } from './session.js';
import { ConnectionError, nameServer, type PostgresServer, TlsError, tooSlow } from './socket.js';

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

  /**
   * Connects to a server with or without TLS, whichever it accepts.
   * @throws errors that another server would return as well, such as a wrong password
   */
  const openTo = async (server: PostgresServer): Promise<PostgresSession | Error> => {
    const encryptions = servers.encryptionsFor(server);
    const refusals: Error[] = [];
    for (const encryption of encryptions) {
      const opened = createSession(servers, server, encryption, types);
      session = opened;
      const checks = servers.mustTakeWrites || encryptions.length > 1;
      const refusal = checks ? await refusalOf(opened, servers) : undefined;
      if (fault) throw fault;
      if (!refusal) {
        servers.prefer(server, encryption);
        return opened;
      }
      refusals.push(refusal);
      if (!dependsOnEncryption(refusal)) break;
    }
    // A server that has no TLS said in its first refusal what is wrong.
    const refusal = refusals.findLast((one) => !(one instanceof TlsError)) ?? (refusals[0] as Error);
    if (isDatabaseUnavailable(refusal)) return refusal;
    throw refusal;
  };

  const open = async (): Promise<PostgresSession> => {
    const faults: string[] = [];
    for (const server of servers.inOrder()) {
      const opened = await openTo(server);
      if (!(opened instanceof Error)) return opened;
      if (isSilence(opened)) servers.defer(server);
      if (!servers.mustTakeWrites) throw opened;
      faults.push(nameServer(opened, server).message);
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
      try {
        return await found.run(work);
      } catch (error) {
        if (dependsOnEncryption(error)) {
          servers.forgetEncryption();
          // The server is about to close it.
          fault = error as Error;
          found.destroy(fault);
        }
        throw error;
      }
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
 * Whether a server may accept a connection that is encrypted, or not encrypted, instead. `pg_hba.conf` has rules for both, and PgBouncer
 * requires TLS with the other state.
 */
const dependsOnEncryption = (error: unknown): boolean =>
  error instanceof TlsError || ['28000', '08P01'].includes(sqlStateOf(error) ?? '');

/** Checks whether a server accepts the session and, if necessary, writes. Closes the session if it does not. @returns the reason */
async function refusalOf(
  session: PostgresSession,
  { mustTakeWrites, timeout }: Pick<PostgresServers, 'mustTakeWrites' | 'timeout'>,
): Promise<Error | undefined> {
  const giveUp = setTimeout(() => session.destroy(tooSlow()), timeout);
  try {
    await session.run(mustTakeWrites ? requireWrites : requireResponse);
    return undefined;
  } catch (error) {
    session.destroy(error as Error);
    return error as Error;
  } finally {
    clearTimeout(giveUp);
  }
}

async function requireResponse(sql: postgres.Sql): Promise<void> {
  await sql.unsafe('select 1');
}

/** Standbys are read-only, and so is a primary that is set to read-only. */
async function requireWrites(sql: postgres.Sql): Promise<void> {
  const [row] = await sql.unsafe('show transaction_read_only');
  if (row?.transaction_read_only !== 'off') throw new ReadOnlyError();
}

const isSilence = (error: Error): boolean =>
  ['ETIMEDOUT', 'CONNECT_TIMEOUT'].includes(String((error as NodeJS.ErrnoException).code));
