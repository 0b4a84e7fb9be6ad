import type { PGlite, Transaction } from '@electric-sql/pglite';

/** Runs each statement and can measure how long it takes. The text has `$1`, `$2`, … in place of values. */
export type ObserveStatement = <T>(text: string, run: () => Promise<T>) => Promise<T>;

/** An embedded database on which every statement of the service is observed, including those in transactions. */
export function observed(client: PGlite, observe: ObserveStatement): PGlite {
  return replacing(client, {
    query: queryOf(client, observe),
    transaction: (work: (tx: Transaction) => Promise<unknown>) =>
      client.transaction((tx) => work(replacing(tx, { query: queryOf(tx, observe) }))),
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
