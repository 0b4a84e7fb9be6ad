import fc from 'fast-check';
import { committedDocument } from '../openapi/document.js';
import { type Draw, drawHostile } from './draw.js';
import {
  challenge,
  deviceGrant,
  exchangeGrant,
  type FuzzClient,
  type Issued,
  type IssuedKind,
  issuedKinds,
  keep,
  keepRedirect,
  keepTokens,
  type Pair,
  type ProtocolRequest,
  type ProtocolWorld,
  redirectUris,
  signedOutUri,
  verifier,
} from './protocol-world.js';
import { createRequestDraw } from './requests.js';
import type { WireAnswer } from './wire.js';

/** A request, and what to do with its response. */
export interface Step {
  request: ProtocolRequest;
  learn?(answer: WireAnswer): void;
}

const oneOf = <T>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const pickFrom = <T>(draw: Draw, values: readonly T[]): T => draw(oneOf<T>, ...values);
const chanceOf = (draw: Draw, percent: number) => draw(fc.integer, { min: 1, max: 100 }) <= percent;

const formType = 'application/x-www-form-urlencoded';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
const basic = ({ id, secret }: FuzzClient) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` });
const pairs = (values: Record<string, string>): Pair[] => Object.entries(values);

const get = (path: string, query: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  ({ method: 'GET', path, query: pairs(query), headers }) satisfies ProtocolRequest;
const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
  ({
    method: 'POST',
    path,
    query: [],
    form: pairs(form),
    headers: { 'content-type': formType, ...headers },
  }) satisfies ProtocolRequest;
const postJson = (path: string, body: object, headers: Record<string, string> = {}) =>
  ({
    method: 'POST',
    path,
    query: [],
    headers: { 'content-type': 'application/json', ...headers },
    body: Buffer.from(JSON.stringify(body)),
  }) satisfies ProtocolRequest;

/** The operations of the JSON API about clients, resources, and grants. */
const drawApiRequest = createRequestDraw(managementDocument());

function managementDocument() {
  const { paths, ...others } = committedDocument();
  const isManagement = (path: string) => /^\/(clients|resources)\b|\/grants\b/.test(path);
  return { ...others, paths: Object.fromEntries(Object.entries(paths).filter(([path]) => isManagement(path))) };
}

/** Draws a valid request. Codes and tokens that it needs are requested first, with `send`. */
export async function drawStep(draw: Draw, world: ProtocolWorld, send: (step: Step) => Promise<void>): Promise<Step> {
  const { clients, sessions, issued, callers } = world;
  const { web, shop, app, worker } = clients;
  const pick = <T>(values: readonly T[]) => pickFrom(draw, values);
  const chance = (percent: number) => chanceOf(draw, percent);
  const session = () => ({ cookie: pick(sessions) });
  const signingIn = () => pick([web, shop, app]);

  /** How a client authenticates: in the header, in the form, or only with its ID. */
  const authenticated = (client: FuzzClient) => {
    const { id, secret } = client;
    if (secret === '') return { form: { client_id: id }, headers: {} };
    return chance(60)
      ? { form: {}, headers: basic(client) }
      : { form: { client_id: id, client_secret: secret }, headers: {} };
  };
  const authenticatedPost = (path: string, client: FuzzClient, form: Record<string, string>) => {
    const by = authenticated(client);
    return post(path, { ...form, ...by.form }, by.headers);
  };
  const authorization = (client: FuzzClient): Record<string, string> => ({
    response_type: 'code',
    redirect_uri: chance(80) ? client.redirectUri : pick(redirectUris),
    scope: client.scope,
    state: 'a-state',
    nonce: 'a-nonce',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...(chance(30) ? { resource: client.resource } : {}),
    ...(chance(10) ? { prompt: pick(['consent', 'none', 'login', 'create']) } : {}),
    ...(chance(10) ? { response_mode: pick(['query', 'fragment', 'form_post']) } : {}),
  });
  const authorize = (client: FuzzClient): Step => ({
    request: get('/oauth/authorize', { client_id: client.id, ...authorization(client) }, session()),
    learn: (answer) => keepRedirect(world, client, answer),
  });
  const push = (client: FuzzClient): Step => ({
    request: authenticatedPost('/oauth/par', client, authorization(client)),
    learn: ({ status, body }) => {
      if (status === 201) keep(world, 'requestUri', JSON.parse(body).request_uri, client);
    },
  });
  const askDevice = (client: FuzzClient): Step => ({
    request: authenticatedPost('/oauth/device', client, { scope: client.scope }),
    learn: ({ status, body }) => {
      if (status !== 200) return;
      const { device_code, user_code } = JSON.parse(body);
      keep(world, 'deviceCode', device_code, client);
      keep(world, 'userCode', user_code, client);
    },
  });
  const token = (client: FuzzClient, form: Record<string, string>): Step => ({
    request: authenticatedPost('/oauth/token', client, form),
    learn: (answer) => keepTokens(world, client, answer),
  });
  const withCode = ({ value, client }: Issued) =>
    token(client, {
      grant_type: 'authorization_code',
      code: value,
      redirect_uri: client.redirectUri,
      code_verifier: verifier,
    });
  const decide = ({ value, client }: Issued): Step => {
    const [id, cookies] = value.split(' ', 2);
    const more = value.slice(`${id} `.length) || cookies;
    const headers = { cookie: `${pick(sessions)}; ${more}` };
    const resume: Step = {
      request: get(`/oauth/authorize/${id}`, {}, headers),
      learn: (answer) => keepRedirect(world, client, answer),
    };
    return pick<Step>([
      { request: get(`/account/authorize/${id}`, {}, headers) },
      { request: postJson(`/account/authorize/${id}`, { allow: chance(80) }, { ...headers, origin: world.url }) },
      resume,
      resume,
    ]);
  };
  const enterUserCode = ({ value }: Issued): Step => ({
    request: postJson(
      '/account/device',
      { user_code: value, ...(chance(60) ? { allow: chance(80) } : {}) },
      { ...session(), origin: world.url },
    ),
  });

  /** The latest of a kind, requested first if there is none. */
  const latest = async (kind: IssuedKind, request: () => Step | Promise<Step>): Promise<Issued> => {
    if (issued[kind].length === 0) await send(await request());
    return issued[kind].at(-1) ?? { value: 'none', client: web };
  };
  const takeCode = async () => {
    const code = await latest('code', () => authorize(pick([web, app])));
    if (chance(80)) issued.code.pop();
    return code;
  };
  const takeRefreshToken = async () => {
    const refreshToken = await latest('refreshToken', async () => withCode(await takeCode()));
    if (chance(70)) issued.refreshToken.pop();
    return refreshToken;
  };
  const anyToken = async () => {
    const kind = pick(['accessToken', 'jwt', 'refreshToken'] as const);
    if (kind === 'jwt') return latest(kind, () => token(worker, { grant_type: 'client_credentials' }));
    return latest(kind, async () => withCode(await takeCode()));
  };

  const kinds = {
    authorize: [14, () => authorize(signingIn())],
    authorizePushed: [
      5,
      async () => {
        const { value, client } = await latest('requestUri', () => push(signingIn()));
        if (chance(80)) issued.requestUri.pop();
        const request = get('/oauth/authorize', { client_id: client.id, request_uri: value }, session());
        return { request, learn: (answer: WireAnswer) => keepRedirect(world, client, answer) };
      },
    ],
    authorizeByForm: [
      2,
      () => {
        const client = signingIn();
        return { request: post('/oauth/authorize', { client_id: client.id, ...authorization(client) }) };
      },
    ],
    decide: [8, async () => decide(await latest('interaction', () => authorize(shop)))],
    push: [6, () => push(signingIn())],
    code: [14, async () => withCode(await takeCode())],
    refresh: [
      12,
      async () => {
        const { value, client } = await takeRefreshToken();
        return token(client, {
          grant_type: 'refresh_token',
          refresh_token: value,
          ...(chance(20) ? { scope: 'openid' } : {}),
          ...(chance(20) ? { resource: client.resource } : {}),
        });
      },
    ],
    clientCredentials: [
      5,
      () => {
        const client = pick([web, worker]);
        return token(client, { grant_type: 'client_credentials', resource: client.resource });
      },
    ],
    exchange: [
      6,
      async () =>
        token(web, {
          grant_type: exchangeGrant,
          subject_token: (await latest('accessToken', async () => withCode(await takeCode()))).value,
          subject_token_type: accessTokenType,
          ...(chance(50) ? { resource: web.resource } : {}),
        }),
    ],
    device: [4, () => askDevice(signingIn())],
    enterUserCode: [4, async () => enterUserCode(await latest('userCode', () => askDevice(signingIn())))],
    poll: [
      5,
      async () => {
        const { value, client } = await latest('deviceCode', () => askDevice(signingIn()));
        world.clock.advance(6_000);
        return token(client, { grant_type: deviceGrant, device_code: value });
      },
    ],
    introspect: [
      10,
      async () => {
        const { value, client } = await anyToken();
        return { request: authenticatedPost('/oauth/introspect', chance(70) ? client : web, { token: value }) };
      },
    ],
    revoke: [
      4,
      async () => {
        const { value, client } = await anyToken();
        return { request: authenticatedPost('/oauth/revoke', client, { token: value }) };
      },
    ],
    userInfo: [
      10,
      async () => {
        const { value } = await latest('accessToken', async () => withCode(await takeCode()));
        const headers = { authorization: `Bearer ${value}` };
        return {
          request: pick([
            get('/oauth/userinfo', {}, headers),
            post('/oauth/userinfo', {}, headers),
            post('/oauth/userinfo', { access_token: value }),
          ]),
        };
      },
    ],
    metadata: [
      3,
      () => ({
        request: get(
          pick(['/oauth/jwks', '/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']),
        ),
      }),
    ],
    endSession: [
      4,
      async () => {
        const { value } = await latest('idToken', async () => withCode(await takeCode()));
        const parameters = { id_token_hint: value, post_logout_redirect_uri: signedOutUri, state: 'a-state' };
        return {
          request: chance(50)
            ? get('/oauth/end-session', parameters, chance(30) ? session() : {})
            : post('/oauth/end-session', parameters, chance(30) ? session() : {}),
        };
      },
    ],
    preflight: [
      2,
      () => ({
        request: {
          ...get(pick(endpoints), {}, { origin: 'https://app.example.com', 'access-control-request-method': 'POST' }),
          method: 'OPTIONS',
        },
      }),
    ],
    management: [
      8,
      () => {
        const known = { ids: world.spareIds, emails: ['user@example.com'], texts: [signedOutUri, 'orders:read'] };
        const drawn = drawApiRequest(draw, known, pick(callers));
        // An administrator could delete all clients that the other requests use.
        const affectsMany =
          ['PATCH', 'DELETE'].includes(drawn.method) && /^\/(clients|resources)(\?|$)/.test(drawn.url);
        const [path = '', query] = drawn.url.split('?', 2);
        const request: ProtocolRequest = {
          method: drawn.method,
          path,
          query: query === undefined ? [] : [['', query, true]],
          headers: affectsMany ? { 'content-type': drawn.headers['content-type'] ?? '' } : drawn.headers,
        };
        return { request: drawn.payload === undefined ? request : { ...request, body: Buffer.from(drawn.payload) } };
      },
    ],
    unknownPath: [1, () => ({ request: get(pick(['/oauth/', '/oauth/x', '/oauth/token/x', '/.well-known/x'])) })],
  } satisfies Record<string, [number, () => Step | Promise<Step>]>;
  const names = Object.entries(kinds).flatMap(([name, [weight]]) => Array.from({ length: weight }, () => name));
  const [, make] = kinds[pick(names) as keyof typeof kinds] as [number, () => Step | Promise<Step>];
  return make();
}

const endpoints = [
  '/oauth/token',
  '/oauth/userinfo',
  '/oauth/introspect',
  '/oauth/revoke',
  '/oauth/par',
  '/oauth/device',
  '/oauth/jwks',
  '/oauth/authorize',
  '/oauth/end-session',
  '/.well-known/openid-configuration',
  '/account/device',
];

const unsigned = (claims: object) =>
  `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`;

/** Values that parameters of the protocol should never have. */
const texts = [
  '',
  ' ',
  '\0',
  'openid\0email',
  'openid '.repeat(3_000),
  'openid openid',
  ' openid  email ',
  'openid\temail\n',
  'a.b.c',
  '..',
  '...',
  unsigned({}),
  unsigned({ iss: 'http://127.0.0.1:8055', aud: 'x', sub: null }),
  'eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCJ9.e30.AAAA',
  'eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.a.b.c.d',
  `${'a'.repeat(5_000)}.${'b'.repeat(5_000)}.c`,
  '{"id_token":{"sub":{"value":null},"acr":{"essential":true,"values":[1]}},"userinfo":[]}',
  '{"userinfo":{"__proto__":{"a":1},"email":{"value":1}}}',
  '[]',
  'null',
  '-1',
  '1e400',
  'NaN',
  '0x10',
  '99999999999999999999',
  'urn:ietf:params:oauth:request_uri:',
  'urn:ietf:params:oauth:request_uri:\0',
  'https://localhost/client',
  'https://localhost/client?a=b#c',
  'HTTPS://LOCALHOST/',
  'https://localhost:99999/',
  'https://user:password@localhost/x',
  'https://[::1/',
  'http://127.0.0.1:0/callback',
  'http://127.0.0.1:65536/callback',
  'https://evil.example/callback',
  'https://app.example.com/callback/../x',
  'https://app.example.com\\@evil.example/callback',
  'javascript:alert(1)',
  'data:text/html,x',
  '//evil.example',
  '../../users',
  'plain',
  'none login consent',
  'web_message',
  'form_post.jwt',
  'code id_token token',
  'password',
  'urn:ietf:params:oauth:grant-type:jwt-bearer',
  'refresh_token authorization_code',
  'de-DE fr \ud800 x'.repeat(50),
  'ﬀ'.repeat(2_000),
  'a'.repeat(60_000),
  '<script>alert(1)</script>',
  '"\'\\`$(id)',
  'é',
  '\u2028\u202e',
];

