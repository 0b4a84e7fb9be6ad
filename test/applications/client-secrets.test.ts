import t from 'tap';
import { clientSecrets } from '../../db/schema.js';
import {
  confidentialClient,
  create,
  dataOf,
  hashOf,
  publicClient,
  secretHashesOf,
} from '../helpers/applications/clients.js';
import { recorded } from '../helpers/database/activity.js';
import { dumpDatabase } from '../helpers/database/dump.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, patch, remove, startWithAdmin } from '../helpers/http/writing.js';
import { day, hour, minute } from '../helpers/service/clock.js';
import { collectLog } from '../helpers/service/collect-log.js';
import { createPolicy } from '../helpers/users/rights.js';
import { makeStale } from '../helpers/users/sessions.js';
import { createSignedInUser } from '../helpers/users/users.js';

const service = await startWithAdmin(t);
const { app, clock, post, get } = service;
const form = /^gcs_[\w-]{43}$/;
const newSecret = async (id: string, headers: Record<string, string> = asAdmin): Promise<string> =>
  dataOf(await post(`/clients/${id}/secret`, undefined, headers)).secret;

t.test('a confidential client gets its secret once, in the response to its creation', async (t) => {
  const { id, secret } = await create(service, '/clients', confidentialClient());
  t.match(secret, form);
  t.strictSame(await secretHashesOf(service, id), [hashOf(secret)], 'only its hash is stored');
  t.notOk('secret' in (await create(service, '/clients', publicClient())), 'a public client has none');

  const only = dataOf(await post('/clients?fields=name', confidentialClient(), asAdmin));
  t.strictSame(Object.keys(only), ['name', 'secret'], 'whatever fields are requested');
  const bodies = [confidentialClient({ name: 'a' }), publicClient({ name: 'b' }), confidentialClient({ name: 'c' })];
  for (const body of [bodies, { data: bodies }]) {
    const [a, b, c] = dataOf(await post('/clients', body, asAdmin));
    t.strictSame([a.name, b.name, c.name], ['a', 'b', 'c']);
    for (const one of [a, c]) t.strictSame(await secretHashesOf(service, one.id), [hashOf(one.secret)]);
    t.not(a.secret, c.secret);
    t.notOk('secret' in b);
    t.strictSame(await secretHashesOf(service, b.id), []);
  }
});

t.test('no later response contains the secret', async (t) => {
  const { id, secret } = await create(service, '/clients', confidentialClient());
  const hash = hashOf(secret);
  for (const response of [
    await get(`/clients/${id}`, asAdmin),
    await get(`/clients/${id}?fields=*.*`, asAdmin),
    await get('/clients', asAdmin),
    await get(`/clients?search=${secret}`, asAdmin),
    await patch(service, `/clients/${id}`, { name: 'Renamed' }),
    await patch(service, '/clients', { keys: [id], data: { name: 'Renamed' } }),
    await get(`/activity?filter[item][_eq]=${id}`, asAdmin),
  ]) {
    t.equal(response.statusCode, 200);
    t.notOk(response.body.includes(secret) || response.body.includes(hash) || response.body.includes('secret"'));
  }
  for (const field of ['secret', 'secrets', 'hash', 'client_secret', 'secret_hashes']) {
    refused(t, await get(`/clients/${id}?fields=${field}`, asAdmin), 'FORBIDDEN', field);
    refused(t, await get(`/clients?filter[${field}][_eq]=x`, asAdmin), 'FORBIDDEN', `filter by ${field}`);
    refused(t, await get(`/clients?sort=${field}`, asAdmin), 'FORBIDDEN', `sort by ${field}`);
    refused(
      t,
      await patch(service, `/clients/${id}`, { [field]: 'x'.repeat(40) }),
      'INVALID_PAYLOAD',
      `write ${field}`,
    );
  }
});

t.test('after a change, the secret before it works for one day, and no other', async (t) => {
  const { id, secret: first } = await create(service, '/clients', confidentialClient());
  const second = await newSecret(id);
  t.match(second, form);
  t.strictSame(await secretHashesOf(service, id), [second, first].map(hashOf));
  clock.advance(hour);
  const third = await newSecret(id);
  t.strictSame(await secretHashesOf(service, id), [third, second].map(hashOf), 'only two are valid');
  clock.advance(day - minute);
  t.strictSame(await secretHashesOf(service, id), [third, second].map(hashOf));
  clock.advance(2 * minute);
  t.strictSame(await secretHashesOf(service, id), [hashOf(third)]);
  const fourth = await newSecret(id);
  t.strictSame(await secretHashesOf(service, id), [fourth, third].map(hashOf));
});

