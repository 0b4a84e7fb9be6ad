// better-auth behind Node's own HTTP server, as its documentation describes. The benchmark copies this file next to its packages.
import { createServer } from 'node:http';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import pg from 'pg';

const { HOST, PORT, DATABASE_URL, SECRET } = process.env;
const auth = betterAuth({
  baseURL: `http://${HOST}:${PORT}`,
  secret: SECRET,
  // As many connections as the service and Directus open by default.
  database: new pg.Pool({ connectionString: DATABASE_URL, max: 10 }),
  emailAndPassword: { enabled: true },
  session: { cookieCache: { enabled: false } },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { level: 'error' },
});
const { runMigrations } = await getMigrations(auth.options);
await runMigrations();
createServer(toNodeHandler(auth)).listen(Number(PORT), HOST);
