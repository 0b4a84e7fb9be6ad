import type { FastifyInstance } from 'fastify';
import { hearStatements, type Sent } from './statements.js';

/** Tables that grow with the number of users, or with time. */
const growing = new Set([
  'activity',
  'identities',
  'known_networks',
  'login_attempts',
  'recovery_codes',
  'sessions',
  'spent_states',
  'user_policies',
  'users',
]);

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Cond'?: string;
  Plans?: Plan[];
}

/** Whether it is a statement with a plan, and none of the query language, whose tables have the names t0, t1 and so on. */
const isOfOurs = (text: string) => /^\s*(select|with|insert|update|delete)\b/i.test(text) && !text.includes('"t0"');

/** Texts that were looked at: the service sends the same ones again and again. */
const known = new Set<string>();

export interface PlanWatch {
  /** Does what asks the service, and watches what that sends to the database. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Looks at what was sent so far. @throws when all of a table was read */
  check(): Promise<void>;
  stop(): void;
}

/**
 * Whether a statement can be answered only by reading all of a table that grows: with a million users it would be slow, and in
 * a test it is not. What is asked for in the query language is left out, as a caller may ask for anything.
 */
export function watchPlans(app: FastifyInstance): PlanWatch {
  const sent = new Map<string, Sent>();
  // What tests ask of the database by themselves, while no request is under way, is their own affair. (An AsyncLocalStorage would
  // tell for certain, and would make all tests much slower.)
  let underWay = 0;
  const stop = hearStatements(app, (statement) => {
    const { text } = statement;
    if (underWay === 0 || known.has(text) || !isOfOurs(text)) return;
    known.add(text);
    sent.set(text, statement);
  });

  return {
    stop,
    during: async (work) => {
      underWay++;
      try {
        return await work();
      } finally {
        underWay--;
      }
    },
    check: async () => {
      const found: string[] = [];
      const statements = [...sent.values()];
      sent.clear();
      if (statements.length === 0) return;
      // A test may have cut the database off.
      const explained = await explain(app, statements).catch(() => undefined);
      if (!explained) return;
      const { plans, empty } = explained;
      for (const [text, plan] of plans) {
        const whole = readWhole(plan);
        // To the planner what is empty is small, whatever it is told. Another test will have rows.
        if (whole.some((table) => empty.has(table))) known.delete(text);
        else for (const table of whole) found.push(`All of ${table} is read: ${text}`);
      }
      if (found.length > 0) throw new Error(found.join('\n'));
    },
  };
}

/**
 * How statements would be gone about if there were a million rows in each table that grows, by a planner that reads a whole
 * table only where it has no other way. All of them in one transaction: what the planner is told is written to the catalog, and
 * a thousand times of that would make it slow.
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
    await ask('set local enable_seqscan = off');
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
        // What cannot be explained could not be done either: a test has sent nonsense.
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

/** Does something in a transaction of either driver, of which nothing stays. */
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

/** The tables of which a plan reads all, and not just the first few rows in the order of an index. */
function readWhole(plan: Plan, isLimited = false): string[] {
  const table = plan['Relation Name'] ?? '';
  const isWhole = scans.has(plan['Node Type']) && plan['Index Cond'] === undefined && !isLimited && growing.has(table);
  const limits = isLimited || plan['Node Type'] === 'Limit';
  return [...(isWhole ? [table] : []), ...(plan.Plans ?? []).flatMap((part) => readWhole(part, limits))];
}
