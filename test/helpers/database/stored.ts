import { PGlite } from '@electric-sql/pglite';
import postgres from 'postgres';
import { runCommand } from '../service/command.js';
import type { Home, Variables } from '../service/service.js';

/** Queries the database of a home directly. On the embedded engine, the service must be stopped first. */
export async function askStored(home: Home, statement: string): Promise<Record<string, unknown>[]> {
  const { DATABASE_URL: url } = home.variables;
  if (url === undefined) {
    const client = await PGlite.create({ dataDir: `${home.directory}/data/database` });
    try {
      return (await client.query<Record<string, unknown>>(statement)).rows;
    } finally {
      await client.close();
    }
  }
  const client = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return [...(await client.unsafe(statement))];
  } finally {
    await client.end();
  }
}

/** The output and exit code of `npm run audit:verify` for the database of a home. */
export const verifyAuditLog = (home: Home, args: readonly string[] = [], variables: Variables = {}) =>
  runCommand(home, 'audit-verify', args, variables);
