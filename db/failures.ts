/** What went wrong in the database, told apart by SQLSTATE and by the driver's own codes, for either engine. */

/** What a server answers to a write that only reads: a standby, or one that was told to. */
const readOnlyState = '25006';

/** The same, found out before anything was written. */
export class ReadOnlyError extends Error {
  readonly code = readOnlyState;
  constructor() {
    super('it only reads');
    this.name = 'ReadOnlyError';
  }
}

/** The code of a statement that was cancelled. */
const cancelledState = '57014';

/** A query that took too long and was ended between two of its parts. Has the same code. */
export class QueryTimeoutError extends Error {
  readonly code = cancelledState;
  constructor() {
    super('the query took too long');
    this.name = 'QueryTimeoutError';
  }
}

/** SQLSTATE classes and codes that say "not now": connection lost (08), cancelled (57014), shutting down (57P0x), out of connections, read-only standby. */
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

/** The code of the error or of what caused it: the query builder wraps what the driver throws. */
function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth++) {
    const { code } = current as { code?: unknown };
    if (typeof code === 'string') codes.push(code);
    if (current instanceof AggregateError) codes.push(...current.errors.flatMap(codesOf));
  }
  return codes;
}

/** The embedded engine gives no codes when it is not there to answer, only a sentence. */
function isEngineClosed(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /^PGlite is clos(ed|ing)/.test(error.message) || isEngineClosed(error.cause);
}

/** Whether the database could not be reached or would not serve: worth another try, and nobody's fault here. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const codes = codesOf(error);
  return (
    codes.some((code) => unavailableStates.test(code) || unavailableDriverCodes.has(code)) || isEngineClosed(error)
  );
}

/** Codes of a database that could not be reached, or that took nothing on. */
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

/** Whether the database went away without saying what became of a statement: it was done, or it was not. */
export function isPerhapsDone(error: unknown): boolean {
  return isDatabaseUnavailable(error) && !codesOf(error).some((code) => nothingWasDone.has(code));
}

/** The SQLSTATE of a failure, if the database gave one. */
export function sqlStateOf(error: unknown): string | undefined {
  return codesOf(error).find((code) => /^[0-9A-Z]{5}$/.test(code) && !unavailableDriverCodes.has(code));
}

/** Whether a statement was stopped because it took too long. */
export const isCancelled = (error: unknown): boolean => codesOf(error).includes(cancelledState);

/** Whether the database only reads. */
export const isReadOnlyFailure = (error: unknown): boolean => codesOf(error).includes(readOnlyState);

/** A constraint of a table that a statement would have broken. */
export interface BrokenConstraint {
  kind: 'unique' | 'foreign-key';
  name: string;
}

/** Which constraint was broken; undefined when the failure is of another kind. */
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
