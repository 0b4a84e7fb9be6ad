/** Classifies database failures by SQLSTATE and by the driver's own codes, for either engine. */

/** SQLSTATE of a write on a read-only server: a standby, or a primary that is set to read-only. */
const readOnlyState = '25006';

/** The same failure, detected before anything was written. */
export class ReadOnlyError extends Error {
  readonly code = readOnlyState;
  constructor() {
    super('it is read-only');
    this.name = 'ReadOnlyError';
  }
}

/** SQLSTATE of a canceled statement. */
const canceledState = '57014';

/** A query that took too long and was stopped between two of its steps. Has the same code as a canceled statement. */
export class QueryTimeoutError extends Error {
  readonly code = canceledState;
  constructor() {
    super('the query took too long');
    this.name = 'QueryTimeoutError';
  }
}

/**
 * SQLSTATEs that mean "try again later": connection lost (08), canceled (57014), shutting down (57P0x), out of connections,
 * read-only standby.
 */
const unavailableStates = /^(08...|57014|57P0[1-5]|53300|25006)$/;

const unavailableDriverCodes = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'CONNECTION_CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);

/** The codes of the error and of its causes: the query builder wraps what the driver throws. */
function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth++) {
    const { code } = current as { code?: unknown };
    if (typeof code === 'string') codes.push(code);
    if (current instanceof AggregateError) codes.push(...current.errors.flatMap(codesOf));
  }
  return codes;
}

/** When the embedded engine is closed, its errors have no code, only a message. */
function isEngineClosed(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /^PGlite is clos(ed|ing)/.test(error.message) || isEngineClosed(error.cause);
}

/** Whether the database could not be reached or refused to serve. The caller may try again; the request was not at fault. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const codes = codesOf(error);
  return (
    codes.some((code) => unavailableStates.test(code) || unavailableDriverCodes.has(code)) || isEngineClosed(error)
  );
}

/**
 * Why the database did not do its work, although nothing is wrong with the statement: it would succeed once the cause is gone.
 * The values are labels in the log and in the metrics.
 */
export type DatabaseOutage =
  | 'database_unreachable'
  | 'database_read_only'
  | 'database_timeout'
  | 'database_lock_timeout'
  | 'database_deadlock'
  | 'database_disk_full'
  | 'database_out_of_resources'
  | 'database_io_error';

const outagesByState: readonly [states: RegExp, outage: DatabaseOutage][] = [
  // The last two are the server's limits on idle and on long transactions.
  [/^(57014|25P0[34])$/, 'database_timeout'],
  [/^55P03$/, 'database_lock_timeout'],
  [/^(40P01|40001)$/, 'database_deadlock'],
  [/^53100$/, 'database_disk_full'],
  [/^53...$/, 'database_out_of_resources'],
  [/^58030$/, 'database_io_error'],
  [/^25006$/, 'database_read_only'],
];

/** Why the database did not do its work; undefined if the failure has another kind of cause, such as an invalid value. */
export function databaseOutageOf(error: unknown): DatabaseOutage | undefined {
  const state = sqlStateOf(error) ?? '';
  const [, outage] = outagesByState.find(([states]) => states.test(state)) ?? [];
  return outage ?? (isDatabaseUnavailable(error) ? 'database_unreachable' : undefined);
}

/** The SQLSTATE of a failure, if the database gave one. */
export function sqlStateOf(error: unknown): string | undefined {
  return codesOf(error).find((code) => /^[0-9A-Z]{5}$/.test(code) && !unavailableDriverCodes.has(code));
}

/** Whether the database is read-only. */
export const isReadOnlyFailure = (error: unknown): boolean => codesOf(error).includes(readOnlyState);

/** A table constraint that a statement would have violated. */
export interface BrokenConstraint {
  kind: 'unique' | 'foreign-key';
  name: string;
}

/** The constraint that was violated; undefined for any other failure. */
export function brokenConstraint(error: unknown): BrokenConstraint | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth++) {
    const { code, constraint, constraint_name } = current as {
      code?: string;
      constraint?: string;
      constraint_name?: string;
    };
    const kind = code === '23505' ? 'unique' : code === '23503' ? 'foreign-key' : undefined;
    if (kind) return { kind, name: constraint_name ?? constraint ?? '' };
  }
  return undefined;
}
