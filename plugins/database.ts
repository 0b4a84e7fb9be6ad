import plugin from 'fastify-plugin';
import { type DatabaseConnection, type DatabaseLocation, type Executor, openDatabase } from '../db/client.js';
import { migrate } from '../db/migrate.js';
import type { ObserveStatement } from '../db/observe.js';
import type { Config } from '../schemas/config.js';
import { bootstrap, type MadeAdministrator } from './bootstrap.js';
import { statementOf } from './tracing/operations.js';

declare module 'fastify' {
  interface FastifyInstance {
    db: Executor;
    /** The connection itself, for what needs more than statements. */
    databaseConnection: DatabaseConnection;
    /** The administrator, when this start has made one. */
    madeAdministrator: MadeAdministrator | null;
  }
}

/** Where the configuration wants the database. */
export function databaseLocation(config: Config): DatabaseLocation {
  return config.DATABASE_URL === undefined
    ? { kind: 'embedded', dataDir: config.DATA_DIR }
    : { kind: 'postgres', url: config.DATABASE_URL, poolMax: config.DATABASE_POOL_MAX };
}

/** `app.db`: the database, opened, migrated and filled with what must be there; closed with the app. */
export const databasePlugin = plugin<{ location: DatabaseLocation }>(
  async (app, { location }) => {
    const { tracing } = app;
    const observe: ObserveStatement | undefined =
      tracing === null ? undefined : (text, run) => tracing.observe(statementOf(text), run);
    const connection = await openDatabase(location, observe);
    app.addHook('onClose', () => connection.close());
    const administrator = await migrate(connection, (tx) => bootstrap(tx, app.config, app.passwords));
    connection.limitWaiting();
    if (connection.keepUp) app.every(10_000, connection.keepUp, 'the embedded database could not be kept up');
    app.decorate('db', connection.db);
    app.decorate('databaseConnection', connection);
    app.decorate('madeAdministrator', administrator);
  },
  { name: 'database', dependencies: ['config', 'passwords', 'periodic', 'tracing'] },
);
