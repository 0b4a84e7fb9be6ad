import type { PGlite, Transaction } from '@electric-sql/pglite';

/** Runs each statement and can measure how long it takes. The text has `$1`, `$2`, … in place of values. */
export type ObserveStatement = <T>(text: string, run: () => Promise<T>) => Promise<T>;

/** What happens around each statement. */
export interface StatementHooks {
  /** Wraps the statement, including the time that it waits for a connection. */
  observe?: ObserveStatement | undefined;
  /** Called when a statement or a commit has ended. The time does not include waiting for a connection. */
  onEnd?: ((text: string, ms: number) => void) | undefined;
  /** Returns a comment to send with the statement. PostgreSQL only. */
  comment?: (() => string | undefined) | undefined;
}

/** Calls `onEnd` for a statement. */
export async function timed<T>(
  onEnd: (text: string, ms: number) => void,
  text: string,
  run: () => Promise<T>,
): Promise<T> {
  const begun = performance.now();
  try {
    return await run();
  } finally {
    onEnd(text, performance.now() - begun);
  }
}

/** An embedded database on which every statement of the service is observed, including those in transactions. */
export function observed(client: PGlite, { observe, onEnd }: StatementHooks): PGlite {
  const measure: ObserveStatement = onEnd ? (text, run) => timed(onEnd, text, run) : (_text, run) => run();
  const both: ObserveStatement = observe ? (text, run) => observe(text, () => measure(text, run)) : measure;
  return replacing(client, {
    query: queryOf(client, both),
    transaction: (work: (tx: Transaction) => Promise<unknown>) =>
      client.transaction((tx) => work(replacing(tx, { query: queryOf(tx, both) }))),
  });
}

const queryOf =
  (on: Pick<PGlite | Transaction, 'query'>, observe: ObserveStatement): PGlite['query'] =>
  (text, ...rest) =>
    observe(text, () => on.query(text, ...rest));

/** A proxy of the object that replaces some of its methods. */
function replacing<T extends object>(target: T, methods: Record<string, unknown>): T {
  return new Proxy(target, {
    get: (_target, name) => {
      if (typeof name === 'string' && Object.hasOwn(methods, name)) return methods[name];
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
