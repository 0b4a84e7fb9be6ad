// @suite embedded-only: hardly depends on the engine

import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ConfigError, loadConfig } from '../../../plugins/platform/config.js';
import { Config, configGroups } from '../../../schemas/config.js';
import { configurationDoc } from '../../../scripts/configuration-doc.js';

const SECRET = 'a secret that is long enough to be taken';
const DATABASE_URL = 'postgres://user:password@db.example:5432/gatehouse';

/** The faults of a configuration, or an empty list if it is valid. */
function faultsOf(variables: Record<string, string | undefined>): readonly string[] {
  try {
    loadConfig(variables);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

t.test('if only SECRET is set, all other variables have their defaults', async (t) => {
  const { SECRET: secret, PASSWORD_HASH_CONCURRENCY, ...config } = loadConfig({ SECRET });
  t.equal(secret, SECRET);
  t.ok(PASSWORD_HASH_CONCURRENCY >= 1 && PASSWORD_HASH_CONCURRENCY <= 3);
  t.strictSame(config, {
    HOST: '0.0.0.0',
    PORT: 8055,
    PUBLIC_URL: 'http://localhost:8055',
    TRUST_PROXY: false,
    LOG_LEVEL: 'info',
    SHUTDOWN_DELAY: 0,
    SLOW_QUERY_MS: 0,
    DATABASE_REQUEST_COMMENTS: false,
    MAX_PAYLOAD_SIZE: 1_048_576,
    DATABASE_POOL_MAX: 10,
    MIGRATE: 'on',
    START_TIMEOUT: 300_000,
    DATA_DIR: './data',
    PREVIOUS_SECRETS: [],
    AUDIT_RETENTION: null,
    ADMIN_EMAIL: 'admin@example.com',
    AUTH_DISABLE_DEFAULT: false,
    ACCESS_TOKEN_TTL: 900_000,
    ACCESS_TOKEN_ALGORITHM: 'HS256',
    REFRESH_TOKEN_TTL: 604_800_000,
    SESSION_COOKIE_TTL: 86_400_000,
    SESSION_REFRESH_GRACE_PERIOD: 10_000,
    REAUTHENTICATION_PERIOD: 900_000,
    SESSION_MAX_AGE: 7_776_000_000,
    SESSIONS_PER_USER: 100,
    REFRESH_TOKEN_COOKIE_NAME: 'gatehouse_refresh_token',
    REFRESH_TOKEN_COOKIE_SECURE: false,
    REFRESH_TOKEN_COOKIE_SAME_SITE: 'lax',
    SESSION_COOKIE_NAME: 'gatehouse_session_token',
    SESSION_COOKIE_SECURE: false,
    SESSION_COOKIE_SAME_SITE: 'lax',
    CORS_ENABLED: false,
    CORS_ORIGIN: [],
    PASSWORD_HASH_MEMORY: 19_456,
    PASSWORD_HASH_TIME: 2,
    PASSWORD_HASH_PARALLELISM: 1,
    PASSWORD_HASH_QUEUE: 250,
    PASSWORD_HASH_MAX_WAIT: 2_000,
    PASSWORD_MIN_LENGTH: 8,
    PASSWORD_REJECT_COMMON: true,
    PASSWORD_BREACH_CHECK: 'off',
    AUTH_PASSKEYS: true,
    WEBAUTHN_RP_ID: 'localhost',
    WEBAUTHN_ORIGINS: [],
    RATE_LIMITER_ENABLED: true,
    RATE_LIMITER_POINTS: 50,
    RATE_LIMITER_DURATION: 1,
    RATE_LIMITER_REGISTRATION_ENABLED: true,
    RATE_LIMITER_MAIL_ENABLED: true,
    AUTH_PROVIDERS: [],
    ACCOUNT_RETURN_ORIGINS: [],
    WEBHOOK_ALLOW_PRIVATE_ADDRESSES: false,
    AUTH_PROVIDER_TIMEOUT: 10_000,
    PROVIDERS: [],
    USER_INVITE_TOKEN_TTL: 604_800_000,
    EMAIL_VERIFICATION_TOKEN_TTL: 604_800_000,
    PASSWORD_RESET_TOKEN_TTL: 86_400_000,
    PASSWORD_RESET_LOOKBACK: 604_800_000,
    EMAIL_CHANGE_CONFIRMATION: true,
    REGISTRATION_ANSWER_TIME: 150,
    USER_INVITE_URL_ALLOW_LIST: [],
    USER_REGISTER_URL_ALLOW_LIST: [],
    PASSWORD_RESET_URL_ALLOW_LIST: [],
    EMAIL_TRANSPORT: 'mailbox',
    EMAIL_PAUSED: false,
    EMAIL_FROM: 'no-reply@example.com',
    EMAIL_SMTP_HOST: 'localhost',
    EMAIL_SMTP_PORT: 587,
    EMAIL_SMTP_SECURE: false,
    EMAIL_SMTP_IGNORE_TLS: false,
    EMAIL_SENDMAIL_PATH: '/usr/sbin/sendmail',
    EMAIL_SECURITY_NOTICES: true,
    EMAIL_RETRY_LIMIT: 14,
    EMAIL_RETRY_DELAY: 5_000,
    QUERY_LIMIT_DEFAULT: 100,
    QUERY_TIMEOUT: 5_000,
    MAX_RESPONSE_SIZE: 67_108_864,
    MAX_BATCH_MUTATION: 10_000,
  });
});

t.test('the configuration cannot be changed after it is loaded', async (t) => {
  const config = loadConfig({ SECRET });
  t.throws(() => Object.assign(config, { PORT: 1 }), TypeError);
});

t.test('an empty variable is treated as unset, and surrounding whitespace is removed', async (t) => {
  const empty = Object.fromEntries(Object.keys(Config.properties).map((name) => [name, '']));
  t.strictSame(loadConfig({ ...empty, SECRET }), loadConfig({ SECRET }));
  t.strictSame(loadConfig({ ...empty, SECRET, PORT: '  ' }), loadConfig({ SECRET }));
  t.equal(loadConfig({ SECRET, PORT: ' 80\n' }).PORT, 80);
});

t.test('valid values are accepted and converted', async (t) => {
  for (const [variable, given, expected] of [
    ['PORT', '0', 0],
    ['PORT', '65535', 65_535],
    ['HOST', '::', '::'],
    ['PUBLIC_URL', 'https://auth.example/', 'https://auth.example'],
    ['PUBLIC_URL', 'https://auth.example/base//', 'https://auth.example/base'],
    ['TRUST_PROXY', 'true', true],
    ['TRUST_PROXY', '0', 0],
    ['TRUST_PROXY', '2', 2],
    ['TRUST_PROXY', '10.0.0.1', '10.0.0.1'],
    ['TRUST_PROXY', '10.0.0.0/8, 2001:db8::/32', '10.0.0.0/8, 2001:db8::/32'],
    ['TRUST_PROXY', 'loopback,10.0.0.1', 'loopback,10.0.0.1'],
    ['AUDIT_RETENTION', 'forever', null],
    ['AUDIT_RETENTION', '365d', 31_536_000_000],
    ['LOG_LEVEL', 'silent', 'silent'],
    ['MAX_PAYLOAD_SIZE', '512b', 512],
    ['MAX_PAYLOAD_SIZE', '2kb', 2_048],
    ['MAX_RESPONSE_SIZE', '8mb', 8_388_608],
    ['QUERY_TIMEOUT', '30s', 30_000],
    ['PASSWORD_RESET_LOOKBACK', '0', 0],
    ['PASSWORD_RESET_LOOKBACK', '30d', 2_592_000_000],
    ['EMAIL_CHANGE_CONFIRMATION', 'false', false],
    ['MAILBOX_KEY', 'a-key.of_mine~', 'a-key.of_mine~'],
    ['AUTH_DISABLE_DEFAULT', 'true', true],
    ['AUTH_DISABLE_DEFAULT', 'FALSE', false],
    ['ACCESS_TOKEN_TTL', '1s', 1_000],
    ['REFRESH_TOKEN_TTL', '604800s', 604_800_000],
    ['SESSION_COOKIE_TTL', '2w', 1_209_600_000],
    ['SESSION_REFRESH_GRACE_PERIOD', '0s', 0],
    ['SESSION_REFRESH_GRACE_PERIOD', '500ms', 500],
    ['REAUTHENTICATION_PERIOD', '0', 0],
    ['REAUTHENTICATION_PERIOD', '5m', 300_000],
    ['SESSION_MAX_AGE', '0', 0],
    ['SESSION_MAX_AGE', '12h', 43_200_000],
    ['SESSIONS_PER_USER', '1', 1],
    ['ACCESS_TOKEN_AUDIENCE', 'https://api.example.com', 'https://api.example.com'],
    ['SESSION_COOKIE_DOMAIN', '.auth.example', '.auth.example'],
    ['SESSION_COOKIE_SAME_SITE', 'strict', 'strict'],
    ['PASSWORD_HASH_CONCURRENCY', '8', 8],
    ['METRICS_TOKEN', 'the-token-of-prometheus', 'the-token-of-prometheus'],
    ['REDIS_URL', 'rediss://:password@redis.example:6380/1', 'rediss://:password@redis.example:6380/1'],
  ] as const) {
    t.equal(loadConfig({ SECRET, [variable]: given })[variable], expected, `${variable}=${given}`);
  }
  const apps = [
    'capacitor://localhost',
    'ionic://localhost',
    'tauri://localhost',
    'http://tauri.localhost',
    'chrome-extension://mbniclmhobmnbdlbpiphghaielnnpgdp',
    'moz-extension://7a5c4a3e-1f5e-4a5e-8a52-0d7b6bd3a9f0',
    'safari-web-extension://5A1F3B0C-9A7E-4B5C-8E2D-2B1A0C9D8E7F',
    'app://-',
    'com.example.app://localhost:8080',
  ];
  const origins = ['https://a.example', 'http://localhost:3000', `android:apk-key-hash:${'a'.repeat(43)}`, ...apps];
  t.strictSame(loadConfig({ SECRET, WEBAUTHN_ORIGINS: origins.join(', ') }).WEBAUTHN_ORIGINS, origins);
  const callers = ['https://app.example.com', ...apps];
  t.strictSame(loadConfig({ SECRET, CORS_ORIGIN: callers.join(',') }).CORS_ORIGIN, callers);
  const previous = ['a'.repeat(32), 'b'.repeat(99)];
  t.strictSame(loadConfig({ SECRET, PREVIOUS_SECRETS: ` ${previous.join(' , ')},` }).PREVIOUS_SECRETS, previous);
});

const wrong: Record<string, string[]> = {
  PORT: ['-1', '65536', '80.9', '1e3', '0x1F', '080', 'http', 'true', 'NaN', 'Infinity', '9'.repeat(30)],
  PUBLIC_URL: ['auth.example', 'ftp://a.example', 'http://', 'http://[', 'http://a?b', 'http://a#b', 'javascript:1'],
  SECRET: ['short', 'x'.repeat(31)],
  DATABASE_SCHEMA: ['pg_auth', 'a b', 'auth,public', '"auth"', 'x'.repeat(64)],
  DATABASE_URL: ['mysql://user:hunter2@db', 'postgresql://', 'hunter2', '/var/lib/hunter2'],
  PREVIOUS_SECRETS: ['hunter2', `${'x'.repeat(40)},hunter2`, `${'x'.repeat(31)},${'y'.repeat(40)}`],
  METRICS_TOKEN: ['hunter2', 'hunter2 with spaces in it'],
  CLIENTS: ['[]', 'null', '{"hunter2"', '/run/secrets/hunter2.json'],
  REDIS_URL: ['http://hunter2', 'hunter2:6379', 'redis://a:hunter2@[/0'],
  DATABASE_POOL_MAX: ['0', '1', '1001', 'many'],
  TRUST_PROXY: ['yes', '100', '-1', ':::', '1.2.3', '1.2.3.4/33', '::/129', '1.2.3.4/', '10.0.0.1,', '10.0.0.1;::1'],
  AUTH_PASSKEYS: ['maybe'],
  WEBHOOK_ALLOW_PRIVATE_ADDRESSES: ['maybe'],
  ACCOUNT_RETURN_ORIGINS: ['*', 'https://app.example.com/'],
  WEBAUTHN_RP_ID: ['https://example.com', 'Example.com', 'example.com.', '.example.com', 'a b', 'example.com:443'],
  WEBAUTHN_ORIGINS: [
    ...['*', 'https://example.com/', 'http://example.com', 'example.com', 'https://Example.com', 'http://127.0.0.1'],
    ...['android:apk-key-hash:short', 'https://a.example,ios:b', 'http://localhost.example.com'],
    ...['tauri://', 'tauri:localhost', 'tauri://localhost/', 'file://localhost', 'javascript://localhost'],
  ],
  MIGRATE: ['true', 'ON', 'check'],
  START_TIMEOUT: ['5', '-1s', '1y', 'forever'],
  EMAIL_PAUSED: ['yes', '2'],
  AUDIT_RETENTION: ['0d', '365', '12h', 'never', '1y', '99999d', '-1d'],
  ACCESS_TOKEN_ALGORITHM: ['none', 'RS256', 'eddsa', 'HS512'],
  LOG_LEVEL: ['loud', 'INFO', '1'],
  MAX_PAYLOAD_SIZE: ['0b', '1', '1gb', '-1mb', '1.5mb', 'mb'],
  SHUTDOWN_DELAY: ['5', '-5s', '1d'],
  SLOW_QUERY_MS: ['-1', '1.5', '1s'],
  DATABASE_REQUEST_COMMENTS: ['yes'],
  ADMIN_EMAIL: ['admin', 'a@b@c', 'Admin <admin@example.com>'],
  ADMIN_PASSWORD: ['hunter2', '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g'],
  ADMIN_TOKEN: ['hunter2', 'hunter2'.padEnd(31, 'x'), `hunter2${'x'.repeat(250)}`],
  AUTH_DISABLE_DEFAULT: ['yes', 'no', 'on', '2'],
  ACCESS_TOKEN_TTL: ['0s', '15', '15 m', '500ms', '-1m', '1y', '999999w', 'P1D'],
  REFRESH_TOKEN_TTL: ['0d', '99999d', 'week'],
  SESSION_COOKIE_TTL: ['0h', '1.5d'],
  ACCESS_TOKEN_AUDIENCE: ['x'.repeat(256)],
  SESSION_MAX_AGE: ['0d', '-1d', '00', '1'],
  SESSIONS_PER_USER: ['0', '10001', 'many'],
  SESSION_REFRESH_GRACE_PERIOD: ['10', '-10s', '999999d'],
  REAUTHENTICATION_PERIOD: ['15', '-1m', 'never', '00'],
  REFRESH_TOKEN_COOKIE_NAME: ['a b', 'a;b', 'a=b', 'ä', '"a"'],
  SESSION_COOKIE_NAME: ['a,b', 'a\tb'],
  REFRESH_TOKEN_COOKIE_DOMAIN: ['https://a.example', 'a b', 'a.example; Secure', 'a..example'],
  SESSION_COOKIE_DOMAIN: ['a.example/', '*.example'],
  REFRESH_TOKEN_COOKIE_SECURE: ['maybe'],
  SESSION_COOKIE_SECURE: ['ja'],
  REFRESH_TOKEN_COOKIE_SAME_SITE: ['Lax', 'any'],
  SESSION_COOKIE_SAME_SITE: ['None'],
  CORS_ENABLED: ['yes'],
  CORS_ORIGIN: [
    '*',
    'null',
    'https://*.example.com',
    'example.com',
    'https://app.example.com/',
    'https://app.example.com/x',
    'https://app.example.com?x',
    'https://app.example.com#x',
    'https://App.example.com',
    'https://app.example.com:443',
    'http://app.example.com:80',
    'https://user@app.example.com',
    'https://äpp.example.com',
    'ftp://app.example.com',
    ...['file:///app', 'file://app', 'data://app', 'javascript://app', 'blob://app', 'wss://app.example.com'],
    ...['capacitor://', 'capacitor:localhost', 'Capacitor://localhost', 'capacitor://localhost/'],
    ...['capacitor://localhost/x', 'capacitor://user@localhost', 'capacitor://*', 'chrome-extension://a b'],
    'https://',
    'https://app.example.com,*',
  ],
  PASSWORD_HASH_MEMORY: ['8191', '1.5', '4194305'],
  PASSWORD_HASH_TIME: ['0', '101'],
  PASSWORD_HASH_PARALLELISM: ['0', '17'],
  PASSWORD_HASH_CONCURRENCY: ['0', '65'],
  PASSWORD_HASH_QUEUE: ['0', '100001'],
  PASSWORD_HASH_MAX_WAIT: ['0', '-1s', '2'],
  PASSWORD_MIN_LENGTH: ['0', '1025', 'eight'],
  PASSWORD_REJECT_COMMON: ['maybe'],
  PASSWORD_BREACH_CHECK: ['on', 'ftp://mirror.example'],
  RATE_LIMITER_ENABLED: ['yes'],
  RATE_LIMITER_POINTS: ['0', '-1', '1000001', '1.5', 'many'],
  RATE_LIMITER_DURATION: ['0', '86401', '1s'],
  RATE_LIMITER_REGISTRATION_ENABLED: ['off'],
  RATE_LIMITER_MAIL_ENABLED: ['2'],
  AUTH_PROVIDERS: ['a b', 'a,a', 'A,a', 'a-b,a_b', 'default', 'ü', 'a/b', 'x'.repeat(65)],
  AUTH_PROVIDER_TIMEOUT: ['10', 'soon'],
  USER_INVITE_TOKEN_TTL: ['0d', 'week'],
  EMAIL_VERIFICATION_TOKEN_TTL: ['0d'],
  PASSWORD_RESET_TOKEN_TTL: ['0d'],
  PASSWORD_RESET_LOOKBACK: ['7', '-1d', 'always'],
  EMAIL_CHANGE_CONFIRMATION: ['maybe'],
  REGISTRATION_ANSWER_TIME: ['150', '-1ms'],
  USER_INVITE_URL_ALLOW_LIST: ['app.example.com', 'https://a.example, b'],
  USER_REGISTER_URL_ALLOW_LIST: ['/verify'],
  PASSWORD_RESET_URL_ALLOW_LIST: ['https://'],
  EMAIL_TRANSPORT: ['ses', 'SMTP'],
  MAILBOX_KEY: ['hunter2', 'hunter2 with spaces', 'hunter2/hunter2', `hunter2${'x'.repeat(250)}`],
  EMAIL_FROM: ['Gatehouse', 'a@b@c', 'Name <a@b', 'a@b.co, c@d.co', 'Name\nBcc: x <a@b.co>'],
  EMAIL_SMTP_NAME: ['a b', 'mail.example\nRSET', 'mail..example', 'bücher.example', 'https://mail.example', '[mail'],
  EMAIL_SMTP_PORT: ['0', '65536'],
  EMAIL_SMTP_SECURE: ['yes'],
  EMAIL_SMTP_IGNORE_TLS: ['2'],
  EMAIL_SECURITY_NOTICES: ['on'],
  EMAIL_RETRY_LIMIT: ['-1', '17'],
  EMAIL_RETRY_DELAY: ['500ms', '5'],
  QUERY_LIMIT_DEFAULT: ['0', '-1', '1000001', 'all'],
  QUERY_LIMIT_MAX: ['0', '-1', '1000001'],
  QUERY_TIMEOUT: ['5', '-5s', 'never'],
  MAX_RESPONSE_SIZE: ['0mb', '64', '1gb'],
  MAX_BATCH_MUTATION: ['0', '30001', 'Infinity'],
};

const secrets = [
  'CLIENTS',
  'SECRET',
  'PREVIOUS_SECRETS',
  'DATABASE_URL',
  'REDIS_URL',
  'METRICS_TOKEN',
  'MAILBOX_KEY',
  'ADMIN_PASSWORD',
  'ADMIN_TOKEN',
];

t.test('an invalid value is reported with its variable and what is expected', async (t) => {
  for (const [variable, values] of Object.entries(wrong)) {
    for (const value of values) {
      const faults = faultsOf({ SECRET, [variable]: value });
      t.equal(faults.length, 1, `${variable}=${value}: one fault`);
      const [fault = ''] = faults;
      t.match(fault, new RegExp(`^${variable}: expected .+`));
      if (secrets.includes(variable)) t.notOk(fault.includes(value), 'the fault does not repeat the secret');
      else
        t.ok(
          [value, JSON.stringify(value)].some((shown) => fault.endsWith(`, got ${shown}`)),
          fault,
        );
    }
  }
  const anything = [
    'HOST',
    'DATA_DIR',
    'LOST_SECRET_ID',
    'NODE_ENV',
    'EMAIL_TEMPLATES_PATH',
    'EMAIL_SENDMAIL_PATH',
  ].concat(
    ['HOST', 'USER', 'PASSWORD'].map((name) => `EMAIL_SMTP_${name}`),
    // Invalid values of these variables do not prevent a start.
    Object.keys(Config.properties).filter((name) => name.startsWith('OTEL_')),
  );
  t.strictSame(
    [...Object.keys(wrong), ...anything].sort(),
    Object.keys(Config.properties).sort(),
    'this test covers all variables',
  );
});

t.test('the RP ID is the host of PUBLIC_URL, or a parent domain of it', async (t) => {
  const read = (PUBLIC_URL: string, WEBAUTHN_RP_ID?: string) =>
    loadConfig({ SECRET, PUBLIC_URL, ...(WEBAUTHN_RP_ID === undefined ? {} : { WEBAUTHN_RP_ID }) }).WEBAUTHN_RP_ID;
  t.equal(read('https://accounts.example.com:8443/base'), 'accounts.example.com');
  t.equal(read('https://accounts.example.com', 'accounts.example.com'), 'accounts.example.com');
  t.equal(read('https://accounts.example.com', 'example.com'), 'example.com');
  t.equal(read('http://localhost:8055', 'localhost'), 'localhost');
  for (const [url, id] of [
    ['https://accounts.example.com', 'com'],
    ['https://accounts.example.com', 'login.accounts.example.com'],
    ['https://accounts.example.com', 'ounts.example.com'],
    ['https://accounts.example.com', 'example.org'],
    ['http://10.0.0.1', '0.0.1'],
  ] as const) {
    const faults = faultsOf({ SECRET, PUBLIC_URL: url, WEBAUTHN_RP_ID: id });
    t.strictSame(faults, ['WEBAUTHN_RP_ID: must be the host of PUBLIC_URL, or a parent domain of it'], id);
  }
});

t.test('all faults are reported together', async (t) => {
  const all = Object.fromEntries(Object.entries(wrong).map(([variable, values]) => [variable, values[0]]));
  const faults = faultsOf(all);
  const named = faults.map((fault) => fault.split(':', 1)[0]);
  t.strictSame([...new Set(named)].sort(), Object.keys(wrong).sort());
  t.throws(() => loadConfig(all), new RegExp(`The configuration has ${faults.length} errors:`));
  try {
    loadConfig(all);
  } catch (error) {
    for (const fault of faults) t.ok(String(error).includes(`\n  - ${fault}`), 'one fault per line');
    t.notMatch(String(error), /hunter2/);
    t.notMatch(String(error), 'short');
  }
});

t.test('invalid combinations of variables are reported', async (t) => {
  for (const [variables, fault] of [
    [{ DATABASE_URL, SECRET: '' }, /^SECRET: must be set when DATABASE_URL is set/],
    [
      { DATABASE_URL: `${DATABASE_URL}?sslmode=yes` },
      /^DATABASE_URL: the parameter sslmode must be one of disable, allow,/,
    ],
    [{ DATABASE_URL: `${DATABASE_URL}?sslcert=package.json` }, /sslcert and sslkey must be set together/],
    ...(
      [
        ['postgres://user:password@db.example:5432x/gatehouse', 'a port must be a number'],
        ['postgres://user:password@db.example:70000/gatehouse', 'a port must be a number'],
        ['postgres://user:pass/word@db.example/gatehouse', 'percent-encoded'],
        ['postgres://user:pass?word@db.example/gatehouse', 'percent-encoded'],
        ['postgres://user:12?word&d@db.example/gatehouse', 'percent-encoded'],
        ['postgres://user:100%@db.example/gatehouse', 'the password cannot be decoded'],
        ['postgres://user:password@::1/gatehouse', 'an IPv6 address must be in brackets|a port must be a number'],
        ['postgres://user:password@a,b,c:1/x?port=1,2', 'as many ports as hosts'],
        [`${DATABASE_URL}?sslmod=require`, 'the parameter sslmod is unknown'],
        [`${DATABASE_URL}?statement_timeout=5&pool=2`, 'statement_timeout is unknown.*; the parameter pool is unknown'],
        [`${DATABASE_URL}?connect_timeout=soon`, 'connect_timeout must be a number'],
      ] as const
    ).map(([url, fault]) => [{ DATABASE_URL: url }, new RegExp(`^DATABASE_URL: .*(${fault})`)]),
    [
      { DATABASE_URL: `${DATABASE_URL}?sslcrl=a.pem&channel_binding=require&sslrootcert=/missing.pem` },
      /sslcrl is not supported; .*channel_binding is not supported; .*sslrootcert, \/missing.pem, cannot be read \(ENOENT\)/,
    ],
    [{ REFRESH_TOKEN_COOKIE_NAME: 'a', SESSION_COOKIE_NAME: 'a' }, /^SESSION_COOKIE_NAME: must differ/],
    [{ REFRESH_TOKEN_COOKIE_NAME: 'gatehouse_session_token' }, /^SESSION_COOKIE_NAME: must differ/],
    [
      { REFRESH_TOKEN_COOKIE_NAME: '__Host-gatehouse_session_token', PUBLIC_URL: 'https://a.example' },
      /^SESSION_COOKIE_NAME: must differ/,
    ],
    [{ SESSION_COOKIE_SAME_SITE: 'none' }, /^SESSION_COOKIE_SAME_SITE: .*SESSION_COOKIE_SECURE=true/],
    [
      { REFRESH_TOKEN_COOKIE_SAME_SITE: 'none', PUBLIC_URL: 'http://a.example' },
      /^REFRESH_TOKEN_COOKIE_SAME_SITE: .*REFRESH_TOKEN_COOKIE_SECURE=true/,
    ],
    [
      { SESSION_COOKIE_SAME_SITE: 'none', PUBLIC_URL: 'https://a.example', SESSION_COOKIE_SECURE: 'false' },
      /^SESSION_COOKIE_SAME_SITE: /,
    ],
    [{ CORS_ENABLED: 'true' }, /^CORS_ORIGIN: must list at least one origin/],
    [{ CORS_ENABLED: 'true', CORS_ORIGIN: ' , ' }, /^CORS_ORIGIN: must list at least one origin/],
    [{ SESSION_COOKIE_NAME: '__Host-session' }, /^SESSION_COOKIE_NAME: .*SESSION_COOKIE_SECURE=true/],
    [{ REFRESH_TOKEN_COOKIE_NAME: '__Secure-refresh' }, /^REFRESH_TOKEN_COOKIE_NAME: /],
    [
      { SESSION_COOKIE_NAME: '__Host-session', SESSION_COOKIE_SECURE: 'true', SESSION_COOKIE_DOMAIN: 'a.example' },
      /^SESSION_COOKIE_NAME: .*without a domain/,
    ],
  ] as [Record<string, string>, RegExp][]) {
    const faults = faultsOf({ SECRET, ...variables });
    t.equal(faults.length, 1, JSON.stringify(variables));
    t.match(faults[0], fault);
    t.notMatch(faults[0], /password@|word@|word is|:pass|100%@/);
  }
  for (const variables of [
    { DATABASE_URL },
    { DATABASE_URL: `${DATABASE_URL}?sslmode=verify-full&sslrootcert=system&channel_binding=prefer&prepare=false` },
    { SESSION_COOKIE_SAME_SITE: 'none', SESSION_COOKIE_SECURE: 'true' },
    { SESSION_COOKIE_SAME_SITE: 'none', PUBLIC_URL: 'https://a.example' },
    { SESSION_COOKIE_NAME: '__Host-session', PUBLIC_URL: 'https://a.example' },
    { CORS_ENABLED: 'true', CORS_ORIGIN: 'https://app.example.com, http://localhost:5173,http://[::1]:3000' },
    { CORS_ORIGIN: 'https://app.example.com' },
    { SESSION_COOKIE_NAME: '__Secure-s', SESSION_COOKIE_DOMAIN: 'a.example', SESSION_COOKIE_SECURE: 'true' },
  ]) {
    t.strictSame(faultsOf({ SECRET, ...variables }), [], JSON.stringify(variables));
  }
});

t.test('every secret can be in a file', async (t) => {
  const folder = t.testdir({ empty: ' \n' });
  const inFile = (name: string, value: string) => {
    writeFileSync(join(folder, name), `${value}\n`);
    return join(folder, name);
  };
  const values: Record<string, string> = {
    SECRET,
    PREVIOUS_SECRETS: `${SECRET} of before, ${SECRET} of long before`,
    DATABASE_URL,
    REDIS_URL: 'redis://:password@cache.example:6379/0',
    ADMIN_PASSWORD: 'chosen by the operator',
    ADMIN_TOKEN: 'the-static-token-of-the-administrator',
    EMAIL_SMTP_PASSWORD: 'mail password',
    MAILBOX_KEY: 'key-of-the-mailbox',
    METRICS_TOKEN: 'a-token-for-prometheus',
    CLIENTS: '{"clients": [], "resources": []}',
  };
  const secrets = Object.entries(Config.properties).filter(
    ([name, about]) => 'secret' in about && !/^OTEL_/.test(name),
  );
  t.strictSame(Object.keys(values).sort(), secrets.map(([name]) => name).sort(), 'this test covers all secrets');
  const files = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`${name}_FILE`, inFile(name, value)]),
  );
  t.strictSame(loadConfig(files), loadConfig(values));

  const provider = { AUTH_PROVIDERS: 'google', AUTH_GOOGLE_CLIENT_ID: 'gatehouse' };
  const { PROVIDERS } = loadConfig({
    SECRET,
    ...provider,
    AUTH_GOOGLE_CLIENT_SECRET_FILE: inFile('google', 'hunter2'),
  });
  t.equal(PROVIDERS[0]?.CLIENT_SECRET, 'hunter2');

  t.strictSame(faultsOf({ SECRET, SECRET_FILE: files.SECRET_FILE, PORT: 'x' }), [
    'SECRET: SECRET_FILE is also set; set only one of the two',
    'PORT: expected an integer from 0 to 65535, got "x"',
  ]);
  const missing = join(folder, 'missing');
  t.strictSame(
    faultsOf({ SECRET_FILE: missing, DATABASE_URL_FILE: folder, METRICS_TOKEN_FILE: join(folder, 'empty') }),
    [
      `DATABASE_URL: the file in DATABASE_URL_FILE, ${folder}, cannot be read (EISDIR)`,
      `SECRET: the file in SECRET_FILE, ${missing}, cannot be read (ENOENT)`,
      `METRICS_TOKEN: the file in METRICS_TOKEN_FILE, ${join(folder, 'empty')}, is empty`,
    ],
  );
  t.strictSame(faultsOf({ DATABASE_URL, SECRET_FILE: missing }).length, 1, 'SECRET is not also reported as missing');
  const [short = ''] = faultsOf({ SECRET_FILE: inFile('short', 'too short') });
  t.match(short, /^SECRET: expected at least 32 characters/);
  t.notMatch(short, 'too short');
  t.match(faultsOf({ SECRET, ...provider, AUTH_GOOGLE_CLIENT_SECRET_FILE: missing }), [
    `AUTH_GOOGLE_CLIENT_SECRET: the file in AUTH_GOOGLE_CLIENT_SECRET_FILE, ${missing}, cannot be read (ENOENT)`,
  ]);
});

