import t from 'tap';
import { findResource } from '../../db/queries/applications/provider-clients.js';
import type { ErrorCode } from '../../schemas/errors.js';
import { create, dataOf, publicClient, refusedWith, resource } from '../helpers/applications/clients.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, patch, remove, startWithAdmin } from '../helpers/http/writing.js';

const service = await startWithAdmin(t);
const { app, post, get } = service;
const resourcesOf = async (id: string): Promise<string[]> =>
  dataOf(await get(`/clients/${id}?fields=resources`, asAdmin)).resources;
const findResources = async (identifiers: readonly string[]) =>
  (await Promise.all(identifiers.map((identifier) => findResource(app.db, identifier)))).flatMap(
    (found) => found ?? [],
  );

t.test('a new resource has defaults, and every field that was sent', async (t) => {
  const {
    id,
    created_at: createdAt,
    ...made
  } = await create(service, '/resources', resource({ identifier: 'urn:a:b' }));
  t.match(id, /^[0-9a-f-]{36}$/);
  t.ok(Date.parse(createdAt));
  const defaults = { scopes: [], access_token_ttl: '10m', open_to_unregistered: false };
  t.strictSame(made, { identifier: 'urn:a:b', name: 'An API', ...defaults });
  const everything = {
    id: '1d1f8a52-6f0f-4f6e-8f57-1f2f7e3f9a02',
    identifier: 'https://orders.example.com/v1?x=1',
    name: 'Orders',
    scopes: ['orders:read', 'orders:write', 'openid2', 'users', 'users:export', 'user:read'],
    access_token_ttl: '1d',
    open_to_unregistered: true,
  };
  const { created_at: _at, ...stored } = await create(service, '/resources', everything);
  t.strictSame(stored, everything);
  const found = await findResources([everything.identifier, 'urn:a:b', 'urn:a:B', 'urn:a']);
  t.strictSame(
    found.map(({ identifier }) => identifier).sort(),
    [everything.identifier, 'urn:a:b'].sort(),
    'compared exactly',
  );
  t.match(
    found.find(({ identifier }) => identifier === everything.identifier),
    everything,
  );
  t.strictSame(dataOf(await get('/resources?filter[identifier][_eq]=urn:a:b&fields=id', asAdmin)), [{ id }]);
});

const fails = (field: string, type: string, values: string[], wrap: (value: string) => unknown = (value) => value) =>
  values.map((value) => [field, wrap(value), 'FAILED_VALIDATION', { field, type, invalid: value }] as const);
const list = (value: string) => [value];

const refusals: (readonly [field: string, value: unknown, code: ErrorCode, extensions?: object])[] = [
  ...fails('identifier', 'uri', [
    '',
    ' ',
    'orders',
    '/orders',
    '//orders.example.com',
    'https:',
    'https://',
    'https://a b',
    'https://a\\b',
    'https://ü.example',
    'https://a/%',
    'https://[::1',
    ':x',
    '1a:b',
  ]),
  ...fails('identifier', 'fragment', ['https://orders.example.com#', 'https://orders.example.com/#x', 'urn:a#b']),
  ...fails('identifier', 'userinfo', ['https://user:password@orders.example.com']),
  ['identifier', `https://orders.example.com/${'x'.repeat(229)}`, 'VALUE_TOO_LONG'],
  ['identifier', null, 'NOT_NULL_VIOLATION'],
  ['identifier', ['urn:a'], 'INVALID_PAYLOAD'],
  ...fails('scopes', 'scope', ['', 'a b', 'a"', 'é'], list),
  ...fails(
    'scopes',
    'reserved_scope',
    [
      'openid',
      'profile',
      'email',
      'roles',
      'groups',
      'offline_access',
      '*',
      'users:read',
      'users:*',
      'permissions:delete',
      'settings:update',
      'clients:create',
      'events:read',
      'sessions:delete',
    ],
    list,
  ),
  ['scopes', null, 'NOT_NULL_VIOLATION'],
  ['scopes', 'orders:read', 'INVALID_PAYLOAD'],
  ['scopes', ['x'.repeat(129)], 'VALUE_TOO_LONG'],
  ['scopes', Array.from({ length: 201 }, (_, i) => `s${i}`), 'VALUE_TOO_LONG'],
  ...fails('access_token_ttl', 'duration', ['59s', '25h', '0', '', 'x']),
  ['access_token_ttl', null, 'NOT_NULL_VIOLATION'],
  ['open_to_unregistered', 'true', 'INVALID_PAYLOAD'],
  ['name', 'x'.repeat(101), 'VALUE_TOO_LONG'],
  ['created_at', '2026-01-01T00:00:00Z', 'INVALID_PAYLOAD'],
  ['audience', 'x', 'INVALID_PAYLOAD'],
];

