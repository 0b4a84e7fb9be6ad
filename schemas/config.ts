import { isIP } from 'node:net';
import { FormatRegistry, type StaticDecode, type StringOptions, Type } from '@sinclair/typebox';
import bytes from 'bytes';
import ms, { type StringValue } from 'ms';
import { Email, emailPattern } from './common.js';
import { keyPairAlgorithms } from './jwks.js';
import type { ProviderConfig } from './provider-config.js';

/** What each variable says of itself: `expected` completes the sentence "expected …" in a message about a fault. */
export interface About {
  description: string;
  default?: unknown;
  expected?: string;
  /** Never repeat the value in a message. */
  secret?: boolean;
}

export const text = (options: About & StringOptions) =>
  Type.String({ minLength: 1, expected: 'some text', ...options });

const integer = (minimum: number, maximum: number, options: About) =>
  Type.Integer({ minimum, maximum, expected: `an integer from ${minimum} to ${maximum}`, ...options });

/** A token that is presented in an Authorization header: anything but these characters could not be sent in one. */
const bearerToken = (description: string) =>
  Type.Optional(
    Type.String({
      minLength: 16,
      maxLength: 255,
      pattern: '^[\\x21-\\x7e]+$',
      secret: true,
      expected: '16 to 255 characters of printable ASCII, without spaces',
      description,
    }),
  );

export const flag = (options: About) => Type.Boolean({ expected: 'true or false', ...options });

export const choice = <const T extends readonly string[]>(values: T, options: About) =>
  Type.Unsafe<T[number]>(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      { expected: `one of ${values.join(', ')}`, ...options },
    ),
  );

const durationText = (pattern: string, options: About & { default: StringValue }) =>
  Type.Transform(Type.String({ pattern, expected: 'a duration such as 10s, 15m, 12h or 7d', ...options }))
    .Decode((value) => ms(value as StringValue))
    .Encode((value) => ms(value) as StringValue);

/** `15m`, `7d`, `12h`; decoded to milliseconds. A second at least: tokens count in seconds. Some centuries at the most. */
const lifetime = (options: About & { default: StringValue }) =>
  durationText('^[1-9](\\d{0,5}[smh]|\\d{0,3}[dw])$', options);

/** The same, from nothing at all. */
const period = (options: About & { default: StringValue }) => durationText('^\\d{1,5}(ms|s|m|h|d)$', options);

/** `1mb`, `512kb`; decoded to bytes. */
const size = (options: About & { default: string }) =>
  Type.Transform(
    Type.String({ pattern: '^[1-9]\\d{0,5}(b|kb|mb)$', expected: 'a size such as 512kb or 1mb', ...options }),
  )
    .Decode((value) => bytes.parse(value) ?? 0)
    .Encode((value) => `${value}b`);

const cookieName = (options: About) =>
  Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", expected: 'a cookie name (RFC 6265)', ...options });

const cookieDomain = (options: About) =>
  Type.Optional(
    Type.String({ pattern: '^\\.?[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*$', expected: 'a domain name', ...options }),
  );

const sameSite = (options: About) => choice(['lax', 'strict', 'none'], { default: 'lax', ...options });

/** A CSV of URLs; decoded to a list. */
export const urlList = (parameter: string) =>
  Type.Transform(
    Type.String({
      format: 'url-list',
      default: '',
      expected: 'a comma-separated list of URLs',
      description: `URLs, comma-separated, that clients may give as ${parameter}: the exact text, or the same origin and path. Unset: none.`,
    }),
  )
    .Decode((value) => listOf(value))
    .Encode((value) => value.join(','));

export const listOf = (value: string): readonly string[] =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);

/** As browsers write them (RFC 6454, 6.2), for they are compared to the letter: no path, no port that goes without saying. */
const isWebOrigin = (value: string): boolean =>
  /^https?:\/\/[a-z0-9.:[\]-]+$/.test(value) && URL.canParse(value) && new URL(value).origin === value;

