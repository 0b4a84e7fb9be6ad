import { and, eq, lte, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { fixedStatement } from '../../fixed-statement.js';
import { inLowerCase } from '../../lower-case.js';
import { knownNetworks, users } from '../../schema.js';

/** Maximum number of networks stored for each user; the most recent ones are kept. */
const maxNetworks = 20;
/** Milliseconds that must pass before another login from the same network is recorded. */
const noteAfter = 3_600_000;

/** The values that record a login from a network. */
type NetworkUse = 'network' | 'now' | 'notedBefore';

export const valuesOfNetworkUse = (network: string, now: Date): Record<NetworkUse, string> => ({
  network,
  now: now.toISOString(),
  notedBefore: new Date(now.getTime() - noteAfter).toISOString(),
});

/**
 * Parts of a `with` clause that record a user's login from a network.
 * @param user yields the user's `id`, or no row; then nothing is recorded
 */
export const notingNetwork = (user: SQL, value: (name: NetworkUse) => Placeholder): SQL => sql`
  noted as (
    insert into ${knownNetworks} ("user", network, last_login_at)
    select id, ${value('network')}::varchar, ${value('now')}::timestamptz from ${user} login
    on conflict ("user", network) do update set last_login_at = excluded.last_login_at
      where known_networks.last_login_at <= ${value('notedBefore')}::timestamptz
    returning "user", network
  ), outnumbered as (
    delete from ${knownNetworks} k using noted cross join lateral (
      select network from ${knownNetworks}
      where "user" = noted."user" and network <> noted.network order by last_login_at desc offset ${sql.raw(`${maxNetworks - 1}`)}
    ) oldest
    where k."user" = noted."user" and k.network = oldest.network
  )`;

const noting = fixedStatement<Record<NetworkUse | 'user', string>, Record<never, never>>(
  (value) => sql`with ${notingNetwork(sql`(select ${value('user')}::uuid as id)`, value)} select`,
);

/** Records that a user has logged in from a network. */
export async function rememberNetwork(tx: Executor, user: string, network: string, now: Date): Promise<void> {
  await noting(tx, { user, ...valuesOfNetworkUse(network, now) });
}

/** Whether the user with this email address, in any letter case, has logged in from a network before. */
export async function logsInFrom(executor: Executor, email: string, network: string): Promise<boolean> {
  const found = await executor
    .select({ user: knownNetworks.user })
    .from(knownNetworks)
    .innerJoin(users, eq(users.id, knownNetworks.user))
    .where(and(eq(inLowerCase(users.email), email.toLowerCase()), eq(knownNetworks.network, network)));
  return found.length > 0;
}

/** Deletes networks without a login since `before`. */
export async function deleteOldNetworks(executor: Executor, before: Date): Promise<void> {
  await executor.delete(knownNetworks).where(lte(knownNetworks.lastLoginAt, before));
}
