// Creates the tables, indexes, and queue of the service, or brings them up to date: `npm run migrate`. Requires a role that owns the
// tables, but no SECRET. The service can then run with MIGRATE=off, and a role without rights on the schema (see db/grants.sql).
import { loadDatabaseConfig } from '../plugins/platform/config.js';
import { migrateDatabase } from '../plugins/platform/database.js';
import { explainStartFailure } from '../plugins/platform/startup-errors.js';

let url: string | undefined;
try {
  const config = loadDatabaseConfig();
  url = config.DATABASE_URL;
  await migrateDatabase(config, (reason) => process.stderr.write(`Waiting for the database: ${reason}\n`));
  process.stdout.write('The tables are up to date.\n');
} catch (error) {
  process.stderr.write(`The tables were not changed. ${explainStartFailure(error, url)}\n`);
  process.exit(1);
}