FormatRegistry.Set('origin-list', (value) => listOf(value).every(isWebOrigin));

FormatRegistry.Set('url-list', (value) => listOf(value).every((url) => URL.canParse(url)));

/** A list has each once, in any letter case: their variables would be the same. `default` is login by password. */
FormatRegistry.Set('provider-keys', (value) => {
  const keys = listOf(value);
  const names = new Set(keys.map((key) => key.toLowerCase().replaceAll('-', '_')));
  return keys.every((key) => /^[A-Za-z0-9_-]{1,64}$/.test(key)) && names.size === keys.length && !names.has('default');
});

FormatRegistry.Set('sender', (value) => senderOf(value) !== undefined);

/** The parts of `Name <address>`, or of an address alone; undefined when it is neither. */
export function senderOf(value: string): { name: string; address: string } | undefined {
  const [, name = '', address = value] = /^([^<>\r\n]*)<([^<>]+)>$/.exec(value) ?? [];
  return emailPattern.test(address) ? { name: name.trim().replace(/^"(.*)"$/, '$1'), address } : undefined;
}

FormatRegistry.Set('url', (value) => URL.canParse(value));

const shortestSecret = 32;

FormatRegistry.Set('secrets', (value) => listOf(value).every((secret) => secret.length >= shortestSecret));

FormatRegistry.Set(
  'trusted-proxies',
  (value) => /^(true|false|\d{1,2})$/.test(value) || value.split(',').every((part) => isAddressRange(part.trim())),
);

function isAddressRange(range: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(range)) return true;
  const [address = '', prefix, ...rest] = range.split('/');
  const bits = isIP(address) === 4 ? 32 : 128;
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
  return isIP(address) !== 0 && isPrefix && rest.length === 0;
}

const service = {
  HOST: text({ default: '0.0.0.0', description: 'Address to listen on.' }),
  PORT: integer(0, 65_535, { default: 8055, description: 'Port to listen on; 0 takes a free one.' }),
  PUBLIC_URL: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s?#]+$',
      format: 'url',
      expected: 'an http:// or https:// URL without query or fragment',
      description:
        'Address at which clients reach the service. When it is https, cookies are Secure. Default: `http://localhost:PORT`.',
    }),
  ),
  TRUST_PROXY: Type.Transform(
    Type.String({
      format: 'trusted-proxies',
      default: 'false',
      expected: 'true, false, a number of proxies, or a list of addresses and CIDR ranges',
      description:
        'Which proxies are believed when they say where a request came from (`X-Forwarded-For`): `false` none, a number of proxies in a row, or their addresses and ranges, comma-separated. `true` believes anyone. See [Behind a proxy](deployment.md#behind-a-proxy).',
    }),
  )
    .Decode((value) =>
      value === 'true' ? true : value === 'false' ? false : /^\d{1,2}$/.test(value) ? Number(value) : value,
    )
    .Encode((value) => String(value)),
  LOG_LEVEL: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    default: 'info',
    description: 'Least severe level that is logged.',
  }),
  MAX_PAYLOAD_SIZE: size({ default: '1mb', description: 'Largest request body.' }),
  NODE_ENV: Type.Optional(
    text({ description: '`production` switches off the mailbox, which is for development only.' }),
  ),
};

