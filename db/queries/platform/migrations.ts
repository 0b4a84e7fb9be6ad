import { sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import type { DatabaseSchemas } from '../../database-schemas.js';
import type { BuildMigration } from '../../migration-journal.js';
import { migrationCompatibility } from '../../schema.js';
import { rows } from '../../statements.js';

/** A migration that the database has. `tag` and `worksWith` are what the build that applied it declared, if anything. */
export interface AppliedMigration {
  createdAt: number;
  tag: string | null;
  worksWith: string | null;
}

/** The migrations that the database has, oldest first; empty if it is new. */
export async function readAppliedMigrations(
  executor: Executor,
  { tables, journal }: DatabaseSchemas,
): Promise<AppliedMigration[]> {
  const [found] = await rows<{ has_any: boolean; has_declarations: boolean }>(
    executor,
    sql`select to_regclass(format('%I.__drizzle_migrations', ${journal}::text)) is not null as has_any,
      to_regclass(format('%I.migration_compatibility', ${tables}::text)) is not null as has_declarations`,
  );
  if (!found?.has_any) return [];
  const declared = found.has_declarations
    ? sql`left join ${migrationCompatibility} c on c.created_at = m.created_at`
    : sql`cross join (select null as tag, null as works_with) c`;
  const applied = await rows<{ created_at: number; tag: string | null; works_with: string | null }>(
    executor,
    sql`select m.created_at, c.tag, c.works_with
      from ${sql.identifier(journal)}.__drizzle_migrations m ${declared} order by m.created_at`,
  );
  return applied.map(({ created_at, tag, works_with }) => ({ createdAt: created_at, tag, worksWith: works_with }));
}

/** Stores what this build declares about its migrations, for older builds. */
export async function recordCompatibility(executor: Executor, migrations: readonly BuildMigration[]): Promise<void> {
  await executor
    .insert(migrationCompatibility)
    .values([...migrations])
    .onConflictDoNothing();
}

/** An arbitrary number that no other program on the same database is likely to lock. */
const lockKey = 0x6761_7465;

/** Takes the lock of the instance that migrates, until the transaction ends. @returns whether no other instance has it */
export async function tryMigrationLock(tx: Executor): Promise<boolean> {
  const [lock] = await rows<{ ours: boolean }>(tx, sql`select pg_try_advisory_xact_lock(${lockKey}) as ours`);
  return lock?.ours === true;
}