t.test('cookies are Secure by default if PUBLIC_URL is https', async (t) => {
  const secure = (variables: Record<string, string>) => {
    const config = loadConfig({ SECRET, ...variables });
    return [config.REFRESH_TOKEN_COOKIE_SECURE, config.SESSION_COOKIE_SECURE];
  };
  t.strictSame(secure({}), [false, false]);
  t.strictSame(secure({ PUBLIC_URL: 'https://a.example' }), [true, true]);
  t.strictSame(secure({ PUBLIC_URL: 'https://a.example', SESSION_COOKIE_SECURE: 'false' }), [true, false]);
  t.strictSame(secure({ REFRESH_TOKEN_COOKIE_SECURE: 'true' }), [true, false]);
});

t.test('default cookie names restrict cookies to the host where browsers allow it', async (t) => {
  const names = (variables: Record<string, string>) => {
    const config = loadConfig({ SECRET, ...variables });
    return [config.REFRESH_TOKEN_COOKIE_NAME, config.SESSION_COOKIE_NAME];
  };
  const plain = ['gatehouse_refresh_token', 'gatehouse_session_token'];
  const [refresh, session] = plain.map((name) => `__Host-${name}`);
  const PUBLIC_URL = 'https://a.example';
  t.strictSame(names({}), plain);
  t.strictSame(names({ PUBLIC_URL: 'http://a.example', SESSION_COOKIE_SECURE: 'true' }), plain);
  t.strictSame(names({ PUBLIC_URL }), [refresh, session]);
  t.strictSame(names({ PUBLIC_URL, SESSION_COOKIE_DOMAIN: 'example' }), [refresh, plain[1]]);
  t.strictSame(names({ PUBLIC_URL, REFRESH_TOKEN_COOKIE_SECURE: 'false' }), [plain[0], session]);
  t.strictSame(names({ PUBLIC_URL, SESSION_COOKIE_NAME: 'mine' }), [refresh, 'mine']);
});

