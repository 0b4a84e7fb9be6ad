import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { buildApp } from '../../app.js';
import { loadConfig } from '../../plugins/platform/config.js';
import {
  confidentialClient,
  create,
  dataOf,
  hashOf,
  publicClient,
  secretHashesOf,
} from '../helpers/applications/clients.js';
import { recorded } from '../helpers/database/activity.js';
import { engine } from '../helpers/database/databases.js';
import { dumpDatabase } from '../helpers/database/dump.js';
import { refused } from '../helpers/http/refusals.js';
import { adminToken, asAdmin, patch, remove, startWithAdmin } from '../helpers/http/writing.js';
import { startTestApp, type TestApp, testConfig } from '../helpers/service/app.js';

const ids = {
  orders: '11111111-1111-4111-8111-111111111111',
  notes: '22222222-2222-4222-8222-222222222222',
  shop: '33333333-3333-4333-8333-333333333333',
  app: '44444444-4444-4444-8444-444444444444',
};
const [firstSecret, secondSecret] = ['first-secret'.padEnd(32, 'x'), 'second-secret'.padEnd(32, 'x')];

const orders = { id: ids.orders, identifier: 'https://orders.example.com', name: 'Orders', scopes: ['orders:read'] };
const notes = { id: ids.notes, identifier: 'urn:example:notes', name: 'Notes' };
const shop = {
  id: ids.shop,
  name: 'Shop',
  type: 'confidential',
  grant_types: ['client_credentials'],
  resources: [orders.identifier],
  secret: firstSecret,
};
const app = { id: ids.app, ...publicClient({ first_party: true }) };
const everything = { resources: [orders, notes], clients: [shop, app] };

const needed = { SECRET: 'a secret for tests, long enough to be taken' };

/** A database, and services that start on it one after the other. */
async function lasting(t: Test) {
  const first = await startWithAdmin(t);
  const { location: database } = first.database;
  return {
    first,
    restart: (t: Test, declared?: object) =>
      startTestApp(
        t,
        { ADMIN_TOKEN: adminToken, ...(declared ? { CLIENTS: JSON.stringify(declared) } : {}) },
        { database },
      ),
    /** Why the service does not start. */
    refusal: async (declared: object): Promise<string[]> => {
      const variables = { CLIENTS: JSON.stringify(declared) };
      const error: Error = await buildApp(testConfig(variables), { database }).then(
        async (app) => {
          await app.close();
          throw new Error('The service has started.');
        },
        (reason) => reason,
      );
      return error.message
        .split('\n')
        .slice(1)
        .map((line) => line.replace('  - CLIENTS: ', ''));
    },
  };
}

const listOf = async ({ get }: TestApp, collection: 'clients' | 'resources') =>
  Object.fromEntries(
    dataOf(await get(`/${collection}?sort=name`, asAdmin)).map(
      ({ id, created_at: _at, ...fields }: { id: string; created_at: string }) => [id, fields],
    ),
  );

