import { OptionalKind, type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import type { FailureReason } from './activity.js';
import { Closed, named } from './common.js';

const Location = {
  collection: Type.String({ description: 'The collection that the field belongs to.' }),
  field: Type.String({ description: 'The invalid field.' }),
};
const Refused = {
  ...Location,
  value: Type.Unknown({ description: 'The invalid value. Secrets are masked.' }),
};
const Reason = { reason: Type.String({ description: 'A human-readable explanation.' }) };

interface CatalogEntry {
  readonly status: number;
  readonly message: string;
  /** The keys of `extensions` besides `code`. */
  readonly extensions: TProperties;
}

/** The ways in which a signed-in user can prove their identity again. */
export const proofMethods = ['password', 'otp', 'passkey', 'email', 'provider'] as const;
export type ProofMethod = (typeof proofMethods)[number];

/** All errors that the API can return, with their status, message and extension keys. */
const catalog = {
  INVALID_PAYLOAD: { status: 400, message: 'The request is invalid.', extensions: Reason },
  INVALID_QUERY: { status: 400, message: 'The query parameters are invalid.', extensions: Reason },
  FAILED_VALIDATION: {
    status: 400,
    message: 'A value failed validation.',
    extensions: {
      field: Type.String({ description: 'The invalid field.' }),
      path: Type.Array(Type.String(), { description: 'The path to the field, starting with the outermost key.' }),
      type: Type.String({ description: 'The rule that the value violates.' }),
      valid: Type.Optional(Type.Unknown({ description: 'The accepted values.' })),
      invalid: Type.Optional(Type.Unknown({ description: 'The rejected values.' })),
      substring: Type.Optional(Type.String({ description: 'The text that the rule compares the value with.' })),
    },
  },
  RECORD_NOT_UNIQUE: { status: 400, message: 'Another item already has this value.', extensions: Refused },
  INVALID_FOREIGN_KEY: { status: 400, message: 'The referenced item does not exist.', extensions: Refused },
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
      max_age: Type.Integer({ description: 'The maximum time since you last confirmed your identity, in seconds.' }),
      methods: Type.Array(Type.Union(proofMethods.map((method) => Type.Literal(method))), {
        description:
          'The ways in which you can confirm your identity. `password`, `otp`, `passkey`, and `email`: call `POST /auth/reauthenticate`. `provider`: log in through a linked provider again, which starts a new session.',
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
      limit: Type.Integer({ description: 'The number of requests or attempts that are allowed.' }),
      reset: Type.String({ format: 'date-time', description: 'When the next request or attempt is allowed.' }),
    },
  },
  INTERNAL_SERVER_ERROR: {
    status: 500,
    message: 'Something went wrong on our side. If you report this error, include the x-request-id of the response.',
    extensions: {},
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    message: 'A required service is unavailable. Try again in a moment.',
    extensions: { service: Type.String({ description: 'The component that is unavailable.' }), ...Reason },
  },
  INVALID_PROVIDER_CONFIG: {
    status: 503,
    message: 'Login with this provider is not configured correctly. The administrator can find details in the log.',
    extensions: { provider: Type.String({ description: 'The key of the provider.' }) },
  },
} as const satisfies Record<string, CatalogEntry>;

export type ErrorCode = keyof typeof catalog;

/**
 * The reasons for SERVICE_UNAVAILABLE, each with its component and its explanation. The keys are labels in the log and in the metrics.
 * The component `null` is the provider.
 */
const outages = {
  database_unreachable: ['database', 'The database cannot be reached.'],
  database_read_only: ['database', 'The database is read-only.'],
  database_timeout: ['database', 'The database took too long to respond.'],
  database_lock_timeout: ['database', 'The database was busy with other work for too long.'],
  database_deadlock: ['database', 'The database aborted a conflicting operation.'],
  database_disk_full: ['database', 'The database cannot store data at the moment.'],
  database_out_of_resources: ['database', 'The database is out of resources at the moment.'],
  database_io_error: ['database', 'The database cannot read or store data at the moment.'],
  request_timeout: ['gatehouse', 'The request took too long.'],
  password_queue_full: ['passwords', 'Too many passwords are waiting to be processed.'],
  export_queue_full: ['exports', 'Too many exports are waiting to be processed.'],
  provider_failed: [null, 'The provider did not respond as expected.'],
  provider_busy: [null, 'The provider cannot process logins at the moment.'],
} as const satisfies Record<string, readonly [service: string | null, reason: string]>;

type OutageReason = keyof typeof outages;

/** Why a response has the status 503. */
export interface Outage {
  /** The component that is unavailable. */
  service: string;
  reason: OutageReason | 'provider_misconfigured' | 'other';
}

/** All values of `reason`. */
export const outageReasons: readonly Outage['reason'][] = [
  ...(Object.keys(outages) as OutageReason[]),
  'provider_misconfigured',
  'other',
];

/** The values of `extensions` besides `code`, for one code. */
export type ErrorExtensions<Code extends ErrorCode> = Static<TObject<(typeof catalog)[Code]['extensions']>>;

/**
 * Extensions are optional for codes that require none. REQUESTS_EXCEEDED also requires the time to wait; it is one second by default
 * for SERVICE_UNAVAILABLE.
 */
type ErrorArguments<Code extends ErrorCode> = Code extends 'REQUESTS_EXCEEDED'
  ? [extensions: ErrorExtensions<Code>, retryAfter: number]
  : Code extends 'SERVICE_UNAVAILABLE'
    ? [extensions: ErrorExtensions<Code>, retryAfter?: number]
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
  /** Why the credentials were not accepted, if the code does not say why. For the audit log; never sent to the client. */
  reason: FailureReason | undefined;
  /** Whether the refused cookie must not be cleared, because the browser may already have its successor. */
  keepsCookie = false;
  /** Set by {@link unavailable}. */
  outageReason: OutageReason | undefined;

  constructor(code: Code, ...[extensions, retryAfter]: ErrorArguments<Code>) {
    super(catalog[code].message);
    this.name = 'ApiError';
    this.code = code;
    this.extensions = extensions ?? {};
    this.retryAfter = retryAfter ?? (code === 'SERVICE_UNAVAILABLE' ? 1 : undefined);
  }

  /** Sets the affected item. @param subject the key of the item; undefined or null: none */
  concerning(subject: string | null | undefined): this {
    this.subject = subject ?? undefined;
    return this;
  }

  /** Replaces the message, if the general one does not say what to do. */
  saying(message: string): this {
    this.message = message;
    return this;
  }

  /** Records why the credentials were not accepted. */
  because(reason: FailureReason): this {
    this.reason = reason;
    return this;
  }

  /** Records that the refused cookie must not be cleared. */
  keepingCookie(): this {
    this.keepsCookie = true;
    return this;
  }

  get status(): number {
    return catalog[this.code].status;
  }

  /** Why the status is 503; undefined for any other status. */
  get outage(): Outage | undefined {
    if (this.status !== 503) return undefined;
    const { service, provider } = this.extensions as { service?: string; provider?: string };
    if (provider !== undefined) return { service: provider, reason: 'provider_misconfigured' };
    return { service: service ?? 'gatehouse', reason: this.outageReason ?? 'other' };
  }

  toEntry(): ErrorEntry {
    return { message: this.message, extensions: { ...this.extensions, code: this.code } };
  }
}

