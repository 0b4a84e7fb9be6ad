// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: tries hundreds of cases

import t, { type Test } from 'tap';
import { loggerOptions } from '../../plugins/monitoring/logging.js';
import { dumpDatabase } from '../helpers/database/dump.js';
import {
  forgeries,
  type HostileIssuer,
  type Lies,
  pointingAt,
  sign,
  startHostileIssuers,
  strangeKeys,
} from '../helpers/providers/hostile-provider.js';
import { digestOfAccounts, sessionsOf, userBehind } from '../helpers/providers/provider-records.js';
import { type LoginFault, refusedLogin, sentBack } from '../helpers/providers/refused-logins.js';
import { begin, completeLogin, createVisitor, followRedirect, startPath } from '../helpers/providers/visitor.js';
import { failures, json, jsonText, redirectTo, startWebServer } from '../helpers/servers/web-server.js';
import { startTestApp } from '../helpers/service/app.js';

const publicUrl = 'http://gatehouse.example.com';
const keys = ['hostile', 'verified', 'synced', 'other'] as const;
const failuresByName = Object.entries(failures);
/** Each failure needs its own issuer, because the service caches what it has fetched. */
const unreachable = failuresByName.flatMap((_, index) => [`discovery-${index}`, `keys-${index}`]);
/** Changes that must make a discovery document invalid. */
const discoveries: [what: string, change: (truth: Record<string, unknown>) => Record<string, unknown>][] = [
  ['another issuer', (truth) => ({ ...truth, issuer: 'http://127.0.0.1:9' })],
  ['no issuer', (truth) => ({ ...truth, issuer: undefined })],
  ['an issuer that is not a string', (truth) => ({ ...truth, issuer: [truth.issuer] })],
  ['no authorization endpoint', (truth) => ({ ...truth, authorization_endpoint: undefined })],
  ['a script as authorization endpoint', (truth) => ({ ...truth, authorization_endpoint: 'javascript:alert(1)//' })],
  ['an object as authorization endpoint', (truth) => ({ ...truth, authorization_endpoint: { href: 'x' } })],
];
const misleading = discoveries.map((_, index) => `misleading-${index}`);

const issuers = await startHostileIssuers(t, [...keys, ...unreachable, ...misleading]);
const issuerOf = (key: string): HostileIssuer => {
  const issuer = issuers[key];
  if (!issuer) throw new Error(`There is no issuer ${key}.`);
  return issuer;
};
const [hostile, other] = [issuerOf('hostile'), issuerOf('other')];
for (const [index, [, answer]] of failuresByName.entries()) {
  issuerOf(`discovery-${index}`).lies = { answers: { discovery: answer } };
  issuerOf(`keys-${index}`).lies = { answers: { keys: answer } };
}
for (const [index, [, discovery]] of discoveries.entries()) issuerOf(`misleading-${index}`).lies = { discovery };

const logged: string[] = [];
const stream = { write: (line: string) => logged.push(line) };
const variables = {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: Object.keys(issuers).join(','),
  ...Object.assign({}, ...Object.entries(issuers).map(([key, issuer]) => issuer.variables(key))),
  AUTH_VERIFIED_REQUIRE_VERIFIED_EMAIL: 'true',
  AUTH_SYNCED_SYNC_USER_INFO: 'true',
};
const logger = { ...(loggerOptions('trace') as object), stream };
const testApp = await startTestApp(t, variables, { logger });
/** Has a short provider timeout. Only for failing providers: on a busy machine, a working one can be slow too. */
const impatient = await startTestApp(t, { ...variables, AUTH_PROVIDER_TIMEOUT: '500ms' }, { logger });
const { app } = testApp;

const newVisitor = (service = testApp) => createVisitor(service, publicUrl);
const login = (key: string, redirect?: string, service = testApp) => {
  const start = { family: 'oauth' as const, ...(redirect === undefined ? {} : { redirect }) };
  return completeLogin(newVisitor(service), key, start, followRedirect);
};

/** The longest that the service may take to respond to a callback. */
const responseTimeoutMs = 8_000;

