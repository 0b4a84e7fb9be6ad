import { OptionalKind, type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { Closed, named } from './common.js';

const Location = {
  collection: Type.String({ description: 'The collection that the value belongs to.' }),
  field: Type.String({ description: 'The field that was refused.' }),
};
const Refused = {
  ...Location,
  value: Type.Unknown({ description: 'The value that was refused; concealed when it is a secret.' }),
};
const Reason = { reason: Type.String({ description: 'What is wrong, for a person to read.' }) };

interface CatalogueEntry {
  readonly status: number;
  readonly message: string;
  /** The keys of `extensions` besides `code`. */
  readonly extensions: TProperties;
}

/** The closed set of errors that a client can meet (contract 1.1): status, default sentence, extension keys. */
const catalogue = {
  INVALID_PAYLOAD: { status: 400, message: 'The request is not acceptable.', extensions: Reason },
  INVALID_QUERY: { status: 400, message: 'The query parameters are not acceptable.', extensions: Reason },
  FAILED_VALIDATION: {
    status: 400,
    message: 'A value does not meet the rules.',
    extensions: {
      field: Type.String({ description: 'The field that was refused.' }),
      path: Type.Array(Type.String(), { description: 'Where the field is, from the outside in.' }),
      type: Type.String({ description: 'The rule that is not met.' }),
      valid: Type.Optional(Type.Unknown({ description: 'What would be taken.' })),
      invalid: Type.Optional(Type.Unknown({ description: 'What is not taken.' })),
      substring: Type.Optional(Type.String({ description: 'The text that the rule is about.' })),
    },
  },
  RECORD_NOT_UNIQUE: { status: 400, message: 'Another item has this value already.', extensions: Refused },
  INVALID_FOREIGN_KEY: { status: 400, message: 'There is no item with this key.', extensions: Refused },
  VALUE_TOO_LONG: { status: 400, message: 'The value is too long.', extensions: Refused },
  VALUE_OUT_OF_RANGE: { status: 400, message: 'The value is out of range.', extensions: Refused },
  NOT_NULL_VIOLATION: { status: 400, message: 'The field must not be null.', extensions: Location },
  INVALID_INVITE: { status: 400, message: 'The invitation cannot be accepted any more.', extensions: {} },
  INVALID_CREDENTIALS: { status: 401, message: 'The credentials are not valid.', extensions: {} },
  INVALID_OTP: { status: 401, message: 'The one-time password is missing or not valid.', extensions: {} },
  TOKEN_EXPIRED: { status: 401, message: 'The token has expired.', extensions: {} },
  FORBIDDEN: {
    status: 403,
    message: 'You are not allowed to do this.',
    extensions: { reason: Type.Optional(Reason.reason) },
  },
  INVALID_TOKEN: { status: 403, message: 'The token is not valid.', extensions: {} },
  INVALID_PROVIDER: {
    status: 403,
    message: 'This account at the provider, or its e-mail address, belongs to another user.',
    extensions: {},
  },
  ROUTE_NOT_FOUND: {
    status: 404,
    message: 'There is no such route.',
    extensions: { path: Type.String({ description: 'The path that was asked for.' }) },
  },
  UNPROCESSABLE_CONTENT: { status: 422, message: 'This cannot be done.', extensions: Reason },
  REQUESTS_EXCEEDED: {
    status: 429,
    message: 'Too many requests or attempts. Try again later.',
    extensions: {
      limit: Type.Integer({ description: 'How many requests or attempts are allowed.' }),
      reset: Type.String({ format: 'date-time', description: 'From when on the next one is allowed.' }),
    },
  },
  INTERNAL_SERVER_ERROR: {
    status: 500,
    message: 'Something went wrong on our side. Quote the x-request-id of this answer when you report it.',
    extensions: {},
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    message: 'A service that is needed here is unavailable. Try again in a moment.',
    extensions: { service: Type.String({ description: 'The part that is unavailable.' }), ...Reason },
  },
  INVALID_PROVIDER_CONFIG: {
    status: 503,
    message: 'Login by this provider is not set up rightly. Its administrator finds more in the log.',
    extensions: { provider: Type.String({ description: 'Key of the provider.' }) },
  },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;

/** The values of `extensions` besides `code`, for one code. */
export type ErrorExtensions<Code extends ErrorCode> = Static<TObject<(typeof catalogue)[Code]['extensions']>>;

/** Codes that need no extensions may be raised without any; who is told to wait must be told for how long. */
type ErrorArguments<Code extends ErrorCode> = Code extends 'REQUESTS_EXCEEDED'
  ? [extensions: ErrorExtensions<Code>, retryAfter: number]
  : Record<never, never> extends ErrorExtensions<Code>
    ? [extensions?: ErrorExtensions<Code>]
    : [extensions: ErrorExtensions<Code>];

/** One entry of an error body, as it goes over the wire (contract 1.1). */
export interface ErrorEntry {
  message: string;
  extensions: { code: ErrorCode } & Record<string, unknown>;
}

/**
 * An error that the client is meant to see. Services throw it, and one handler renders it.
 * `retryAfter` (seconds) becomes the Retry-After header.
 */
export class ApiError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly extensions: ErrorExtensions<Code> | Record<never, never>;
  readonly retryAfter: number | undefined;
  /** For the audit log, never for the client: the key of the item that the refusal is about, where no one else knows. */
  subject: string | undefined;

  constructor(code: Code, ...[extensions, retryAfter]: ErrorArguments<Code>) {
    super(catalogue[code].message);
    this.name = 'ApiError';
    this.code = code;
    this.extensions = extensions ?? {};
    this.retryAfter = code === 'SERVICE_UNAVAILABLE' ? 1 : retryAfter;
  }

  /** Notes what the refusal is about. @param subject the key of an item; undefined or null: of none */
  concerning(subject: string | null | undefined): this {
    this.subject = subject ?? undefined;
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

/** What the keys of `extensions` look like. */
const examples: Readonly<Record<string, unknown>> = {
  collection: 'users',
  field: 'email',
  value: 'ada@example.com',
  reason: 'email takes text',
  type: 'email',
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
            description: 'For a person to read; it may change. Programs go by `extensions.code`.',
          }),
          extensions: Closed({ code: Type.Literal(code), ...entry.extensions }),
        },
        { description: entry.message, examples: [exampleOf(code, entry)] },
      ),
    ),
  ]),
) as Record<ErrorCode, TSchema>;

/**
 * What any route answers to a credential that cannot be used (contract 1.2), to who asks too often (6.3), and when the
 * service itself fails.
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

/** The error half of a route's `response` schemas: for each status the closed list of codes that it can carry. */
export function errorResponses(...codes: ErrorCode[]): Record<number, TSchema> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set([...codes, ...everywhere])) {
    const { status } = catalogue[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, list]) => {
        const entries = list.map((code) => entrySchemas[code]);
        const item = entries.length === 1 && entries[0] ? entries[0] : Type.Union(entries);
        return [
          status,
          Closed(
            { errors: Type.Array(item, { minItems: 1 }) },
            { description: list.map((code) => `\`${code}\``).join(', ') },
          ),
        ];
      }),
  );
}

/** What the writes of a collection can be refused with, besides what any request can (contract 2.9 to 2.11). */
export interface WriteErrors {
  create: readonly ErrorCode[];
  update: readonly ErrorCode[];
  remove: readonly ErrorCode[];
}