/** A path or method that does not exist. */
export const routeNotFound = ({ path }: { path: string }): ApiError<'ROUTE_NOT_FOUND'> =>
  new ApiError('ROUTE_NOT_FOUND', { path });

/** The error VALUE_TOO_LONG. @param limit what the field can have at most, such as `50 characters` */
export const valueTooLong = (
  collection: string,
  field: string,
  value: unknown,
  limit: string,
): ApiError<'VALUE_TOO_LONG'> =>
  new ApiError('VALUE_TOO_LONG', { collection, field, value }).saying(`${field} can have at most ${limit}.`);

/** The error INVALID_CREDENTIALS, with details for the audit log only. @param subject the user whose credentials were checked */
export const invalidCredentials = (
  subject: string | null | undefined,
  reason: FailureReason,
): ApiError<'INVALID_CREDENTIALS'> => new ApiError('INVALID_CREDENTIALS').concerning(subject).because(reason);

/**
 * The error SERVICE_UNAVAILABLE.
 * @param options.provider the key of the provider, if it is the component that is unavailable
 * @param options.retryAfter seconds
 */
export function unavailable(
  reason: OutageReason,
  { provider = '', retryAfter = 1 }: { provider?: string; retryAfter?: number } = {},
): ApiError<'SERVICE_UNAVAILABLE'> {
  const [service, explanation] = outages[reason];
  const extensions = { service: service ?? provider, reason: explanation };
  const error = new ApiError('SERVICE_UNAVAILABLE', extensions, retryAfter);
  error.outageReason = reason;
  return error;
}