const storage = {
  DATABASE_URL: Type.Optional(
    Type.String({
      pattern: '^postgres(ql)?://.+',
      secret: true,
      expected: 'a URL such as postgres://user:password@host:5432/database',
      description: 'PostgreSQL (14 or newer) to use. Unset: the embedded database in DATA_DIR.',
    }),
  ),
  DATABASE_POOL_MAX: integer(2, 1000, {
    default: 10,
    description: 'The most connections to PostgreSQL that an instance opens.',
  }),
  DATA_DIR: text({ default: './data', description: 'Folder of the embedded database and of the SECRET made for it.' }),
  REDIS_URL: Type.Optional(
    Type.String({
      pattern: '^rediss?://.+',
      format: 'url',
      secret: true,
      expected: 'a URL such as redis://user:password@host:6379/0',
      description:
        'Redis (6 or newer) in which all instances count requests together. Unset, or while it is away: each instance counts by itself.',
    }),
  ),
  SECRET: Type.Optional(
    Type.String({
      minLength: shortestSecret,
      secret: true,
      expected: 'at least 32 characters; `openssl rand -base64 32` makes a good one',
      description:
        'Key material: tokens are signed, and stored secrets encrypted, with keys made from it. Unset with the embedded database, one is made and kept in DATA_DIR; with DATABASE_URL it must be given.',
    }),
  ),
  PREVIOUS_SECRETS: Type.Transform(
    Type.String({
      format: 'secrets',
      default: '',
      secret: true,
      expected: `a comma-separated list of secrets of at least ${shortestSecret} characters each`,
      description:
        'Former values of SECRET, comma-separated: what was made with one of them is still accepted. For [changing SECRET](operations.md#changing-the-secret).',
    }),
  )
    .Decode((value) => listOf(value))
    .Encode((value) => value.join(',')),
};

const audit = {
  AUDIT_RETENTION: Type.Transform(
    Type.String({
      pattern: '^(forever|[1-9]\\d{0,3}[dw])$',
      default: 'forever',
      expected: 'forever, or a duration such as 90d or 52w',
      description:
        'How long the audit log is kept (see [The audit log](audit-log.md)). Older rows are removed every hour.',
    }),
  )
    .Decode((value) => (value === 'forever' ? null : ms(value as StringValue)))
    .Encode((value) => (value === null ? 'forever' : ms(value))),
};

const queries = {
  QUERY_LIMIT_DEFAULT: integer(1, 1_000_000, {
    default: 100,
    description: 'How many items a list has when no limit is asked for.',
  }),
  QUERY_LIMIT_MAX: Type.Optional(
    integer(1, 1_000_000, {
      description: 'The most items a list may have. Unset: as many as there are, when `limit=-1` is asked for.',
    }),
  ),
  MAX_BATCH_MUTATION: integer(1, 30_000, {
    default: 10_000,
    description: 'The most items that one request may create, update or delete.',
  }),
};

const administrator = {
  ADMIN_EMAIL: Email('E-mail address of the administrator that the first start makes.', {
    default: 'admin@example.com',
    expected: 'an e-mail address',
  }),
  ADMIN_PASSWORD: Type.Optional(
    Type.String({
      minLength: 8,
      secret: true,
      expected: 'at least 8 characters',
      description: 'Password of that administrator. Unset: one is made and printed once.',
    }),
  ),
  ADMIN_TOKEN: bearerToken('Static token of that administrator. Unset: none.'),
};

const sessions = {
  AUTH_DISABLE_DEFAULT: flag({ default: false, description: 'Switches login by e-mail and password off.' }),
  ACCESS_TOKEN_TTL: lifetime({
    default: '15m',
    description: 'Lifetime of an access token in the modes json and cookie.',
  }),
  ACCESS_TOKEN_ALGORITHM: choice(['HS256', ...keyPairAlgorithms], {
    default: 'HS256',
    description:
      'What access tokens are signed with. `HS256`: a key made from SECRET, so that nobody else can verify them. `EdDSA` (Ed25519) and `ES256`: key pairs, whose public keys are at `/.well-known/jwks.json` for other services (see [Access tokens](access-tokens.md)).',
  }),
  REFRESH_TOKEN_TTL: lifetime({ default: '7d', description: 'Lifetime of a refresh token and of its cookie.' }),
  SESSION_COOKIE_TTL: lifetime({
    default: '1d',
    description: 'Lifetime of the session cookie and of the access token in it.',
  }),
  SESSION_REFRESH_GRACE_PERIOD: period({
    default: '10s',
    description:
      'How long after a refresh the old session cookie still works, and the use of an old refresh token is taken for a second tab rather than for theft.',
  }),
};