const names = [
  'client_id',
  'client_secret',
  'client_assertion',
  'client_assertion_type',
  'response_type',
  'response_mode',
  'redirect_uri',
  'scope',
  'state',
  'nonce',
  'code',
  'code_verifier',
  'code_challenge',
  'code_challenge_method',
  'grant_type',
  'refresh_token',
  'device_code',
  'user_code',
  'resource',
  'audience',
  'subject_token',
  'subject_token_type',
  'actor_token',
  'requested_token_type',
  'token',
  'token_type_hint',
  'access_token',
  'id_token_hint',
  'logout_hint',
  'post_logout_redirect_uri',
  'prompt',
  'display',
  'max_age',
  'login_hint',
  'ui_locales',
  'claims_locales',
  'claims',
  'acr_values',
  'request',
  'request_uri',
  'registration',
  'dpop_jkt',
  'authorization_details',
  'web_message_uri',
  'username',
  'password',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'scope[]',
  'scope[a]',
  'resource[0]',
  '',
  'x'.repeat(5_000),
] as const;

/** Values of headers, of which HTTP allows every byte except control characters. */
const headerValues = [
  '',
  'Bearer',
  'Bearer ',
  'Bearer \t',
  'bearer x',
  'Bearer a b',
  `Bearer ${'a'.repeat(8_000)}`,
  'Bearer \xff\xfe',
  'Basic',
  'Basic ',
  'Basic Og==',
  'Basic YQ==',
  'Basic YTo=',
  'Basic OmI=',
  'Basic %%%',
  'Basic \xff',
  `Basic ${btoa('\0:\0')}`,
  `Basic ${btoa('%zz:%')}`,
  `Basic ${btoa('\xff\xfe:\xfd')}`,
  `Basic ${btoa('a:b:c')}`,
  `Basic ${btoa(`${'a'.repeat(3_000)}:${'b'.repeat(3_000)}`)}`,
  'Basic YTpi, Bearer x',
  'DPoP x',
  `DPoP ${unsigned({})}`,
  'Digest username="a", response="b"',
  'Negotiate',
  'null',
  'https://evil.example',
  'https://app.example.com',
  'https://app.example.com, https://evil.example',
  'file://',
  'a\xe9\xff',
  'a'.repeat(9_000),
  '"; drop table users; --',
  '*/*',
  'text/html;q=9, application/json;q=\xff',
  'gzip, deflate, br',
  '127.0.0.1',
  'for="[::1]";proto=https;host=evil.example',
  '-1',
  '999999999999',
];
const headerNames = [
  'authorization',
  'authorization',
  'dpop',
  'cookie',
  'origin',
  'referer',
  'accept',
  'accept-language',
  'accept-encoding',
  'content-encoding',
  'content-language',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'forwarded',
  'x-http-method-override',
  'x-request-id',
  'traceparent',
  'user-agent',
  'if-none-match',
  'if-modified-since',
  'range',
  'sec-fetch-site',
  'sec-fetch-mode',
  'access-control-request-method',
  'access-control-request-headers',
  'prefer',
  'upgrade-insecure-requests',
];