t.test('SECRET is generated and stored in DATA_DIR', async (t) => {
  const folder = (t: Test) => join(t.testdir(), 'data', 'deeper');

  t.test('the secret is generated at the first load, readable only by its owner, and used again later', async (t) => {
    const DATA_DIR = folder(t);
    const first = loadConfig({ DATA_DIR }).SECRET;
    t.match(first, /^[A-Za-z0-9_-]{64}$/);
    t.equal(readFileSync(join(DATA_DIR, 'secret'), 'utf8'), first);
    t.equal(statSync(join(DATA_DIR, 'secret')).mode & 0o777, 0o600);
    t.equal(statSync(DATA_DIR).mode & 0o777, 0o700);
    t.strictSame(readdirSync(DATA_DIR), ['secret'], 'no temporary file is left behind');
    t.equal(loadConfig({ DATA_DIR }).SECRET, first);
    t.equal(loadConfig({ DATA_DIR, SECRET: '' }).SECRET, first, 'an empty SECRET is treated as unset');
  });

  t.test('each folder has its own secret', async (t) => {
    t.not(loadConfig({ DATA_DIR: folder(t) }).SECRET, loadConfig({ DATA_DIR: join(t.testdir(), 'other') }).SECRET);
  });

  t.test('a configured SECRET is not stored, and takes precedence over the stored one', async (t) => {
    const DATA_DIR = folder(t);
    t.equal(loadConfig({ DATA_DIR, SECRET }).SECRET, SECRET);
    t.notOk(existsSync(DATA_DIR));
    const kept = loadConfig({ DATA_DIR }).SECRET;
    t.equal(loadConfig({ DATA_DIR, SECRET }).SECRET, SECRET);
    t.equal(loadConfig({ DATA_DIR }).SECRET, kept);
  });

  t.test('a secret file created by hand is accepted, without its final line break', async (t) => {
    const DATA_DIR = folder(t);
    mkdirSync(DATA_DIR, { recursive: true });
    writeFileSync(join(DATA_DIR, 'secret'), `${SECRET}\n`);
    t.equal(loadConfig({ DATA_DIR }).SECRET, SECRET);
  });

  t.test('a damaged secret is reported, not replaced', async (t) => {
    for (const text of ['', 'damaged']) {
      const DATA_DIR = folder(t);
      mkdirSync(DATA_DIR, { recursive: true });
      writeFileSync(join(DATA_DIR, 'secret'), text);
      t.match(faultsOf({ DATA_DIR })[0], /^SECRET: .*fewer than 32 characters/);
      t.equal(readFileSync(join(DATA_DIR, 'secret'), 'utf8'), text);
    }
  });

  t.test('no secret is generated if another variable is invalid, or with DATABASE_URL', async (t) => {
    const DATA_DIR = folder(t);
    t.equal(faultsOf({ DATA_DIR, PORT: 'x' }).length, 1);
    t.equal(faultsOf({ DATA_DIR, DATABASE_URL }).length, 1);
    t.notOk(existsSync(DATA_DIR));
  });

  t.test('a folder that cannot be written is an error, so that no secret is lost', async (t) => {
    const DATA_DIR = join(t.testdir({ file: 'no folder' }), 'file');
    t.throws(() => loadConfig({ DATA_DIR }));
    chmodSync(DATA_DIR, 0o600);
  });
});

t.test('docs/configuration.md matches the schema (to update it: npm run docs)', async (t) => {
  t.equal(readFileSync('docs/configuration.md', 'utf8'), configurationDoc());
  for (const name of Object.keys(Config.properties)) {
    t.equal(configurationDoc().split(`\n| \`${name}\` |`).length, 2, `${name} is documented once`);
  }
  const grouped = Object.values(configGroups).flatMap((group) => Object.keys(group));
  t.strictSame(grouped.sort(), Object.keys(Config.properties).sort());
});