const cookies = {
  REFRESH_TOKEN_COOKIE_NAME: cookieName({
    default: 'gatehouse_refresh_token',
    description: 'Name of the refresh cookie.',
  }),
  REFRESH_TOKEN_COOKIE_DOMAIN: cookieDomain({ description: 'Domain of the refresh cookie. Unset: this host only.' }),
  REFRESH_TOKEN_COOKIE_SECURE: Type.Optional(
    flag({ description: 'Whether the refresh cookie travels by https only. Default: whether PUBLIC_URL is https.' }),
  ),
  REFRESH_TOKEN_COOKIE_SAME_SITE: sameSite({ description: 'SameSite of the refresh cookie.' }),
  SESSION_COOKIE_NAME: cookieName({ default: 'gatehouse_session_token', description: 'Name of the session cookie.' }),
  SESSION_COOKIE_DOMAIN: cookieDomain({ description: 'Domain of the session cookie. Unset: this host only.' }),
  SESSION_COOKIE_SECURE: Type.Optional(
    flag({ description: 'Whether the session cookie travels by https only. Default: whether PUBLIC_URL is https.' }),
  ),
  SESSION_COOKIE_SAME_SITE: sameSite({ description: 'SameSite of the session cookie.' }),
};

const browsers = {
  CORS_ENABLED: flag({
    default: false,
    description: 'Whether pages of other origins, those in CORS_ORIGIN, may call the API from a browser.',
  }),
  CORS_ORIGIN: Type.Transform(
    Type.String({
      format: 'origin-list',
      default: '',
      expected:
        'a comma-separated list of origins as browsers write them, such as https://app.example.com: in lower case, without path, slash at the end or default port; and no `*`, as cookies are let through',
      description:
        'Origins, comma-separated, whose pages may call the API with cookies and tokens when CORS_ENABLED is true. Each is compared to the letter.',
    }),
  )
    .Decode((value) => listOf(value))
    .Encode((value) => value.join(',')),
};

const passwords = {
  PASSWORD_HASH_MEMORY: integer(8192, 4_194_304, {
    default: 19_456,
    description: 'Argon2id: memory for one hash, in KiB.',
  }),
  PASSWORD_HASH_TIME: integer(1, 100, { default: 2, description: 'Argon2id: passes over the memory.' }),
  PASSWORD_HASH_PARALLELISM: integer(1, 16, { default: 1, description: 'Argon2id: lanes.' }),
  PASSWORD_HASH_CONCURRENCY: Type.Optional(
    integer(1, 64, {
      description:
        'How many passwords are hashed at once. Default: one for each processor core but one, which is left for all other requests and for a database beside the service; 1 at the least, 3 at the most.',
    }),
  ),
  PASSWORD_MIN_LENGTH: integer(1, 1024, { default: 8, description: 'Fewest characters of a new password.' }),
  PASSWORD_REJECT_COMMON: flag({
    default: true,
    description: 'Whether the 10,000 most common passwords are refused as new passwords.',
  }),
  PASSWORD_HASH_QUEUE: integer(1, 100_000, {
    default: 250,
    description: 'How many passwords may wait to be hashed; past that the answer is 503 SERVICE_UNAVAILABLE.',
  }),
};

const links = {
  USER_INVITE_TOKEN_TTL: lifetime({ default: '7d', description: 'How long an invitation can be accepted.' }),
  EMAIL_VERIFICATION_TOKEN_TTL: lifetime({
    default: '7d',
    description: 'How long the link in the mail after a registration can be used.',
  }),
  PASSWORD_RESET_TOKEN_TTL: lifetime({
    default: '1d',
    description: 'How long a link to reset a password can be used.',
  }),
  REGISTRATION_ANSWER_TIME: period({
    default: '150ms',
    description:
      'How long a registration takes to be answered: this time or, when the work takes longer, a multiple of it, so that the time does not tell whether an address is taken.',
  }),
  USER_INVITE_URL_ALLOW_LIST: urlList('`invite_url`'),
  USER_REGISTER_URL_ALLOW_LIST: urlList('`verification_url`'),
  PASSWORD_RESET_URL_ALLOW_LIST: urlList('`reset_url`'),
};

