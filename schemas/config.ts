import { type StaticDecode, Type } from '@sinclair/typebox';
import ms, { type StringValue } from 'ms';
import { hashStart } from './common.js';
import {
  type About,
  bearerToken,
  choice,
  cookieDomain,
  cookieName,
  durationText,
  emailAddress,
  flag,
  integer,
  jsonObject,
  lifetime,
  lifetimeOrNone,
  minSecretLength,
  period,
  sameSite,
  separated,
  size,
  text,
  urlList,
} from './config-values.js';
import { accessTokenKeyAlgorithms } from './jwks.js';
import type { ProviderConfig } from './provider-config.js';

const service = {
  HOST: text({ default: '0.0.0.0', description: 'Address to listen on.' }),
  PORT: integer(0, 65_535, { default: 8055, description: 'Port to listen on. `0` selects a free port.' }),
  PUBLIC_URL: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s?#]+$',
      format: 'url',
      expected: 'an http:// or https:// URL without query or fragment',
      description:
        'URL at which clients reach the service. If it is https, cookies are Secure. Default: `http://localhost:PORT`.',
    }),
  ),
  TRUST_PROXY: Type.Transform(
    Type.String({
      format: 'trusted-proxies',
      default: 'false',
      expected: 'true, false, a number of proxies, or a list of addresses and CIDR ranges',
      description:
        'The proxies that the service trusts to report the client address (`X-Forwarded-For`) and the request ID (`X-Request-Id`): `false` for no proxies, the number of proxies in front of the service, or a comma-separated list of their addresses and ranges. `true` trusts every sender. See [Behind a proxy](deployment.md#behind-a-proxy).',
    }),
  )
    .Decode((value) =>
      value === 'true' ? true : value === 'false' ? false : /^\d{1,2}$/.test(value) ? Number(value) : value,
    )
    .Encode((value) => String(value)),
  LOG_LEVEL: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    default: 'info',
    description: 'Lowest level of messages that are logged.',
  }),
  MAX_PAYLOAD_SIZE: size({ default: '1mb', description: 'Maximum size of a request body.' }),
  SHUTDOWN_DELAY: durationText('^(0|\\d{1,4}(ms|s|m))$', {
    default: '0',
    expected: 'a duration such as 5s, or 0',
    description:
      'How long the service continues to work after SIGTERM, while `/server/health` already returns 503. If your load balancer checks the health of the instances, set this to a longer time than it needs to notice that an instance is down. See [Restarting without an outage](deployment.md#restarting-without-an-outage).',
  }),
  NODE_ENV: Type.Optional(text({ description: '`production` turns off the mailbox, which is only for development.' })),
};

