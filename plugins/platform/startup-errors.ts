import { DirectoryInUseError } from '../../db/embedded/directory-lock.js';
import { isDatabaseUnavailable, sqlStateOf } from '../../db/failures.js';
import { serversIn } from '../../db/postgres/database-url.js';
import { SchemaError } from '../../db/schema-error.js';
import { ConfigError } from './config.js';
import { DataDirectoryError } from './data-directory.js';
import { rootCause, StartupTimeoutError } from './start-wait.js';

/**
 * Error codes with which PostgreSQL rejects a connection, and what to do about them. Each text completes a sentence that begins with
 * "PostgreSQL".
 */
const refusals: Record<string, string> = {
  '28000':
    'rejects this user or this connection. Check the user name and `sslmode` in DATABASE_URL, and `pg_hba.conf` of the server.',
  '28P01': 'rejects this password. Check the user name and password in DATABASE_URL.',
  '3D000': 'does not have this database. Create it, or check the name at the end of DATABASE_URL.',
  '42501':
    'does not let this user create or read tables. Grant it CREATE on the database and on its schema, or run `npm run migrate` and `db/grants.sql` with another user, and set MIGRATE=off.',
};

/** Error codes of the operating system for a folder that the service cannot use. */
const pathFaults = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOENT', 'ENOTDIR', 'EEXIST', 'EISDIR']);

/**
 * Explains to the operator why the service does not start, and how to fix it.
 * @param databaseUrl DATABASE_URL, for the names of the servers
 */
export function explainStartFailure(error: unknown, databaseUrl?: string): string {
  if (!(error instanceof Error)) return String(error);
  if ([ConfigError, DirectoryInUseError, DataDirectoryError, SchemaError].some((kind) => error instanceof kind))
    return error.message;
  if (error instanceof StartupTimeoutError) return explainTimeout(error, databaseUrl);
  const { code, port, path, address } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  if (path !== undefined && pathFaults.has(code ?? ''))
    return `${path} cannot be written (${code}). Give the service write access, or set DATA_DIR to another folder.`;
  const at = databaseUrl === undefined ? '' : ` at ${serversIn(databaseUrl)}`;
  if (/unsupported startup parameter.*search_path/.test(rootCause(error).message))
    return `The pooler${at} does not accept DATABASE_SCHEMA. Unset it, and set the schema of the role: \`ALTER ROLE … SET search_path = …\`.`;
  const refusal = refusals[sqlStateOf(error) ?? ''];
  if (refusal) return `PostgreSQL${at} ${refusal} It says: ${rootCause(error).message}.`;
  if (isDatabaseUnavailable(error)) {
    return `PostgreSQL cannot be reached${at} (${rootCause(error).message}). Check that it is running, and check the host and port in DATABASE_URL. To use the embedded database, unset DATABASE_URL.`;
  }
  const cause = rootCause(error) as Error & { severity?: unknown };
  // For instance, because of a setting in the URL.
  if (cause.severity === 'FATAL')
    return `PostgreSQL${at} refuses the connection: ${cause.message}. Check DATABASE_URL.`;
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use. Stop the process that listens on it, or set PORT to another port.`;
  if (code === 'EADDRNOTAVAIL')
    return `This machine does not have the address ${address}. Set HOST to one of its addresses.`;
  if (code === 'EACCES' && port !== undefined)
    return `The service is not allowed to listen on port ${port}. Set PORT to a port above 1023.`;
  return error.stack ?? error.message;
}

function explainTimeout({ message, cause }: StartupTimeoutError, databaseUrl: string | undefined): string {
  const reason = isDatabaseUnavailable(cause)
    ? explainStartFailure(cause, databaseUrl)
    : `It could not use the database: ${(cause as Error).message}.`;
  return `${reason} ${message}`;
}
