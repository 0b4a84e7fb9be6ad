import { type SQL, sql } from 'drizzle-orm';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { clients, resources } from '../../schema.js';
import { rows } from '../../statements.js';
import type { Columns, Key } from '../items/writes.js';

// The clients and resources that the configuration declares.

const tables = { clients, resources };

type Name = keyof typeof tables;

/** Blocks other changes to clients and resources until the transaction ends. They can still be read. */
export async function lockDeclared(tx: Executor): Promise<void> {
  await rows(tx, sql`lock table ${resources}, ${clients} in share row exclusive mode`);
}

/** An item as it is stored, by column. */
export type StoredItem = { id: string; declared: boolean } & Columns;

/** The items with these IDs, and all that were declared at an earlier start. */
export async function readDeclared(tx: Executor, name: Name, ids: readonly string[]): Promise<StoredItem[]> {
  const found = await rows<{ item: StoredItem }>(
    tx,
    sql`select to_jsonb(t) as item from ${tables[name]} t where t.declared or ${isAmong(sql`t.id`, ids)}`,
  );
  return found.map(({ item }) => item);
}

/** Lets all clients and resources be changed through the API again. */
export async function releaseDeclared(executor: Executor): Promise<void> {
  const release = (table: SQL) => rows(executor, sql`update ${table} set declared = false where declared`);
  for (const table of Object.values(tables)) await release(sql`${table}`);
}

/** Whether the configuration declares one of these items. */
export async function hasDeclared(tx: Executor, name: Name, keys: readonly Key[]): Promise<boolean> {
  const found = await rows(
    tx,
    sql`select from ${tables[name]} t where t.declared and ${isAmong(sql`t.id`, keys)} limit 1`,
  );
  return found.length > 0;
}