const contentTypes = [
  '',
  'application/json',
  'application/x-www-form-urlencoded; charset=utf-16',
  'application/x-www-form-urlencoded;charset=\xff',
  'application/x-www-form-urlencoded; charset="utf-8"; a=b',
  'APPLICATION/X-WWW-FORM-URLENCODED',
  'application/x-www-form-urlencoded, application/json',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'text/plain',
  'application/jwt',
  'application/octet-stream',
  '/',
  'a/b/c',
  'x',
];

const rawTexts = ['%', '%zz', '%00', '%ff%fe', '%c0%ae', '%u0061', '+', '%ED%A0%80', '&', '=', '&&=&', ';', '\xe9\xff'];

/** A proof of possession with valid parts, but an unusable key or signature (RFC 9449). */
const proofs = [
  { jwk: {} },
  { jwk: { kty: 'EC', crv: 'P-256', x: 'a', y: 'b' } },
  { jwk: { kty: 'oct', k: 'a' } },
  {},
].map((header) =>
  [
    Buffer.from(JSON.stringify({ typ: 'dpop+jwt', alg: 'ES256', ...header })).toString('base64url'),
    Buffer.from(JSON.stringify({ htm: 'POST', htu: 'x', iat: 1, jti: 'a' })).toString('base64url'),
    'AAAA',
  ].join('.'),
);

