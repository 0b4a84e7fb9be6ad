import type { FastifyBaseLogger } from 'fastify';
import { type DatabaseConnection, type DatabaseLocation, type Executor, openDatabase } from '../../db/client.js';
import { migrate, requireMigrated } from '../../db/migrate.js';
import type { StatementHooks } from '../../db/observe.js';
import { pingDatabase } from '../../db/queries/platform/health.js';
import { logsParameters } from '../../db/queries/platform/statement-logging.js';
import type { UnitOfWork } from '../../db/unit-of-work.js';
import type { Config } from '../../schemas/config.js';
import { prepareDataDirectory } from './data-directory.js';
import { definePlugin, type Services } from './plugin.js';
import { requireKnownSecret } from './secret-check.js';
import { createStartWait, type StartupWait } from './start-wait.js';
import { shorten, statementOf } from './traced-operations.js';

declare module './plugin.js' {
  interface Services {
    db: Executor;
    /**
     * Like `db`, for one caller, who can never occupy more than half of the connections. What an operation writes for its caller, it writes
     * with this, and what it reads after that, too: in a dry run, nothing else sees it.
     */
    dbOf(origin: { userId: string | null; client: { network: string; unit?: UnitOfWork | undefined } }): Executor;
    /** Like `db`, for hourly maintenance, to which QUERY_TIMEOUT does not apply. */
    maintenanceDb: Executor;
    /** The connection itself, for operations other than statements. */
    databaseConnection: DatabaseConnection;
  }
}

/** The location of the database. If the database is embedded, its directory is made private. */
export function databaseLocation(
  config: Pick<Config, 'DATABASE_URL' | 'DATABASE_SCHEMA' | 'DATABASE_POOL_MAX' | 'DATA_DIR'>,
): DatabaseLocation {
  return config.DATABASE_URL === undefined
    ? { kind: 'embedded', dataDir: prepareDataDirectory(config.DATA_DIR) }
    : {
        kind: 'postgres',
        url: config.DATABASE_URL,
        poolMax: config.DATABASE_POOL_MAX,
        schema: config.DATABASE_SCHEMA,
      };
}

/**
 * Prepares the database as soon as it can be used.
 * @param report called every five seconds with the reason for the wait
 * @param prepare is repeated if the database becomes unavailable while it runs
 */
async function prepareDatabase<T>(
  { db, engine }: DatabaseConnection,
  timeoutMs: number,
  report: (reason: string) => void,
  prepare: (pause: StartupWait['pause']) => Promise<T>,
): Promise<T> {
  const wait = createStartWait(timeoutMs, report);
  const work = () => prepare(wait.pause);
  return engine === 'postgres' ? wait.untilAvailable(() => pingDatabase(db), work) : work();
}

/** Brings the tables of a database up to date, for a program that does nothing else. */
export async function migrateDatabase(
  config: Parameters<typeof databaseLocation>[0] & Pick<Config, 'START_TIMEOUT'>,
  report: (reason: string) => void,
): Promise<void> {
  const connection = await openDatabase(databaseLocation(config));
  try {
    await prepareDatabase(connection, config.START_TIMEOUT, report, (pause) =>
      migrate(connection, async () => {}, { pause }),
    );
  } finally {
    await connection.close();
  }
}

/**
 * `app.db`: the database, migrated and with its initial rows. It is closed together with the app.
 * @param bootstrap creates the initial rows. Null: the database must exist and be up to date.
 */
export const databasePlugin = definePlugin<{
  location: DatabaseLocation;
  bootstrap: ((tx: Executor) => Promise<void>) | null;
}>('platform/database', async (services, app, { location, bootstrap }) => {
  const { config, every } = services;
  const connection = await openDatabase(location, statementHooksOf(services));
  app.addHook('onClose', () => connection.close());
  const report = (reason: string) => app.log.warn({ reason }, 'waiting for the database');
  const prepare = async (pause: StartupWait['pause']) => {
    if (!bootstrap) return requireMigrated(connection);
    return migrate(
      connection,
      async (tx) => {
        await requireKnownSecret(tx, config);
        await bootstrap(tx);
      },
      { shouldMigrate: config.MIGRATE === 'on', pause },
    );
  };
  await prepareDatabase(connection, config.START_TIMEOUT, report, prepare);
  connection.limitWaiting(config.QUERY_TIMEOUT);
  if (connection.runMaintenance)
    every(10_000, connection.runMaintenance, 'maintenance of the embedded database failed');
  if (connection.engine === 'postgres') {
    app.addHook('onListen', async () => void warnAboutLoggedParameters(connection.db, app.log));
  }
  return {
    db: connection.db,
    dbOf: ({ userId, client: { network, unit } }) => {
      const own = connection.dbOf(userId ?? network);
      return unit ? unit.over(own) : own;
    },
    maintenanceDb: connection.maintenanceDb,
    databaseConnection: connection,
  };
});

/** The hooks that the configuration requires around each statement. */
function statementHooksOf({ tracing, currentRequest, config, log }: Services): StatementHooks {
  const { SLOW_QUERY_MS: slow, DATABASE_REQUEST_COMMENTS } = config;
  return {
    ...(tracing && { observe: (text, run) => tracing.observe(statementOf(text), run) }),
    ...(slow > 0 && {
      onEnd: (text, ms) => {
        if (ms < slow) return;
        const facts = { ms: Math.round(ms), statement: shorten(text) };
        (currentRequest?.()?.log ?? log).warn(facts, 'an SQL statement was slow');
      },
    }),
    ...(DATABASE_REQUEST_COMMENTS && {
      comment: () => {
        const id = currentRequest?.()?.id;
        return id === undefined ? undefined : `request_id='${id}'`;
      },
    }),
  };
}

/** Warns the operator if the PostgreSQL log may contain password hashes. */
async function warnAboutLoggedParameters(db: Executor, log: FastifyBaseLogger): Promise<void> {
  // If the database does not respond, other messages report it.
  if (await logsParameters(db).catch(() => false)) {
    log.warn(
      'PostgreSQL logs the parameters of statements, including password hashes. Set log_parameter_max_length to 0',
    );
  }
}