t.test('changes at the same time leave two secrets', async (t) => {
  const { id } = await create(service, '/clients', confidentialClient());
  const made = await Promise.all(Array.from({ length: 5 }, () => newSecret(id)));
  const valid = await secretHashesOf(service, id);
  t.equal(valid.length, 2);
  t.ok(valid.every((hash) => made.map(hashOf).includes(hash)));
});

t.test('only a confidential client can get a new secret', async (t) => {
  const { id } = await create(service, '/clients', publicClient());
  refused(t, await post(`/clients/${id}/secret`, undefined, asAdmin), 'UNPROCESSABLE_CONTENT', 'a public client');
  t.strictSame(await secretHashesOf(service, id), []);
  for (const unknown of ['0d1f8a52-6f0f-4f6e-8f57-1f2f7e3f9a04', 'x', "'", '%00']) {
    refused(t, await post(`/clients/${unknown}/secret`, undefined, asAdmin), 'FORBIDDEN', unknown);
  }
  refused(
    t,
    await post(`/clients/${id}/secret`, { secret: 'x'.repeat(40) }, asAdmin),
    'INVALID_PAYLOAD',
    'a secret of their own',
  );
  const { id: mixed } = await create(service, '/clients', confidentialClient());
  t.equal(
    (await post(`/clients/${mixed.toUpperCase()}/secret`, undefined, asAdmin)).statusCode,
    200,
    'in any letter case',
  );
});

t.test('a session must be fresh to create or replace a secret, but not for anything else', async (t) => {
  const policies = [await createPolicy(app, { adminAccess: true })];
  const { id } = await create(service, '/clients', confidentialClient());
  const [fresh, stale] = [
    await createSignedInUser(service, { policies }),
    await createSignedInUser(service, { policies }),
  ];
  await makeStale(app, stale.id);
  const count = async () => (await app.db.select().from(clientSecrets)).length;
  const before = await count();
  for (const [what, send] of [
    ['create', () => post('/clients', confidentialClient(), stale.headers)],
    ['create many', () => post('/clients', [publicClient(), confidentialClient()], stale.headers)],
    ['replace', () => post(`/clients/${id}/secret`, undefined, stale.headers)],
    ['replace one of an unknown client', () => post('/clients/x/secret', undefined, stale.headers)],
  ] as const) {
    const response = await send();
    if (what === 'replace one of an unknown client') refused(t, response, 'FORBIDDEN', what);
    else refused(t, response, 'REAUTHENTICATION_REQUIRED', what);
  }
  t.equal(await count(), before, 'nothing changed');
  t.equal((await post('/clients', publicClient(), stale.headers)).statusCode, 200);
  t.equal((await patch(service, `/clients/${id}`, { name: 'x' }, stale.headers)).statusCode, 200);
  t.equal((await post('/clients', confidentialClient(), fresh.headers)).statusCode, 200);
  t.match(await newSecret(id, fresh.headers), form);
  t.match(await newSecret(id, stale.tokenHeaders), form, 'a program may do so');
  t.equal((await remove(service, `/clients/${id}`, undefined, stale.headers)).statusCode, 204);
});

t.test('the secrets of a client are deleted together with it', async (t) => {
  const { id } = await create(service, '/clients', confidentialClient());
  await newSecret(id);
  await remove(service, `/clients/${id}`);
  const left = await app.db.select({ client: clientSecrets.client }).from(clientSecrets);
  t.notOk(left.some(({ client }) => client === id));
});

t.test('a new secret appears neither in the database, nor in the log, nor in the audit log', async (t) => {
  const { lines, logger } = collectLog('trace');
  const logged = await startWithAdmin(t, { LOG_LEVEL: 'trace' }, { logger });
  const { id, secret } = await create(logged, '/clients', confidentialClient());
  const renewed = dataOf(await logged.post(`/clients/${id}/secret`, undefined, asAdmin)).secret;
  const everything = `${JSON.stringify(lines)}${await dumpDatabase(logged.app)}`;
  t.ok(lines.length > 0 && everything.includes(hashOf(renewed)));
  for (const one of [secret, renewed]) t.notOk(everything.includes(one.slice(4)));
  t.match(
    (await recorded(logged.app)).filter(({ item }) => item === id),
    [
      { action: 'create', collection: 'clients' },
      { action: 'secret_create', collection: 'clients', changed: null },
    ],
  );
});
