import type { LightMyRequestResponse } from 'fastify';
import type { Test } from 'tap';
import type { ErrorCode } from '../../../schemas/errors.js';

/** The status and the `extensions` keys of an error, except `code`, by error code. */
const contract: Record<ErrorCode, [status: number, ...keys: string[]]> = {
  INVALID_PAYLOAD: [400, 'reason'],
  INVALID_QUERY: [400, 'reason'],
  FAILED_VALIDATION: [400, 'field', 'path', 'type'],
  RECORD_NOT_UNIQUE: [400, 'collection', 'field', 'value'],
  INVALID_FOREIGN_KEY: [400, 'collection', 'field', 'value'],
  VALUE_TOO_LONG: [400, 'collection', 'field', 'value'],
  VALUE_OUT_OF_RANGE: [400, 'collection', 'field', 'value'],
  NOT_NULL_VIOLATION: [400, 'collection', 'field'],
  INVALID_INVITE: [400],
  INVALID_CREDENTIALS: [401],
  INVALID_OTP: [401],
  TOKEN_EXPIRED: [401],
  FORBIDDEN: [403],
  REAUTHENTICATION_REQUIRED: [403, 'max_age', 'methods'],
  INVALID_TOKEN: [403],
  INVALID_PROVIDER: [403],
  ROUTE_NOT_FOUND: [404, 'path'],
  UNPROCESSABLE_CONTENT: [422, 'reason'],
  REQUESTS_EXCEEDED: [429, 'limit', 'reset'],
  INTERNAL_SERVER_ERROR: [500],
  SERVICE_UNAVAILABLE: [503, 'reason', 'service'],
  INVALID_PROVIDER_CONFIG: [503, 'provider'],
};

/** The keys that may be missing, by error code. */
const optional: Partial<Record<ErrorCode, string[]>> = {
  FAILED_VALIDATION: ['valid', 'invalid', 'substring'],
  FORBIDDEN: ['reason'],
};

/** Asserts that a response is a single error as defined in the contract: status, media type, and every key of the body. */
export function refused(t: Test, response: LightMyRequestResponse, code: ErrorCode, what: string): void {
  const [status, ...keys] = contract[code];
  const { errors, ...rest } = response.json();
  const [entry, ...more] = errors ?? [{}];
  t.strictSame(
    {
      status: response.statusCode,
      type: response.headers['content-type'],
      code: entry.extensions?.code,
      keys: Object.keys(entry).sort(),
      extensions: Object.keys(entry.extensions ?? {})
        .filter((key) => !optional[code]?.includes(key))
        .sort(),
      more,
      rest,
    },
    {
      status,
      type: 'application/json; charset=utf-8',
      code,
      keys: ['extensions', 'message'],
      extensions: ['code', ...keys].sort(),
      more: [],
      rest: {},
    },
    what,
  );
}
