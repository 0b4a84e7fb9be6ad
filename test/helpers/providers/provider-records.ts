import { and, eq, sql } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import { identities, sessions, users } from '../../../db/schema.js';
import { rows } from '../../../db/statements.js';

/**
 * A digest of everything that a login through a provider may create or change: users, identities, and sessions. A
 * rejected login must leave it unchanged.
 */
export async function digestOfAccounts(app: FastifyInstance): Promise<string> {
  const digests = [users, identities, sessions].map(
    (table) => sql`(select count(*) || ' ' || md5(coalesce(string_agg(to_jsonb(t)::text, ' ' order by t.id), ''))
      from ${table} t)`,
  );
  const [found] = await rows<{ digest: string }>(
    app.db,
    sql`select concat_ws(', ', ${sql.join(digests, sql`, `)}) as digest`,
  );
  return found?.digest ?? '';
}

/** The user to whom a provider account is linked, if any. */
export async function userBehind(app: FastifyInstance, provider: string, identifier: string) {
  const [found] = await app.db
    .select({ user: users, identity: identities })
    .from(identities)
    .innerJoin(users, eq(users.id, identities.user))
    .where(and(eq(identities.provider, provider), eq(identities.identifier, identifier)));
  return found;
}

export const sessionsOf = (app: FastifyInstance, user: string) =>
  app.db.select().from(sessions).where(eq(sessions.user, user));

export const identitiesOf = (app: FastifyInstance, user: string) =>
  app.db.select().from(identities).where(eq(identities.user, user));