/** The first login of a user through an issuer that lies is rejected in time, and nothing is stored. */
async function refusedAndNothingStored(
  t: Test,
  key: string,
  lies: Lies,
  code: LoginFault,
  what: string,
  service = testApp,
): Promise<void> {
  const issuer = issuerOf(key);
  issuer.useNewUser();
  issuer.lies = lies;
  const before = await digestOfAccounts(service.app);
  const start = performance.now();
  refusedLogin(t, await login(key, undefined, service), code, what);
  t.ok(performance.now() - start < responseTimeoutMs, `${what}: in time`);
  t.equal(await digestOfAccounts(service.app), before, `${what}: nothing was stored`);
  issuer.lies = {};
}

/** An issuer that has failed works again. The service must detect this automatically. */
async function hasRecovered(t: Test, key: string, what: string): Promise<void> {
  issuerOf(key).lies = {};
  issuerOf(key).useNewUser();
  let body = '';
  for (let tries = 0; tries < 5; tries++) {
    const start = await impatient.get(startPath(key));
    const response = start.statusCode === 302 ? await login(key, undefined, impatient) : start;
    body = response.body;
    if (response.statusCode === 200) break;
  }
  t.match(body, '"access_token"', `${what}: recovers without a restart`);
}

const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;
const anHourAgo = () => Math.floor(Date.now() / 1000) - 3600;

t.test('an issuer that does not lie signs users in', async (t) => {
  for (const key of keys) {
    const { sub, email } = issuerOf(key).useNewUser();
    const response = await login(key);
    t.equal(response.statusCode, 200, `${key}: ${response.body}`);
    const found = await userBehind(app, key, sub);
    t.match(found?.user, { email, firstName: 'New', lastName: 'Comer' });
  }
});

t.test('after a key rotation, only the new key of the issuer is accepted', async (t) => {
  hostile.useNewUser();
  t.equal((await login('hostile')).statusCode, 200, 'with the old key');
  hostile.lies = { answers: { keys: strangeKeys() }, idToken: forgeries['a key of another kid'] ?? sign };
  t.equal((await login('hostile')).statusCode, 200, 'with the new key');
  const lies = { answers: { keys: strangeKeys() } };
  await refusedAndNothingStored(t, 'hostile', lies, 'INVALID_CREDENTIALS', 'with the old key, which was removed');
  hostile.lies = {};
  t.equal((await login('hostile')).statusCode, 200, 'after switching back');
});

