import t from 'tap';
import type { ErrorCode } from '../../schemas/errors.js';
import {
  confidentialClient,
  create,
  dataOf,
  hashOf,
  publicClient,
  refusedWith,
  resource,
  secretHashesOf,
} from '../helpers/applications/clients.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, patch, remove, startWithAdmin } from '../helpers/http/writing.js';
import { redirectCorpus } from '../helpers/providers/redirect-corpus.js';
import { createPolicy, policyWith } from '../helpers/users/rights.js';
import { createUserWithToken } from '../helpers/users/users.js';

const service = await startWithAdmin(t);
const { app, post, get, request } = service;

t.test('a new client has defaults, and every field that was sent', async (t) => {
  const { id, created_at: createdAt, ...made } = await create(service, '/clients', publicClient());
  t.match(id, /^[0-9a-f-]{36}$/);
  t.ok(Date.parse(createdAt));
  t.strictSame(made, {
    name: 'An app',
    logo_uri: null,
    type: 'public',
    redirect_uris: ['https://app.example.com/callback'],
    post_logout_redirect_uris: [],
    allowed_origins: [],
    grant_types: ['authorization_code', 'refresh_token'],
    scopes: null,
    resources: [],
    first_party: false,
    minimal_id_token: false,
    access_token_ttl: null,
    refresh_token_ttl: null,
    id_token_signed_response_alg: 'RS256',
    backchannel_logout_uri: null,
    pkce_required: true,
  });

  const { identifier } = await create(service, '/resources', resource());
  const everything = {
    id: '0d1f8a52-6f0f-4f6e-8f57-1f2f7e3f9a02',
    name: 'Everything',
    logo_uri: 'https://cdn.example.com/logo.svg?size=64',
    type: 'confidential',
    redirect_uris: ['https://app.example.com/callback?x=1', 'http://localhost:3000/cb', 'com.example.app:/callback'],
    post_logout_redirect_uris: ['https://app.example.com/'],
    allowed_origins: ['https://app.example.com', 'http://localhost:3000', 'capacitor://localhost'],
    grant_types: [
      'authorization_code',
      'client_credentials',
      'urn:ietf:params:oauth:grant-type:device_code',
      'urn:ietf:params:oauth:grant-type:token-exchange',
    ],
    scopes: ['openid', 'orders:read', '!'],
    resources: [identifier],
    first_party: true,
    minimal_id_token: true,
    access_token_ttl: '1m',
    refresh_token_ttl: '365d',
    id_token_signed_response_alg: 'EdDSA',
    backchannel_logout_uri: 'http://[::1]:3000/logout',
    pkce_required: false,
  };
  const { secret, created_at: _at, ...stored } = await create(service, '/clients', everything);
  t.strictSame(stored, everything);
  t.strictSame(await secretHashesOf(service, everything.id), [hashOf(secret)]);
});

t.test('clients can be listed, filtered, searched, counted, updated, and deleted like other items', async (t) => {
  const name = 'Inventory of the northern warehouse';
  const { id } = await create(service, '/clients', publicClient({ name }));
  const listed = await get(
    `/clients?filter[name][_eq]=${encodeURIComponent(name)}&fields=id,type&meta=filter_count`,
    asAdmin,
  );
  t.strictSame(listed.json(), { data: [{ id, type: 'public' }], meta: { filter_count: 1 } });
  t.strictSame(dataOf(await get('/clients?search=northern&fields=id', asAdmin)), [{ id }]);
  t.strictSame(dataOf(await get(`/clients?filter[id][_eq]=${id}&filter[scopes][_null]=true&fields=id`, asAdmin)), [
    { id },
  ]);
  const found = await request({
    method: 'SEARCH' as 'POST',
    url: '/clients',
    headers: asAdmin,
    payload: { query: { search: name } },
  });
  t.equal(dataOf(found).length, 1);
  const grouped = await get('/clients?aggregate[count]=*&groupBy=type&filter[first_party]=false', asAdmin);
  t.ok(dataOf(grouped).every(({ count }: { count: number }) => count > 0));
  t.equal(dataOf(await patch(service, `/clients/${id}?fields=name`, { name: 'Renamed' })).name, 'Renamed');
  const both = await patch(service, '/clients?fields=first_party', { keys: [id], data: { first_party: true } });
  t.strictSame(dataOf(both), [{ first_party: true }]);
  t.equal((await remove(service, `/clients/${id}`)).statusCode, 204);
  refused(t, await get(`/clients/${id}`, asAdmin), 'FORBIDDEN', 'deleted');
});

