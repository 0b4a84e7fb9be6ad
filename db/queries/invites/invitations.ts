import { sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { inLowerCase } from '../../lower-case.js';
import { users } from '../../schema.js';
import { rows } from '../../statements.js';

/** A user who already has an email address that is being invited. */
export interface KnownInvitee {
  id: string;
  /** In lower case. */
  address: string;
  status: string;
  role: string | null;
}

/** The users who have one of these addresses in any letter case. Locks them until the transaction ends, always in the same order. */
export async function lockInvitees(tx: Executor, emails: readonly string[]): Promise<KnownInvitee[]> {
  const addresses = JSON.stringify(emails.map((email) => email.toLowerCase()));
  const address = inLowerCase(sql`u.email`);
  return rows<KnownInvitee>(
    tx,
    sql`select u.id, ${address} as address, u.status, u.role
      from jsonb_array_elements_text(${addresses}::jsonb) as given(address)
      join ${users} u on ${address} = given.address
      order by u.id for update of u`,
  );
}

/** Creates an invited user for each address that no user has. @returns the ids of the users that were created */
export async function insertInvitees(
  tx: Executor,
  accounts: readonly { id: string; email: string }[],
  role: string,
  { now, expiresAt }: { now: Date; expiresAt: Date },
): Promise<Set<string>> {
  const created = await rows<{ id: string }>(
    tx,
    sql`insert into ${users} (id, email, status, role, created_at, invite_expires_at)
      select given.id, given.email, 'invited', ${role}::uuid, ${now.toISOString()}::timestamptz, ${expiresAt.toISOString()}::timestamptz
      from jsonb_to_recordset(${JSON.stringify(accounts)}::jsonb) as given(id uuid, email varchar)
      on conflict do nothing returning id`,
  );
  return new Set(created.map(({ id }) => id));
}

export async function writeRoles(tx: Executor, ids: readonly string[], role: string): Promise<void> {
  await tx.execute(
    sql`update ${users} u set role = ${role}::uuid
      from jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb) as given(id) where u.id = given.id::uuid`,
  );
}

/** Notes until when users who get another invitation can accept it. */
export async function extendInvitations(tx: Executor, ids: readonly string[], expiresAt: Date): Promise<void> {
  await tx.execute(
    sql`update ${users} u set invite_expires_at = ${expiresAt.toISOString()}::timestamptz
      from jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb) as given(id) where u.id = given.id::uuid`,
  );
}
