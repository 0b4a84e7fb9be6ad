import type { Test } from 'tap';

/**
 * The status and the `extensions` keys of each error code, as defined in the contract (1.1). The table deliberately
 * does not reuse the service's own.
 */
const table: Record<string, { status: number; keys: string[]; optional?: string[] }> = {
  INVALID_PAYLOAD: { status: 400, keys: ['reason'] },
  INVALID_QUERY: { status: 400, keys: ['reason'] },
  INVALID_CREDENTIALS: { status: 401, keys: [] },
  INVALID_OTP: { status: 401, keys: [] },
  TOKEN_EXPIRED: { status: 401, keys: [] },
  FORBIDDEN: { status: 403, keys: [], optional: ['reason'] },
  REAUTHENTICATION_REQUIRED: { status: 403, keys: ['max_age', 'methods'] },
  INVALID_TOKEN: { status: 403, keys: [] },
  ROUTE_NOT_FOUND: { status: 404, keys: ['path'] },
  REQUESTS_EXCEEDED: { status: 429, keys: ['limit', 'reset'] },
  SERVICE_UNAVAILABLE: { status: 503, keys: ['service', 'reason'] },
};

/** Text that must never reach a client: stack traces, SQL statements, file paths, and internal names. */
const internalsPattern =
  /\bat \S+ \(|\n\s+at |node_modules|node:|file:\/\/|\.(ts|js|mjs):\d|\/(home|tmp|usr|var|root|Users)\/|\b(select|insert|update|delete)\b.*\b(from|into|set|where)\b|drizzle|pglite|postgres|typebox|\bajv\b|fastify|FST_|ECONN|undefined|\[object /i;

/** A response, independent of how the request was sent. */
export interface Answered {
  statusCode: number;
  headers: Record<string, unknown>;
  body: string;
}

export interface ContractError {
  status: number;
  code: string;
  extensions: Record<string, unknown>;
}

/**
 * Explains why a response is not an error as defined in the contract. Returns undefined if it is one.
 * @param hasBody false for the response to a HEAD request
 */
export function faultOfError({ statusCode, headers, body }: Answered, hasBody = true): string | undefined {
  if (statusCode >= 500) return `the status is ${statusCode}: ${body}`;
  if (!/^[A-Za-z0-9._-]{1,128}$/.test(String(headers['x-request-id'] ?? ''))) return 'x-request-id is missing';
  if (headers['content-type'] !== 'application/json; charset=utf-8') {
    return `the content type is ${headers['content-type']}`;
  }
  if (!hasBody) return body === '' ? undefined : 'there is a body';
  const { errors, ...rest } = JSON.parse(body);
  if (Object.keys(rest).length > 0 || !Array.isArray(errors) || errors.length === 0) return `the body is ${body}`;
  for (const entry of errors) {
    const { code, ...extensions } = entry.extensions ?? {};
    const expected = table[code];
    if (!expected) return `the code is ${code}`;
    if (expected.status !== statusCode) return `the status of ${code} is ${statusCode}`;
    if (Object.keys(entry).sort().join() !== 'extensions,message') return `an entry has ${Object.keys(entry)}`;
    if (typeof entry.message !== 'string' || entry.message === '') return 'the message is empty';
    const keys = Object.keys(extensions).filter((key) => !expected.optional?.includes(key));
    if (keys.sort().join() !== [...expected.keys].sort().join()) return `the extensions are ${JSON.stringify(entry)}`;
    // The path contains the client's own text.
    const { path, ...said } = extensions;
    const leak = internalsPattern.exec(`${entry.message} ${JSON.stringify(said)}`)?.[0];
    if (leak) return `it exposes internals: ${leak} in ${body}`;
  }
  return undefined;
}

/** Asserts that a response is this error of the contract and exposes no internals. */
export function isContractError(t: Test, response: Answered, code: string, what: string): void {
  const fault = faultOfError(response);
  if (fault !== undefined) {
    t.fail(`${what}: ${fault}`);
    return;
  }
  t.equal(JSON.parse(response.body).errors[0].extensions.code, code, `${what}: ${code}`);
}
