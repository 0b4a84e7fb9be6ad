import type postgres from 'postgres';

/** Which statements are worth preparing, on every connection that they are sent on. */
export interface Preparing {
  /** Notes that a statement is about to be sent. @returns whether it is to be prepared */
  wants(text: string): boolean;
}

/**
 * A prepared statement saves the server from reading and planning it, and the driver a round trip; but it stays on its
 * connection for as long as that lives, and callers have a hand in the texts of some. So one is prepared from its second
 * time on, and there are not many of them: what comes when all places are taken is sent as it is.
 * @param most how many may be prepared
 * @param noted how many others are remembered, to know them again
 */
export function createPreparing({ most = 500, noted = 2_000 } = {}): Preparing {
  const prepared = new Set<string>();
  const seen = new Set<string>();
  const forgetOldest = () => {
    const [oldest = ''] = seen;
    seen.delete(oldest);
  };

  return {
    wants: (text) => {
      if (prepared.has(text)) return true;
      if (prepared.size >= most) return false;
      if (seen.delete(text)) {
        prepared.add(text);
        return true;
      }
      seen.add(text);
      if (seen.size > noted) forgetOldest();
      return false;
    },
  };
}

/** Its own text is among those that it finds. */
const question = `select pg_backend_pid() as session, string_agg(name, ' ') as names
  from pg_prepared_statements where statement like '%whether it is kept here%'`;

/**
 * Whether what is prepared on a connection is there when it is used again. Behind a pooler that lends sessions by the transaction
 * it may be in another one. A pooler shows by the number of the session, which it has made up; and it keeps track of prepared
 * statements (PgBouncer 1.21 and newer, with `max_prepared_statements`) when they have other names in the session than here.
 */
export async function isPreparedKept(sql: Pick<postgres.Sql, 'unsafe'>): Promise<boolean> {
  const options = { prepare: true, simple: false } as { prepare: true };
  const { 0: found, state, statement } = await sql.unsafe(question, [], options);
  const names = String(found?.names ?? '').split(' ');
  return found?.session === state.pid || !names.includes(statement.name);
}
