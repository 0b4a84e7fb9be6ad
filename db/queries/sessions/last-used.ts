import { type SQL, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Executor } from '../../client.js';
import { sessions, userUses } from '../../schema.js';
import { fixedStatement } from '../../statements.js';

/** When something was used. It is stored unless the stored time is later than `before`. */
export interface Use {
  now: Date;
  before: Date;
}

export interface SessionUse extends Use {
  ip: string | null;
  userAgent: string | null;
}

/**
 * Stores the uses of many rows in one statement. It never waits for another transaction, so it cannot cause a deadlock.
 * @returns the ids of rows that another transaction has locked; these rows are left unchanged
 */
type WriteUses<Entry extends Use> = (executor: Executor, uses: ReadonlyMap<string, Entry>) => Promise<string[]>;

function writing<Entry extends Use>(table: PgTable, key: SQL, time: SQL, changes: SQL): WriteUses<Entry> {
  const isDue = sql`(r.${time} is null or r.${time} < used.before)`;
  const statement = fixedStatement<{ uses: string }, { id: string }>(
    (value) => sql`
      with used as (
        select * from jsonb_to_recordset(${value('uses')}::jsonb)
          as used(id uuid, now timestamptz, before timestamptz, ip text, "userAgent" text)
      ), free as (
        select used.* from ${table} r join used on used.id = r.${key} where ${isDue} for no key update of r skip locked
      ), written as (
        update ${table} r set ${changes} from free where free.id = r.${key} returning free.id
      )
      select used.id from ${table} r join used on used.id = r.${key}
      where ${isDue} and used.id not in (select written.id from written)`,
  );
  return async (executor, uses) => {
    const listed = JSON.stringify([...uses].map(([id, use]) => ({ id, ...use })));
    return (await statement(executor, { uses: listed })).map(({ id }) => id);
  };
}

/** When users last used the API. */
export const writeUsesOfUsers = writing<Use>(userUses, sql`"user"`, sql`last_access`, sql`last_access = free.now`);

/** When, and from where, sessions were last used. */
export const writeUsesOfSessions = writing<SessionUse>(
  sessions,
  sql`id`,
  sql`last_used_at`,
  sql`last_used_at = free.now, ip = free.ip, user_agent = free."userAgent"`,
);
