// @suite embedded-only: hardly depends on the engine

import t from 'tap';
import { ConfigError, loadConfig } from '../../../plugins/platform/config.js';

const SECRET = 'a secret for tests, long enough to be taken';
const client = { CLIENT_ID: 'gatehouse', CLIENT_SECRET: 'hunter2' };
const openid = { ...client, DRIVER: 'openid', ISSUER_URL: 'https://id.example.com' };
const oauth2 = {
  ...client,
  DRIVER: 'oauth2',
  AUTHORIZE_URL: 'https://a.example/authorize',
  ACCESS_URL: 'https://a.example/token',
  PROFILE_URL: 'https://a.example/me',
};

const named = (prefix: string, variables: Record<string, string>) =>
  Object.fromEntries(Object.entries(variables).map(([name, value]) => [`AUTH_${prefix}_${name}`, value]));

const load = (keys: string, variables: Record<string, string>) =>
  loadConfig({ SECRET, AUTH_PROVIDERS: keys, ...variables }).PROVIDERS;

function faultsOf(keys: string, variables: Record<string, string>): readonly string[] {
  try {
    load(keys, variables);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

t.test('each provider has its own variables', async (t) => {
  const [work, forum, ...others] = load('work-1, Forum', { ...named('WORK_1', openid), ...named('FORUM', oauth2) });
  t.same(others, []);
  t.match(work, { key: 'work-1', DRIVER: 'openid', SCOPE: 'openid profile email', IDENTIFIER_KEY: 'sub' });
  t.match(work, { ALLOW_PUBLIC_REGISTRATION: false, REQUIRE_VERIFIED_EMAIL: false, SYNC_USER_INFO: false });
  t.match(work, { FIRST_NAME_KEY: 'given_name', GROUP_CLAIM_NAME: 'groups', ROLE_MAPPING: [], PARAMS: [] });
  t.match(forum, { key: 'Forum', DRIVER: 'oauth2', IDENTIFIER_KEY: 'id', FIRST_NAME_KEY: 'first_name' });
  t.ok(Object.isFrozen(work));
});

t.test('a provider whose name starts with another provider’s name has separate variables', async (t) => {
  const variables = { ...named('WORK', openid), ...named('WORK_EU', { ...openid, LABEL: 'Europe' }) };
  t.match(load('work,work-eu', variables), [{ key: 'work' }, { key: 'work-eu', LABEL: 'Europe' }]);
  t.match(faultsOf('work', variables), [/^AUTH_WORK_EU_\w+: providers have no such variable/]);
});

t.test('four well-known providers need only a client id and secret', async (t) => {
  const variables = Object.fromEntries(
    ['GOOGLE', 'GITHUB', 'MICROSOFT', 'GITLAB'].flatMap((name) => Object.entries(named(name, client))),
  );
  t.match(load('google,github,microsoft,gitlab', variables), [
    { DRIVER: 'openid', LABEL: 'Google', ISSUER_URL: 'https://accounts.google.com', IDENTIFIER_KEY: 'sub' },
    { DRIVER: 'oauth2', LABEL: 'GitHub', EMAILS_URL: 'https://api.github.com/user/emails', IDENTIFIER_KEY: 'id' },
    { DRIVER: 'openid', LABEL: 'Microsoft', ISSUER_URL: 'https://login.microsoftonline.com/common/v2.0' },
    { DRIVER: 'openid', LABEL: 'GitLab', ISSUER_URL: 'https://gitlab.com' },
  ]);
  t.match(
    load('gitlab', named('GITLAB', { ...client, ISSUER_URL: 'https://git.example.com', LABEL: 'Ours' })),
    [{ ISSUER_URL: 'https://git.example.com', LABEL: 'Ours', DRIVER: 'openid' }],
    'configured values take precedence',
  );
});

t.test('structured values are decoded', async (t) => {
  const role = '0d3b1a52-6c4e-4f0e-9c55-0c5d1b6f0a11';
  const [provider] = load(
    'work',
    named('WORK', {
      ...openid,
      ROLE_MAPPING: `{ "admins": "${role}", "4711":"${role}", "a\\"b" : "${role}" }`,
      PARAMS: '{"prompt":"select_account"}',
      ALLOW_PUBLIC_REGISTRATION: 'true',
      REDIRECT_ALLOW_LIST: 'https://a.example/x, https://b.example',
      DEFAULT_ROLE_ID: role,
      MODE: 'cookie',
    }),
  );
  t.match(provider, {
    ROLE_MAPPING: [
      ['admins', role],
      ['4711', role],
      ['a"b', role],
    ],
    PARAMS: [['prompt', 'select_account']],
    ALLOW_PUBLIC_REGISTRATION: true,
    REDIRECT_ALLOW_LIST: ['https://a.example/x', 'https://b.example'],
    DEFAULT_ROLE_ID: role,
    MODE: 'cookie',
  });
});

t.test('an invalid value is reported with its variable', async (t) => {
  for (const [variable, values] of Object.entries({
    DRIVER: ['saml', 'OpenID'],
    MODE: ['jwt'],
    ISSUER_URL: ['id.example.com', 'ftp://id.example.com', 'https://id.example.com#x'],
    ALLOW_PUBLIC_REGISTRATION: ['yes'],
    REQUIRE_VERIFIED_EMAIL: ['1x'],
    SYNC_USER_INFO: ['no'],
    DEFAULT_ROLE_ID: ['admins'],
    ROLE_MAPPING: ['admins', '[]', '{"a":1}', '{"a":"admins"}', 'null'],
    PARAMS: ['prompt=x', '{"state":"x"}', '{"redirect_uri":"x"}', '{"nonce":"x"}', '{"a":{}}'],
    REDIRECT_ALLOW_LIST: ['/here'],
  })) {
    for (const value of values) {
      const faults = faultsOf('work', named('WORK', { ...openid, [variable]: value }));
      t.equal(faults.length, 1, `${variable}=${value}`);
      t.match(faults[0], new RegExp(`^AUTH_WORK_${variable}: expected .+, got `));
    }
  }
});

t.test('missing and unknown variables are reported', async (t) => {
  t.strictSame(
    faultsOf('work', {}).map((fault) => fault.split(':', 1)[0]),
    ['AUTH_WORK_DRIVER', 'AUTH_WORK_CLIENT_ID', 'AUTH_WORK_CLIENT_SECRET'],
  );
  t.match(faultsOf('work', named('WORK', { ...client, DRIVER: 'openid' })), [/^AUTH_WORK_ISSUER_URL: must be set/]);
  t.match(faultsOf('work', named('WORK', { ...client, DRIVER: 'oauth2' })), [
    /^AUTH_WORK_AUTHORIZE_URL: must be set/,
    /^AUTH_WORK_ACCESS_URL: must be set/,
    /^AUTH_WORK_PROFILE_URL: must be set/,
  ]);
  t.match(faultsOf('work', named('WORK', { ...openid, REQUIRE_VERIFED_EMAIL: 'true' })), [
    /^AUTH_WORK_REQUIRE_VERIFED_EMAIL: providers have no such variable/,
  ]);
  t.notMatch(faultsOf('work', named('WORK', { ...openid, MODE: 'x' })).join(), /hunter2/, 'no secret is repeated');
});