t.test('an ID token with a missing or wrong claim is rejected (CVE-2026-31813)', async (t) => {
  const url = hostile.issuer;
  const lies: [what: string, change: Record<string, unknown>][] = [
    ['another issuer', { iss: other.issuer }],
    ['an issuer with a trailing slash', { iss: `${url}/` }],
    ['an issuer in capitals', { iss: url.toUpperCase() }],
    ['an issuer with the right prefix', { iss: `${url}.evil.example` }],
    ['no issuer', { iss: undefined }],
    ['a list of issuers', { iss: [url] }],
    ['another audience', { aud: 'somebody-else' }],
    ['another audience in a list', { aud: ['somebody-else'] }],
    ['an audience with the right prefix', { aud: 'client-of-a-hostile-provider-2' }],
    ['no audience', { aud: undefined }],
    ['an empty list of audiences', { aud: [] }],
    ['an empty audience', { aud: '' }],
    ['an audience that is not a string', { aud: { client: 'client-of-a-hostile-provider' } }],
    ['several audiences without an authorized party', { aud: ['client-of-a-hostile-provider', 'somebody-else'] }],
    ['another authorized party', { azp: 'somebody-else' }],
    ['several audiences and another authorized party', { aud: ['client-of-a-hostile-provider', 'x'], azp: 'x' }],
    ['an authorized party that is not a string', { azp: ['client-of-a-hostile-provider'] }],
    ['another nonce', { nonce: 'n-0S6_WzA2Mj' }],
    ['no nonce', { nonce: undefined }],
    ['an empty nonce', { nonce: '' }],
    ['a nonce of null', { nonce: null }],
    ['a nonce that is not a string', { nonce: true }],
    ['expired', { exp: anHourAgo() }],
    ['expired since 1970', { exp: 0 }],
    ['no expiry', { exp: undefined }],
    ['an expiry that is not a number', { exp: String(inAnHour()) }],
    ['an expiry of null', { exp: null }],
    ['issued an hour in the future', { iat: inAnHour(), exp: inAnHour() + 300 }],
    ['issued a thousand years in the future', { iat: 33_000_000_000, exp: 33_000_000_300 }],
    ['no time of issue', { iat: undefined }],
    ['a time of issue that is not a number', { iat: 'now' }],
    ['not valid for another hour', { nbf: inAnHour(), exp: inAnHour() + 300 }],
    ['a start of validity that is not a number', { nbf: 'now' }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a subject of null', { sub: null }],
    ['a subject that is a number', { sub: 7 }],
    ['a subject that is an object', { sub: { id: 'x' } }],
    ['a subject that is a list', { sub: ['x'] }],
  ];
  for (const [what, change] of lies) {
    const idToken = (claims: object) => sign({ ...claims, ...change });
    await refusedAndNothingStored(t, 'hostile', { idToken }, 'INVALID_CREDENTIALS', what);
  }
  for (const [what, change] of [
    ['our audience in a list', { aud: ['client-of-a-hostile-provider'] }],
    ['our client as the authorized party', { azp: 'client-of-a-hostile-provider' }],
    ['issued just now, and already valid', { nbf: anHourAgo(), iat: Math.floor(Date.now() / 1000) }],
    ['unknown claims', { crit: ['x'], unknown: { deep: [1] } }],
  ] as const) {
    hostile.useNewUser();
    hostile.lies = { idToken: (claims) => sign({ ...claims, ...change }) };
    t.equal((await login('hostile')).statusCode, 200, `${what}: accepted`);
  }
});

t.test('an ID token with an invalid signature is rejected', async (t) => {
  for (const [what, idToken] of Object.entries(forgeries)) {
    await refusedAndNothingStored(t, 'hostile', { idToken }, 'INVALID_CREDENTIALS', what);
  }
  const asked: string[] = [];
  const origin = await startWebServer(t, ({ url }) => {
    asked.push(url.pathname);
    return strangeKeys();
  });
  const idToken = pointingAt(`${origin}/keys`);
  await refusedAndNothingStored(t, 'hostile', { idToken }, 'INVALID_CREDENTIALS', 'a token with the URL of its key');
  t.strictSame(asked, [], 'the service does not request that URL');
  hostile.useNewUser();
  t.equal((await login('hostile')).statusCode, 200, 'the right key still works');
});

t.test('a missing ID token, or one that is not a string, is rejected', async (t) => {
  for (const id_token of [undefined, null, 7, {}, ['x'], true]) {
    const lies = { token: (truth: object) => ({ ...truth, id_token }) };
    await refusedAndNothingStored(t, 'hostile', lies, 'INVALID_CREDENTIALS', `id_token ${JSON.stringify(id_token)}`);
  }
});

t.test('an ID token issued for another login is rejected', async (t) => {
  const victim = newVisitor();
  const { sub } = hostile.useNewUser();
  let stolen = '';
  hostile.lies = {
    idToken: async (claims) => {
      stolen = await sign(claims);
      return stolen;
    },
  };
  t.equal((await completeLogin(victim, 'hostile', { family: 'oauth' }, followRedirect)).statusCode, 200);
  const { user } = (await userBehind(app, 'hostile', sub)) ?? {};
  await refusedAndNothingStored(t, 'hostile', { idToken: () => stolen }, 'INVALID_CREDENTIALS', 'it has another nonce');
  t.equal((await sessionsOf(app, user?.id ?? '')).length, 1, 'no new session for the victim');

  hostile.claims = { ...hostile.claims, sub };
  hostile.lies = { idToken: () => stolen };
  refusedLogin(t, await login('hostile'), 'INVALID_CREDENTIALS', 'even with the subject of the token');
  hostile.lies = {};
});

t.test('an ID token of another issuer that signs with the same key is rejected', async (t) => {
  const lies = { idToken: (claims: object) => sign({ ...claims, iss: hostile.issuer }) };
  await refusedAndNothingStored(t, 'other', lies, 'INVALID_CREDENTIALS', 'the token of another issuer');
});

t.test('a callback with missing, duplicate, or wrong parameters is rejected', async (t) => {
  const lies: [what: string, change: (truth: URLSearchParams) => void][] = [
    ['another issuer (RFC 9207)', (truth) => truth.set('iss', other.issuer)],
    ['an empty issuer', (truth) => truth.set('iss', '')],
    ['two issuers', (truth) => truth.append('iss', other.issuer)],
    ['no issuer, although discovery announces one', (truth) => truth.delete('iss')],
    ['no code', (truth) => truth.delete('code')],
    ['an empty code', (truth) => truth.set('code', '')],
    ['two codes', (truth) => truth.append('code', 'x')],
    ['an invalid code', (truth) => truth.set('code', 'x')],
    ['a code and an error', (truth) => truth.set('error', 'access_denied')],
    ['no state', (truth) => truth.delete('state')],
    ['two states', (truth) => truth.append('state', truth.get('state') ?? '')],
    ['a code with a NUL in it', (truth) => truth.set('code', 'a\0b')],
  ];
  for (const [what, change] of lies) {
    const callback = (truth: URLSearchParams) => {
      change(truth);
      return truth;
    };
    await refusedAndNothingStored(t, 'hostile', { callback }, 'INVALID_CREDENTIALS', what);
  }
});

t.test('a login fails if userinfo returns another subject or an error', async (t) => {
  for (const sub of ['somebody-else', undefined, null, '', 7, ['x'], {}]) {
    const lies = { userinfo: (truth: object) => ({ ...truth, sub }) };
    await refusedAndNothingStored(t, 'hostile', lies, 'INVALID_CREDENTIALS', `the subject ${JSON.stringify(sub)}`);
  }
  for (const [what, answer] of Object.entries(failures)) {
    const lies = { answers: { userinfo: answer } };
    await refusedAndNothingStored(t, 'hostile', lies, 'SERVICE_UNAVAILABLE', what, impatient);
  }
});

t.test('a login fails if the token endpoint returns an error or a redirect', async (t) => {
  for (const [what, answer] of Object.entries(failures)) {
    const lies = { answers: { token: answer } };
    await refusedAndNothingStored(t, 'hostile', lies, 'SERVICE_UNAVAILABLE', what, impatient);
  }
  for (const [status, error, code] of [
    [401, 'invalid_client', 'INVALID_PROVIDER_CONFIG'],
    [400, 'invalid_client', 'INVALID_PROVIDER_CONFIG'],
    [400, 'unauthorized_client', 'INVALID_PROVIDER_CONFIG'],
    [400, 'invalid_grant', 'INVALID_CREDENTIALS'],
  ] as const) {
    const lies = { answers: { token: json({ error }, status) } };
    await refusedAndNothingStored(t, 'hostile', lies, code, `${status} ${error}`);
    hostile.lies = lies;
    sentBack(t, await login('hostile', '/a?b=c'), '/a', code, `${error}, in the redirect`);
    hostile.lies = {};
  }
  const elsewhere = { answers: { token: redirectTo(`${other.issuer}/token`) } };
  other.asked.length = 0;
  await refusedAndNothingStored(t, 'hostile', elsewhere, 'SERVICE_UNAVAILABLE', 'a redirect');
  t.strictSame(other.asked, [], 'the service does not follow it');
});

t.test('a login fails while the keys of the issuer cannot be fetched', async (t) => {
  for (const [index, [what, answer]] of failuresByName.entries()) {
    const key = `keys-${index}`;
    await refusedAndNothingStored(t, key, { answers: { keys: answer } }, 'SERVICE_UNAVAILABLE', what, impatient);
    await hasRecovered(t, key, what);
  }
});

t.test('a login cannot start while discovery fails', async (t) => {
  for (const [index, [what]] of failuresByName.entries()) {
    const key = `discovery-${index}`;
    const start = performance.now();
    // Valid JSON that is not a discovery document indicates a wrong configuration, not an outage.
    const code = what.endsWith('instead of an object') ? 'INVALID_PROVIDER_CONFIG' : 'SERVICE_UNAVAILABLE';
    refusedLogin(t, await impatient.get(startPath(key)), code, what);
    t.ok(performance.now() - start < responseTimeoutMs, `${what}: in time`);
    await hasRecovered(t, key, what);
  }
});

t.test('a login cannot start with an invalid discovery document', async (t) => {
  for (const [index, [what]] of discoveries.entries()) {
    const response = await testApp.get(startPath(`misleading-${index}`));
    t.equal(response.statusCode, 503, `${what}: ${response.headers.location}`);
    t.equal(response.headers['set-cookie'], undefined, `${what}: no login was started`);
  }
});

t.test('an address is treated as verified only if email_verified is true (CVE-2026-55076)', async (t) => {
  for (const email_verified of ['TRUE', 1, null, [true], { true: true }, 'yes', false, undefined]) {
    const lies = { userinfo: (truth: object) => ({ ...truth, email_verified }) };
    await refusedAndNothingStored(t, 'verified', lies, 'INVALID_CREDENTIALS', JSON.stringify(email_verified) ?? 'none');
  }
});

t.test('unusual or invalid profile values are rejected or stored safely', async (t) => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const awkward: [what: string, member: string][] = [
    ['a NUL in a name', '"given_name":"A\\u0000da"'],
    ['a name that is only a NUL', '"given_name":"\\u0000"'],
    ['half a surrogate pair in a name', '"given_name":"A\\ud800da"'],
    ['a name of a thousand letters', `"given_name":"${'a'.repeat(1000)}"`],
    ['sixty characters outside the Basic Multilingual Plane', `"given_name":"${'🔑'.repeat(60)}"`],
    ['names that are not strings', '"given_name":{"x":1},"family_name":["x"]'],
    ['names that are numbers', '"given_name":1e400,"family_name":-0'],
    ['a NUL in an address', '"email":"a\\u0000@example.com"'],
    ['an invalid address', '"email":"not an address"'],
    ['an address with a line break', '"email":"a@example.com\\r\\nBcc: b@example.com"'],
    ['two addresses', '"email":"a@example.com,b@example.com"'],
    ['an address of a thousand letters', `"email":"${'a'.repeat(1000)}@example.com"`],
    ['an address that is an object', '"email":{"address":"a@example.com"}'],
    ['an address in a list', '"email":["a@example.com"]'],
    ['a NUL in an unknown claim', '"nickname":"\\u0000","\\u0000":{"\\u0000":["\\u0000"]}'],
    ['half a surrogate pair in an unknown claim', '"nickname":"\\udfff","\\ud800":1'],
    ['a deeply nested claim', `"nickname":${nested(100_000)}`],
    ['deeply nested groups', `"groups":${nested(100_000)}`],
    [
      'prototype pollution',
      '"__proto__":{"isAdmin":true,"role":"x","email":"p@example.com"},"constructor":{"prototype":{"x":1}}',
    ],
    ['the names of object methods', '"toString":"x","toJSON":"x","hasOwnProperty":1,"valueOf":null,"then":"x"'],
    ['numbers out of range', '"nickname":[1e999,-1e999,123456789012345678901234567890]'],
    ['a thousand members', Array.from({ length: 1000 }, (_, index) => `"member-${index}":${index}`).join()],
  ];
  for (const key of ['hostile', 'synced'] as const) {
    for (const [what, member] of awkward) {
      const issuer = issuerOf(key);
      const { sub } = issuer.useNewUser();
      const profile = (more: string) => jsonText(`{"sub":"${sub}",${more}}`);
      issuer.lies = { answers: { userinfo: profile('"given_name":"Ada","family_name":"L"') } };
      if (key === 'synced') t.equal((await login(key)).statusCode, 200);
      const before = await digestOfAccounts(app);
      issuer.lies = { answers: { userinfo: profile(member) } };
      const response = await login(key);
      issuer.lies = {};
      if (response.statusCode === 200) {
        const { user } = (await userBehind(app, key, sub)) ?? {};
        t.ok(user && (user.email === null || /^[^\s@,]{1,64}@example\.com$/.test(user.email)), `${key}: ${what}`);
        t.ok([...(user?.firstName ?? '')].length <= 50);
        t.equal(user?.role, null);
        t.not(user?.email, 'p@example.com');
      } else {
        // A rejection is fine too, but it must return an error of the contract and store nothing.
        t.ok([401, 503].includes(response.statusCode), `${key}: ${what}: ${response.statusCode} ${response.body}`);
        t.equal(await digestOfAccounts(app), before, `${key}: ${what}: nothing was stored`);
      }
    }
  }
  t.equal(({} as Record<string, unknown>).isAdmin, undefined, 'no prototype was changed');
  t.equal(({} as Record<string, unknown>).x, undefined);
});

