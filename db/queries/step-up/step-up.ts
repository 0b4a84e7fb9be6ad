import { and, eq, sql } from 'drizzle-orm';
import type { AuthenticationMethod } from '../../../schemas/sessions.js';
import type { Executor } from '../../client.js';
import { identities, passkeys, sessions, users } from '../../schema.js';
import { rows } from '../../statements.js';

/** The ways in which a user can prove their identity. */
export interface ProofRecord {
  provider: string;
  has_password: boolean;
  has_tfa: boolean;
  has_email: boolean;
  has_passkey: boolean;
  /** The providers where the user has a linked account. */
  providers: string[];
}

export async function findProofs(executor: Executor, user: string): Promise<ProofRecord | undefined> {
  const [found] = await rows<ProofRecord>(
    executor,
    sql`select u.provider, u.password is not null as has_password, u.tfa_secret is not null as has_tfa,
        u.email is not null as has_email, exists (select from ${passkeys} p where p."user" = u.id) as has_passkey,
        to_json(array(select distinct i.provider from ${identities} i where i."user" = u.id)) as providers
      from ${users} u where u.id = ${user}`,
  );
  return found;
}

/** Whether a session satisfies `enforce_tfa`; undefined if it has ended. */
export async function findSessionProof(
  executor: Executor,
  session: string,
): Promise<{ satisfiesTfa: boolean } | undefined> {
  const [found] = await executor
    .select({ satisfiesTfa: sql<boolean>`${sessions.isVerifiedByPasskey} or ${users.tfaSecret} is not null` })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.user))
    .where(eq(sessions.id, session));
  return found;
}

/**
 * Records what the user of a session has proved in it.
 * @param proved.authenticatedAt when, if it makes the session fresh
 * @returns whether the session still exists
 */
export async function recordProved(
  executor: Executor,
  session: { id: string; user: string },
  proved: { amr: readonly AuthenticationMethod[]; isVerifiedByPasskey: boolean; authenticatedAt?: Date },
): Promise<boolean> {
  const { isVerifiedByPasskey, authenticatedAt } = proved;
  const added = sql`${`{${proved.amr.join()}}`}::text[]`;
  const amr = sql`array(select distinct method collate "C" from unnest(${sessions.amr} || ${added}) as method order by 1)`;
  const marked = await executor
    .update(sessions)
    .set({ amr, ...(authenticatedAt && { authenticatedAt }), ...(isVerifiedByPasskey ? { isVerifiedByPasskey } : {}) })
    .where(and(eq(sessions.id, session.id), eq(sessions.user, session.user)))
    .returning({ id: sessions.id });
  return marked.length === 1;
}
