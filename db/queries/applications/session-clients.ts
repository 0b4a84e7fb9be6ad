import { sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { clients, sessionClients } from '../../schema.js';
import { rows } from '../../statements.js';

/** An application that must be notified of the end of a session. */
export interface EndedSessionClient {
  client: string;
  user: string;
  session: string;
  /** Where it is notified; null if it no longer needs to know. */
  uri: string | null;
}

/** Whether a session with applications to notify has ended. */
export async function hasEndedSessionClients(executor: Executor): Promise<boolean> {
  return (await rows(executor, sql`select 1 from ${sessionClients} where session is null limit 1`)).length > 0;
}

/** Removes the applications whose session has ended, to notify them, in a transaction. Parallel calls get different ones. */
export async function takeEndedSessionClients(tx: Executor, limit: number): Promise<EndedSessionClient[]> {
  return rows<EndedSessionClient>(
    tx,
    sql`delete from ${sessionClients} where (sid, client) in (
      select sid, client from ${sessionClients} where session is null limit ${limit}::int for update skip locked
    ) returning client, "user", sid as session,
      (select backchannel_logout_uri from ${clients} where id = ${sessionClients.client}) as uri`,
  );
}
