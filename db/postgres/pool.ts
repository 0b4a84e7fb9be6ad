import { AsyncResource } from 'node:async_hooks';
import fastq from 'fastq';
import type postgres from 'postgres';
import { isReadOnlyFailure, sqlStateOf } from '../failures.js';
import type { ObserveStatement } from '../observe.js';
import { createConnection, type PostgresConnection } from './connection.js';
import { createPreparing, isPreparedKept } from './prepared.js';
import { createServers } from './servers.js';
import { ConnectionError, tooSlow } from './socket.js';

export interface PostgresPool {
  /** As much of a postgres.js client as Drizzle uses. Each statement, and each transaction, has a connection to itself. */
  readonly client: postgres.Sql;
  /** From now on, a connection on which an answer is too long in coming is given up. */
  limitWaiting(): void;
  /** Runs statements without parameters on one connection. A transaction that they leave open is rolled back. */
  runScript(text: string): Promise<{ rows: Record<string, unknown>[] }>;
  /** Work that has a connection to itself, and that waits for one. */
  load(): { running: number; waiting: number };
  /** Lets what is under way come to its end, for a while, and closes all connections. */
  close(): Promise<void>;
}

export interface PoolOptions {
  /** Connections at a time; whoever comes when all are in use waits in turn. */
  max: number;
  /** Milliseconds in which a server must have let us in. */
  connectTimeout?: number;
  /** Milliseconds after which a connection is closed that nobody uses. */
  idleTimeout?: number;
  /** Milliseconds after which a connection in use is given up when nothing came on it, and work that has not been begun. */
  answerTimeout?: number;
  /** Milliseconds after which a connection is replaced: servers move, and sessions grow. */
  lifetime?: number;
  observe?: ObserveStatement;
}

/** A text with its parameters. */
type Statement = [text: string, parameters?: Parameters<postgres.Sql['unsafe']>[1]];

/** Work that waits for a connection, and since when. */
interface Waiting {
  work: (sql: postgres.Sql) => Promise<unknown>;
  since: number;
}