const storage = {
  DATABASE_URL: Type.Optional(
    Type.String({
      pattern: '^postgres(ql)?://.+',
      secret: true,
      expected: 'a URL such as postgres://user:password@host:5432/database',
      description:
        'URL of the PostgreSQL database (version 14 or newer), in the [form that libpq accepts](deployment.md#postgresql), with one or more hosts or the directory of a Unix socket. Percent-encode special characters in names and passwords. If unset, the service uses the embedded database in DATA_DIR.',
    }),
  ),
  DATABASE_SCHEMA: Type.Optional(
    Type.String({
      // PostgreSQL keeps 63 bytes of a name, and reserves those that begin with `pg_`.
      pattern: '^(?!pg_)[\\w-]{1,63}$',
      expected: 'a name of up to 63 letters, digits, `_`, and `-`, which does not begin with `pg_`',
      description:
        'Schema of the tables in the PostgreSQL database. The service creates it if it does not exist. Default: the first schema in the `search_path` of the role, which is usually `public` (see [Schemas](deployment.md#schemas)).',
    }),
  ),
  DATABASE_POOL_MAX: integer(2, 1000, {
    default: 10,
    description: 'Maximum number of connections that an instance opens to PostgreSQL.',
  }),
  MIGRATE: choice(['on', 'off'], {
    default: 'on',
    description:
      'With `off`, the service does not change the tables at startup, but only checks that they are up to date. The service can then run with a role that has no rights on the schema (see [A role without rights on the schema](deployment.md#a-role-without-rights-on-the-schema)).',
  }),
  START_TIMEOUT: lifetimeOrNone({
    default: '5m',
    expected: 'a duration such as 30s or 5m, or 0',
    description:
      'How long the service waits at startup for PostgreSQL to become available, or for another instance that is migrating the tables.',
  }),
  DATA_DIR: text({
    default: './data',
    description:
      'Folder for the embedded database, the generated SECRET, and the first password. The service makes it readable only by its owner. If the folder belongs to another user or contains other files, the service uses `DATA_DIR/private`.',
  }),
  REDIS_URL: Type.Optional(
    Type.String({
      pattern: '^rediss?://.+',
      format: 'url',
      secret: true,
      expected: 'a URL such as redis://user:password@host:6379/0',
      description:
        'URL of the Redis server (version 6 or newer) that all instances use to share their request counts. If it is unset, or while Redis is unavailable, each instance counts requests separately.',
    }),
  ),
  SECRET: Type.Optional(
    Type.String({
      minLength: minSecretLength,
      secret: true,
      expected: 'at least 32 characters; `openssl rand -base64 32` generates a good one',
      description:
        'The secret from which the service derives the keys that sign tokens and encrypt stored secrets. Required with DATABASE_URL. With the embedded database, the service generates one and stores it in DATA_DIR.',
    }),
  ),
  PREVIOUS_SECRETS: separated('secrets', {
    secret: true,
    expected: `a comma-separated list of secrets of at least ${minSecretLength} characters each`,
    description:
      'Comma-separated list of former values of SECRET. Tokens and secrets that were created with them remain valid. See [Changing the secret](operations.md#changing-the-secret).',
  }),
  LOST_SECRET_ID: Type.Optional(
    text({
      description:
        'Lets the service start even though the SECRET that the database was used with is lost. The value is in the error message at startup. See [A lost secret](operations.md#a-lost-secret).',
    }),
  ),
};

const audit = {
  AUDIT_RETENTION: Type.Transform(
    Type.String({
      pattern: '^(forever|[1-9]\\d{0,3}[dw])$',
      default: 'forever',
      expected: 'forever, or a duration such as 90d or 52w',
      description:
        'How long rows of the audit log are kept (see [The audit log](audit-log.md)). Older rows are deleted every hour.',
    }),
  )
    .Decode((value) => (value === 'forever' ? null : ms(value as StringValue)))
    .Encode((value) => (value === null ? 'forever' : ms(value))),
};

const queries = {
  QUERY_LIMIT_DEFAULT: integer(1, 1_000_000, {
    default: 100,
    description: 'Number of items in a list if the request specifies no limit.',
  }),
  QUERY_LIMIT_MAX: Type.Optional(
    integer(1, 1_000_000, {
      description:
        'Maximum number of items in a list. If unset, the maximum is 1000, and administrators have no maximum.',
    }),
  ),
  MAX_RESPONSE_SIZE: size({
    default: '64mb',
    description: 'Maximum size of a query response. A query with a larger response is refused.',
  }),
  QUERY_TIMEOUT: durationText('^[1-9]\\d{0,4}(ms|s|m)$', {
    default: '5s',
    description:
      'Maximum time that PostgreSQL works on one statement of a request. After that, the statement is canceled and the request returns 503.',
  }),
  SLOW_QUERY_MS: integer(0, 600_000, {
    default: 0,
    description:
      'Log SQL statements that take at least this many milliseconds, with the ID of the request, but without the values of parameters. `0` turns this off. See [Slow statements](operations.md#slow-statements).',
  }),
  DATABASE_REQUEST_COMMENTS: flag({
    default: false,
    description:
      'Add the ID of the request to each SQL statement as a comment, which PostgreSQL shows in its log and in `pg_stat_activity`. Statements are then not prepared, so they take PostgreSQL more time.',
  }),
  MAX_BATCH_MUTATION: integer(1, 30_000, {
    default: 10_000,
    description:
      'Maximum number of items that one request can create, update, or delete. The embedded database allows at most 300.',
  }),
};