t.test('only administrators can use clients and resources, whatever the permissions', async (t) => {
  const { id } = await create(service, '/clients', publicClient());
  for (const collection of ['clients', 'resources']) {
    refused(
      t,
      await post(
        '/permissions',
        { policy: await createPolicy(app), collection, action: 'read', fields: ['*'] },
        asAdmin,
      ),
      'FAILED_VALIDATION',
      `no permission applies to ${collection}`,
    );
    // Stored by another program, or a restored backup.
    const policy = await policyWith(
      app,
      (['create', 'read', 'update', 'delete'] as const).map((action) => ({
        collection: collection as 'users',
        action,
        fields: ['*'],
      })),
      { appAccess: true },
    );
    const { headers } = await createUserWithToken(app, { policies: [policy] });
    const key = collection === 'clients' ? id : (await create(service, '/resources', resource())).id;
    for (const [method, url, payload] of [
      ['GET', `/${collection}`],
      ['SEARCH', `/${collection}`, {}],
      ['GET', `/${collection}/${key}`],
      ['POST', `/${collection}`, publicClient()],
      ['PATCH', `/${collection}`, { keys: [key], data: { name: 'x' } }],
      ['PATCH', `/${collection}/${key}`, { name: 'x' }],
      ['DELETE', `/${collection}`, [key]],
      ['DELETE', `/${collection}/${key}`],
      ...(collection === 'clients' ? [['POST', `/clients/${key}/secret`] as const] : []),
    ] as const) {
      const response = await request({ method: method as 'GET', url, headers, ...(payload ? { payload } : {}) });
      refused(t, response, 'FORBIDDEN', `${method} ${url}`);
    }
  }
});

/** Values that the service accepts, and stores exactly as they were sent. */
const accepted: Record<string, unknown[]> = {
  redirect_uris: [
    'https://app.example.com',
    'https://app.example.com/callback?tenant=1&x=%2F',
    'HTTPS://App.example.com/Callback',
    'https://app.example.com:8443/a/../b',
    'https://[2001:db8::1]/callback',
    'https://192.0.2.1/callback',
    'https://xn--mller-kva.example/callback',
    'https://app.example.com/@user',
    'https://my_host.example.com/',
    'http://localhost/callback',
    'http://localhost:49152/',
    'http://127.0.0.1:1/callback',
    'http://[::1]/callback',
    'com.example.app:/callback',
    'com.example.app://callback',
    'com.example.app+debug.2-x:/callback?x=1',
  ].map((uri) => [uri]),
  post_logout_redirect_uris: [[], ['https://app.example.com/bye', 'http://localhost:3000/']],
  allowed_origins: [[], ['https://app.example.com', 'http://[::1]:3000', 'http://127.0.0.1', 'tauri://localhost']],
  logo_uri: [null, 'https://cdn.example.com/a.png'],
  backchannel_logout_uri: [null, 'https://app.example.com/logout?x=1', 'http://localhost:3000/logout'],
  scopes: [null, [], ['openid', 'users:read', '*', 'urn:example:scope', "!#$%&'()[]~"]],
  access_token_ttl: [null, '1m', '60s', '1d', '24h', '90m'],
  refresh_token_ttl: [null, '5m', '300s', '52w', '365d'],
  id_token_signed_response_alg: ['RS256', 'ES256', 'EdDSA'],
  name: ['é'.repeat(100)],
};

const longest = `https://app.example.com/${'x'.repeat(1976)}`;
type Refusal = readonly [value: unknown, code: ErrorCode, extensions?: Record<string, unknown>];
const fails = (field: string, type: string, ...values: unknown[]): [string, Refusal[]] => [
  field,
  values.map((value) => [[value], 'FAILED_VALIDATION', { field, type, invalid: value }] as const),
];

