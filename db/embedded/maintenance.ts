import type { PGlite } from '@electric-sql/pglite';

/** Bytes of the log after which there is a checkpoint: few enough that it takes some tens of milliseconds. */
const mostLog = 32 * 1024 * 1024;

/** Rows of a table that have changed, besides a fifth of it, before it is looked after. */
const mostChanges = 200;

const logSize = 'select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::float8 as size from pg_control_checkpoint()';

interface DueTable {
  name: string;
  /** Whether rows that are gone take up room, and whether the planner has an old idea of it. */
  has_gaps: boolean;
  is_unknown: boolean;
}

const dueTable = `select * from (
    select format('%I.%I', schemaname, s.relname) as name, n_dead_tup > bound as has_gaps, n_mod_since_analyze > bound as is_unknown
    from pg_stat_user_tables s join pg_class c on c.oid = s.relid,
      lateral (select $1::int + 0.2 * greatest(c.reltuples, 0) as bound) bounds
    order by n_dead_tup + n_mod_since_analyze desc) due
  where has_gaps or is_unknown limit 1`;

/**
 * Does what PostgreSQL has processes of its own for, and the embedded engine, which is one, does not do by itself: checkpoints,
 * without which the write-ahead log grows for as long as it runs, and the start after a crash goes through all of it; vacuum,
 * without which the room of rows that are gone is never used again; and statistics for the planner. It runs on our own thread,
 * so each call does little: one table at the most. Waits for a transaction that is under way.
 */
export async function keepUp(client: PGlite): Promise<void> {
  const { rows: tables } = await client.query<DueTable>(dueTable, [mostChanges]);
  for (const { name, has_gaps: hasGaps, is_unknown: isUnknown } of tables) {
    // Each by itself: several statements at once are a transaction, in which a vacuum cannot be done.
    if (hasGaps) await client.exec(`vacuum ${name}`);
    if (isUnknown) await client.exec(`analyze ${name}`);
  }
  const { rows: logs } = await client.query<{ size: number }>(logSize);
  if ((logs[0]?.size ?? 0) > mostLog) await client.exec('checkpoint');
}

/**
 * For a session on our own thread, where whatever takes its time keeps all waiting: a new file of the log is not written full of
 * zeros first, which takes a tenth of a second for 16 MB; and statistics are gathered from a quarter of the rows that it usually
 * is.
 */
export const sessionSettings = 'set wal_init_zero = off; set default_statistics_target = 25';
