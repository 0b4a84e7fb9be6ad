// @suite embedded-only: hardly depends on the engine

import t from 'tap';
import { loadConfig, misspelledVariables } from '../../../plugins/platform/config.js';
import { findMisspelledVariables } from '../../../plugins/platform/misspelled-variables.js';
import { Config } from '../../../schemas/config.js';

const intendedOf = (name: string, env: Record<string, string> = {}) =>
  findMisspelledVariables({ ...env, [name]: 'x' }).find((found) => found.name === name)?.intended;

t.test('a misspelled name is found, with the name that was probably meant', async (t) => {
  for (const [name, intended] of [
    ['PUBLIC_URl', 'PUBLIC_URL'],
    ['public_url', 'PUBLIC_URL'],
    ['PUBLIC-URL', 'PUBLIC_URL'],
    ['PUBLICURL', 'PUBLIC_URL'],
    ['PUBILC_URL', 'PUBLIC_URL'],
    ['RATE_LIMITER_POINT', 'RATE_LIMITER_POINTS'],
    ['RATE_LIMITTER_ENABLED', 'RATE_LIMITER_ENABLED'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['TRUSTED_PROXY', 'TRUST_PROXY'],
    ['Secret', 'SECRET'],
    ['Port', 'PORT'],
    ['DATADIR', 'DATA_DIR'],
    ['ADMIN_PASWORD', 'ADMIN_PASSWORD'],
    ['AUTH_PROVIDER', 'AUTH_PROVIDERS'],
    ['CORS_ORIGINS', 'CORS_ORIGIN'],
    ['USER_INVITE_URL_ALLOWLIST', 'USER_INVITE_URL_ALLOW_LIST'],
    ['EMAIL_SMPT_HOST', 'EMAIL_SMTP_HOST'],
  ] as const) {
    t.equal(intendedOf(name), intended, name);
  }
});

t.test('a misspelled provider, or a misspelled variable of a provider, is found', async (t) => {
  const env = { AUTH_PROVIDERS: 'google, my-forum', AUTH_GOOGLE_CLIENT_ID: 'x' };
  for (const [name, intended] of [
    ['AUTH_GOGLE_CLIENT_ID', 'AUTH_GOOGLE_CLIENT_ID'],
    ['AUTH_GOOGLE_CLIENTID', 'AUTH_GOOGLE_CLIENT_ID'],
    ['AUTH_GOOGLE_CLIENT_SECRETFILE', 'AUTH_GOOGLE_CLIENT_SECRET_FILE'],
    ['PREVIOUS_SECRET_FILE', 'PREVIOUS_SECRETS_FILE'],
    ['AUTH_GOOGLE_Client_Secret', 'AUTH_GOOGLE_CLIENT_SECRET'],
    ['AUTH_MY-FORUM_DRIVER', 'AUTH_MY_FORUM_DRIVER'],
    ['AUTH_MYFORUM_DRIVER', 'AUTH_MY_FORUM_DRIVER'],
  ] as const) {
    t.equal(intendedOf(name, env), intended, name);
  }
});

t.test('the variables of the service are known, and empty variables are ignored', async (t) => {
  t.strictSame(
    findMisspelledVariables(Object.fromEntries(Object.keys(Config.properties).map((name) => [name, 'x']))),
    [],
  );
  t.strictSame(
    findMisspelledVariables({ SECRET_FILE: '/run/secrets/secret', REDIS_URL_FILE: '/run/secrets/redis' }),
    [],
  );
  t.strictSame(findMisspelledVariables({ PUBLIC_URl: '' }), []);
});

t.test('variables that Kubernetes adds for services have no effect and are not reported', async (t) => {
  // Services with these names: gatehouse, redis, email-smtp, email-smpt, rate-limiter, public, http, database, auth-google
  const link = (name: string, port: number, protocol = 'TCP') => ({
    [`${name}_SERVICE_HOST`]: '10.0.0.1',
    [`${name}_SERVICE_PORT`]: String(port),
    [`${name}_SERVICE_PORT_HTTP_ADMIN`]: String(port),
    [`${name}_PORT`]: `${protocol.toLowerCase()}://10.0.0.1:${port}`,
    [`${name}_PORT_${port}_${protocol}`]: `${protocol.toLowerCase()}://10.0.0.1:${port}`,
    [`${name}_PORT_${port}_${protocol}_PROTO`]: protocol.toLowerCase(),
    [`${name}_PORT_${port}_${protocol}_PORT`]: String(port),
    [`${name}_PORT_${port}_${protocol}_ADDR`]: '10.0.0.1',
  });
  const env = {
    PORT: 'tcp://10.0.0.1:8055',
    ...link('GATEHOUSE', 8055),
    ...link('REDIS', 6379),
    ...link('EMAIL_SMTP', 25),
    ...link('EMAIL_SMPT', 25),
    ...link('EMAIL_SMTP', 53, 'UDP'),
    ...link('DATABASE', 5432),
    ...link('AUTH_GOOGLE', 443, 'SCTP'),
    EMAIL_SMTP_PORT: 'tcp://[fd00::1]:25',
  };
  t.strictSame(misspelledVariables(env), []);
  const config = loadConfig({ SECRET: 'a secret for tests, long enough to be taken', ...env });
  t.match(config, { PORT: 8055, EMAIL_SMTP_PORT: 587, EMAIL_SMTP_HOST: 'localhost' });
  t.equal(loadConfig({ SECRET: config.SECRET, ...env, EMAIL_SMTP_PORT: '2525' }).EMAIL_SMTP_PORT, 2525);
  t.throws(() => loadConfig({ SECRET: config.SECRET, PORT: 'http://10.0.0.1:8055' }), /PORT: expected/);
  t.match(misspelledVariables({ EMAIL_SMPT_PORT: '25' }), [{ intended: 'EMAIL_SMTP_PORT' }]);
});

t.test('variables of typical environments are not reported', async (t) => {
  const names = `
    HOSTNAME HOME PATH PWD OLDPWD SHELL SHLVL USER LOGNAME TERM TERM_PROGRAM LANG LC_ALL LC_CTYPE TZ TMPDIR EDITOR PAGER
    DISPLAY COLORTERM MAIL _ IFS UID EUID PS1 HOSTTYPE OSTYPE MACHTYPE LINES COLUMNS XDG_RUNTIME_DIR XDG_DATA_DIRS
    XDG_CONFIG_HOME XDG_SESSION_ID SSH_CLIENT SSH_CONNECTION SSH_AUTH_SOCK SUDO_USER SUDO_UID DBUS_SESSION_BUS_ADDRESS
    HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy ALL_PROXY CI DEBUG VERSION
    NODE_ENV NODE_OPTIONS NODE_VERSION NODE_PATH NODE_EXTRA_CA_CERTS NODE_NO_WARNINGS YARN_VERSION UV_THREADPOOL_SIZE
    npm_config_cache npm_config_registry npm_lifecycle_event npm_package_name npm_package_version INIT_CWD
    POSTGRES_USER POSTGRES_PASSWORD POSTGRES_DB POSTGRES_HOST POSTGRES_PORT POSTGRES_URL POSTGRES_HOST_AUTH_METHOD
    PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE PGSSLMODE PGDATA DATABASE_NAME DATABASE_HOST DATABASE_PORT DATABASE_USER
    REDIS_HOST REDIS_PORT REDIS_PASSWORD REDIS_PORT_6379_TCP REDIS_SERVICE_HOST REDIS_SERVICE_PORT REDIS_TLS_URL
    KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_PORT_443_TCP_ADDR GATEHOUSE_PORT GATEHOUSE_SERVICE_HOST
    SMTP_HOST SMTP_PORT SMTP_USER SMTP_PASSWORD SMTP_FROM AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
    DYNO HEROKU_APP_NAME FLY_REGION FLY_APP_NAME RENDER_SERVICE_ID RAILWAY_PUBLIC_DOMAIN RAILWAY_STATIC_URL
    INVOCATION_ID JOURNAL_STREAM NOTIFY_SOCKET SYSTEMD_EXEC_PID STATE_DIRECTORY CREDENTIALS_DIRECTORY MAINPID
    OTEL_METRICS_EXPORTER OTEL_LOGS_EXPORTER OTEL_PROPAGATORS OTEL_LOG_LEVEL OTEL_EXPORTER_OTLP_METRICS_ENDPOINT
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT OTEL_EXPORTER_OTLP_TIMEOUT OTEL_EXPORTER_OTLP_TRACES_HEADERS
    OTEL_EXPORTER_OTLP_LOGS_PROTOCOL OTEL_EXPORTER_OTLP_METRICS_PROTOCOL OTEL_EXPORTER_OTLP_COMPRESSION
    OTEL_EXPORTER_OTLP_CERTIFICATE OTEL_BSP_SCHEDULE_DELAY TEST_ENGINE TAP_TIMEOUT CHROMIUM JWT_SECRET APP_SECRET APP_URL
    BASE_URL API_URL PUBLIC_KEY LOG_FORMAT LOG_FILE SECRETS DATA HOSTS PORTS POST TOKEN TOKENS
  `
    .trim()
    .split(/\s+/);
  t.ok(names.length > 120);
  t.strictSame(findMisspelledVariables(Object.fromEntries(names.map((name) => [name, 'x']))), []);
  t.strictSame(
    findMisspelledVariables({ AUTH_PROVIDERS: 'google', AUTH0_DOMAIN: 'x', AUTH_TOKEN: 'x', AUTH_URL: 'x' }),
    [],
  );
});