/** Changes one thing about a request. */
export function mutate(draw: Draw, world: ProtocolWorld, { request, ...others }: Step): Step {
  const pick = <T>(values: readonly T[]) => pickFrom(draw, values);
  const chance = (percent: number) => chanceOf(draw, percent);
  const { clients, issued, url, sessions } = world;
  const all = issuedKinds.flatMap((kind) => issued[kind].map(({ value }) => value));
  const place = request.form && request.form.length > 0 ? 'form' : 'query';
  const list: readonly Pair[] = request[place] ?? [];
  const withList = (changed: readonly Pair[]): ProtocolRequest => ({ ...request, [place]: changed });
  const at = list.length === 0 ? -1 : draw(fc.integer, { min: 0, max: list.length - 1 });
  const replaced = (...instead: Pair[]) => withList([...list.slice(0, at), ...instead, ...list.slice(at + 1)]);
  const [name = pick(names), value = ''] = list[at] ?? [];
  const hostileText = (): string => {
    if (chance(75)) return pick(texts);
    const drawn = drawHostile(draw);
    return typeof drawn === 'string' ? drawn : JSON.stringify(drawn);
  };
  const otherValue = (): string =>
    pick([...all, ...sessions, ...Object.values(clients).flatMap(({ id, secret, scope }) => [id, secret, scope]), url]);
  const withHeaders = (headers: Record<string, string>): ProtocolRequest => ({
    ...request,
    headers: { ...request.headers, ...headers },
  });
  const bodyOf = () => request.body ?? Buffer.from(encodePairs(request.form ?? []));

  const mutations: [number, () => ProtocolRequest][] = [
    [10, () => replaced([name, hostileText()])],
    [8, () => replaced([name, otherValue()])],
    [5, () => replaced([name, value], [name, value])],
    [5, () => replaced([name, value], [name, chance(50) ? hostileText() : otherValue()])],
    [5, () => replaced()],
    [3, () => replaced([pick([`${name}[]`, `${name}[a]`, name.toUpperCase(), ` ${name}`, `${name}\0`, '']), value])],
    [4, () => replaced([name, pick(rawTexts), true])],
    [3, () => replaced([name, `${value}${pick(['\0', ' ', '\n', '%', 'é', value])}`])],
    [2, () => replaced([name, value.slice(0, draw(fc.integer, { min: 0, max: value.length }))])],
    [2, () => replaced([name, value.toUpperCase()])],
    [6, () => withList([...list, [pick(names), hostileText()]])],
    [4, () => withList([...list, [pick(names), otherValue()]])],
    [1, () => withList(Array.from({ length: 2_000 }, (_, index): Pair => [index % 2 ? name : `p${index}`, 'x']))],
    [
      4,
      () => withHeaders(chance(50) ? basic(pick(Object.values(clients))) : { authorization: `Bearer ${otherValue()}` }),
    ],
    [8, () => withHeaders({ [pick(headerNames)]: pick(headerValues) })],
    [2, () => withHeaders({ dpop: pick(proofs), ...(chance(50) ? { authorization: `DPoP ${otherValue()}` } : {}) })],
    [3, () => withHeaders({ cookie: `${request.headers.cookie ?? ''}; gatehouse_authorization=${pick(rawTexts)}` })],
    [
      2,
      () =>
        withHeaders({ cookie: [...sessions, 'gatehouse_session_token=%', '=;=;;'].slice(draw(fc.nat, 2)).join('; ') }),
    ],
    [3, () => withHeaders({ 'content-type': pick(contentTypes) })],
    [1, () => ({ ...request, headers: {} })],
    [2, () => ({ ...request, method: pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'SEARCH']) })],
    [
      2,
      () => ({ ...request, path: `${request.path}${pick(['/', '//', '%00', ';x', '%2f', '/x', '.', '%zz', '\xff'])}` }),
    ],
    [
      1,
      () => ({
        ...request,
        path: pick([...endpoints, '/oauth/authorize/x', '/oauth/authorize/%00', '/oauth/authorize/%zz']),
      }),
    ],
    [1, () => ({ ...request, path: request.path.replace(/[\w-]{20,}/, () => encodeURIComponent(otherValue())) })],
    [2, () => ({ ...request, query: request.form ?? [], form: request.query })],
    [2, () => ({ ...request, body: bodyOf().subarray(0, draw(fc.integer, { min: 0, max: bodyOf().length })) })],
    [1, () => ({ ...request, body: Buffer.from(bodyOf().toString(), 'utf16le') })],
    [
      1,
      () => ({
        ...request,
        body: Buffer.alloc(draw(fc.integer, { min: 1, max: 70_000 }), pick(['\0', '&', '=', '%', '[', '\xff'])),
      }),
    ],
    [
      1,
      () => ({ ...request, body: Buffer.from(pick(['{}', '[', 'null', '--x\r\n\r\n', '\ufeff', '{"client_id":{}}'])) }),
    ],
  ];
  const weighted = mutations.flatMap(([weight], index) => Array.from({ length: weight }, () => index));
  const [, change] = mutations[pick(weighted)] as (typeof mutations)[number];
  return { ...others, request: change() };
}

const encode = (text: string) => encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, '\ufffd'));

export const encodePairs = (list: readonly Pair[]): string =>
  list
    .map(([name, value, isEncoded]) =>
      isEncoded && name === '' ? value : `${encode(name)}=${isEncoded ? value : encode(value)}`,
    )
    .join('&');

/** The request as it is sent. A URL or a header contains no byte with which it would not be a request of HTTP. */
export function bytesOf({ method, path, query, form, headers, body }: ProtocolRequest): Buffer {
  const content = body ?? (form ? Buffer.from(encodePairs(form), 'latin1') : Buffer.alloc(0));
  const search = query.length > 0 ? `?${encodePairs(query)}` : '';
  // Node refuses more than 16 KB of headers.
  const url = `${path}${search}`.replaceAll(/[^!-~]/g, '').slice(0, 8_000);
  const lines = Object.entries({ host: '127.0.0.1:8055', ...headers, 'content-length': String(content.length) }).map(
    ([name, value]) => `${name}: ${value.replaceAll(/(?!\t)\p{Cc}/gu, '').slice(0, 3_000)}\r\n`,
  );
  if (content.length === 0 && method === 'GET') lines.pop();
  return Buffer.concat([Buffer.from(`${method} ${url} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'), content]);
}
