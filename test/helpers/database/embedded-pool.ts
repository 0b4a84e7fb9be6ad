import type { PGlite } from '@electric-sql/pglite';
import { atEndOfProcess } from '../runner/process-end.js';

/** How often a database is reused. The number is limited because everything written to it stays in memory. */
const maxUses = 30;

/**
 * Embedded databases that the tests of one process reuse, because emptying a database is much faster than starting
 * one.
 */
export interface EmbeddedPool {
  /** Returns a database in the state in which `create` returns it. */
  take(): Promise<PGlite>;
  /** Returns a database to the pool. It is emptied, or closed if its initial state cannot be restored. */
  giveBack(database: PGlite): Promise<void>;
}

export function createEmbeddedPool(create: () => Promise<PGlite>): EmbeddedPool {
  const free: PGlite[] = [];
  atEndOfProcess(() => Promise.all(free.splice(0).map((database) => database.close())));
  const uses = new WeakMap<PGlite, number>();
  const states = new WeakMap<PGlite, string>();

  return {
    async take() {
      const used = free.pop();
      if (used) return used;
      const database = await create();
      await database.exec(keepRows);
      states.set(database, await definitionsOf(database));
      return database;
    },
    async giveBack(database) {
      const count = (uses.get(database) ?? 0) + 1;
      uses.set(database, count);
      if (count < maxUses && (await isEmptied(database, states.get(database)))) free.push(database);
      else if (!database.closed) await database.close();
    },
  };
}

async function isEmptied(database: PGlite, definitions: string | undefined): Promise<boolean> {
  // Tests that count or alter statements replace this method.
  if (database.closed || Object.hasOwn(database, 'query')) return false;
  try {
    await database.exec('rollback');
    await database.exec('discard all');
    if ((await definitionsOf(database)) !== definitions) return false;
  } catch {
    return false;
  }
  // Outside of the block above: if this failed unnoticed, every test would start a new database.
  await database.exec('select pristine.restore()');
  return true;
}

/** Copies the initial rows of all tables and creates a function that restores them. */
const keepRows = `
  create schema pristine;
  create table pristine.tables as
    select c.oid::regclass::text as name, row_number() over (order by c.oid) as id, (
      select string_agg(quote_ident(attname), ', ') from pg_attribute
      where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' and n.nspname !~ '^(pg_|information_schema|pristine)';
  do $$
  declare one record;
  begin
    for one in select * from pristine.tables loop
      execute format('create table pristine.rows_%s as select %s from %s', one.id, one.columns, one.name);
    end loop;
  end $$;
  create function pristine.restore() returns void language plpgsql as $$
  declare
    one record;
    is_used boolean;
  begin
    set local session_replication_role = replica;
    for one in select * from pristine.tables loop
      -- Deleting the rows of a small table is faster, because it needs no new file.
      execute format('delete from %s', one.name);
      execute format(
        'insert into %s (%s) overriding system value select * from pristine.rows_%s', one.name, one.columns, one.id);
    end loop;
    for one in select c.oid::regclass as name from pg_class c where c.relkind = 'S' loop
      perform setval(one.name, 1, false);
    end loop;
  end $$;
`;

/** A digest of everything except rows that a test could create or change in a database. */
async function definitionsOf(database: PGlite): Promise<string> {
  const { rows } = await database.query<{ state: string }>(`
    with named as (select oid from pg_namespace where nspname !~ '^(pg_|information_schema)')
    select md5(string_agg(line, chr(10) order by line)) as state from (
      select 'schema ' || oid::text from named
      union all select concat_ws(' ', 'class', c.oid, relname, relkind, relchecks, relrowsecurity, reloptions)
        from pg_class c join named n on n.oid = c.relnamespace
      union all select concat_ws(' ', 'column', attrelid, attname, atttypid, attnotnull, attisdropped)
        from pg_attribute join pg_class c on c.oid = attrelid join named n on n.oid = c.relnamespace
      union all select concat_ws(' ', 'function', p.oid, proname, md5(prosrc)) from pg_proc p join named n on n.oid = pronamespace
      union all select concat_ws(' ', 'constraint', c.oid, conname) from pg_constraint c join named n on n.oid = connamespace
      union all select concat_ws(' ', 'trigger', oid, tgname, tgenabled) from pg_trigger where not tgisinternal
      union all select concat_ws(' ', 'default', oid, pg_get_expr(adbin, adrelid)) from pg_attrdef
      union all select concat_ws(' ', 'setting', setdatabase, setrole, setconfig) from pg_db_role_setting
      union all select concat_ws(' ', 'role', oid, rolname) from pg_roles
    ) as lines(line)`);
  return rows[0]?.state ?? '';
}
