import { OptionalKind, type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { Closed, named } from './common.js';

const Location = {
  collection: Type.String({ description: 'The collection that the value belongs to.' }),
  field: Type.String({ description: 'The invalid field.' }),
};
const Refused = {
  ...Location,
  value: Type.Unknown({ description: 'The invalid value. Secrets are masked.' }),
};
const Reason = { reason: Type.String({ description: 'A readable explanation.' }) };

interface CatalogueEntry {
  readonly status: number;
  readonly message: string;
  /** The keys of `extensions` besides `code`. */
  readonly extensions: TProperties;
}

/** The ways in which a signed-in user can prove their identity again. */
export const proofMethods = ['password', 'otp', 'passkey', 'email', 'provider'] as const;
export type ProofMethod = (typeof proofMethods)[number];

/** All errors that the API can return, with their status, message and extension keys. */
const catalogue = {
  INVALID_PAYLOAD: { status: 400, message: 'The request is invalid.', extensions: Reason },
  INVALID_QUERY: { status: 400, message: 'The query parameters are invalid.', extensions: Reason },
  FAILED_VALIDATION: {
    status: 400,
    message: 'A value violates a validation rule.',
    extensions: {
      field: Type.String({ description: 'The invalid field.' }),
      path: Type.Array(Type.String(), { description: 'The path to the field, from the outermost key.' }),
      type: Type.String({ description: 'The rule that the value violates.' }),
      valid: Type.Optional(Type.Unknown({ description: 'The accepted values.' })),
      invalid: Type.Optional(Type.Unknown({ description: 'The rejected values.' })),
      substring: Type.Optional(Type.String({ description: 'The text that the rule compares with.' })),
    },
  },
  RECORD_NOT_UNIQUE: { status: 400, message: 'Another item already has this value.', extensions: Refused },
  INVALID_FOREIGN_KEY: { status: 400, message: 'There is no item with this key.', extensions: Refused },
  VALUE_TOO_LONG: { status: 400, message: 'The value is too long.', extensions: Refused },
  VALUE_OUT_OF_RANGE: { status: 400, message: 'The value is out of range.', extensions: Refused },
  NOT_NULL_VIOLATION: { status: 400, message: 'The field must not be null.', extensions: Location },
  INVALID_INVITE: { status: 400, message: 'The invitation can no longer be accepted.', extensions: {} },
  INVALID_CREDENTIALS: { status: 401, message: 'The credentials are invalid.', extensions: {} },
  INVALID_OTP: { status: 401, message: 'The one-time password is missing or invalid.', extensions: {} },
  TOKEN_EXPIRED: { status: 401, message: 'The token has expired.', extensions: {} },
  FORBIDDEN: {
    status: 403,
    message: 'You are not allowed to do this.',
    extensions: { reason: Type.Optional(Reason.reason) },
  },
  REAUTHENTICATION_REQUIRED: {
    status: 403,
    message: 'Confirm your identity again, then repeat the request.',
    extensions: {
      max_age: Type.Integer({ description: 'The maximum age of the last proof, in seconds.' }),
      methods: Type.Array(Type.Union(proofMethods.map((method) => Type.Literal(method))), {
        description:
          'The ways in which you can prove your identity. `password` and `otp`: `POST /auth/reauthenticate`. `provider`: sign in through a linked provider again, which starts a new session.',
      }),
    },
  },
  INVALID_TOKEN: { status: 403, message: 'The token is invalid.', extensions: {} },
  INVALID_PROVIDER: {
    status: 403,
    message: 'This provider account or its email address belongs to another user.',
    extensions: {},
  },
  ROUTE_NOT_FOUND: {
    status: 404,
    message: 'This route does not exist.',
    extensions: { path: Type.String({ description: 'The requested path.' }) },
  },
  UNPROCESSABLE_CONTENT: { status: 422, message: 'The request cannot be completed.', extensions: Reason },
  REQUESTS_EXCEEDED: {
    status: 429,
    message: 'Too many requests or attempts. Try again later.',
    extensions: {
      limit: Type.Integer({ description: 'The number of allowed requests or attempts.' }),
      reset: Type.String({ format: 'date-time', description: 'When the next request or attempt is allowed.' }),
    },
  },
  INTERNAL_SERVER_ERROR: {
    status: 500,
    message: 'Something went wrong on our side. When you report this, include the x-request-id of the response.',
    extensions: {},
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    message: 'A required service is unavailable. Try again in a moment.',
    extensions: { service: Type.String({ description: 'The unavailable component.' }), ...Reason },
  },
  INVALID_PROVIDER_CONFIG: {
    status: 503,
    message: 'Login with this provider is not configured correctly. The administrator can find details in the log.',
    extensions: { provider: Type.String({ description: 'Key of the provider.' }) },
  },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;

/** The values of `extensions` besides `code`, for one code. */
export type ErrorExtensions<Code extends ErrorCode> = Static<TObject<(typeof catalogue)[Code]['extensions']>>;

/** Extensions are optional for codes that require none. REQUESTS_EXCEEDED also requires the time to wait. */
type ErrorArguments<Code extends ErrorCode> = Code extends 'REQUESTS_EXCEEDED'
  ? [extensions: ErrorExtensions<Code>, retryAfter: number]
  : Record<never, never> extends ErrorExtensions<Code>
    ? [extensions?: ErrorExtensions<Code>]
    : [extensions: ErrorExtensions<Code>];

/** One entry of `errors` in a response body. */
export interface ErrorEntry {
  message: string;
  extensions: { code: ErrorCode } & Record<string, unknown>;
}

/**
 * An error to return to the client. Services throw it, and a single handler renders it.
 * `retryAfter` (seconds) becomes the Retry-After header.
 */
export class ApiError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly extensions: ErrorExtensions<Code> | Record<never, never>;
  readonly retryAfter: number | undefined;
  /** The key of the affected item, if only the thrower knows it. For the audit log; never sent to the client. */
  subject: string | undefined;
  /** Whether the refused cookie must not be cleared, because the browser may already have its successor. */
  keepsCookie = false;

  constructor(code: Code, ...[extensions, retryAfter]: ErrorArguments<Code>) {
    super(catalogue[code].message);
    this.name = 'ApiError';
    this.code = code;
    this.extensions = extensions ?? {};
    this.retryAfter = code === 'SERVICE_UNAVAILABLE' ? 1 : retryAfter;
  }

  /** Sets the affected item. @param subject the key of the item; undefined or null: none */
  concerning(subject: string | null | undefined): this {
    this.subject = subject ?? undefined;
    return this;
  }

  /** Sets that the refused cookie must not be cleared. */
  keepingCookie(): this {
    this.keepsCookie = true;
    return this;
  }

  get status(): number {
    return catalogue[this.code].status;
  }

  toEntry(): ErrorEntry {
    return { message: this.message, extensions: { ...this.extensions, code: this.code } };
  }
}

const pascalCase = (code: string) =>
  code
    .toLowerCase()
    .split('_')
    .map((word) => word[0]?.toUpperCase() + word.slice(1))
    .join('');

/** Example values of the keys of `extensions`. */
const examples: Readonly<Record<string, unknown>> = {
  collection: 'users',
  field: 'email',
  value: 'ada@example.com',
  reason: 'email must be a string',
  type: 'email',
  max_age: 900,
  methods: ['password', 'provider'],
  limit: 5,
  reset: '2026-01-31T09:26:53.000Z',
  service: 'database',
  provider: 'google',
};

function exampleOf(code: string, { message, extensions }: CatalogueEntry): unknown {
  const required = Object.entries(extensions).filter(([, schema]) => !(OptionalKind in schema));
  const path = code === 'ROUTE_NOT_FOUND' ? '/nowhere' : [];
  const values = required.map(([key]) => [key, key === 'path' ? path : examples[key]]);
  return { message, extensions: { code, ...Object.fromEntries(values) } };
}

const entrySchemas = Object.fromEntries(
  Object.entries(catalogue).map(([code, entry]: [string, CatalogueEntry]) => [
    code,
    named(
      `${pascalCase(code)}Error`.replace('ErrorError', 'Error'),
      Closed(
        {
          message: Type.String({
            description: 'A readable message. It may change, so programs should use `extensions.code`.',
          }),
          extensions: Closed({ code: Type.Literal(code), ...entry.extensions }),
        },
        { description: entry.message, examples: [exampleOf(code, entry)] },
      ),
    ),
  ]),
) as Record<ErrorCode, TSchema>;

/**
 * The errors that any route can return: for an invalid request or credential, for too many requests, and when the service
 * itself fails.
 */
const everywhere: readonly ErrorCode[] = [
  'INVALID_PAYLOAD',
  'INVALID_CREDENTIALS',
  'TOKEN_EXPIRED',
  'INVALID_TOKEN',
  'REQUESTS_EXCEEDED',
  'INTERNAL_SERVER_ERROR',
  'SERVICE_UNAVAILABLE',
];

/** The error responses of a route: for each status, the complete list of codes that it can have. */
export const errorResponses = (...codes: ErrorCode[]): Record<number, TSchema> =>
  responsesOf([...codes, ...everywhere]);

/** The codes that each error response declares. */
const declaredCodes = new WeakMap<object, readonly ErrorCode[]>();

/** The responses of a route, with the errors that result from what the route requires of its callers. */
export function withErrors(
  responses: Readonly<Record<string, unknown>>,
  codes: readonly ErrorCode[],
): Record<string, unknown> {
  const declared = Object.values(responses).flatMap((response) => declaredCodes.get(response as object) ?? []);
  return { ...responses, ...responsesOf([...codes, ...declared]) };
}

function responsesOf(codes: readonly ErrorCode[]): Record<number, TSchema> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set(codes)) {
    const { status } = catalogue[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, list]) => {
        const entries = list.map((code) => entrySchemas[code]);
        const item = entries.length === 1 && entries[0] ? entries[0] : Type.Union(entries);
        const response = Closed(
          { errors: Type.Array(item, { minItems: 1 }) },
          { description: list.map((code) => `\`${code}\``).join(', ') },
        );
        declaredCodes.set(response, list);
        return [status, response];
      }),
  );
}

/** The errors that the write operations of a collection can return, in addition to those of any route. */
export interface WriteErrors {
  create: readonly ErrorCode[];
  update: readonly ErrorCode[];
  remove: readonly ErrorCode[];
}