const administrator = {
  ADMIN_EMAIL: emailAddress({
    default: 'admin@example.com',
    description: 'Email address of the administrator that the service creates when it first starts.',
  }),
  ADMIN_PASSWORD: Type.Optional(
    Type.String({
      minLength: 8,
      pattern: `^(?!${hashStart})`,
      secret: true,
      expected: 'at least 8 characters, and not the hash of a password',
      description:
        'Password of that administrator. At startup, the service warns if it is easy to guess. If unset, the service generates a password and prints it on the terminal or, without a terminal, writes it to `admin-password` in DATA_DIR.',
    }),
  ),
  ADMIN_TOKEN: bearerToken(32, 'Static token of that administrator. If unset, the administrator has no static token.'),
};

const sessions = {
  AUTH_DISABLE_DEFAULT: flag({ default: false, description: 'Turns off login with email and password.' }),
  ACCESS_TOKEN_TTL: lifetime({
    default: '15m',
    description: 'Lifetime of an access token in modes json and cookie.',
  }),
  ACCESS_TOKEN_AUDIENCE: Type.Optional(
    text({
      maxLength: 255,
      description:
        'Value of the `aud` claim of access tokens, such as the URL of the API that accepts them. If unset, tokens have no `aud` claim.',
    }),
  ),
  ACCESS_TOKEN_ALGORITHM: choice(['HS256', ...accessTokenKeyAlgorithms], {
    default: 'HS256',
    description:
      'Signature algorithm of access tokens. `HS256` uses a key derived from SECRET, so other services cannot verify the tokens. `EdDSA` (Ed25519) and `ES256` use key pairs, whose public keys are at `/.well-known/jwks.json` (see [Access tokens](access-tokens.md)).',
  }),
  REFRESH_TOKEN_TTL: lifetime({ default: '7d', description: 'Lifetime of a refresh token and of its cookie.' }),
  SESSION_COOKIE_TTL: lifetime({
    default: '1d',
    description: 'Lifetime of the session cookie and of the access token in it.',
  }),
  SESSION_REFRESH_GRACE_PERIOD: period({
    default: '10s',
    description:
      'How long after a refresh the old refresh token or session cookie can be used again, with the same result. After that, presenting it ends the session.',
  }),
  SESSION_MAX_AGE: lifetimeOrNone({
    default: '90d',
    description: 'A session ends this long after the login, no matter how often it is refreshed. `0` turns this off.',
  }),
  SESSIONS_PER_USER: integer(1, 10_000, {
    default: 100,
    description:
      'Maximum number of sessions of a user. A new session beyond this ends the session that has been unused for the longest time.',
  }),
  REAUTHENTICATION_PERIOD: period({
    default: '15m',
    description:
      'How long a session stays fresh after a login or `POST /auth/reauthenticate`. Only in a fresh session can users change how they log in, or grant administrator access. With `0`, a fresh session is required only to protect a second factor, and static tokens can change the password, email address, and token of their own user.',
  }),
};

