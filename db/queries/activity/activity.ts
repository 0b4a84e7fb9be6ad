import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  isNotNull,
  isNull,
  lte,
  max,
  min,
  type Placeholder,
  type SQL,
  sql,
} from 'drizzle-orm';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { activity, activityChain } from '../../schema.js';
import { fixedStatement, rows } from '../../statements.js';

/** A stored row, with its position in the chain if it has one. */
export type ActivityRow = typeof activity.$inferSelect;

/** Where the chain begins and ends. */
export type ChainEnds = Omit<typeof activityChain.$inferSelect, 'id' | 'countedPosition'>;

/** A row that has no position in the chain yet. */
export type NewActivity = Omit<ActivityRow, 'position' | 'hash'>;

const { position: _position, hash: _hash, ...columnsOfNew } = getTableColumns(activity);
const names = Object.values(columnsOfNew).map(({ name }) => sql.identifier(name));
const list = sql.join(names, sql`, `);

/**
 * Inserts rows.
 * @param added rows as serialized by {@link recordsOf}
 */
export const insertingActivity = (added: Placeholder, condition = sql``): SQL => sql`insert into ${activity} (${list})
    select ${list} from jsonb_populate_recordset(null::${activity}, ${added}::jsonb) ${condition}`;

const insertion = fixedStatement<{ rows: string }, Record<never, never>>((value) => insertingActivity(value('rows')));

/** Serializes rows for {@link insertingActivity}. */
export const recordsOf = (added: readonly NewActivity[]): string =>
  JSON.stringify(
    added.map((row) =>
      Object.fromEntries(Object.entries(columnsOfNew).map(([key, { name }]) => [name, row[key as keyof NewActivity]])),
    ),
  );

/** Inserts rows in one statement. */
export async function insertActivity(executor: Executor, added: readonly NewActivity[]): Promise<void> {
  await insertion(executor, { rows: recordsOf(added) });
}

/** The two latest of some actions on a user, latest first. @param since earlier ones are not included */
export async function readRecentActions(
  executor: Executor,
  user: string,
  actions: readonly string[],
  since: Date,
): Promise<string[]> {
  const found = await executor
    .select({ action: activity.action })
    .from(activity)
    .where(
      and(
        eq(activity.item, user),
        eq(activity.outcome, 'success'),
        isAmong(activity.action, actions, 'text'),
        gte(activity.timestamp, since),
      ),
    )
    .orderBy(desc(activity.id))
    .limit(2);
  return found.map(({ action }) => action);
}

/** The user who last performed an action on an item; null if it was an anonymous caller, or is not known any longer. */
export async function findLatestActor(executor: Executor, item: string, action: string): Promise<string | null> {
  const [found] = await executor
    .select({ user: activity.user })
    .from(activity)
    .where(and(eq(activity.item, item), eq(activity.action, action), isNotNull(activity.user)))
    .orderBy(desc(activity.id))
    .limit(1);
  return found?.user ?? null;
}

/** Rows that have no position in the chain yet, oldest first. */
export async function readUnlinked(executor: Executor, limit: number, after?: string): Promise<ActivityRow[]> {
  return executor
    .select()
    .from(activity)
    .where(and(isNull(activity.position), after === undefined ? undefined : gt(activity.id, after)))
    .orderBy(asc(activity.id))
    .limit(limit);
}

/** Whether there are rows that have no position in the chain yet. */
export async function hasUnlinked(executor: Executor): Promise<boolean> {
  const found = await executor
    .select({ id: activity.id })
    .from(activity)
    .where(isNull(activity.position))
    .orderBy(asc(activity.id))
    .limit(1);
  return found.length === 1;
}

/**
 * Whether the database has one of the functions that `db/grants.sql` defines. They link and remove rows for a role that may only read
 * and insert them.
 */
async function hasFunction(
  tx: Executor,
  signature: 'link_activity(jsonb)' | 'remove_activity(bigint)',
): Promise<boolean> {
  const [found] = await rows<{ exists: boolean }>(tx, sql`select to_regprocedure(${signature}) is not null as exists`);
  return found?.exists === true;
}

/** Assigns positions in the chain to rows. */
export async function writeLinks(
  tx: Executor,
  links: readonly { id: string; position: number; hash: string }[],
): Promise<void> {
  if (await hasFunction(tx, 'link_activity(jsonb)')) {
    await rows(tx, sql`select link_activity(${JSON.stringify(links)}::jsonb)`);
    return;
  }
  await rows(
    tx,
    sql`update ${activity} a set position = r.position, hash = r.hash
      from jsonb_populate_recordset(null::${activity}, ${JSON.stringify(links)}::jsonb) r where a.id = r.id`,
  );
}

/**
 * The ends of the chain, locked until the transaction ends, so that only one instance at a time works on them.
 * @returns undefined if they do not exist; 'busy' when another instance holds the lock
 */
export async function lockChainEnds(tx: Executor): Promise<ChainEnds | 'busy' | undefined> {
  const [found] = await tx.select().from(activityChain).for('update', { skipLocked: true });
  if (found) return found;
  return (await readChainEnds(tx)) === undefined ? undefined : 'busy';
}

export async function readChainEnds(executor: Executor): Promise<ChainEnds | undefined> {
  const [found] = await executor.select().from(activityChain);
  return found;
}

/** Inserts the ends of the chain. @returns false if they already exist */
export async function insertChainEnds(tx: Executor, ends: ChainEnds): Promise<boolean> {
  const made = await tx.insert(activityChain).values(ends).onConflictDoNothing().returning({ id: activityChain.id });
  return made.length === 1;
}

export async function writeChainEnds(tx: Executor, ends: ChainEnds): Promise<void> {
  await tx.update(activityChain).set(ends);
}

/** Rows of the chain from a position on, in order. */
export async function readLinked(executor: Executor, from: number, limit: number): Promise<ActivityRow[]> {
  return executor
    .select()
    .from(activity)
    .where(gte(activity.position, from))
    .orderBy(asc(activity.position), asc(activity.id))
    .limit(limit);
}

/** The position of the last row up to which all rows are older than `before`; null when the first row must be kept. */
export async function lastPositionBefore(
  tx: Executor,
  { firstPosition, headPosition }: Pick<ChainEnds, 'firstPosition' | 'headPosition'>,
  before: Date,
): Promise<number | null> {
  const [kept] = await tx
    .select({ position: min(activity.position) })
    .from(activity)
    .where(gte(activity.timestamp, before));
  const last = kept?.position == null ? headPosition : Number(kept.position) - 1;
  return last < firstPosition ? null : last;
}

export async function hashAt(tx: Executor, position: number): Promise<string | null> {
  const [found] = await tx.select({ hash: activity.hash }).from(activity).where(eq(activity.position, position));
  return found?.hash ?? null;
}

/** Deletes the rows of the chain up to and including a position. */
export async function deleteLinkedUpTo(tx: Executor, position: number): Promise<void> {
  if (await hasFunction(tx, 'remove_activity(bigint)')) await rows(tx, sql`select remove_activity(${position})`);
  else await tx.delete(activity).where(lte(activity.position, position));
}

/** The position of the oldest row that has one; null when none has. */
export async function lowestPosition(executor: Executor): Promise<number | null> {
  const [found] = await executor.select({ position: min(activity.position) }).from(activity);
  return found?.position ?? null;
}

/** The position of the newest row that has one; null when none has. */
export async function highestPosition(executor: Executor): Promise<number | null> {
  const [found] = await executor.select({ position: max(activity.position) }).from(activity);
  return found?.position ?? null;
}
