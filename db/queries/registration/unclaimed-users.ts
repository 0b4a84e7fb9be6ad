import { and, eq, sql } from 'drizzle-orm';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { inLowerCase } from '../../lower-case.js';
import { registrations, users } from '../../schema.js';
import { rows } from '../../statements.js';

/**
 * Whether a row of `users` exists only because someone registered its address, which no one has verified. `used_links` is 0 until the
 * status, address, password or provider changes for the first time, so the user has never been active.
 */
export const isUnclaimed = sql<boolean>`(${and(
  users.isFromRegistration,
  eq(users.status, 'unverified'),
  eq(users.usedLinks, 0),
)})`;

/**
 * Deletes the unclaimed users who have one of these addresses, in any letter case, and with them their registrations.
 * @param except the ids of users who are not deleted
 * @returns the ids of the deleted users
 */
export async function deleteUnclaimedUsers(
  tx: Executor,
  emails: readonly string[],
  except: readonly string[],
): Promise<string[]> {
  const addresses = JSON.stringify(emails.map((email) => email.toLowerCase()));
  // Locked in the same order as everywhere else. A user who is verified in the meantime no longer matches.
  const found = await rows<{ id: string }>(
    tx,
    sql`select ${users.id} as id from jsonb_array_elements_text(${addresses}::jsonb) as given(address)
      join ${users} on ${inLowerCase(users.email)} = given.address
      where ${isUnclaimed} and not ${isAmong(users.id, except)}
      order by ${users.id} for update of ${users}`,
  );
  return deleteUsers(
    tx,
    found.map(({ id }) => id),
  );
}

/**
 * Deletes the unclaimed users among these whose registrations have all expired. Their rows must be locked.
 * @returns the ids of the deleted users
 */
export async function deleteUsersWithoutRegistrations(
  tx: Executor,
  ids: readonly string[],
  now: Date,
): Promise<string[]> {
  const left = await rows<{ id: string }>(
    tx,
    sql`select ${users.id} as id from ${users} where ${isAmong(users.id, ids)} and ${isUnclaimed}
      and not exists (
        select from ${registrations}
        where ${registrations.user} = ${users.id} and ${registrations.expiresAt} > ${now.toISOString()}::timestamptz
      )`,
  );
  return deleteUsers(
    tx,
    left.map(({ id }) => id),
  );
}

async function deleteUsers(tx: Executor, ids: readonly string[]): Promise<string[]> {
  if (ids.length > 0) await tx.delete(users).where(isAmong(users.id, ids));
  return [...ids];
}