/** Values that the service refuses. */
const refusals: [field: string, cases: Refusal[]][] = [
  fails(
    'redirect_uris',
    'scheme',
    'http://app.example.com/callback',
    'http://localhost.evil.example/',
    'http://127.0.0.1.evil.example/',
    'http://127.0.0.2/',
    'http://0.0.0.0/',
    'http://localhost./',
    'http://[::2]/',
    'HTTP://app.example.com/',
    'javascript:alert(1)',
    'JavaScript:alert(1)//https://app.example.com',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://app.example.com/x',
    'about:blank',
    'ws://app.example.com/',
    'ftp://app.example.com/',
    'myapp:/callback',
    'myapp://callback',
    'com.example.app:callback',
    'urn:ietf:wg:oauth:2.0:oob',
    'intent://app.example.com/x',
  ),
  fails(
    'redirect_uris',
    'uri',
    '',
    ' ',
    '/callback',
    'callback',
    '//app.example.com/callback',
    'app.example.com/callback',
    'https:',
    'https:/app.example.com/',
    'https:app.example.com/',
    'https:///app.example.com/',
    'https://',
    'https://?x',
    'https://:443/',
    'https://app.example.com:port/',
    'https://app.example.com:/callback',
    'https://app.example.com:99999/',
    'https://127.1/',
    'http://127.1/',
    'http://0x7f.0.0.1/',
    'http://2130706433/',
    'http://loc%61lhost/',
    'https://app%2eexample.com/',
    'https://app.example.com\\@evil.example/',
    'https:\\\\app.example.com/',
    'https://app.example.com/a b',
    'https://app.example.com/\t',
    ' https://app.example.com/',
    'https://app.example.com/\n',
    'https://app.example.com:0443/',
    'https://app.example.com:0/',
    'https://app.example.com/%',
    'https://app.example.com/%zz',
    'https://app.example.com/<script>',
    'https://app.example.com/"x',
    'https://app.example.com/{x}',
    'https://müller.example/',
    'https://app.example.com/ü',
    'https://app.example.com/\u202e',
    '1com.example:/x',
    '.com.example:/x',
    '*',
  ),
  fails('redirect_uris', 'fragment', 'https://app.example.com/#', 'https://app.example.com/#x', 'com.example.app:/x#y'),
  fails(
    'redirect_uris',
    'userinfo',
    'https://user@app.example.com/',
    'https://user:password@app.example.com/',
    'https://@app.example.com/',
    'https://app.example.com@evil.example/',
    'http://localhost:3000@evil.example/',
    'com.example.app://user@host/',
  ),
  fails(
    'redirect_uris',
    'wildcard',
    'https://*.example.com/',
    'https://app.example.com/*',
    'https://app.example.com:*/',
    'https://app.example.com/?x=*',
  ),
  fails('post_logout_redirect_uris', 'scheme', 'http://app.example.com/', 'javascript:alert(1)'),
  fails(
    'allowed_origins',
    'origin',
    'https://app.example.com/',
    'https://app.example.com/x',
    'https://app.example.com:443',
    'HTTPS://app.example.com',
    'https://App.example.com',
    'http://app.example.com',
    'http://localhost.evil.example',
    'https://user@app.example.com',
    'https://*.example.com',
    'https://app.example.com?x',
    'https://müller.example',
    '*',
    'null',
    '',
    'app.example.com',
    'javascript://x',
    'file://x',
  ),
  [
    'scopes',
    ['', 'a b', 'a"b', 'a\\b', 'é', 'a\tb', '\u007f'].map((value) => [[value], 'FAILED_VALIDATION', { type: 'scope' }]),
  ],
  [
    'grant_types',
    ['implicit', 'password', 'AUTHORIZATION_CODE', ''].map((value) => [[value], 'FAILED_VALIDATION', { type: 'in' }]),
  ],
  [
    'logo_uri',
    [
      ['http://cdn.example.com/logo.svg', 'FAILED_VALIDATION', { type: 'https' }],
      ['http://localhost/logo.svg', 'FAILED_VALIDATION', { type: 'https_only' }],
      ['data:image/svg+xml,x', 'FAILED_VALIDATION'],
      ['https://user@cdn.example.com/', 'FAILED_VALIDATION'],
      ['//cdn.example.com/x', 'FAILED_VALIDATION'],
      ['', 'FAILED_VALIDATION'],
      [`${longest}x`, 'VALUE_TOO_LONG'],
      [['https://cdn.example.com/'], 'INVALID_PAYLOAD'],
    ],
  ],
  [
    'backchannel_logout_uri',
    [
      ['http://app.example.com/logout', 'FAILED_VALIDATION', { type: 'https' }],
      ['https://app.example.com/#', 'FAILED_VALIDATION', { type: 'fragment' }],
      ['com.example.app:/logout', 'FAILED_VALIDATION', { type: 'https' }],
      ['https://user@app.example.com/', 'FAILED_VALIDATION', { type: 'userinfo' }],
    ],
  ],
  [
    'access_token_ttl',
    ['59s', '25h', '2d', '0', '0m', '-5m', '1.5h', '15', '15 m', '15M', '1y', '', 'soon', '999999h'].map(
      (value) => [value, 'FAILED_VALIDATION', { type: 'duration', valid: ['1m', '1d'] }] as const,
    ),
  ],
  [
    'refresh_token_ttl',
    ['299s', '4m', '366d', '53w'].map(
      (value) => [value, 'FAILED_VALIDATION', { type: 'duration', valid: ['5m', '365d'] }] as const,
    ),
  ],
  [
    'access_token_ttl',
    [
      [900, 'INVALID_PAYLOAD'],
      [{}, 'INVALID_PAYLOAD'],
      ['1'.repeat(17), 'VALUE_TOO_LONG'],
    ],
  ],
  [
    'id_token_signed_response_alg',
    [
      ['none', 'FAILED_VALIDATION'],
      ['HS256', 'FAILED_VALIDATION'],
      [1, 'INVALID_PAYLOAD'],
    ],
  ],
  [
    'name',
    [
      ['x'.repeat(101), 'VALUE_TOO_LONG'],
      [null, 'NOT_NULL_VIOLATION'],
      [1, 'INVALID_PAYLOAD'],
    ],
  ],
  [
    'first_party',
    [
      ['true', 'INVALID_PAYLOAD'],
      [null, 'NOT_NULL_VIOLATION'],
      [1, 'INVALID_PAYLOAD'],
    ],
  ],
  [
    'redirect_uris',
    [
      [null, 'NOT_NULL_VIOLATION'],
      ['https://app.example.com/', 'INVALID_PAYLOAD'],
      [[1], 'INVALID_PAYLOAD'],
      [['https://app.example.com/\u0000'], 'INVALID_PAYLOAD'],
      [[['https://app.example.com/']], 'INVALID_PAYLOAD'],
      [{ 0: 'https://app.example.com/' }, 'INVALID_PAYLOAD'],
      [[`${longest}x`], 'VALUE_TOO_LONG'],
      [Array(51).fill('https://app.example.com/'), 'VALUE_TOO_LONG'],
    ],
  ],
  ['resources', [[['https://unknown.example.com'], 'INVALID_FOREIGN_KEY', { value: 'https://unknown.example.com' }]]],
  ['created_at', [['2026-01-01T00:00:00Z', 'INVALID_PAYLOAD']]],
  ['secret', [['a secret that somebody else has chosen', 'INVALID_PAYLOAD']]],
  ['client_id', [['x', 'INVALID_PAYLOAD']]],
  ['token_endpoint_auth_method', [['none', 'INVALID_PAYLOAD']]],
];

