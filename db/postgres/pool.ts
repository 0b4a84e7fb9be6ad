import { AsyncResource } from 'node:async_hooks';
import fastq from 'fastq';
import type postgres from 'postgres';
import { retryOnDeadlock } from '../deadlocks.js';
import { isReadOnlyFailure, sqlStateOf } from '../failures.js';
import { type StatementHooks, timed } from '../observe.js';
import { createConnection, type PostgresConnection } from './connection.js';
import { createPreparing, examineSession, maxPrepared } from './prepared.js';
import { createServers } from './servers.js';
import type { CancelKey } from './session.js';
import { createShares } from './shares.js';
import { ConnectionError, tooSlow } from './socket.js';

export interface PostgresPool {
  /**
   * The part of a postgres.js client that Drizzle uses. Each statement and each transaction has a connection to itself, and is repeated if a
   * deadlock aborts it before its commit.
   */
  readonly client: postgres.Sql;
  /** The same for one caller, limited to half of the connections. */
  clientOf(caller: string): postgres.Sql;
  /** The same for maintenance: its statements are not canceled, and a connection may be silent for longer. */
  readonly maintenanceClient: postgres.Sql;
  /**
   * Starts to enforce time limits: a connection is closed when a response takes too long.
   * @param statementTimeout milliseconds after which a statement is canceled
   */
  limitWaiting(statementTimeout?: number): void;
  /** Runs statements without parameters on one connection. A transaction that they leave open is rolled back. */
  runScript(text: string): Promise<{ rows: Record<string, unknown>[] }>;
  /** The numbers of running and waiting tasks, and the maximum number of connections. */
  load(): { running: number; waiting: number; max: number };
  /** Waits a limited time for running work to finish, then closes all connections. */
  close(): Promise<void>;
}

export interface PoolOptions {
  /** Maximum number of connections. When all are in use, further work waits in a queue. */
  max: number;
  /** Milliseconds within which a server must accept a new connection. */
  connectTimeout?: number;
  /** Milliseconds after which an unused connection is closed. */
  idleTimeout?: number;
  /** Milliseconds after which a connection in use is closed if no data arrives, and after which waiting work is rejected. */
  answerTimeout?: number;
  /** Milliseconds after which a connection is replaced: servers move, and the memory of sessions grows. */
  lifetime?: number;
  /** The schema of the tables, if it is not that of the role or the database. */
  schema?: string | undefined;
  hooks?: StatementHooks;
}

/** A text with its parameters. */
type Statement = [text: string, parameters?: Parameters<postgres.Sql['unsafe']>[1]];

/** Who the work is for. */
interface SendOptions {
  caller?: string;
  isMaintenance?: boolean;
}

/** Work that waits for a connection, and when it started to wait. */
interface Waiting {
  work: Work<unknown>;
  since: number;
  isMaintenance: boolean;
}

/** Work that runs on a connection. */
type Work<T> = (sql: postgres.Sql, usage: Usage) => Promise<T>;

/** A connection in use. Times are on the clock of `performance.now()`. */
interface Usage {
  begun: number;
  isMaintenance: boolean;
  /** Statements that have been sent and have a time limit. */
  statements: Set<{ query: { state?: CancelKey }; deadline: number }>;
  /** Settles when the last cancel request has been delivered. */
  canceling?: Promise<void>;
}

/** Milliseconds that a connection may be silent during maintenance: deleting many rows takes time. */
const maintenanceTimeoutMs = 60_000;

/** The options of a transaction at the level that the service is written for, at which no statement fails because of another one. */
const readCommitted = 'isolation level read committed';

async function isDefaultReadCommitted(sql: Pick<postgres.Sql, 'unsafe'>): Promise<boolean> {
  const [row] = await sql.unsafe("select current_setting('default_transaction_isolation') as level");
  return row?.level === undefined || row.level === 'read committed';
}