const limits = {
  RATE_LIMITER_ENABLED: flag({
    default: true,
    description:
      'Whether requests are limited by address, as are logins to accounts that nobody has logged in to from there (see [Limits](limits.md)).',
  }),
  RATE_LIMITER_POINTS: integer(1, 1_000_000, {
    default: 50,
    description: 'How many requests an address may make in RATE_LIMITER_DURATION; of IPv6 a /64 counts as one address.',
  }),
  RATE_LIMITER_DURATION: integer(1, 86_400, { default: 1, description: 'That time, in seconds.' }),
  RATE_LIMITER_REGISTRATION_ENABLED: flag({
    default: true,
    description:
      'Whether registrations are limited to 5 a minute from each address. RATE_LIMITER_ENABLED leaves this alone.',
  }),
  RATE_LIMITER_MAIL_ENABLED: flag({
    default: true,
    description:
      'Whether mails that strangers can cause are limited by mailbox and by address of origin. RATE_LIMITER_ENABLED leaves this alone.',
  }),
};

const providers = {
  AUTH_PROVIDERS: Type.Transform(
    Type.String({
      format: 'provider-keys',
      default: '',
      expected: 'a comma-separated list of names of letters, digits, `-` and `_`, each once, none of them `default`',
      description: 'Providers to log in with, comma-separated. Each is set up by variables of its own, see below.',
    }),
  )
    .Decode((value) => listOf(value))
    .Encode((value) => value.join(',')),
  AUTH_PROVIDER_TIMEOUT: period({
    default: '10s',
    description: 'How long a provider may take over each answer.',
  }),
};

const mail = {
  EMAIL_TRANSPORT: choice(['mailbox', 'smtp', 'sendmail'], {
    default: 'mailbox',
    description:
      'How mails go out. `mailbox` sends none: it keeps them to be read at `/mailbox`, for development. With NODE_ENV=production there is no mailbox, and mails wait in the queue, for 30 days at the most, until another transport is set.',
  }),
  EMAIL_FROM: Type.String({
    format: 'sender',
    default: 'no-reply@example.com',
    expected: 'an e-mail address, or a name with one: `Example <no-reply@example.com>`',
    description: 'Sender of all mails, with or without a name.',
  }),
  EMAIL_SMTP_HOST: text({ default: 'localhost', description: 'SMTP server.' }),
  EMAIL_SMTP_PORT: integer(1, 65_535, { default: 587, description: 'Port of the SMTP server.' }),
  EMAIL_SMTP_USER: Type.Optional(text({ description: 'User name at the SMTP server. Unset: no login there.' })),
  EMAIL_SMTP_PASSWORD: Type.Optional(text({ secret: true, description: 'Password at the SMTP server.' })),
  EMAIL_SMTP_SECURE: flag({
    default: false,
    description:
      'Whether the connection is encrypted from the start (port 465). Otherwise STARTTLS is used where offered.',
  }),
  EMAIL_SMTP_IGNORE_TLS: flag({ default: false, description: 'Whether STARTTLS is left unused even where offered.' }),
  EMAIL_SENDMAIL_PATH: text({ default: '/usr/sbin/sendmail', description: 'The program of the transport `sendmail`.' }),
  EMAIL_SECURITY_NOTICES: flag({
    default: true,
    description:
      'Whether users are told by mail when their password, address, second factor, static token or linked accounts were changed.',
  }),
  EMAIL_TEMPLATES_PATH: Type.Optional(
    text({
      description:
        'Folder of templates that replace those of the service, one by one (see [Mail templates](mail-templates.md)).',
    }),
  ),
  EMAIL_RETRY_LIMIT: integer(0, 16, {
    default: 14,
    description:
      'How often a mail is tried again before it is given up. It is kept even then (see [Mails](operations.md#mails)).',
  }),
  EMAIL_RETRY_DELAY: lifetime({
    default: '5s',
    description: 'Pause before a mail is tried again; it doubles each time.',
  }),
};