const cookies = {
  REFRESH_TOKEN_COOKIE_NAME: cookieName(
    'Name of the refresh cookie. Default: `__Host-gatehouse_refresh_token` if PUBLIC_URL is https and the cookie has no domain, otherwise `gatehouse_refresh_token`.',
  ),
  REFRESH_TOKEN_COOKIE_DOMAIN: cookieDomain({
    description: 'Domain of the refresh cookie. If unset, the cookie is only for this host.',
  }),
  REFRESH_TOKEN_COOKIE_SECURE: Type.Optional(
    flag({ description: 'Whether the refresh cookie is sent only over https. Default: true if PUBLIC_URL is https.' }),
  ),
  REFRESH_TOKEN_COOKIE_SAME_SITE: sameSite({ description: '`SameSite` attribute of the refresh cookie.' }),
  SESSION_COOKIE_NAME: cookieName(
    'Name of the session cookie. Default: `__Host-gatehouse_session_token` if PUBLIC_URL is https and the cookie has no domain, otherwise `gatehouse_session_token`.',
  ),
  SESSION_COOKIE_DOMAIN: cookieDomain({
    description: 'Domain of the session cookie. If unset, the cookie is only for this host.',
  }),
  SESSION_COOKIE_SECURE: Type.Optional(
    flag({ description: 'Whether the session cookie is sent only over https. Default: true if PUBLIC_URL is https.' }),
  ),
  SESSION_COOKIE_SAME_SITE: sameSite({ description: '`SameSite` attribute of the session cookie.' }),
};

const browsers = {
  CORS_ENABLED: flag({
    default: false,
    description: 'Whether pages on the origins in CORS_ORIGIN can call the API from a browser.',
  }),
  CORS_ORIGIN: separated('origin-list', {
    expected:
      'a comma-separated list of origins as browsers write them, such as https://app.example.com or capacitor://localhost: without a path, trailing slash, or default port, and in lowercase. `*` is not allowed, because requests can carry cookies',
    description:
      'Comma-separated list of the origins whose pages and apps can call the API with cookies and tokens if CORS_ENABLED is true. The origin of a page must match exactly.',
  }),
  ACCOUNT_RETURN_ORIGINS: separated('origin-list', {
    expected:
      'a comma-separated list of origins as browsers write them, such as https://app.example.com or capacitor://localhost: without a path, trailing slash, or default port, and in lowercase',
    description:
      'Comma-separated list of the origins of apps that use session cookies. These apps can link to `/account/login?return_to=<URL>`, and users return to the URL after they have signed in. A URL of another origin is ignored.',
  }),
};

const passwords = {
  PASSWORD_HASH_MEMORY: integer(8192, 4_194_304, {
    default: 19_456,
    description: 'Argon2id: memory per hash, in KiB.',
  }),
  PASSWORD_HASH_TIME: integer(1, 100, { default: 2, description: 'Argon2id: number of passes.' }),
  PASSWORD_HASH_PARALLELISM: integer(1, 16, { default: 1, description: 'Argon2id: number of lanes.' }),
  PASSWORD_HASH_CONCURRENCY: Type.Optional(
    integer(1, 64, {
      description:
        'Number of passwords that are hashed at the same time. Default: the number of processor cores minus one, between 1 and 3. The remaining core serves all other requests and a database on the same machine.',
    }),
  ),
  PASSWORD_MIN_LENGTH: integer(1, 1024, { default: 8, description: 'Minimum length of a new password.' }),
  PASSWORD_REJECT_COMMON: flag({
    default: true,
    description:
      'Whether new passwords that are easy to guess are refused. These are passwords with a zxcvbn score below 2 (out of 4). The score takes into account the email address and names of the user, and the name of the project.',
  }),
  PASSWORD_BREACH_CHECK: Type.String({
    format: 'breach-check',
    default: 'off',
    expected: '`off`, `hibp`, or the URL of a mirror',
    description:
      'Whether new passwords that are known from data breaches are refused. `hibp` uses api.pwnedpasswords.com; a URL selects a mirror with the same `/range/` API. The service sends only the first five digits of the SHA-1 hash. If there is no response within 1.5 seconds, the password is accepted.',
  }),
  PASSWORD_HASH_QUEUE: integer(1, 100_000, {
    default: 250,
    description: 'Number of passwords that can wait to be hashed. After that, requests return 503 SERVICE_UNAVAILABLE.',
  }),
  PASSWORD_HASH_MAX_WAIT: lifetime({
    default: '2s',
    description:
      'The time that a password may wait to be hashed. A login that would have to wait longer returns 503 SERVICE_UNAVAILABLE immediately.',
  }),
};

