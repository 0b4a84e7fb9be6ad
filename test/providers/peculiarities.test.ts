// @suite not-everyday: tries many cases

import { eq } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { roles, users } from '../../db/schema.js';
import { loggerOptions } from '../../plugins/monitoring/logging.js';
import { ConfigError, loadConfig } from '../../plugins/platform/config.js';
import { setCookies } from '../helpers/http/cookies.js';
import { refused } from '../helpers/http/refusals.js';
import { type HostileIssuer, type Lies, sign, startHostileIssuers } from '../helpers/providers/hostile-provider.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { digestOfAccounts, userBehind } from '../helpers/providers/provider-records.js';
import { refusedLogin } from '../helpers/providers/refused-logins.js';
import {
  begin,
  completeLogin,
  createVisitor,
  followRedirect,
  readForm,
  submitForm,
} from '../helpers/providers/visitor.js';
import { type Answer, json, status } from '../helpers/servers/web-server.js';
import { startTestApp } from '../helpers/service/app.js';

/** What real providers do differently, each against a provider that does the same. */

const publicUrl = 'https://gatehouse.example.com';
const [editor, reader] = ['7a3b0c1e-8f51-4f2b-9f52-0a4a8a6d3c01', '7a3b0c1e-8f51-4f2b-9f52-0a4a8a6d3c02'];
const [contoso, stranger, consumers] = [
  '72f988bf-86f1-41af-91ab-2d7cd011db47',
  '0b6b2b0a-1f0b-4c52-9b44-1d5c0b9d7a10',
  '9188040d-6c67-4c5b-b112-36a304b66dad',
];
type Json = Record<string, unknown>;

/** The OpenID providers, with the settings that docs/providers.md shows for them. */
const settings = {
  apple: { RESPONSE_MODE: 'form_post', SCOPE: 'openid name email' },
  linkedin: { NONCE: 'optional', PKCE: 'none', TOKEN_AUTH_METHOD: 'client_secret_post' },
  hydra: { TOKEN_AUTH_METHOD: 'client_secret_post' },
  slack: {},
  keycloak: { GROUP_CLAIM_NAME: 'realm_access.roles' },
  zitadel: { GROUP_CLAIM_NAME: 'urn:zitadel:iam:org:project:roles' },
  auth0: { GROUP_CLAIM_NAME: 'https://example.com/roles' },
  okta: {},
  google: { ALLOWED_DOMAINS: 'Corp.example, münchen.example' },
  workspace: { PARAMS: '{"hd":"corp.example"}', ALLOWED_DOMAINS: 'corp.example' },
  directory: { ALLOWED_DOMAINS: 'corp.example' },
  entra: { ISSUER: `/${contoso}/v2.0` },
  domain: { ISSUER: '/contoso.onmicrosoft.com/v2.0' },
  consumers: { ISSUER: '/consumers/v2.0' },
  several: { ISSUER: '/common/v2.0' },
  work: { ISSUER: '/organizations/v2.0' },
  customers: { ISSUER: '/contoso.onmicrosoft.com/B2C_1_signin/v2.0' },
  query: { ISSUER: '/contoso.onmicrosoft.com/v2.0/.well-known/openid-configuration?p=b2c_1_signin' },
  astray: { ISSUER: '/contoso.onmicrosoft.com/v2.0' },
  pinned: { ISSUER: `/${contoso}/v2.0` },
} satisfies Record<string, Record<string, string>>;
type Key = keyof typeof settings;
const keys = Object.keys(settings) as Key[];

const issuers = await startHostileIssuers(t, keys);
const server = await startOauth2Server(t, { publicUrl, keys: ['x', 'github', 'facebook'] });
const mapping = JSON.stringify({ editors: editor });
const logged: Json[] = [];
const service = await startTestApp(
  t,
  {
    PUBLIC_URL: publicUrl,
    AUTH_PROVIDERS: [...keys, 'x', 'github', 'facebook'].join(','),
    ...Object.assign(
      {},
      ...keys.map((key) => {
        const { ISSUER: path, ...others } = settings[key] as Record<string, string>;
        const url = path === undefined ? {} : { ISSUER_URL: `${issuers[key].issuer}${path}` };
        return issuers[key].variables(key, { DEFAULT_ROLE_ID: reader, ROLE_MAPPING: mapping, ...url, ...others });
      }),
    ),
    ...server.variables('x', {
      ALLOW_PUBLIC_REGISTRATION: 'true',
      TOKEN_AUTH_METHOD: 'client_secret_basic',
      IDENTIFIER_KEY: 'data.id',
      EMAIL_KEY: 'data.confirmed_email',
      FIRST_NAME_KEY: 'data.name',
    }),
    ...server.variables('github', { ALLOW_PUBLIC_REGISTRATION: 'true', EMAILS_URL: `${server.origin}/user/emails` }),
    ...server.variables('facebook', { ALLOW_PUBLIC_REGISTRATION: 'true' }),
  },
  {
    logger: {
      ...(loggerOptions('info') as object),
      stream: { write: (line: string) => logged.push(JSON.parse(line)) },
    },
  },
);
const { app } = service;
await app.db.insert(roles).values([
  { id: editor, name: 'Editor' },
  { id: reader, name: 'Reader' },
]);