t.test('identifiers that cannot be stored are rejected', async (t) => {
  for (const sub of ['x'.repeat(256), 'x'.repeat(300), 'a\0b', '\0', '\ud800', ' ']) {
    const issuer = issuerOf('hostile');
    const lies = {
      idToken: (claims: object) => sign({ ...claims, sub }),
      userinfo: (truth: object) => ({ ...truth, sub }),
    };
    await refusedAndNothingStored(t, 'hostile', lies, 'INVALID_CREDENTIALS', JSON.stringify(sub.slice(0, 20)));
    issuer.lies = {};
  }
  hostile.useNewUser({ sub: 'x'.repeat(255) });
  t.equal((await login('hostile')).statusCode, 200, '255 characters fit');
});

t.test('secrets in the profile are not stored', async (t) => {
  const canary = 'the-canary-in-the-profile';
  const { sub } = hostile.useNewUser({
    access_token: canary,
    refresh_token: canary,
    id_token: canary,
    client_secret: canary,
  });
  t.equal((await login('hostile')).statusCode, 200);
  const { user } = (await userBehind(app, 'hostile', sub)) ?? {};
  t.notOk(JSON.stringify(user ?? {}).includes(canary));
});

t.test('a profile that is too large for a row is stored without its largest members', async (t) => {
  const stored = async (more: Parameters<HostileIssuer['useNewUser']>[0]) => {
    const { sub } = hostile.useNewUser(more);
    t.equal((await login('hostile')).statusCode, 200);
    const data = (await userBehind(app, 'hostile', sub))?.user.authData ?? {};
    return { sub, data, bytes: Buffer.byteLength(JSON.stringify(data)) };
  };
  const max = 64 * 1024;
  // A member of this length fills the row. The identifiers in this test differ by a few characters in length.
  const room = max - (await stored({ nickname: 'x' })).bytes - ',"large":""'.length;
  for (const large of ['x'.repeat(room - 40), 'é'.repeat(room / 2 - 40)]) {
    const { data, bytes } = await stored({ nickname: 'x', large });
    t.match(data, { nickname: 'x', large });
    t.ok(bytes <= max);
  }
  for (const large of ['x'.repeat(room + 40), 'é'.repeat(room / 2 + 40), ['x'.repeat(100_000)]]) {
    const { sub, data, bytes } = await stored({ nickname: 'x', large, medium: 'x'.repeat(30_000) });
    t.match(data, { sub, nickname: 'x', medium: /^x+$/ });
    t.notOk('large' in data);
    t.ok(bytes <= max);
  }
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`member-${index}`, 'x'.repeat(20)]));
  const { bytes } = await stored(many);
  t.ok(bytes <= max && bytes > max - 100, 'as many small members as fit are stored');
});

