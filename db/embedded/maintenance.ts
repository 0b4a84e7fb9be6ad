import type { PGlite } from '@electric-sql/pglite';

/** Bytes of the write-ahead log that trigger a checkpoint: few enough that it takes only tens of milliseconds. */
const maxLog = 32 * 1024 * 1024;

/** Changed rows, in addition to a fifth of the table, that trigger a vacuum or an analyze. */
const maxChanges = 200;

const logSize = 'select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::float8 as size from pg_control_checkpoint()';

interface DueTable {
  name: string;
  /** Whether deleted rows take up space. */
  has_gaps: boolean;
  /** Whether the planner's statistics are outdated. */
  is_unknown: boolean;
}

const dueTable = `select * from (
    select format('%I.%I', schemaname, s.relname) as name, n_dead_tup > bound as has_gaps, n_mod_since_analyze > bound as is_unknown
    from pg_stat_user_tables s join pg_class c on c.oid = s.relid,
      lateral (select $1::int + 0.2 * greatest(c.reltuples, 0) as bound) bounds
    order by n_dead_tup + n_mod_since_analyze desc) due
  where has_gaps or is_unknown limit 1`;

/**
 * Does the work for which PostgreSQL has background processes and the single-process embedded engine has none. Without
 * checkpoints, the write-ahead log would keep growing, and the start after a crash would replay all of it. Without vacuum, the
 * space of deleted rows would never be reused. The planner also needs statistics. The engine runs on the service's own thread, so
 * each call does little: at most one table. Waits for a running transaction.
 */
export async function runMaintenance(client: PGlite): Promise<void> {
  const { rows: tables } = await client.query<DueTable>(dueTable, [maxChanges]);
  for (const { name, has_gaps: hasGaps, is_unknown: isUnknown } of tables) {
    // Run separately: several statements in one call form a transaction, in which vacuum is not allowed.
    if (hasGaps) await client.exec(`vacuum ${name}`);
    if (isUnknown) await client.exec(`analyze ${name}`);
  }
  const { rows: logs } = await client.query<{ size: number }>(logSize);
  if ((logs[0]?.size ?? 0) > maxLog) await client.exec('checkpoint');
}

/**
 * Settings for a session on the service's own thread, where every slow operation delays all requests. A new log file is not
 * filled with zeros first, which takes a tenth of a second for 16 MB. Statistics are gathered from a quarter of the usual number
 * of rows.
 */
export const sessionSettings = 'set wal_init_zero = off; set default_statistics_target = 25';