const passkeys = {
  AUTH_PASSKEYS: flag({
    default: true,
    description: 'Whether users can add passkeys to their account and log in with them (see [Passkeys](passkeys.md)).',
  }),
  WEBAUTHN_RP_ID: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)*$',
      expected: 'a domain name in lowercase',
      description:
        'Domain to which browsers bind passkeys (RP ID): the host of PUBLIC_URL, or a parent domain of it. Default: the host of PUBLIC_URL. If you change it, existing passkeys stop working.',
    }),
  ),
  WEBAUTHN_ORIGINS: separated('passkey-origins', {
    expected:
      'a comma-separated list of https origins as browsers write them, such as https://app.example.com, or of apps, such as tauri://localhost or android:apk-key-hash:…',
    description:
      'Comma-separated list of the origins whose pages and apps can use passkeys, in addition to PUBLIC_URL. If an origin is outside the domain of the RP ID, `/.well-known/webauthn` lists it. Pages of other origins also need CORS_ORIGIN.',
  }),
};

const applications = {
  CLIENTS: Type.Optional(
    jsonObject({
      // It can contain secrets of clients.
      secret: true,
      expected: 'a JSON object with the lists `clients` and `resources`; if it is in a file, set CLIENTS_FILE instead',
      description:
        'The clients and resources that the service creates or updates when it starts, as JSON (see [Clients in a file](applications.md#clients-in-a-file)).',
    }),
  ),
};

const links = {
  USER_INVITE_TOKEN_TTL: lifetime({ default: '7d', description: 'Lifetime of an invitation.' }),
  EMAIL_VERIFICATION_TOKEN_TTL: lifetime({
    default: '7d',
    description: 'Lifetime of the link in the verification email.',
  }),
  PASSWORD_RESET_TOKEN_TTL: lifetime({
    default: '1d',
    description: 'Lifetime of a password reset link.',
  }),
  PASSWORD_RESET_LOOKBACK: period({
    default: '7d',
    description:
      'A password reset by email removes the static token, the linked accounts, the passkeys, and the recovery codes that were added within this time, because an attacker may have added them. A passkey stays if it is the only second factor and `enforce_tfa` requires one. With `0`, nothing is removed.',
  }),
  EMAIL_CHANGE_CONFIRMATION: flag({
    default: true,
    description:
      'Whether a new email address that users set with `PATCH /users/me` must first be confirmed by email. With `false`, it takes effect immediately, as in Directus.',
  }),
  REGISTRATION_ANSWER_TIME: period({
    default: '150ms',
    description:
      'How long the service takes to respond to a registration. If the work takes longer, the response time is a multiple of this value. The response time therefore does not reveal whether an address is taken.',
  }),
  USER_INVITE_URL_ALLOW_LIST: urlList('`invite_url`'),
  USER_REGISTER_URL_ALLOW_LIST: urlList('`verification_url`'),
  PASSWORD_RESET_URL_ALLOW_LIST: urlList('`reset_url`'),
};

const limits = {
  RATE_LIMITER_ENABLED: flag({
    default: true,
    description:
      'Whether the service limits the requests from each client address, and the logins from an address to accounts that have not been used from it before (see [Limits](limits.md)).',
  }),
  RATE_LIMITER_POINTS: integer(1, 1_000_000, {
    default: 50,
    description:
      'Number of requests that a client address can make in RATE_LIMITER_DURATION. An IPv6 /64 network counts as one address.',
  }),
  RATE_LIMITER_DURATION: integer(1, 86_400, { default: 1, description: 'Period of the limit, in seconds.' }),
  RATE_LIMITER_REGISTRATION_ENABLED: flag({
    default: true,
    description:
      'Whether registrations are limited to 5 per minute from each client address. RATE_LIMITER_ENABLED does not affect this limit.',
  }),
  RATE_LIMITER_MAIL_ENABLED: flag({
    default: true,
    description:
      'Whether emails that anyone can request (password reset, sign-in by email, registration) are limited by recipient and by client address. RATE_LIMITER_ENABLED does not affect this limit.',
  }),
};