const newVisitor = () => createVisitor(service, publicUrl);
const login = (key: string) => completeLogin(newVisitor(), key, { family: 'oauth' }, followRedirect);
const signed = (change: Json) => (claims: Json) => sign({ ...claims, ...change });
const withLies = async <T>(issuer: HostileIssuer, lies: Lies, work: () => Promise<T>): Promise<T> => {
  issuer.lies = { ...issuer.lies, ...lies };
  return work().finally(() => {
    issuer.lies = {};
  });
};

/** A login that succeeds. @returns the user */
async function accepted(t: Test, key: Key, claims: Json, lies: Lies, what: string) {
  const { sub } = issuers[key].useNewUser(claims);
  const response = await withLies(issuers[key], lies, () => login(key));
  t.equal(response.statusCode, 200, `${key}, ${what}: ${response.body}`);
  return (await userBehind(app, key, sub))?.user;
}

/** A login that is refused. The log contains the provider, the ID of the request, and the cause. */
async function refusedWith(
  t: Test,
  key: Key,
  claims: Json,
  lies: Lies,
  cause: RegExp,
  code: 'INVALID_CREDENTIALS' | 'INVALID_PROVIDER_CONFIG' = 'INVALID_CREDENTIALS',
) {
  const before = await digestOfAccounts(app);
  issuers[key].useNewUser(claims);
  logged.length = 0;
  const response = await withLies(issuers[key], lies, () => login(key));
  refusedLogin(t, response, code, `${key}, ${cause}`);
  causeIsLogged(t, key, String(response.headers['x-request-id']), cause);
  t.equal(await digestOfAccounts(app), before, `${key}, ${cause}: nothing was stored`);
}

function causeIsLogged(t: Test, provider: string, reqId: string, cause: RegExp) {
  const lines = logged.filter((line) => line.provider === provider && line.reqId === reqId);
  t.match(JSON.stringify(lines), cause, `${provider}: the cause is logged`);
}

t.test('the client secret is sent in the way that the provider accepts', async (t) => {
  const info = { clientAuth: 'client_secret_post' } as const;
  for (const key of ['hydra', 'linkedin'] as const) await accepted(t, key, {}, info, 'only in the body');
  await refusedWith(
    t,
    'okta',
    {},
    info,
    /token endpoint returned status 401 and the error invalid_client/,
    'INVALID_PROVIDER_CONFIG',
  );

  server.profile = { data: { id: '17', name: 'Ada', confirmed_email: 'ada@x.example' } };
  server.clientAuth = 'client_secret_basic';
  const response = await login('x');
  t.equal(response.statusCode, 200, response.body);
  t.match((await userBehind(app, 'x', '17'))?.user, { email: 'ada@x.example', firstName: 'Ada' });
  logged.length = 0;
  server.profile = { id: 18 };
  const wrong = await login('facebook');
  server.clientAuth = undefined;
  refusedLogin(t, wrong, 'INVALID_PROVIDER_CONFIG', 'a provider that accepts only Basic');
  causeIsLogged(t, 'facebook', String(wrong.headers['x-request-id']), /unauthorized_client/);
});