const metrics = {
  METRICS_TOKEN: bearerToken(
    'What Prometheus sends as a bearer token to read `/metrics`. Unset: there is no `/metrics`, and nothing is measured.',
  ),
};

/** A variable of OpenTelemetry, in which it says for itself what is good. */
const standard = (description: string, options: Partial<About> = {}) =>
  Type.Optional(text({ description, ...options }));

const tracing = {
  OTEL_EXPORTER_OTLP_ENDPOINT: standard(
    'Where traces are sent to by OTLP over HTTP, such as `http://collector:4318` (see [Traces](operations.md#traces)). Unset: nothing is traced.',
    { secret: true },
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: standard(
    'The same, as a whole URL that ends in `/v1/traces`; it takes precedence.',
    { secret: true },
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: standard('`http/protobuf`, the default, or `http/json`.'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: standard('The same, for traces only; it takes precedence.'),
  OTEL_EXPORTER_OTLP_HEADERS: standard('Headers to send along, such as `authorization=Bearer%20…`.', { secret: true }),
  OTEL_TRACES_EXPORTER: standard(
    '`otlp`: traces are sent even when no address is set (to `http://localhost:4318`). `none`: never.',
  ),
  OTEL_SDK_DISABLED: standard('`true` traces nothing, whatever else is set.'),
  OTEL_SERVICE_NAME: standard('What the service is called in traces. Default: `gatehouse`.'),
  OTEL_RESOURCE_ATTRIBUTES: standard(
    'Further attributes of the service there, such as `deployment.environment.name=production,service.instance.id=a`.',
  ),
  OTEL_TRACES_SAMPLER: standard(
    'Which requests are traced: `parentbased_always_on` (the default), `always_on`, `always_off`, `traceidratio`, and others of the standard.',
  ),
  OTEL_TRACES_SAMPLER_ARG: standard('Which share of them `traceidratio` takes: `0.1` is a tenth.'),
};

/**
 * Every environment variable that the service knows (contract 7), by purpose; to add another, add it to one of these.
 * The keys are the variables' names; what the code sees is decoded (durations in milliseconds, sizes in bytes).
 */
export const configGroups = {
  Service: service,
  Storage: storage,
  'Audit log': audit,
  Queries: queries,
  'First administrator': administrator,
  Sessions: sessions,
  Cookies: cookies,
  'Pages of other origins': browsers,
  Passwords: passwords,
  Limits: limits,
  'Login by provider': providers,
  'Invitation, registration, password reset': links,
  Mail: mail,
  Metrics: metrics,
  Tracing: tracing,
};

export const Config = Type.Object({
  ...service,
  ...storage,
  ...audit,
  ...queries,
  ...administrator,
  ...sessions,
  ...cookies,
  ...browsers,
  ...passwords,
  ...limits,
  ...providers,
  ...links,
  ...mail,
  ...metrics,
  ...tracing,
});

/** The configuration as the code sees it, with nothing left to be looked up or derived. */
export type Config = Required<
  Pick<
    StaticDecode<typeof Config>,
    'PUBLIC_URL' | 'SECRET' | 'REFRESH_TOKEN_COOKIE_SECURE' | 'SESSION_COOKIE_SECURE' | 'PASSWORD_HASH_CONCURRENCY'
  >
> &
  StaticDecode<typeof Config> & {
    /** The providers that AUTH_PROVIDERS names, in its order. */
    readonly PROVIDERS: readonly ProviderConfig[];
  };
