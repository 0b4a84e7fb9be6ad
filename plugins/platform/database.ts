import plugin from 'fastify-plugin';
import { type DatabaseConnection, type DatabaseLocation, type Executor, openDatabase } from '../../db/client.js';
import { migrate } from '../../db/migrate.js';
import type { ObserveStatement } from '../../db/observe.js';
import type { Config } from '../../schemas/config.js';
import { prepareDataDirectory } from './data-directory.js';
import { statementOf } from './traced-operations.js';

declare module 'fastify' {
  interface FastifyInstance {
    db: Executor;
    /** Like `db`, for one caller, who can never occupy more than half of the connections. */
    dbOf(origin: { userId: string | null; client: { network: string } }): Executor;
    /** Like `db`, for hourly maintenance, to which QUERY_TIMEOUT does not apply. */
    maintenanceDb: Executor;
    /** The connection itself, for operations other than statements. */
    databaseConnection: DatabaseConnection;
  }
}

/** The location of the database. If the database is embedded, its directory is made private. */
export function databaseLocation(config: Config): DatabaseLocation {
  return config.DATABASE_URL === undefined
    ? { kind: 'embedded', dataDir: prepareDataDirectory(config.DATA_DIR) }
    : { kind: 'postgres', url: config.DATABASE_URL, poolMax: config.DATABASE_POOL_MAX };
}

/** `app.db`: the database, migrated and with its initial rows. It is closed together with the app. */
export const databasePlugin = plugin<{ location: DatabaseLocation; bootstrap: (tx: Executor) => Promise<void> }>(
  async (app, { location, bootstrap }) => {
    const { tracing } = app;
    const observe: ObserveStatement | undefined =
      tracing === null ? undefined : (text, run) => tracing.observe(statementOf(text), run);
    const connection = await openDatabase(location, observe);
    app.addHook('onClose', () => connection.close());
    await migrate(connection, bootstrap);
    connection.limitWaiting(app.config.QUERY_TIMEOUT);
    if (connection.runMaintenance)
      app.every(10_000, connection.runMaintenance, 'maintenance of the embedded database failed');
    app.decorate('db', connection.db);
    app.decorate('dbOf', ({ userId, client }) => connection.dbOf(userId ?? client.network));
    app.decorate('maintenanceDb', connection.maintenanceDb);
    app.decorate('databaseConnection', connection);
  },
  { name: 'database', dependencies: ['config', 'scheduler', 'tracing'] },
);