t.test('invalid values are refused, on creation and update', async (t) => {
  const { id } = await create(service, '/resources', resource());
  const before = (await get(`/resources/${id}`, asAdmin)).body;
  for (const [field, value, code, extensions = {}] of refusals) {
    const what = `${field}: ${JSON.stringify(value).slice(0, 100)}`;
    for (const response of [
      await post('/resources', resource({ [field]: value }), asAdmin),
      await patch(service, `/resources/${id}`, { [field]: value }),
    ]) {
      refusedWith(t, response, code, extensions, what);
    }
  }
  t.equal((await get(`/resources/${id}`, asAdmin)).body, before, 'nothing changed');
});

t.test('an identifier is unique, exactly as it is written', async (t) => {
  const [one, two] = [await create(service, '/resources', resource()), await create(service, '/resources', resource())];
  const { identifier } = one;
  const place = { collection: 'resources', field: 'identifier', value: identifier };
  for (const [what, response] of [
    ['create', await post('/resources', resource({ identifier }), asAdmin)],
    ['update', await patch(service, `/resources/${two.id}`, { identifier })],
    ['update many', await patch(service, '/resources', { keys: [one.id, two.id], data: { identifier } })],
    [
      'twice in one request',
      await post(
        '/resources',
        [resource(), resource()].map((body) => ({ ...body, identifier: 'urn:twice' })),
        asAdmin,
      ),
    ],
  ] as const) {
    refused(t, response, 'RECORD_NOT_UNIQUE', what);
    if (what !== 'twice in one request') t.match(response.json().errors[0].extensions, place, what);
  }
  t.equal((await patch(service, `/resources/${one.id}`, { identifier, name: 'x' })).statusCode, 200, 'the own one');
  t.equal((await post('/resources', resource({ identifier: `${identifier}/` }), asAdmin)).statusCode, 200);
});

t.test('clients can list only resources that exist, and exactly as they are written', async (t) => {
  const { identifier } = await create(service, '/resources', resource());
  const { id } = await create(service, '/clients', publicClient({ resources: [identifier] }));
  for (const unknown of [`${identifier}/`, identifier.toUpperCase(), 'urn:unknown', '', ' ']) {
    for (const response of [
      await post('/clients', publicClient({ resources: [identifier, unknown] }), asAdmin),
      await patch(service, `/clients/${id}`, { resources: [unknown] }),
    ]) {
      refused(t, response, 'INVALID_FOREIGN_KEY', unknown);
      t.match(response.json().errors[0].extensions, { collection: 'clients', field: 'resources', value: unknown });
    }
  }
  t.strictSame(await resourcesOf(id), [identifier]);
});

t.test('when a resource is renamed or deleted, so it is in the clients that list it', async (t) => {
  const [a, b, c] = [
    await create(service, '/resources', resource()),
    await create(service, '/resources', resource()),
    await create(service, '/resources', resource()),
  ];
  const all = await create(
    service,
    '/clients',
    publicClient({ resources: [a, b, c].map(({ identifier }) => identifier) }),
  );
  const some = await create(service, '/clients', publicClient({ resources: [c.identifier] }));
  const none = await create(service, '/clients', publicClient());

  await patch(service, `/resources/${b.id}`, { identifier: 'urn:renamed' });
  t.strictSame(await resourcesOf(all.id), [a.identifier, 'urn:renamed', c.identifier], 'in the same place');
  await patch(service, '/resources', [
    { id: a.id, identifier: 'urn:first' },
    { id: c.id, identifier: 'urn:third' },
  ]);
  t.strictSame(await resourcesOf(all.id), ['urn:first', 'urn:renamed', 'urn:third']);
  t.strictSame(await resourcesOf(some.id), ['urn:third']);

  await remove(service, `/resources/${a.id}`);
  t.strictSame(await resourcesOf(all.id), ['urn:renamed', 'urn:third']);
  await remove(service, '/resources', [b.id, c.id]);
  for (const { id } of [all, some, none]) t.strictSame(await resourcesOf(id), []);
});

t.test('no client keeps a resource that is deleted or renamed at the same time', async (t) => {
  for (let round = 0; round < 10; round++) {
    const made = await create(service, '/resources', resource());
    const { id } = await create(service, '/clients', publicClient());
    const [written] = await Promise.all([
      patch(service, `/clients/${id}`, { resources: [made.identifier] }),
      round % 2 === 0
        ? remove(service, `/resources/${made.id}`)
        : patch(service, `/resources/${made.id}`, { identifier: `urn:renamed:${round}` }),
    ]);
    if (written.statusCode !== 200) refused(t, written, 'INVALID_FOREIGN_KEY', 'the resource was gone');
    const listed = await resourcesOf(id);
    t.equal((await findResources(listed)).length, listed.length, `${written.statusCode} ${listed}`);
  }
});
