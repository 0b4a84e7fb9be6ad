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

/** SQLSTATE of a cancelled statement. */
const cancelledState = '57014';

/** A query that took too long and was stopped between two of its steps. Has the same code. */
export class QueryTimeoutError extends Error {
  readonly code = cancelledState;
  constructor() {
    super('the query took too long');
    this.name = 'QueryTimeoutError';
  }
}

/**
 * SQLSTATEs that mean "try again later": connection lost (08), cancelled (57014), shutting down (57P0x), out of connections,
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

/** Codes that prove that the database did nothing: it could not be reached, or it rejected the work. */
const nothingWasDone = new Set([
  'CONNECT_TIMEOUT',
  'CONNECTION_CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  cancelledState,
  '57P03',
  '53300',
  readOnlyState,
]);

/** Whether the connection was lost without a result, so that the statement may or may not have taken effect. */
export function isOutcomeUnknown(error: unknown): boolean {
  return isDatabaseUnavailable(error) && !codesOf(error).some((code) => nothingWasDone.has(code));
}

/** The SQLSTATE of a failure, if the database gave one. */
export function sqlStateOf(error: unknown): string | undefined {
  return codesOf(error).find((code) => /^[0-9A-Z]{5}$/.test(code) && !unavailableDriverCodes.has(code));
}

/** Whether a statement was stopped because it took too long. */
export const isCancelled = (error: unknown): boolean => codesOf(error).includes(cancelledState);

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