const pascalCase = (code: string) =>
  code
    .toLowerCase()
    .split('_')
    .map((word) => word[0]?.toUpperCase() + word.slice(1))
    .join('');

/** Example values of the keys of `extensions`, for all codes except those in `examplesOf`. */
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
  path: [],
};

const examplesOf: Readonly<{ [Code in ErrorCode]?: Readonly<Record<string, unknown>> }> = {
  INVALID_QUERY: { reason: 'limit must be an integer of at least -1' },
  INVALID_FOREIGN_KEY: { field: 'role', value: '6b3f1c2e-9d40-4f6a-8e57-1a2b3c4d5e6f' },
  VALUE_OUT_OF_RANGE: { collection: 'permissions', field: 'id', value: 3_000_000_000 },
  ROUTE_NOT_FOUND: { path: '/nowhere' },
  UNPROCESSABLE_CONTENT: { reason: 'At least one active administrator must remain' },
  SERVICE_UNAVAILABLE: { reason: outages.database_unreachable[1] },
};

function exampleOf(code: ErrorCode, { message, extensions }: CatalogEntry): unknown {
  const required = Object.entries(extensions).filter(([, schema]) => !(OptionalKind in schema));
  const values = required.map(([key]) => [key, { ...examples, ...examplesOf[code] }[key]]);
  return { message, extensions: { code, ...Object.fromEntries(values) } };
}

const entrySchemas = Object.fromEntries(
  Object.entries(catalog).map(([code, entry]: [string, CatalogEntry]) => [
    code,
    named(
      `${pascalCase(code)}Error`.replace('ErrorError', 'Error'),
      Closed(
        {
          message: Type.String({
            description: 'A human-readable message. It may change, so rely on `extensions.code` instead.',
          }),
          extensions: Closed({ code: Type.Literal(code), ...entry.extensions }),
        },
        { description: entry.message, examples: [exampleOf(code as ErrorCode, entry)] },
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

/** The errors that the responses of a route declare. */
export const declaredErrors = (responses: unknown): { code: ErrorCode; status: number }[] =>
  Object.values(responses ?? {})
    .flatMap((response) => declaredCodes.get(response as object) ?? [])
    .map((code) => ({ code, status: catalog[code].status }));

/** The responses of a route, with the errors that result from what the route requires of its callers. */
export function withErrors(
  responses: Readonly<Record<string, unknown>>,
  codes: readonly ErrorCode[],
): Record<string, unknown> {
  const declared = declaredErrors(responses).map(({ code }) => code);
  return { ...responses, ...responsesOf([...codes, ...declared]) };
}

function responsesOf(codes: readonly ErrorCode[]): Record<number, TSchema> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set(codes)) {
    const { status } = catalog[code];
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