t.test('tokens are read as JSON or as a form, whatever their content type is', async (t) => {
  const as =
    (type: string, text: string): Answer =>
    (response) =>
      response.writeHead(200, { 'content-type': type }).end(text);
  for (const [index, [type, isForm]] of (
    [
      ['text/plain', false],
      ['text/html; charset=utf-8', false],
      ['application/x-www-form-urlencoded', false],
      ['application/json', true],
      ['text/plain', true],
      ['application/x-www-form-urlencoded; charset=utf-8', true],
    ] as const
  ).entries()) {
    server.profile = { id: 100 + index };
    server.tokenAnswer = (given) => as(type, isForm ? String(new URLSearchParams(given)) : JSON.stringify(given));
    t.equal((await login('facebook')).statusCode, 200, `${type}, ${isForm ? 'a form' : 'JSON'}`);
  }
  for (const text of ['<html>access_token=x</html>', 'token', '[]', '"access_token=x"', '', 'access_token=']) {
    server.tokenAnswer = () => as('text/plain', text);
    refusedLogin(t, await login('facebook'), 'SERVICE_UNAVAILABLE', text);
  }
  const errors: [answer: Answer, code: 'INVALID_CREDENTIALS' | 'INVALID_PROVIDER_CONFIG', cause: RegExp][] = [
    [
      json({ error: { message: 'The code has expired.', type: 'OAuthException', code: 100 } }, 400),
      'INVALID_CREDENTIALS',
      /OAuthException 100: The code has expired/,
    ],
    [
      json({ error: { message: 'Wrong secret.', type: 'OAuthException', code: 1 } }, 400),
      'INVALID_PROVIDER_CONFIG',
      /OAuthException 1: Wrong secret/,
    ],
    [json({ ok: false, error: 'bad_client_secret' }), 'INVALID_PROVIDER_CONFIG', /bad_client_secret/],
    [
      as('text/plain', 'error=bad_verification_code&error_description=Expired'),
      'INVALID_CREDENTIALS',
      /bad_verification_code: Expired/,
    ],
  ];
  for (const [answer, code, cause] of errors) {
    server.tokenAnswer = () => answer;
    logged.length = 0;
    const response = await login('facebook');
    refusedLogin(t, response, code, String(cause));
    causeIsLogged(t, 'facebook', String(response.headers['x-request-id']), cause);
  }
  server.tokenAnswer = undefined;
});

t.test('what a provider says about an error is logged without the secrets that it repeats', async (t) => {
  server.profile = { id: 200 };
  const said: string[] = [];
  server.answers = {
    '/token': (response) => {
      const { form } = server.asked.at(-1) ?? {};
      said.push(form?.get('code') ?? '', form?.get('code_verifier') ?? '', form?.get('client_secret') ?? '');
      const text = `${said.join(' ')} eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0. ${'x'.repeat(100_000)}\n\u0000AADSTS7000215`;
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: 'invalid_client', error_description: text }));
    },
  };
  logged.length = 0;
  refusedLogin(t, await login('facebook'), 'INVALID_PROVIDER_CONFIG', 'a talkative provider');
  server.answers = {};
  const log = JSON.stringify(logged);
  t.match(log, /invalid_client/);
  t.ok(log.length < 20_000, 'bounded');
  for (const secret of [...said, 'eyJzdWIi']) t.notOk(secret === '' || log.includes(secret), 'no secret');
});

t.test('PKCE can be turned off for a provider that rejects it', async (t) => {
  await accepted(t, 'linkedin', {}, { rejectsPkce: true }, 'a token request without a code verifier');
  const [query] = issuers.linkedin.asked.filter(({ url }) => url.pathname.endsWith('/authorize')).slice(-1);
  t.notMatch(query?.url.search, 'code_challenge');
  await refusedWith(t, 'okta', {}, { rejectsPkce: true }, /the error invalid_client/, 'INVALID_PROVIDER_CONFIG');

  const visitor = newVisitor();
  issuers.linkedin.useNewUser();
  const back = await followRedirect(await begin(visitor, 'linkedin', { family: 'oauth' }));
  const elsewhere = await newVisitor().visit(back);
  refusedLogin(t, elsewhere, 'INVALID_CREDENTIALS', 'the login is still bound to the browser');
});

t.test('an ID token without a nonce is accepted only with NONCE=optional', async (t) => {
  await accepted(t, 'linkedin', {}, { idToken: signed({ nonce: undefined }) }, 'no nonce');
  await accepted(t, 'linkedin', {}, {}, 'the right nonce');
  for (const nonce of ['another', '', null, 7]) {
    await refusedWith(t, 'linkedin', {}, { idToken: signed({ nonce }) }, /nonce does not match/);
  }
  await refusedWith(t, 'okta', {}, { idToken: signed({ nonce: undefined }) }, /contains no nonce.*NONCE/);
});