t.test('every valid value is stored exactly as it was sent', async (t) => {
  const { id } = await create(service, '/clients', publicClient());
  for (const [field, values] of Object.entries(accepted)) {
    for (const value of values) {
      const made = await create(service, '/clients', publicClient({ [field]: value }));
      t.strictSame(made[field], value, `create: ${field}`);
      const changed = await patch(service, `/clients/${id}?fields=${field}`, { [field]: value });
      t.strictSame(dataOf(changed)[field], value, `update: ${field} ${JSON.stringify(value)}`);
    }
  }
  const many = Array(50).fill(longest);
  t.strictSame((await create(service, '/clients', publicClient({ redirect_uris: many }))).redirect_uris, many);
});

t.test('invalid values are refused, on creation and update, with the field and the violated rule', async (t) => {
  const { id } = await create(service, '/clients', publicClient());
  const before = (await get(`/clients/${id}`, asAdmin)).body;
  for (const [field, cases] of refusals) {
    for (const [value, code, extensions = {}] of cases) {
      const what = `${field}: ${JSON.stringify(value).slice(0, 100)}`;
      for (const response of [
        await post('/clients', publicClient({ [field]: value }), asAdmin),
        await patch(service, `/clients/${id}`, { [field]: value }),
      ]) {
        refusedWith(t, response, code, extensions, what);
      }
    }
  }
  t.equal((await get(`/clients/${id}`, asAdmin)).body, before, 'nothing changed');
});

