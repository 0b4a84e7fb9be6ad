// Creates the tables, indexes, and queue of the service, or brings them up to date: `npm run migrate`. Requires a role that owns the
// tables, but no SECRET. The service can then run with MIGRATE=off, and a role without rights on the schema (see db/grants.sql).
import { openDatabase } from '../db/client.js';
import { migrate } from '../db/migrate.js';
import { loadDatabaseConfig } from '../plugins/platform/config.js';
import { databaseLocation, prepareDatabase } from '../plugins/platform/database.js';
import { explainStartFailure } from '../plugins/platform/startup-errors.js';

let url: string | undefined;
try {
  const config = loadDatabaseConfig();
  url = config.DATABASE_URL;
  const connection = await openDatabase(databaseLocation(config));
  try {
    const report = (reason: string) => process.stderr.write(`Waiting for the database: ${reason}\n`);
    await prepareDatabase(connection, config.START_TIMEOUT, report, (pause) =>
      migrate(connection, async () => {}, { pause }),
    );
  } finally {
    await connection.close();
  }
  process.stdout.write('The tables are up to date.\n');
} catch (error) {
  process.stderr.write(`The tables were not changed. ${explainStartFailure(error, url)}\n`);
  process.exit(1);
}
