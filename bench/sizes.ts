import type postgres from 'postgres';

export interface SizeResult {
  table: string;
  rows: number;
  /** Average number of bytes per row. */
  heap: number;
  indexes: number;
}

const digest = `md5(n::text) || md5(n::text || 'and')`;
const moment = `now() + n * interval '10 milliseconds'`;

/** Columns that differ in each copy of a row; all others come from the row that the service wrote. */
const own: Record<string, Record<string, string>> = {
  sessions: {
    id: 'gen_random_uuid()',
    user: 'gen_random_uuid()',
    token_hash: digest,
    created_at: moment,
    last_used_at: moment,
    expires_at: moment,
  },
  // UUIDs of version 7 sort by the time of their creation.
  activity: {
    id: `(lpad(to_hex(n), 8, '0') || '-0000-7000-8000-' || substr(md5(n::text), 1, 12))::uuid`,
    user: 'gen_random_uuid()',
    item: 'gen_random_uuid()::text',
    timestamp: moment,
    request_id: 'gen_random_uuid()::text',
    seal: digest,
    position: 'n',
    hash: digest,
  },
  known_networks: { user: 'gen_random_uuid()', last_login_at: moment },
};

/**
 * Measures the users table as it is. For the tables whose rows come with users, copies one row that the service wrote and
 * measures the copies.
 */
export async function measureSizes(sql: postgres.Sql, copies: number): Promise<SizeResult[]> {
  const results = [await sizeOf(sql, 'users', 'users'), await sizeOf(sql, 'user_uses', 'user_uses')];
  for (const [table, values] of Object.entries(own)) {
    const columns = await sql<{ name: string }[]>`
      select column_name as name from information_schema.columns
      where table_schema = current_schema() and table_name = ${table} and is_generated = 'NEVER' order by ordinal_position`;
    const names = columns.map(({ name }) => `"${name}"`);
    const written = columns.map(({ name }) => values[name] ?? `one."${name}"`);
    await sql.unsafe(`create table measured (like ${table} including all)`);
    await sql.unsafe(`insert into measured (${names.join()}) select ${written.join()}
      from (select * from ${table} order by ${table === 'activity' ? 'id' : '2'} desc limit 1) one, generate_series(1, ${copies}) n`);
    results.push(await sizeOf(sql, 'measured', table));
    await sql.unsafe('drop table measured');
  }
  return results;
}

async function sizeOf(sql: postgres.Sql, table: string, name: string): Promise<SizeResult> {
  await sql.unsafe(`vacuum analyze ${table}`);
  const [found] = await sql.unsafe(`select count(*)::int as rows, pg_total_relation_size('${table}')::float8 as total,
    pg_indexes_size('${table}')::float8 as indexes from ${table}`);
  const { rows, total, indexes } = found as unknown as { rows: number; total: number; indexes: number };
  return { table: name, rows, heap: (total - indexes) / rows, indexes: indexes / rows };
}
