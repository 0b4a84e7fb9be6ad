import type { PGlite } from '@electric-sql/pglite';

/** Bytes of the log after which there is a checkpoint: few enough that it takes some tens of milliseconds. */
const mostLog = 32 * 1024 * 1024;

/** Rows of a table that have changed, besides a fifth of it, before it is looked after. */
const mostChanges = 200;

const logSize = 'select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::float8 as size from pg_control_checkpoint()';

const dueTable = `select format('%I.%I', schemaname, s.relname) as name
  from pg_stat_user_tables s join pg_class c on c.oid = s.relid
  where greatest(n_dead_tup, n_mod_since_analyze) > $1::int + 0.2 * greatest(c.reltuples, 0)
  order by n_dead_tup + n_mod_since_analyze desc limit 1`;

/**
 * Does what PostgreSQL has processes of its own for, and the embedded engine, which is one, does not do by itself: checkpoints,
 * without which the write-ahead log grows for as long as it runs, and the start after a crash goes through all of it; vacuum,
 * without which the room of rows that are gone is never used again; and statistics for the planner. It runs on our own thread,
 * so each call does little: one table at the most. Waits for a transaction that is under way.
 */
export async function keepUp(client: PGlite): Promise<void> {
  const { rows: tables } = await client.query<{ name: string }>(dueTable, [mostChanges]);
  // Neither can be done in a transaction, such as several statements at once are.
  if (tables[0]) await client.exec(`vacuum (analyze) ${tables[0].name}`);
  const { rows: logs } = await client.query<{ size: number }>(logSize);
  if ((logs[0]?.size ?? 0) > mostLog) await client.exec('checkpoint');
}

/**
 * Has a new file of the log made without writing it full of zeros first, for which every one of 16 MB would keep all waiting
 * for a tenth of a second.
 */
export const withoutZeros = 'set wal_init_zero = off';