t.test('no secret of a login is logged or stored', async (t) => {
  const visitor = newVisitor();
  hostile.useNewUser();
  const secrets: string[] = ['its secret'];
  hostile.lies = {
    token: (truth) => {
      secrets.push(String(truth.access_token), String(truth.id_token));
      return truth;
    },
  };
  const url = new URL(await begin(visitor, 'hostile', { family: 'oauth' }));
  const callback = new URL(await followRedirect(url.href));
  for (const name of ['state', 'nonce', 'code_challenge']) secrets.push(url.searchParams.get(name) ?? '');
  secrets.push(callback.searchParams.get('code') ?? '');
  const cookies = await visitor.cookies(callback.href);
  secrets.push(...cookies.split('; ').map((pair) => pair.slice(pair.indexOf('=') + 1)));
  const response = await visitor.visit(callback.href);
  t.equal(response.statusCode, 200);
  secrets.push(response.json().data.access_token, response.json().data.refresh_token);
  hostile.lies = { answers: { token: json({ error: 'invalid_grant', error_description: 'a-canary-in-words' }, 400) } };
  await login('hostile');
  hostile.lies = {};
  t.ok(logged.length > 100);
  t.ok(secrets.length > 8);
  const [log, dump] = [logged.join(''), await dumpDatabase(app)];
  for (const secret of secrets) {
    t.ok(secret.length >= 10, 'long enough to search for');
    t.notOk(log.includes(secret), `not logged: ${secret.slice(0, 20)}`);
    t.notOk(dump.includes(secret), `not stored: ${secret.slice(0, 20)}`);
  }
});

t.test('the log contains the cause of a failed login and the name of the provider', async (t) => {
  for (const [lies, words] of [
    [{ idToken: (claims: object) => sign({ ...claims, aud: 'x' }) }, /aud/],
    [{ answers: { token: json({ error: 'invalid_client' }, 401) } }, /invalid_client|401/],
    [{ answers: { userinfo: failures.silence } }, /time|abort/i],
  ] as const) {
    hostile.useNewUser();
    hostile.lies = lies;
    logged.length = 0;
    const response = await login('hostile', undefined, impatient);
    hostile.lies = {};
    const lines = logged.filter((line) => line.includes(String(response.headers['x-request-id'])));
    t.match(lines.join(''), words);
    t.match(lines.join(''), /hostile/, 'the name of the provider');
  }
});