t.test('an address is verified if email_verified is true or "true"', async (t) => {
  for (const email_verified of [true, 'true']) {
    const user = await accepted(t, 'slack', { email_verified }, {}, JSON.stringify(email_verified));
    t.match(user?.email, /@example\.com$/);
  }
  for (const email_verified of ['True', 'TRUE', ' true', '1', 1, 'false', false, null, [true], { true: true }]) {
    const user = await accepted(t, 'slack', { email_verified }, {}, JSON.stringify(email_verified));
    t.equal(user?.email, null);
  }
});

t.test('the profile is requested only if the ID token lacks something, and may be signed', async (t) => {
  const complete = {
    email: 'complete@example.com',
    email_verified: true,
    given_name: 'Ida',
    family_name: 'Token',
    groups: ['editors'],
  };
  const { asked } = issuers.okta;
  const profileRequests = () => asked.filter(({ url }) => url.pathname.endsWith('/userinfo')).length;
  const before = profileRequests();
  const user = await accepted(t, 'okta', {}, { idToken: signed(complete) }, 'a complete ID token');
  t.match(user, { email: complete.email, firstName: 'Ida', lastName: 'Token', role: editor });
  t.equal(profileRequests(), before, 'no request');
  await accepted(t, 'okta', {}, { idToken: signed({ ...complete, email: undefined }) }, 'without the address');
  t.equal(profileRequests(), before + 1, 'one request');
  const nested = { ...complete, email: 'nested@example.com', groups: undefined, realm_access: { roles: ['editors'] } };
  const failing: Answer = (response) => response.writeHead(500).end();
  const lies = { idToken: signed(nested), answers: { userinfo: failing } };
  t.equal((await accepted(t, 'keycloak', {}, lies, 'with groups in an object'))?.role, editor);

  const jwt =
    (change: Json, key?: Parameters<typeof sign>[2], header?: Parameters<typeof sign>[1]): Answer =>
    async (response) => {
      const claims = {
        ...issuers.okta.claims,
        iss: issuers.okta.issuer,
        aud: 'client-of-a-hostile-provider',
        ...change,
      };
      response.writeHead(200, { 'content-type': 'application/jwt' }).end(await sign(claims, header, key));
    };
  const named = await accepted(t, 'okta', {}, { answers: { userinfo: jwt({ given_name: 'Signed' }) } }, 'signed');
  t.equal(named?.firstName, 'Signed');
  const { generateKeyPairSync } = await import('node:crypto');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const forged: [answer: Answer, cause: RegExp][] = [
    [jwt({ aud: 'another-client' }), /aud/],
    [jwt({ aud: undefined }), /aud/],
    [jwt({ iss: 'https://evil.example' }), /not issued by/],
    [jwt({ iss: undefined }), /iss/],
    [jwt({ exp: 1 }), /exp/],
    [jwt({ sub: 'somebody-else' }), /another user/],
    [jwt({}, privateKey), /signature/],
    [jwt({}, Buffer.from('its secret'), { alg: 'HS256', kid: 'signing' }), /alg/],
  ];
  for (const [userinfo, cause] of forged) await refusedWith(t, 'okta', {}, { answers: { userinfo } }, cause);
});