const providers = {
  AUTH_PROVIDERS: separated('provider-keys', {
    expected:
      'a comma-separated list of different names that consist of letters, digits, `-`, and `_`, and are not `default`',
    description:
      'Comma-separated list of the providers that users can log in with. Each provider has its own variables, which are listed below.',
  }),
  AUTH_PROVIDER_TIMEOUT: period({
    default: '10s',
    description: 'How long the service waits for each response of a provider.',
  }),
};

const mail = {
  EMAIL_TRANSPORT: choice(['mailbox', 'smtp', 'sendmail'], {
    default: 'mailbox',
    description:
      'How emails are sent. `mailbox` is for development: emails are not sent, but administrators, and anyone with the key that is printed at startup, can read them at `/mailbox`. With NODE_ENV=production, there is no mailbox: emails wait in the queue for up to 30 days, until you set another transport.',
  }),
  MAILBOX_KEY: Type.Optional(
    Type.String({
      minLength: 8,
      maxLength: 255,
      pattern: '^[\\w.~-]+$',
      secret: true,
      expected: '8 to 255 characters, which can be letters, digits, `-`, `_`, `.`, and `~`',
      description:
        'Key that opens the mailbox at `/mailbox?key=…`, for scripts and tests. If unset, each start generates a new key and prints the URL.',
    }),
  ),
  EMAIL_PAUSED: flag({
    default: false,
    description:
      'Whether the service keeps all emails in the queue instead of sending them. Use it to try a [restored backup](deployment.md#backup), which contains emails that were waiting.',
  }),
  EMAIL_FROM: Type.String({
    format: 'sender',
    default: 'no-reply@example.com',
    expected: 'an email address, or a name with one: `Example <no-reply@example.com>`',
    description: 'Sender of all emails, with or without a name.',
  }),
  EMAIL_SMTP_HOST: text({ default: 'localhost', description: 'Host name of the SMTP server.' }),
  EMAIL_SMTP_PORT: integer(1, 65_535, { default: 587, description: 'Port of the SMTP server.' }),
  EMAIL_SMTP_NAME: Type.Optional(
    Type.String({
      pattern: '^(?=.{1,253}$)(?:[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+)*|\\[[A-Za-z0-9.:]+\\])$',
      expected: 'a domain name, such as `auth.example.com`',
      description:
        'Name with which the service introduces itself to the SMTP server (`EHLO`). Many servers require a full domain name. Default: the host of PUBLIC_URL or, if that is not a full domain name, the domain of EMAIL_FROM.',
    }),
  ),
  EMAIL_SMTP_USER: Type.Optional(
    text({ description: 'Username for the SMTP server. If unset, the service does not log in.' }),
  ),
  EMAIL_SMTP_PASSWORD: Type.Optional(text({ secret: true, description: 'Password for the SMTP server.' })),
  EMAIL_SMTP_SECURE: flag({
    default: false,
    description:
      'Whether the connection uses TLS from the start (port 465). Otherwise, STARTTLS is used if the server offers it.',
  }),
  EMAIL_SMTP_IGNORE_TLS: flag({
    default: false,
    description: 'Whether to ignore STARTTLS even if the server offers it.',
  }),
  EMAIL_SENDMAIL_PATH: text({
    default: '/usr/sbin/sendmail',
    description: 'Path of the program for the transport `sendmail`.',
  }),
  EMAIL_SECURITY_NOTICES: flag({
    default: true,
    description:
      'Whether users are notified by email when their password, email address, second factor, passkeys, static token, or linked accounts change, and of suspicious sign-ins.',
  }),
  EMAIL_TEMPLATES_PATH: Type.Optional(
    text({
      description:
        'Folder with your own email templates. Each one replaces the built-in template of the same name (see [Email templates](mail-templates.md)).',
    }),
  ),
  EMAIL_RETRY_LIMIT: integer(0, 16, {
    default: 14,
    description:
      'Number of retries for an email before it counts as failed. Failed emails are kept (see [Emails](operations.md#emails)).',
  }),
  EMAIL_RETRY_DELAY: lifetime({
    default: '5s',
    description: 'Delay before the first retry of an email. It doubles with each retry.',
  }),
};