/** A pool of connections that are never reused after a fault: see {@link DriverSocket}. */
export function createPostgresPool(
  url: string,
  {
    max,
    connectTimeout = 5_000,
    idleTimeout = 60_000,
    answerTimeout = 10_000,
    lifetime = 1_800_000,
    schema,
    hooks: { observe, onEnd, comment } = {},
  }: PoolOptions,
): PostgresPool {
  const servers = createServers(url, connectTimeout, schema);
  // No integer that the service reads exceeds the range in which numbers are exact. The text of a `float8` would depend on a setting.
  const types = { parsers: { 20: Number }, serializers: {} };
  const busy = new Map<PostgresConnection, Usage>();
  /** The most recently used connection is reused first, so that surplus connections become idle and are closed. */
  const idle: { connection: PostgresConnection; since: number }[] = [];
  let silenceTimeoutMs = Number.POSITIVE_INFINITY;
  let statementTimeoutMs = Number.POSITIVE_INFINITY;
  let isClosing = false;
  const timeoutFor = (isMaintenance: boolean) =>
    isMaintenance ? Math.max(silenceTimeoutMs, maintenanceTimeoutMs) : silenceTimeoutMs;

  const queue = fastq.promise(async ({ work, since, isMaintenance }: Waiting) => {
    const begun = performance.now();
    // By now the client has been told to try again. Running the work anyway might do it twice.
    if (begun - since > 0.9 * timeoutFor(isMaintenance)) throw tooSlow();
    const connection = takeIdle() ?? open();
    const usage: Usage = { begun, isMaintenance, statements: new Set() };
    busy.set(connection, usage);
    try {
      return await connection.run((sql) => (isSetUp(sql) ? work(sql, usage) : setUp(sql).then(() => work(sql, usage))));
    } catch (error) {
      // The server is a standby. Right after a failover, host names and proxies may still lead to one.
      if (isReadOnlyFailure(error)) connection.destroy(error as Error);
      throw error;
    } finally {
      busy.delete(connection);
      const now = performance.now();
      // A cancel request that arrives late would stop the next statement on the connection.
      if (usage.canceling) void usage.canceling.then(() => connection.end());
      else if ((now - connection.opened > lifetime || isCluttered(connection)) && !isClosing) void connection.end();
      else if (!connection.isLost) idle.push({ connection, since: now });
    }
  }, max);
  const withinShare = createShares(Math.max(1, Math.floor(max / 2)));
  const onConnection = async <T>(work: Work<T>, { caller, isMaintenance = false }: SendOptions = {}): Promise<T> => {
    if (isClosing) throw new ConnectionError('ECONNRESET', 'the connections are closed');
    // The completion of another request triggers this work, so bind the work to its own async context for observation.
    const bound = observe || onEnd || comment ? AsyncResource.bind(work) : work;
    const waiting = { work: bound, since: performance.now(), isMaintenance };
    const done = () => queue.push(waiting) as Promise<T>;
    return caller === undefined ? done() : withinShare(caller, done);
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
      for (const [connection, { begun, isMaintenance }] of busy) {
        if (now - Math.max(begun, connection.heard) > timeoutFor(isMaintenance)) connection.destroy(tooSlow());
      }
      while (idle[0] && now - idle[0].since > idleTimeout) void idle.shift()?.connection.end();
    },
    Math.min(1_000, idleTimeout / 4, answerTimeout / 4),
  );
  housekeeping.unref();

  const preparing = createPreparing();
  /** How many statements had been dropped when a connection was opened. */
  const droppedBefore = new WeakMap<PostgresConnection, number>();
  const open = () => {
    const connection = createConnection(servers, types);
    droppedBefore.set(connection, preparing.dropped);
    return connection;
  };
  /** A connection keeps the statements that it has prepared. Once it may have twice as many as are in use, it is replaced. */
  const isCluttered = (connection: PostgresConnection) =>
    preparing.dropped - (droppedBefore.get(connection) ?? 0) >= maxPrepared;
  /** Undefined until the first connection has determined it; connections opened in the meantime do not prepare statements. */
  let supportsPrepared: boolean | undefined = servers.target.prepare === false ? false : undefined;
  /** Whether there is no pooler in front of the server; false until that is known. */
  let isDirect = false;
  const withoutCompilation = new WeakSet<postgres.Sql>();
  const isSetUp = (sql: postgres.Sql) =>
    sql.options.prepare === supportsPrepared && (!isDirect || withoutCompilation.has(sql));
  const setUp = async (sql: postgres.Sql) => {
    if (supportsPrepared === undefined) {
      supportsPrepared = false;
      try {
        const session = await examineSession(sql);
        supportsPrepared = session.keepsPrepared;
        isDirect = session.isDirect;
      } catch (error) {
        // A server that does not understand the question gets no prepared statements. Any other error is a fault of this
        // connection, so the next one asks again.
        if (!/^(42|0A)/.test(sqlStateOf(error) ?? '')) {
          supportsPrepared = undefined;
          throw error;
        }
      }
    }
    // On the driver, because it prepares the statements that end a transaction itself.
    Object.assign(sql.options, { prepare: supportsPrepared === true });
    if (!isDirect) return;
    // PostgreSQL would compile what it expects to be expensive, for up to half a second, which is longer than such a statement takes. A
    // pooler refuses the setting when a connection is opened, and would keep it for others when it is set later.
    await sql.unsafe('set jit = off');
    withoutCompilation.add(sql);
  };
  /** Undefined until the first statement outside a transaction has determined it. */
  let isReadCommitted: boolean | undefined;
  /**
   * Runs a statement outside a transaction at the level `read committed`. If the database or the role has another default, the statement
   * gets a transaction of its own: the level cannot be set when the connection is opened, because PgBouncer refuses that.
   */
  const runAlone = async <T>(
    sql: postgres.Sql,
    [text]: Statement,
    run: (on: Pick<postgres.Sql, 'unsafe'>) => Promise<T>,
  ): Promise<T> => {
    isReadCommitted ??= await isDefaultReadCommitted(sql);
    // Others, such as those that create an index, cannot run in a transaction, and do not need to.
    if (isReadCommitted || !/^\s*(select|insert|update|delete|with)\b/i.test(text)) return run(sql);
    return (await sql.begin(readCommitted, run)) as T;
  };
  const send = (on: Pick<postgres.Sql, 'unsafe'>, [text, parameters = []]: Statement) => {
    const note = comment?.();
    // Each such text is different, so it is not worth preparing.
    if (note !== undefined) return on.unsafe(`/*${note}*/ ${text}`, parameters);
    // A text without parameters may contain several statements, which cannot be prepared.
    const isScript = parameters.length === 0 && text.includes(';');
    return isScript || !preparing.wants(text)
      ? on.unsafe(text, parameters)
      : on.unsafe(text, parameters, { prepare: true, simple: false } as { prepare: true });
  };

  /** Waits for a statement, which {@link cancelSlow} cancels when it takes too long. */
  const withTimeLimit = async <T>(
    query: PromiseLike<T> & { state?: CancelKey },
    { isMaintenance, statements }: Usage,
  ) => {
    if (isMaintenance) return query;
    const statement = { query, deadline: performance.now() + statementTimeoutMs };
    statements.add(statement);
    try {
      return await query;
    } finally {
      statements.delete(statement);
    }
  };
  const cancelSlow = () => {
    const now = performance.now();
    for (const [connection, usage] of busy) {
      for (const statement of usage.statements) {
        const { query, deadline } = statement;
        if (now < deadline || !query.state) continue;
        // A pooler ignores the request while the statement is still waiting in it for a server, so the request is repeated.
        statement.deadline = now + 1_000;
        usage.canceling = connection.cancel(query.state).catch((error) => connection.destroy(error as Error));
      }
    }
  };
  let cancellation: NodeJS.Timeout | undefined;

  type Read = (on: Pick<postgres.Sql, 'unsafe'>, statement: Statement, usage: Usage) => Promise<unknown>;
  /** A statement that is sent when it is awaited, like the driver's own. */
  const lazily = ([text]: Statement, execute: (read: Read) => Promise<unknown>) => {
    const run = (read: Read) => (observe ? observe(text, () => execute(read)) : execute(read));
    return {
      // biome-ignore lint/suspicious/noThenProperty: that is how it is awaited
      then: (...handlers: Parameters<Promise<unknown>['then']>) => run(rowsOf).then(...handlers),
      values: () => run(valuesOf),
    };
  };
  const measured = <T>([text]: Statement, run: () => Promise<T>) => (onEnd ? timed(onEnd, text, run) : run());
  const rowsOf: Read = (on, statement, usage) => measured(statement, () => withTimeLimit(send(on, statement), usage));
  const valuesOf: Read = (on, statement, usage) =>
    measured(statement, () => withTimeLimit(send(on, statement).values(), usage));

  /** The only option that Drizzle sets is `prepare`, which is decided here. */
  const client = {
    options: types,
    unsafe: (text: Statement[0], parameters?: Statement[1], sending?: SendOptions) => {
      const statement: Statement = [text, parameters];
      return lazily(statement, (read) =>
        retryOnDeadlock(() =>
          onConnection((sql, usage) => runAlone(sql, statement, (on) => read(on, statement, usage)), sending),
        ),
      );
    },
    begin: (work: (tx: postgres.TransactionSql) => Promise<unknown>, sending?: SendOptions) => {
      /** When the work was done, on the clock of `performance.now()`; 0: not yet. */
      let worked = 0;
      const attempt: Work<unknown> = async (sql, usage) => {
        // The default of the database or the role may be another level.
        const result = await sql.begin(readCommitted, async (tx) => {
          const own = { unsafe: tx.unsafe };
          const unsafe = (...statement: Statement) => lazily(statement, (read) => read(own, statement, usage));
          const done = await work(Object.assign(tx, { unsafe }));
          worked = performance.now();
          return done;
        });
        onEnd?.('commit', performance.now() - worked);
        return result;
      };
      // The work may have given its result to others before the commit, as a unit of work does.
      return retryOnDeadlock(
        () => onConnection(attempt, sending),
        () => worked === 0,
      );
    },
    end: close,
  };
  const clientFor = (sending: SendOptions) =>
    ({
      ...client,
      unsafe: (...[text, parameters]: Statement) => client.unsafe(text, parameters, sending),
      begin: (work: Parameters<typeof client.begin>[0]) => client.begin(work, sending),
    }) as unknown as postgres.Sql;

  const runScript = (text: string) =>
    onConnection(async (sql) => {
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
    clearInterval(cancellation);
    const giveUp = setTimeout(() => {
      for (const connection of busy.keys()) connection.destroy(tooSlow());
    }, 5_000);
    await queue.drained();
    clearTimeout(giveUp);
    await Promise.all(idle.splice(0).map(({ connection }) => connection.end()));
  }

  return {
    client: client as unknown as postgres.Sql,
    clientOf: (caller) => clientFor({ caller }),
    maintenanceClient: clientFor({ isMaintenance: true }),
    limitWaiting: (statementTimeout = Number.POSITIVE_INFINITY) => {
      statementTimeoutMs = statementTimeout;
      clearInterval(cancellation);
      if (Number.isFinite(statementTimeoutMs))
        cancellation = setInterval(cancelSlow, Math.min(1_000, statementTimeoutMs / 5)).unref();
      // A statement may be silent for as long as it may run.
      silenceTimeoutMs = Math.max(answerTimeout, Number.isFinite(statementTimeoutMs) ? statementTimeoutMs + 5_000 : 0);
    },
    runScript,
    load: () => ({ running: queue.running(), waiting: queue.length(), max }),
    close,
  };
}