t.test('groups can be nested, the keys of an object, or only announced', async (t) => {
  const roleOf = async (key: Key, claims: Json) => (await accepted(t, key, claims, {}, JSON.stringify(claims)))?.role;
  const zitadel = 'urn:zitadel:iam:org:project:roles';
  t.equal(await roleOf('zitadel', { [zitadel]: { editors: { '17': 'corp.example' } } }), editor);
  t.equal(await roleOf('zitadel', { [zitadel]: { readers: { editors: 'editors' } } }), reader, 'only the first level');
  t.equal(await roleOf('zitadel', { [zitadel]: {} }), reader);
  t.equal(await roleOf('keycloak', { realm_access: { roles: ['x', 'editors'] } }), editor);
  t.equal(await roleOf('auth0', { 'https://example.com/roles': ['editors'] }), editor);
  t.equal(await roleOf('okta', { groups: 'editors' }), editor);

  const { sub } = issuers.entra.useNewUser();
  const truth = issuers.entra.claims;
  const lies = {
    discovery: (document: Json) => ({ ...document, issuer: `${issuers.entra.issuer}/${contoso}/v2.0` }),
    idToken: signed({ iss: `${issuers.entra.issuer}/${contoso}/v2.0` }),
    callback: (parameters: URLSearchParams) => {
      parameters.delete('iss');
      return parameters;
    },
  };
  const roleAfter = async (claims: Json) => {
    issuers.entra.claims = { ...truth, ...claims };
    const response = await withLies(issuers.entra, { ...lies, discovery: noIss(lies.discovery) }, () => login('entra'));
    t.equal(response.statusCode, 200, response.body);
    const { user } = (await userBehind(app, 'entra', sub)) ?? {};
    return { role: user?.role, reqId: String(response.headers['x-request-id']) };
  };
  const announcements = [
    { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://graph.example/x' } } },
    { hasgroups: true },
    { hasgroups: 'true' },
  ];
  t.equal((await roleAfter(announcements[0] ?? {})).role, reader, 'a first login gets the default role');
  t.equal((await roleAfter({ groups: ['editors'] })).role, editor);
  for (const announced of announcements) {
    logged.length = 0;
    const { role, reqId } = await roleAfter(announced);
    t.equal(role, editor, `the role is kept: ${JSON.stringify(announced)}`);
    causeIsLogged(t, 'entra', reqId, /role is kept/);
  }
  for (const unrelated of [
    { _claim_names: { address: 'src1' } },
    { _claim_names: ['groups'] },
    { hasgroups: false },
    {},
  ]) {
    await roleAfter({ groups: ['editors'] });
    t.equal((await roleAfter(unrelated)).role, reader, `no groups: ${JSON.stringify(unrelated)}`);
  }
});

t.test('ALLOWED_DOMAINS admits only verified addresses of these domains', async (t) => {
  const verified = (email: string, more: Json = {}) => ({ email, email_verified: true, ...more });
  await accepted(t, 'google', verified('a@corp.example', { hd: 'corp.example' }), {}, 'a member');
  await accepted(t, 'google', verified('b@CORP.example', { hd: 'Corp.Example' }), {}, 'in another case');
  await accepted(t, 'google', verified('c@xn--mnchen-3ya.example', { hd: 'münchen.example' }), {}, 'a Unicode domain');
  await accepted(t, 'directory', verified('d@corp.example'), {}, 'a provider without hd');
  const organization = /organization of the account/;
  for (const hd of [undefined, null, '', 'other.example', 'corp.example.evil.example', ['corp.example'], true]) {
    await refusedWith(t, 'google', verified('e@corp.example', { hd }), {}, organization);
    await refusedWith(t, 'workspace', verified('e@corp.example', { hd }), {}, organization);
    if (hd !== undefined) await refusedWith(t, 'directory', verified('e@corp.example', { hd }), {}, organization);
  }
  const domain = /domain of the address/;
  for (const email of ['f@evil.example', 'f@sub.corp.example', 'f@evilcorp.example', 'f@corp.example.evil.example']) {
    await refusedWith(t, 'google', verified(email, { hd: 'corp.example' }), {}, domain);
    await refusedWith(t, 'directory', verified(email), {}, domain);
  }
  const unverified = /requires a verified address/;
  for (const email_verified of [false, undefined, 'yes', 1]) {
    await refusedWith(t, 'directory', { email: 'g@corp.example', email_verified }, {}, unverified);
  }
  for (const email of [undefined, null, 'not an address', 'a@corp.example,b@corp.example']) {
    await refusedWith(t, 'directory', { email, email_verified: true }, {}, unverified);
  }

  const member = await accepted(t, 'directory', verified('h@corp.example'), {}, 'a member');
  issuers.directory.claims = { ...issuers.directory.claims, sub: member?.externalIdentifier, email: 'h@evil.example' };
  refusedLogin(t, await login('directory'), 'INVALID_CREDENTIALS', 'a later login with another address');
});

const noIss =
  (change: (document: Json) => Json) =>
  (document: Json): Json => ({ ...change(document), authorization_response_iss_parameter_supported: undefined });

/** How Microsoft behaves: the discovery document names a tenant, and responses do not name the issuer. */
function microsoft(key: Key, named: string, token: Json): Lies {
  const url = issuers[key].issuer;
  return {
    discovery: noIss((document) => ({ ...document, issuer: `${url}${named}` })),
    idToken: (claims) => sign({ ...claims, ...token, iss: String(token.iss ?? '').replace('…', url) }),
    callback: (parameters) => {
      parameters.delete('iss');
      return parameters;
    },
  };
}

t.test('Microsoft: the issuer can name the tenant by its ID, and only its tenant can log in', async (t) => {
  const wrong = /not issued by/;
  for (const [key, named, tenant] of [
    ['entra', `/${contoso}/v2.0`, contoso],
    ['domain', `/${contoso}/v2.0`, contoso],
    ['consumers', `/${consumers}/v2.0`, consumers],
    ['customers', `/${contoso}/v2.0/`, contoso],
    ['query', `/${contoso}/v2.0/`, contoso],
    ['pinned', '/{tenantid}/v2.0', contoso],
  ] as const) {
    const slash = named.endsWith('/') ? '/' : '';
    const of = (tid: string, iss = `…/${tid}/v2.0${slash}`) => microsoft(key, named, { iss, tid });
    await accepted(t, key, {}, of(tenant), 'its own tenant');
    await refusedWith(t, key, {}, of(stranger), wrong);
    await refusedWith(t, key, {}, of(tenant, `…/${stranger}/v2.0${slash}`), wrong);
    await refusedWith(t, key, {}, of(tenant, `https://evil.example/${tenant}/v2.0${slash}`), wrong);
    await refusedWith(t, key, {}, of(tenant, '…/{tenantid}/v2.0'), wrong);
  }
});

t.test('Microsoft: with several tenants, the issuer must be the tenant of the user', async (t) => {
  const wrong = /not issued by/;
  for (const key of ['several', 'work'] as const) {
    const of = (token: Json) => microsoft(key, '/{tenantid}/v2.0', token);
    for (const tid of [contoso, stranger]) await accepted(t, key, {}, of({ tid, iss: `…/${tid}/v2.0` }), 'a tenant');
    for (const token of [
      { tid: contoso, iss: `…/${stranger}/v2.0` },
      { iss: `…/${contoso}/v2.0` },
      { tid: '.*', iss: `…/${contoso}/v2.0` },
      { tid: `${contoso}/v2.0/..`, iss: `…/${contoso}/v2.0/../v2.0` },
      { tid: [contoso], iss: `…/${contoso}/v2.0` },
      { tid: '{tenantid}', iss: '…/{tenantid}/v2.0' },
      { tid: contoso, iss: `https://evil.example/${contoso}/v2.0` },
    ]) {
      await refusedWith(t, key, {}, of(token), wrong);
    }
  }
  const personal = { tid: consumers, iss: `…/${consumers}/v2.0` };
  await accepted(t, 'several', {}, microsoft('several', '/{tenantid}/v2.0', personal), 'a personal account');
  await refusedWith(t, 'work', {}, microsoft('work', '/{tenantid}/v2.0', personal), wrong);
});

t.test(
  'Microsoft: an address is verified only by xms_edov, because a tenant can give its users any address',
  async (t) => {
    const of = (more: Json) =>
      microsoft('several', '/{tenantid}/v2.0', { tid: stranger, iss: `…/${stranger}/v2.0`, ...more });
    const claims = (email: string) => ({ email, email_verified: undefined });
    for (const [index, xms_edov] of [true, 1, 'true', '1'].entries()) {
      const email = `edov-${index}@corp.example`;
      const user = await accepted(t, 'several', claims(email), of({ xms_edov, email }), JSON.stringify(xms_edov));
      t.equal(user?.email, email);
    }
    for (const xms_edov of [undefined, false, 0, '0', 'false', 'no', null, [true]]) {
      const email = 'victim@corp.example';
      const user = await accepted(
        t,
        'several',
        claims(email),
        of({ xms_edov, email }),
        JSON.stringify(xms_edov) ?? 'none',
      );
      t.equal(user?.email, null);
    }
  },
);

t.test('a discovery document of another issuer is refused, and the log names it', async (t) => {
  const { issuer } = issuers.astray;
  for (const named of [
    '/{tenantid}/v2.0',
    '/fabrikam.onmicrosoft.com/v2.0',
    `/${contoso}/v1.0`,
    `/${contoso}`,
    `/x/${contoso}/v2.0`,
    '',
  ]) {
    issuers.astray.lies = { discovery: (document) => ({ ...document, issuer: `${issuer}${named}` }) };
    logged.length = 0;
    const response = await service.get('/auth/login/astray');
    refused(t, response, 'INVALID_PROVIDER_CONFIG', named);
    causeIsLogged(t, 'astray', String(response.headers['x-request-id']), /does not match ISSUER_URL/);
  }
  issuers.astray.lies = { discovery: (document) => ({ ...document, issuer: `https://evil.example/${contoso}/v2.0` }) };
  refused(t, await service.get('/auth/login/astray'), 'INVALID_PROVIDER_CONFIG', 'another host');
  issuers.astray.lies = {};
});

t.test('a GitHub App without access to the addresses signs users in without an address', async (t) => {
  let id = 300;
  for (const [what, answer] of Object.entries({
    'no permission': json({ message: 'Resource not accessible by integration' }, 403),
    'no scope': status(404),
  })) {
    server.profile = { id: ++id, name: 'Mona', email: 'public@example.com' };
    server.answers = { '/user/emails': answer };
    logged.length = 0;
    const response = await login('github');
    t.equal(response.statusCode, 200, `${what}: ${response.body}`);
    t.equal((await userBehind(app, 'github', String(id)))?.user.email, null, what);
    causeIsLogged(t, 'github', String(response.headers['x-request-id']), /user\/emails/);
  }
  const limited =
    (headers: Record<string, string>): Answer =>
    (response) =>
      response.writeHead(403, headers).end('{}');
  for (const answer of [limited({ 'retry-after': '60' }), limited({ 'x-ratelimit-remaining': '0' }), status(500)]) {
    server.profile = { id: ++id };
    server.answers = { '/user/emails': answer };
    refusedLogin(t, await login('github'), 'SERVICE_UNAVAILABLE', 'a limit of GitHub is not a refusal');
  }
  server.answers = {};
});

t.test('Apple returns the browser with a form, and sends the name only in it', async (t) => {
  const apple = issuers.apple;
  const submit = async (
    change: (fields: Record<string, string>) => object = () => ({}),
    headers: Record<string, string> = {},
    form: 'login' | 'oauth' = 'login',
  ) => {
    const visitor = { ...newVisitor(), request: service.request };
    const url = await begin(visitor, 'apple', { family: form });
    t.equal(new URL(url).searchParams.get('response_mode'), 'form_post');
    const { url: callback, fields } = await readForm(url);
    const sent = { ...fields, ...change(fields) } as Record<string, string>;
    return submitForm(visitor, { url: callback.replace('/auth/login/', `/auth/${form}/`), fields: sent }, headers);
  };
  const unnamed = { given_name: undefined, family_name: undefined, email_verified: 'true' };
  const user = (name: unknown, more: object = {}) => ({ user: JSON.stringify({ name, ...more }) });

  const start = await service.get('/auth/login/apple');
  const cookies = Object.entries(setCookies(start));
  t.equal(cookies.length, 2);
  for (const [name, { attributes }] of cookies) {
    t.match(name, /^__Host-gatehouse_provider_/);
    t.ok(
      attributes.includes('SameSite=None') && attributes.includes('Secure') && attributes.includes('HttpOnly'),
      name,
    );
  }
  const { sub, email } = apple.useNewUser(unnamed);
  const forged = { email: 'victim@example.com', sub: 'somebody-else' };
  const response = await submit(() => user({ firstName: 'Ada', lastName: 'Lovelace' }, forged));
  t.match([response.statusCode, response.headers.location], [302, '/'], response.body);
  t.ok(setCookies(response)['__Host-gatehouse_session_token']?.value, 'signed in');
  const found = async () => (await userBehind(app, 'apple', sub))?.user;
  t.match(await found(), { email, firstName: 'Ada', lastName: 'Lovelace' }, 'only the name comes from the form');
  t.equal((await submit(() => user({ firstName: 'Eve' }), {}, 'oauth')).statusCode, 200, 'on the other route');
  t.match(await found(), { firstName: 'Ada' }, 'a later login does not change the name');

  for (const given of [
    '',
    '{',
    'null',
    '[]',
    '{"name":7}',
    '{"name":{"firstName":{},"lastName":7}}',
    'x'.repeat(10_000),
  ]) {
    const { sub } = apple.useNewUser(unnamed);
    t.equal((await submit(() => ({ user: given }))).statusCode, 302, given.slice(0, 40));
    t.match((await userBehind(app, 'apple', sub))?.user, { firstName: null, lastName: null });
  }
  const asserted = apple.useNewUser({ given_name: 'Asserted', family_name: undefined });
  await submit(() => user({ firstName: 'Claimed', lastName: 'Claimed' }));
  t.match((await userBehind(app, 'apple', asserted.sub))?.user, { firstName: 'Asserted', lastName: null });

  apple.useNewUser(unnamed);
  const before = await digestOfAccounts(app);
  for (const [what, change] of Object.entries({
    'another state': () => ({ state: 'x' }),
    'no state': () => ({ state: '' }),
    'another code': () => ({ code: 'x' }),
    'another issuer': () => ({ iss: 'https://evil.example' }),
    'an error': () => ({ error: 'user_cancelled_authorize' }),
  })) {
    t.equal((await submit(change, {}, 'oauth')).statusCode, 401, what);
  }
  for (const [what, headers] of Object.entries({
    JSON: { 'content-type': 'application/json' },
    'plain text': { 'content-type': 'text/plain' },
    'no cookies': { cookie: '' },
  })) {
    t.ok([401, 403].includes((await submit(undefined, headers, 'oauth')).statusCode), what);
  }
  t.ok(
    [400, 413].includes((await submit(() => ({ user: 'x'.repeat(2_000_000) }))).statusCode),
    'a form of two megabytes',
  );
  t.equal(await digestOfAccounts(app), before, 'nothing was stored');

  for (const path of ['/auth/login/okta/callback', '/auth/oauth/github/callback', '/auth/login/unknown/callback']) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const other = await service.request({ method: 'POST', url: path, payload: 'code=x&state=y', headers });
    refused(t, other, 'ROUTE_NOT_FOUND', `${path} accepts no form`);
  }
  const session = Object.entries(setCookies(response)).map(([name, { value }]) => `${name}=${value}`);
  const foreign = { cookie: session.join('; '), origin: 'https://provider.example', 'content-type': 'text/plain' };
  refused(
    t,
    await service.request({ method: 'POST', url: '/auth/logout', headers: foreign }),
    'FORBIDDEN',
    'any other route',
  );
});

