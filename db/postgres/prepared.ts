import type postgres from 'postgres';

/** Decides which statements are worth preparing, on every connection. */
export interface Preparing {
  /** Records that a statement is about to be sent. @returns whether to prepare it */
  wants(text: string): boolean;
  /** How many statements are no longer prepared because others have taken their place. */
  readonly dropped: number;
}

/** Maximum number of prepared statements. */
export const maxPrepared = 500;

/**
 * Preparing a statement saves the server parsing and planning, and the driver a round trip. But a prepared statement stays on its
 * connection for as long as the connection lives, and callers can influence the texts of some statements. So a statement is prepared
 * only from its second use on, and only up to a limit. Beyond it, a statement takes the place of the one that has not been used for the
 * longest time, so that callers who make up statements do not keep out those in use.
 * @param max maximum number of prepared statements
 * @param noted how many other statements are remembered, to recognize their second use
 */
export function createPreparing({ max = maxPrepared, noted = 2_000 } = {}): Preparing {
  const prepared = new Set<string>();
  const seen = new Set<string>();
  let dropped = 0;
  const forgetOldest = (texts: Set<string>) => {
    const [oldest = ''] = texts;
    texts.delete(oldest);
  };

  return {
    wants: (text) => {
      if (prepared.delete(text)) {
        prepared.add(text);
        return true;
      }
      if (seen.delete(text)) {
        prepared.add(text);
        if (prepared.size > max) {
          forgetOldest(prepared);
          dropped++;
        }
        return true;
      }
      seen.add(text);
      if (seen.size > noted) forgetOldest(seen);
      return false;
    },
    get dropped() {
      return dropped;
    },
  };
}

/** The statement contains the text that it searches for, so it finds itself. */
const question = `select pg_backend_pid() as session, string_agg(name, ' ') as names
  from pg_prepared_statements where statement like '%whether it is kept here%'`;

/** What is known about the server behind a connection. */
export interface ServerSession {
  /** Whether the connection leads to the server itself, so that each has a session of its own. */
  isDirect: boolean;
  /** Whether a statement prepared on the connection is still there when the connection is used again. */
  keepsPrepared: boolean;
}

/**
 * Finds out whether there is a pooler in front of the server. It is recognized by the process id that it reports, which is made up. With
 * transaction pooling, the next use of a connection may run in another server session. A pooler that tracks prepared statements
 * (PgBouncer 1.21 and newer, with `max_prepared_statements`) gives them other names there.
 */
export async function examineSession(sql: Pick<postgres.Sql, 'unsafe'>): Promise<ServerSession> {
  const options = { prepare: true, simple: false } as { prepare: true };
  const { 0: found, state, statement } = await sql.unsafe(question, [], options);
  const names = String(found?.names ?? '').split(' ');
  const isDirect = found?.session === state.pid;
  return { isDirect, keepsPrepared: isDirect || !names.includes(statement.name) };
}