t.test('no accepted redirect URI can be read as another host than the one that is written', async (t) => {
  let count = 0;
  for (const { url } of redirectCorpus) {
    const response = await post('/clients?fields=redirect_uris', publicClient({ redirect_uris: [url] }), asAdmin);
    if (response.statusCode !== 200) continue;
    count++;
    const [stored] = dataOf(response).redirect_uris;
    t.equal(stored, url);
    const written = /^https?:\/\/([^/?]+)(?=[/?]|$)/i.exec(url)?.[1];
    t.equal(new URL(url).host, written?.toLowerCase().replace(/:443$/, ''), url);
    t.ok(/^https:/i.test(url) || /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]/.test(url.toLowerCase()), url);
    t.notMatch(url, /[\s\\#*]/);
  }
  t.ok(count > 10 && count < redirectCorpus.length / 2, `${count} of ${redirectCorpus.length} are accepted`);
});

/** Combinations of fields that do not work together, and a change that makes a valid client such a combination. */
const combinations: [what: string, valid: object, change: object, reason: RegExp][] = [
  ['a code needs a redirect URI', publicClient(), { redirect_uris: [] }, /redirect_uris/],
  [
    'a code needs a redirect URI',
    publicClient({ grant_types: [], redirect_uris: [] }),
    { grant_types: ['authorization_code'] },
    /redirect_uris/,
  ],
  ['a public client has no credentials', publicClient(), { grant_types: ['client_credentials'] }, /client_credentials/],
  ['a public client uses PKCE', publicClient(), { pkce_required: false }, /pkce_required/],
  [
    'token exchange is for first-party clients',
    confidentialClient({ grant_types: ['urn:ietf:params:oauth:grant-type:token-exchange'], first_party: true }),
    { first_party: false },
    /token-exchange/,
  ],
  [
    'token exchange is for confidential clients',
    publicClient({ first_party: true }),
    { grant_types: ['urn:ietf:params:oauth:grant-type:token-exchange'] },
    /token-exchange/,
  ],
];

t.test('fields that depend on each other fit together, also after a change of one of them', async (t) => {
  for (const [what, valid, change, reason] of combinations) {
    const { id } = await create(service, '/clients', valid);
    const others = await create(service, '/clients', confidentialClient({ grant_types: [] }));
    const before = (await get(`/clients/${id}`, asAdmin)).body;
    for (const response of [
      await post('/clients', { ...valid, ...change }, asAdmin),
      await patch(service, `/clients/${id}`, change),
      await patch(service, '/clients', { keys: [others.id, id], data: change }),
      await patch(service, '/clients', [{ id, ...change }]),
    ]) {
      refused(t, response, 'INVALID_PAYLOAD', what);
      t.match(response.json().errors[0].extensions.reason, reason, what);
    }
    t.equal((await get(`/clients/${id}`, asAdmin)).body, before, 'nothing changed');
  }
  const { id } = await create(service, '/clients', publicClient());
  const both = await patch(service, `/clients/${id}`, { grant_types: [], redirect_uris: [] });
  t.equal(both.statusCode, 200, 'fields that depend on each other can change together');
});

t.test('the type of a client cannot be changed, but can be sent unchanged', async (t) => {
  for (const [made, other] of [
    [publicClient(), 'confidential'],
    [confidentialClient(), 'public'],
  ] as const) {
    const { id, type } = await create(service, '/clients', made);
    refused(t, await patch(service, `/clients/${id}`, { type: other }), 'INVALID_PAYLOAD', `${type} → ${other}`);
    t.equal((await patch(service, `/clients/${id}`, { type, name: 'x' })).statusCode, 200);
    refused(t, await patch(service, `/clients/${id}`, { type: 'native' }), 'FAILED_VALIDATION', 'unknown type');
  }
  refused(t, await post('/clients', { name: 'x', redirect_uris: [] }, asAdmin), 'INVALID_PAYLOAD', 'no type');
  refused(t, await post('/clients', { type: 'public' }, asAdmin), 'INVALID_PAYLOAD', 'no name');
});

t.test('all clients of a request are created, or none', async (t) => {
  const count = async () => dataOf(await get('/clients?aggregate[count]=*', asAdmin))[0].count;
  const before = await count();
  const bad = publicClient({ redirect_uris: ['http://app.example.com/'] });
  refused(t, await post('/clients', [confidentialClient(), bad], asAdmin), 'FAILED_VALIDATION', 'one is invalid');
  const { id } = await create(service, '/clients', publicClient());
  refused(
    t,
    await post('/clients', [publicClient(), publicClient({ id })], asAdmin),
    'RECORD_NOT_UNIQUE',
    'a known ID',
  );
  t.equal(await count(), before + 1);
});
