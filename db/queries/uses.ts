import { type SQL, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Executor } from '../client.js';
import { fixedStatement } from '../fixed-statement.js';
import { sessions, users } from '../schema.js';

/** When something was used. It is written unless a later time than `before` stands there already. */
export interface Use {
  now: Date;
  before: Date;
}

export interface SessionUse extends Use {
  ip: string | null;
  userAgent: string | null;
}

/**
 * One statement for the uses of many rows. It waits for no other transaction, so it can be part of no deadlock: rows that
 * another one holds just now are left as they are, and named.
 */
const writing = (table: PgTable, time: SQL, changes: SQL) => {
  const isDue = sql`(r.${time} is null or r.${time} < used.before)`;
  return fixedStatement<{ uses: string }, { id: string }>(
    (value) => sql`
      with used as (
        select * from jsonb_to_recordset(${value('uses')}::jsonb)
          as used(id uuid, now timestamptz, before timestamptz, ip text, "userAgent" text)
      ), free as (
        select used.* from ${table} r join used on used.id = r.id where ${isDue} for no key update of r skip locked
      ), written as (
        update ${table} r set ${changes} from free where free.id = r.id returning r.id
      )
      select r.id from ${table} r join used on used.id = r.id
      where ${isDue} and r.id not in (select written.id from written)`,
  );
};

const ofUsers = writing(users, sql`last_access`, sql`last_access = free.now`);
const ofSessions = writing(
  sessions,
  sql`last_used_at`,
  sql`last_used_at = free.now, ip = free.ip, user_agent = free."userAgent"`,
);

const asParameter = (uses: ReadonlyMap<string, Use>) => ({
  uses: JSON.stringify([...uses].map(([id, use]) => ({ id, ...use }))),
});

/** Writes when users last used the API. @returns the ids of those that another transaction holds just now */
export async function writeUsesOfUsers(executor: Executor, uses: ReadonlyMap<string, Use>): Promise<string[]> {
  return (await ofUsers(executor, asParameter(uses))).map(({ id }) => id);
}

/** Writes when and from where sessions were used. @returns the ids of those that another transaction holds just now */
export async function writeUsesOfSessions(
  executor: Executor,
  uses: ReadonlyMap<string, SessionUse>,
): Promise<string[]> {
  return (await ofSessions(executor, asParameter(uses))).map(({ id }) => id);
}
