import { getTableName, is } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import type { FastifyInstance } from 'fastify';
import * as schema from '../../../db/schema.js';
import { hearStatements, type Sent } from './statements.js';

/** Tables that stay small, however many users there are. All others grow with the number of users, or with time. */
const small = new Set([
  'activity_chain',
  'client_secrets',
  'clients',
  'grants_version',
  'mailbox',
  'migration_compatibility',
  'permissions',
  'policies',
  'resources',
  'role_policies',
  'roles',
  'secret_check',
  'settings',
  'signing_keys',
  'user_counts',
]);
const growing = new Set<string>(
  Object.values(schema)
    .filter((table) => is(table, PgTable))
    .map((table) => getTableName(table))
    .filter((name) => !small.has(name)),
);

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Cond'?: string;
  Plans?: Plan[];
}

const hasPlan = (text: string) => /^\s*(select|with|insert|update|delete)\b/i.test(text);
/** Whether a statement is from the query language, whose tables are named t0, t1, and so on. */
const isQuery = (text: string) => text.includes('"t0"');
/** What a client may send all the same: searches, which have indexes only on PostgreSQL, and counts, if it knows that there is little to count. */
const isExcused = (text: string) =>
  isQuery(text) && (text.startsWith('select count(*)') || text.includes(`"t0"."first_name" ilike`));

/** Statements that have already been checked, because the service sends the same ones repeatedly. */
const known = new Set<string>();

export interface PlanWatch {
  /** Runs work that sends requests, and watches the statements that these requests cause. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Checks the statements sent so far. @throws if a statement reads an entire table */
  check(): Promise<void>;
  stop(): void;
}

/**
 * Finds statements that must read an entire growing table. They are fast in a test, but slow with a million users.
 * @param watchesClient Default: only the statements during a request of the test are watched, except those of the query language, because
 *   callers can query by any field. With `watchesClient`, all statements are, for a client that queries only what is fast.
 */
export function watchPlans(app: FastifyInstance, { watchesClient = false } = {}): PlanWatch {
  const sent = new Map<string, Sent>();
  // Statements sent while no request is pending come from the test itself and are not checked. (An AsyncLocalStorage
  // would distinguish them reliably, but would slow down all tests.)
  let pending = 0;
  const stop = hearStatements(app, (statement) => {
    const { text } = statement;
    const isWatched = watchesClient ? !isExcused(text) : pending > 0 && !isQuery(text);
    if (!isWatched || known.has(text) || !hasPlan(text)) return;
    known.add(text);
    sent.set(text, statement);
  });

  return {
    stop,
    during: async (work) => {
      pending++;
      try {
        return await work();
      } finally {
        pending--;
      }
    },
    check: async () => {
      const found: string[] = [];
      const statements = [...sent.values()];
      sent.clear();
      if (statements.length === 0) return;
      // A test may have cut the connection to the database.
      const explained = await explain(app, statements).catch(() => undefined);
      if (!explained) return;
      const { plans, empty } = explained;
      for (const [text, plan] of plans) {
        const whole = readWhole(plan);
        // The planner treats an empty table as small, whatever the statistics say. Another test with rows checks it.
        if (whole.some((table) => empty.has(table))) known.delete(text);
        else for (const table of whole) found.push(`Reads all of ${table}: ${text}`);
      }
      if (found.length > 0) throw new Error(found.join('\n'));
    },
  };
}

/**
 * Explains statements as if each growing table had a million rows. All statements share one transaction: the planner statistics are
 * written to the catalog, and thousands of such changes would slow it down.
 */
async function explain(app: FastifyInstance, statements: readonly Sent[]) {
  const plans = new Map<string, Plan>();
  const empty = new Set<string>();
  const tables = [...growing].map((name) => `'${name}'`).join();
  await rollingBack(app, async (ask) => {
    for (const { name } of (await ask(
      `select name from unnest(array[${tables}]) name where pg_relation_size(to_regclass(name)) = 0`,
    )) as { name: string }[]) {
      empty.add(name);
    }
    await ask(
      `update pg_class set reltuples = 1000000, relpages = 1 where oid in (
        select indexrelid from pg_index where indrelid::regclass::text in (${tables})
        union all select to_regclass(name) from unnest(array[${tables}]) name)`,
    );
    for (const { text, parameters } of statements) {
      await ask('savepoint one');
      try {
        const [row] = (await ask(`explain (format json) ${text}`, parameters)) as { 'QUERY PLAN': unknown }[];
        const shown = row?.['QUERY PLAN'];
        const [{ Plan: plan }] = (typeof shown === 'string' ? JSON.parse(shown) : shown) as [{ Plan: Plan }];
        plans.set(text, plan);
      } catch {
        // A statement that cannot be explained cannot be executed either, so the test has sent an invalid one.
      }
      await ask('rollback to savepoint one');
    }
  });
  return { plans, empty };
}

type Ask = (text: string, parameters?: unknown[]) => Promise<unknown[]>;

interface Transaction {
  unsafe?: Ask;
  query?: (...of: Parameters<Ask>) => Promise<{ rows: unknown[] }>;
}

/** Runs work in a transaction of either driver, which is then rolled back. */
async function rollingBack(app: FastifyInstance, work: (ask: Ask) => Promise<void>): Promise<void> {
  type Begin = (run: (tx: Transaction) => Promise<void>) => Promise<void>;
  const { $client } = app.db as unknown as { $client: Record<'begin' | 'transaction', Begin> };
  const done = new Error('This is rolled back.');
  const run = async (tx: Transaction) => {
    await work(async (text, parameters = []) => {
      if (tx.unsafe) return tx.unsafe(text, parameters);
      return (await tx.query?.(text, parameters))?.rows ?? [];
    });
    throw done;
  };
  await (typeof $client.begin === 'function' ? $client.begin(run) : $client.transaction(run)).catch(
    (error: unknown) => {
      if (error !== done) throw error;
    },
  );
}

const scans = new Set(['Seq Scan', 'Index Scan', 'Index Only Scan', 'Bitmap Index Scan']);

/** What needs all rows before it returns the first one. */
const needsAll = new Set(['Sort', 'Aggregate', 'Hash']);

/** The tables that a plan reads completely, as opposed to the first few rows in index order. */
function readWhole(plan: Plan, isLimited = false): string[] {
  const { 'Node Type': node, 'Relation Name': table = '' } = plan;
  const isWhole = scans.has(node) && plan['Index Cond'] === undefined && !isLimited && growing.has(table);
  const limits = !needsAll.has(node) && (isLimited || node === 'Limit');
  return [...(isWhole ? [table] : []), ...(plan.Plans ?? []).flatMap((part) => readWhole(part, limits))];
}