t.test('impossible settings are reported at startup', async (t) => {
  const faultsOf = (variables: Record<string, string>) => {
    const base = { DATABASE_URL: 'postgres://x', SECRET: 'x'.repeat(32), AUTH_PROVIDERS: 'own', PUBLIC_URL: publicUrl };
    try {
      loadConfig({ ...base, ...issuers.okta.variables('own', { ISSUER_URL: 'https://own.example' }), ...variables });
      return '';
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return error.message;
    }
  };
  t.equal(faultsOf({}), '');
  t.equal(faultsOf({ AUTH_OWN_RESPONSE_MODE: 'form_post' }), '');
  const formPost = { AUTH_OWN_RESPONSE_MODE: 'form_post' };
  for (const host of ['localhost:8055', '127.0.0.1', '[::1]:8055']) {
    t.equal(faultsOf({ ...formPost, PUBLIC_URL: `http://${host}` }), '', 'browsers accept secure cookies there');
  }
  for (const host of ['gatehouse.example.com', 'localhost.evil.example', '127.0.0.1.evil.example']) {
    t.match(faultsOf({ ...formPost, PUBLIC_URL: `http://${host}` }), /RESPONSE_MODE.*https/);
  }
  t.match(faultsOf({ AUTH_OWN_RESPONSE_MODE: 'fragment' }), /AUTH_OWN_RESPONSE_MODE: expected one of query, form_post/);
  t.match(faultsOf({ AUTH_OWN_TOKEN_AUTH_METHOD: 'none' }), /AUTH_OWN_TOKEN_AUTH_METHOD: expected one of/);
  t.match(faultsOf({ AUTH_OWN_NONCE: 'false' }), /AUTH_OWN_NONCE: expected one of required, optional/);
  t.match(faultsOf({ AUTH_OWN_PKCE: 'plain' }), /AUTH_OWN_PKCE: expected one of S256, none/);
  for (const domains of [
    ',',
    '@corp.example',
    '*.corp.example',
    'https://corp.example',
    'corp example',
    'a@b.example',
  ]) {
    t.match(faultsOf({ AUTH_OWN_ALLOWED_DOMAINS: domains }), /AUTH_OWN_ALLOWED_DOMAINS: expected/, domains);
  }
  t.match(faultsOf({ AUTH_OWN_PARAMS: '{"response_mode":"fragment"}' }), /AUTH_OWN_PARAMS/);
});

t.test('an address that is refused is logged', async (t) => {
  for (const email of ['not an address', ['ada@example.com'], { address: 'ada@example.com' }, 5, true]) {
    const { sub } = issuers.slack.useNewUser({ email, email_verified: true });
    logged.length = 0;
    const response = await login('slack');
    t.equal(response.statusCode, 200);
    causeIsLogged(t, 'slack', String(response.headers['x-request-id']), /the email address is refused/);
    const [user] = await app.db.select().from(users).where(eq(users.externalIdentifier, sub));
    t.equal(user?.email, null);
  }
});