const requestToken = ({ request }: TestApp, id: string, secret: string) =>
  request({
    method: 'POST',
    url: '/oauth/token',
    headers: {
      authorization: `Basic ${btoa(`${id}:${secret}`)}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    payload: 'grant_type=client_credentials',
  });

t.test('the service creates, updates, and deletes what is declared, and nothing else', async (t) => {
  const { first, restart } = await lasting(t);
  const other = await create(first, '/clients', confidentialClient({ name: 'Created through the API' }));

  await t.test('the first start creates everything, with the defaults of the API', async (t) => {
    const service = await restart(t, everything);
    const clients = await listOf(service, 'clients');
    t.strictSame(Object.keys(clients).sort(), [ids.app, ids.shop, other.id].sort());
    t.match(clients[ids.shop], {
      name: 'Shop',
      redirect_uris: [],
      resources: [orders.identifier],
      scopes: null,
      first_party: false,
      pkce_required: true,
      id_token_signed_response_alg: 'RS256',
      logo_uri: null,
    });
    t.match(clients[ids.app], { first_party: true, grant_types: ['authorization_code', 'refresh_token'] });
    const resources = await listOf(service, 'resources');
    t.match(resources[ids.orders], { identifier: orders.identifier, scopes: ['orders:read'], access_token_ttl: '10m' });
    t.match(resources[ids.notes], { scopes: [], open_to_unregistered: false });
    t.strictSame(await secretHashesOf(service, ids.shop), [hashOf(firstSecret)], 'only the hash is stored');
    t.notOk((await dumpDatabase(service.app)).includes(firstSecret));
    t.equal((await requestToken(service, ids.shop, firstSecret)).statusCode, 200, 'the secret works');
    const rows = (await recorded(service.app)).filter(({ collection }) =>
      ['clients', 'resources'].includes(`${collection}`),
    );
    t.match(
      rows.slice(1).map(({ action, item, user }) => [action, item, user]),
      [
        ['create', ids.orders, null],
        ['create', ids.notes, null],
        ['create', ids.shop, null],
        ['create', ids.app, null],
        ['secret_create', ids.shop, null],
      ],
    );
  });

  await t.test('another start changes nothing', async (t) => {
    const before = (await recorded(first.app)).length;
    const service = await restart(t, everything);
    t.equal((await recorded(service.app)).length, before);
  });

  await t.test('a later start applies changes, and fields that are left out get their defaults', async (t) => {
    const { id, name, type, grant_types } = shop;
    const service = await restart(t, {
      resources: [{ ...orders, identifier: 'https://orders.example.com/v2', access_token_ttl: '5m' }],
      clients: [{ id, name: `${name} 2`, type, grant_types, secret: secondSecret }],
    });
    const clients = await listOf(service, 'clients');
    t.strictSame(
      Object.keys(clients).sort(),
      [ids.shop, other.id].sort(),
      'a client that is no longer declared is deleted',
    );
    t.match(clients[ids.shop], { name: 'Shop 2', resources: [] });
    const resources = await listOf(service, 'resources');
    t.strictSame(Object.keys(resources), [ids.orders]);
    t.match(resources[ids.orders], { identifier: 'https://orders.example.com/v2', access_token_ttl: '5m' });
    t.strictSame(
      await secretHashesOf(service, ids.shop),
      [hashOf(secondSecret), hashOf(firstSecret)],
      'the secret before it works for another day',
    );
  });
});

t.test('what is declared cannot be changed through the API', async (t) => {
  const { restart } = await lasting(t);
  const service = await restart(t, everything);
  const free = {
    clients: await create(service, '/clients', publicClient()),
    resources: await create(service, '/resources', { ...notes, id: undefined, identifier: 'urn:x' }),
  };
  const declared = { clients: ids.app, resources: ids.orders };
  for (const name of ['clients', 'resources'] as const) {
    const id = declared[name];
    const before = (await service.get(`/${name}`, asAdmin)).body;
    for (const [what, response] of Object.entries({
      update: await patch(service, `/${name}/${id}`, { name: 'x' }),
      'update of many': await patch(service, `/${name}`, { keys: [free[name].id, id], data: { name: 'x' } }),
      deletion: await remove(service, `/${name}/${id}`),
      'deletion of many': await remove(service, `/${name}`, [free[name].id, id]),
    })) {
      refused(t, response, 'UNPROCESSABLE_CONTENT', `${what} of ${name}`);
      t.match(response.json().errors[0].extensions.reason, /Change CLIENTS, and restart the service/);
    }
    t.equal((await service.get(`/${name}`, asAdmin)).body, before, 'nothing changed');
    t.equal(
      (await patch(service, `/${name}/${free[name].id}`, { name: 'x' })).statusCode,
      200,
      'others can be changed',
    );
  }
  const secretOf = (id: string) => service.post(`/clients/${id}/secret`, undefined, asAdmin);
  refused(t, await secretOf(ids.shop), 'UNPROCESSABLE_CONTENT', 'a declared secret');
  const listed = await create(service, '/clients', confidentialClient({ resources: [orders.identifier] }));
  t.equal(listed.resources.length, 1, 'other clients can list a declared resource');

  await t.test('without a declared secret, it is created through the API', async (t) => {
    const { secret: _secret, ...withoutSecret } = shop;
    const again = await restart(t, { ...everything, clients: [withoutSecret] });
    const { secret } = dataOf(await again.post(`/clients/${ids.shop}/secret`, undefined, asAdmin));
    t.strictSame(await secretHashesOf(again, ids.shop), [hashOf(secret), hashOf(firstSecret)]);
  });

  await t.test('without CLIENTS, everything stays, and can be changed through the API', async (t) => {
    const again = await restart(t);
    t.equal((await patch(again, `/clients/${ids.shop}`, { name: 'Changed' })).statusCode, 200);
    t.equal((await remove(again, `/resources/${ids.notes}`)).statusCode, 204);
  });

  await t.test('with it, what was changed is as declared again, and what is not declared is not deleted', async (t) => {
    const again = await restart(t, { resources: [orders], clients: [shop] });
    const { [ids.shop]: restored } = await listOf(again, 'clients');
    t.match(restored, { name: 'Shop' });
    refused(t, await remove(again, `/clients/${ids.shop}`), 'UNPROCESSABLE_CONTENT', 'declared again');
  });
});

t.test('an invalid declaration keeps the service from starting, and names each client and field', async (t) => {
  const { first, refusal } = await lasting(t);
  const rest = publicClient();
  const tooLong = 'x'.repeat(101);
  t.strictSame(
    await refusal({
      client: [],
      resources: [
        { ...orders, scopes: ['openid'] },
        { ...notes, id: orders.id, access_token_ttl: '2d', secret: 'x' },
        { id: ids.notes, name: 'No identifier' },
        { ...orders, id: ids.app, name: 'The same' },
        { ...orders, name: 'Again' },
      ],
      clients: [
        { ...app, redirect_uris: ['http://app.example.com/'], pkce: true, name: null },
        { ...rest, id: 'shop' },
        rest,
        { ...app, resources: ['urn:unknown'] },
        { ...app, secret: firstSecret },
        { ...shop, secret: 'short secret', type: 'native' },
        { ...shop, grant_types: ['authorization_code'] },
        { ...shop, redirect_uris: 'https://app.example.com/', name: tooLong },
        'shop',
      ],
    }),
    [
      'it can contain clients and resources, but not client',
      'resources[0] (Orders): scopes must not contain scopes of OpenID Connect or of the service itself, got "openid"',
      'resources[1] (Notes): access_token_ttl must be a duration from 1m to 1d, such as 15m, got "2d"',
      'resources[1] (Notes): resources has no field "secret"',
      'resources[2] (No identifier): identifier is required',
      'clients[0]: name must not be null',
      'clients[0]: redirect_uris must begin with https://, with http:// and localhost, 127.0.0.1, or [::1], or with the scheme of an app, which contains a dot, such as com.example.app:/callback, got "http://app.example.com/"',
      'clients[0]: clients has no field "pkce"',
      'clients[1] (An app): id must be a UUID',
      'clients[2] (An app): id is required',
      'clients[4] (An app): secret is only for confidential clients',
      'clients[5] (Shop): type accepts only public, confidential',
      'clients[5] (Shop): secret must have 32 to 255 characters: letters, digits, and -, ., _, or ~',
      'clients[6] (Shop): redirect_uris must not be empty if grant_types contains authorization_code',
      `clients[7] (${tooLong}): name is too long`,
      `clients[7] (${tooLong}): redirect_uris must be a list of strings`,
      'clients[8] must be an object',
      'resources[4] (Again): identifier is also that of resources[3] (The same)',
      'clients[3] (An app): resources can contain only resources that are declared, too, got "urn:unknown"',
    ],
  );
  t.strictSame(await listOf(first, 'clients'), {});
  t.strictSame(await refusal({ clients: {}, resources: 'x' }), ['resources must be a list', 'clients must be a list']);
});

t.test(
  'a declaration that contradicts what is stored keeps the service from starting, and changes nothing',
  async (t) => {
    const { first, refusal } = await lasting(t);
    await create(first, '/clients', { ...app, name: 'Stored' });
    const { id } = await create(first, '/resources', { identifier: orders.identifier, name: 'Stored' });
    t.strictSame(await refusal({ resources: [notes, orders] }), [
      `resources[1] (Orders): identifier is that of the resource ${id}. Declare that id, or delete the resource`,
    ]);
    t.strictSame(await refusal({ resources: [notes], clients: [{ ...shop, id: ids.app, resources: [] }] }), [
      'clients[0] (Shop): type cannot be changed. Declare a client with another id instead',
    ]);
    t.match(await listOf(first, 'clients'), { [ids.app]: { name: 'Stored' } });
    t.match(await listOf(first, 'resources'), { [id]: { name: 'Stored' } });
  },
);

t.test('CLIENTS is JSON, or CLIENTS_FILE is the path of a file that contains it', (t) => {
  const file = join(t.testdir(), 'clients.json');
  writeFileSync(file, JSON.stringify(everything));
  t.strictSame(loadConfig({ ...needed, CLIENTS_FILE: file }).CLIENTS, everything);
  for (const CLIENTS of ['/etc/gatehouse/clients.json', '[]', '{"clients": [', 'null', `{"secret": "${firstSecret}"`]) {
    try {
      loadConfig({ ...needed, CLIENTS });
      t.fail(`${CLIENTS} is accepted`);
    } catch (error) {
      const { message } = error as Error;
      t.match(message, /CLIENTS: expected a JSON object .* if it is in a file, set CLIENTS_FILE instead$/);
      t.notOk(message.includes(firstSecret), 'the message does not repeat secrets');
    }
  }
  t.end();
});

t.test(
  'instances that start at the same time apply the declaration once',
  { skip: engine === 'embedded' && 'only one process at a time can open the embedded database' },
  async (t) => {
    const { first } = await lasting(t);
    const config = testConfig({ CLIENTS: JSON.stringify(everything) });
    const apps = await Promise.all(
      Array.from({ length: 5 }, () => buildApp(config, { database: first.database.location })),
    );
    await Promise.all(apps.map((each) => each.close()));
    const actions = (await recorded(first.app)).map(({ action }) => action);
    t.strictSame(actions.sort(), ['create', 'create', 'create', 'create', 'secret_create']);
  },
);