const notifications = {
  WEBHOOK_ALLOW_PRIVATE_ADDRESSES: flag({
    default: false,
    description:
      'Whether URLs that administrators enter can lead to loopback, private, link-local, and metadata addresses. This applies to the `backchannel_logout_uri` of clients. With NODE_ENV=production, only https is allowed even then.',
  }),
};

const metrics = {
  METRICS_TOKEN: bearerToken(
    16,
    'Bearer token that Prometheus sends to read `/metrics`. If unset, there is no `/metrics`, and the service collects no metrics.',
  ),
};

/** A variable of OpenTelemetry, which validates the value itself. */
const standard = (description: string, options: Partial<About> = {}) =>
  Type.Optional(text({ description, ...options }));

const tracing = {
  OTEL_EXPORTER_OTLP_ENDPOINT: standard(
    'Endpoint for traces by OTLP over HTTP, such as `http://collector:4318` (see [Traces](operations.md#traces)). If unset, the service sends no traces.',
    { secret: true },
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: standard(
    'The same endpoint as a complete URL that ends in `/v1/traces`. Takes precedence over OTEL_EXPORTER_OTLP_ENDPOINT.',
    { secret: true },
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: standard('Protocol for traces: `http/protobuf` (default) or `http/json`.'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: standard(
    'The same, for traces only. Takes precedence over OTEL_EXPORTER_OTLP_PROTOCOL.',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: standard('Headers of the requests to the endpoint, such as `authorization=Bearer%20…`.', {
    secret: true,
  }),
  OTEL_TRACES_EXPORTER: standard(
    'With `otlp`, traces are sent even if no endpoint is set (to `http://localhost:4318`). With `none`, no traces are sent.',
  ),
  OTEL_SDK_DISABLED: standard('`true` turns tracing off, regardless of the other variables.'),
  OTEL_SERVICE_NAME: standard('Name of the service in traces. Default: `gatehouse`.'),
  OTEL_RESOURCE_ATTRIBUTES: standard(
    'Additional attributes of the service in traces, such as `deployment.environment.name=production,service.instance.id=a`.',
  ),
  OTEL_TRACES_SAMPLER: standard(
    'Sampler: `parentbased_always_on` (default), `always_on`, `always_off`, `traceidratio`, or another standard sampler.',
  ),
  OTEL_TRACES_SAMPLER_ARG: standard('Ratio for the sampler `traceidratio`. For example, `0.1` is a tenth.'),
};

/**
 * All environment variables of the service, by purpose. To add a variable, add it to one of these groups.
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
  'Requests from other origins (CORS)': browsers,
  Passwords: passwords,
  Passkeys: passkeys,
  Limits: limits,
  'Login through providers': providers,
  Applications: applications,
  'Invitation, registration, password reset': links,
  Email: mail,
  'Notifications of other services': notifications,
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
  ...passkeys,
  ...limits,
  ...providers,
  ...applications,
  ...links,
  ...mail,
  ...notifications,
  ...metrics,
  ...tracing,
});

/** The configuration as the code sees it, with all derived values filled in. */
export type Config = Required<
  Pick<
    StaticDecode<typeof Config>,
    | 'PUBLIC_URL'
    | 'SECRET'
    | 'REFRESH_TOKEN_COOKIE_NAME'
    | 'REFRESH_TOKEN_COOKIE_SECURE'
    | 'SESSION_COOKIE_NAME'
    | 'SESSION_COOKIE_SECURE'
    | 'PASSWORD_HASH_CONCURRENCY'
    | 'WEBAUTHN_RP_ID'
  >
> &
  StaticDecode<typeof Config> & {
    /** The providers that AUTH_PROVIDERS names, in its order. */
    readonly PROVIDERS: readonly ProviderConfig[];
  };