/** Connections of which none is ever used again after a fault: see {@link Line}. */
export function createPostgresPool(
  url: string,
  {
    max,
    connectTimeout = 5_000,
    idleTimeout = 60_000,
    answerTimeout = 10_000,
    lifetime = 1_800_000,
    observe,
  }: PoolOptions,
): PostgresPool {
  const servers = createServers(url, connectTimeout);
  const types = { parsers: {}, serializers: {} };
  const busy = new Map<PostgresConnection, number>();
  /** The one used last is taken first, so that those which are not needed grow old. */
  const idle: { connection: PostgresConnection; since: number }[] = [];
  let patience = Number.POSITIVE_INFINITY;
  let isClosing = false;

  const queue = fastq.promise(async ({ work, since }: Waiting) => {
    const begun = performance.now();
    // Whoever wanted it has been told to come back by now; done all the same, it might be done twice.
    if (begun - since > 0.9 * patience) throw tooSlow();
    const connection = takeIdle() ?? createConnection(servers, types);
    busy.set(connection, begun);
    try {
      return await connection.use((sql) =>
        sql.options.prepare === isKept ? work(sql) : decide(sql).then(() => work(sql)),
      );
    } catch (error) {
      // It leads to a standby: names and proxies do, for a moment, when the primary has changed.
      if (isReadOnlyFailure(error)) connection.destroy(error as Error);
      throw error;
    } finally {
      busy.delete(connection);
      const now = performance.now();
      if (now - connection.opened > lifetime && !isClosing) void connection.end();
      else if (!connection.isLost) idle.push({ connection, since: now });
    }
  }, max);
  const use = async <T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> => {
    if (isClosing) throw new ConnectionError('ECONNRESET', 'the connections are closed');
    // Whoever waits is called by who was there before, and is to be observed as themselves.
    const bound = observe ? AsyncResource.bind(work) : work;
    return queue.push({ work: bound, since: performance.now() }) as Promise<T>;
  };

  function takeIdle(): PostgresConnection | undefined {
    for (let found = idle.pop(); found; found = idle.pop()) {
      if (!found.connection.isLost) return found.connection;
    }
    return undefined;
  }

  const housekeeping = setInterval(
    () => {
      const now = performance.now();
      for (const [connection, since] of busy) {
        if (now - Math.max(since, connection.heard) > patience) connection.destroy(tooSlow());
      }
      while (idle[0] && now - idle[0].since > idleTimeout) void idle.shift()?.connection.end();
    },
    Math.min(1_000, idleTimeout / 4, answerTimeout / 4),
  );
  housekeeping.unref();

  const preparing = createPreparing();
  /** Undefined until the first connection has found out; those that are opened meanwhile do without. */
  let isKept: boolean | undefined = servers.target.prepare === false ? false : undefined;
  /** The driver itself prepares what ends a transaction: it is told by its options. */
  const decide = async (sql: postgres.Sql) => {
    if (isKept === undefined) {
      isKept = false;
      try {
        isKept = await isPreparedKept(sql);
      } catch (error) {
        // What does not understand the question does without. All else is a fault of the connection: the next one finds out.
        if (!/^(42|0A)/.test(sqlStateOf(error) ?? '')) {
          isKept = undefined;
          throw error;
        }
      }
    }
    Object.assign(sql.options, { prepare: isKept === true });
  };
  const send = (on: Pick<postgres.Sql, 'unsafe'>, [text, parameters = []]: Statement) => {
    // What has no parameters may be several statements, which cannot be prepared.
    const isScript = parameters.length === 0 && text.includes(';');
    return isScript || !preparing.wants(text)
      ? on.unsafe(text, parameters)
      : on.unsafe(text, parameters, { prepare: true, simple: false } as { prepare: true });
  };

  /** A statement that is sent when it is awaited, like the driver's own. */
  const lazily = ([text]: Statement, rows: () => Promise<unknown>, values: () => Promise<unknown>) => {
    const run = (work: () => Promise<unknown>) => (observe ? observe(text, work) : work());
    return {
      // biome-ignore lint/suspicious/noThenProperty: that is how it is awaited
      then: (...handlers: Parameters<Promise<unknown>['then']>) => run(rows).then(...handlers),
      values: () => run(values),
    };
  };
  const sendIn = (own: Pick<postgres.Sql, 'unsafe'>, statement: Statement) =>
    observe
      ? lazily(
          statement,
          async () => send(own, statement),
          async () => send(own, statement).values(),
        )
      : send(own, statement);

  const client = {
    options: types,
    unsafe: (...statement: Statement) =>
      lazily(
        statement,
        () => use((sql) => send(sql, statement)),
        () => use((sql) => send(sql, statement).values()),
      ),
    begin: (work: (tx: postgres.TransactionSql) => Promise<unknown>) =>
      use((sql) =>
        sql.begin((tx) => {
          const own = { unsafe: tx.unsafe };
          return work(Object.assign(tx, { unsafe: (...statement: Statement) => sendIn(own, statement) }));
        }),
      ),
    end: close,
  };

  const runScript = (text: string) =>
    use(async (sql) => {
      try {
        const results = await sql.unsafe(text).simple();
        const first = Array.isArray(results[0]) ? results[0] : results;
        return { rows: [...first] as Record<string, unknown>[] };
      } catch (error) {
        await sql.unsafe('rollback');
        throw error;
      }
    });

  async function close(): Promise<void> {
    isClosing = true;
    clearInterval(housekeeping);
    const giveUp = setTimeout(() => {
      for (const connection of busy.keys()) connection.destroy(tooSlow());
    }, 5_000);
    await queue.drained();
    clearTimeout(giveUp);
    await Promise.all(idle.splice(0).map(({ connection }) => connection.end()));
  }

  return {
    client: client as unknown as postgres.Sql,
    limitWaiting: () => {
      patience = answerTimeout;
    },
    runScript,
    load: () => ({ running: queue.running(), waiting: queue.length() }),
    close,
  };
}
