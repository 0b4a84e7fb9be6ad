import { randomUUID } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import type { ErrorCode } from '../../schemas/errors.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { policyWith } from '../helpers/users/rights.js';
import { openSession } from '../helpers/users/sessions.js';
import { createUserWithToken } from '../helpers/users/users.js';

/** Every error that the document declares for items, on each route that declares it. */

const service = await startWithAdmin(t);
const { app, request, get } = service;
const unknownKey = randomUUID();
const stranger = (await createUserWithToken(app)).headers;

const { data: me } = (await get('/users/me?fields=id,email,role', asAdmin)).json();
const [role] = (await get('/roles?fields=id,policies', asAdmin)).json().data;
const [adminPolicy] = role.policies;

type Item = Record<string, unknown>;
type Bad = Partial<Record<ErrorCode, Item>>;

const send = (
  method: 'POST' | 'PATCH' | 'DELETE' | 'SEARCH',
  url: string,
  payload: object,
  headers: Record<string, string> = asAdmin,
) => request({ method: method as 'POST', url, payload, headers });

/** Creates an item as the administrator. */
async function make(collection: string, item: Item): Promise<{ id: string | number }> {
  const response = await send('POST', `/${collection}`, item);
  t.equal(response.statusCode, 200, `${collection} ${response.body}`);
  return response.json().data;
}

let count = 0;
const collections: Record<string, { valid: () => Item; bad: Bad; onlyNew?: Bad; last?: [id: string, change: Item] }> = {
  users: {
    valid: () => ({ email: `person-${++count}@example.com`, password: 'a password that is long enough' }),
    bad: {
      FAILED_VALIDATION: { email: 'no address' },
      RECORD_NOT_UNIQUE: { email: me.email },
      INVALID_FOREIGN_KEY: { role: unknownKey },
      VALUE_TOO_LONG: { first_name: 'x'.repeat(51) },
      NOT_NULL_VIOLATION: { email_notifications: null },
    },
    last: [me.id, { status: 'suspended' }],
  },
  roles: {
    valid: () => ({ name: `Role ${++count}` }),
    bad: {
      INVALID_FOREIGN_KEY: { parent: unknownKey },
      VALUE_TOO_LONG: { name: 'x'.repeat(101) },
      NOT_NULL_VIOLATION: { name: null },
    },
    onlyNew: { RECORD_NOT_UNIQUE: { id: role.id } },
    last: [role.id, { policies: [] }],
  },
  policies: {
    valid: () => ({ name: `Policy ${++count}` }),
    bad: {
      FAILED_VALIDATION: { ip_access: ['everywhere'] },
      VALUE_TOO_LONG: { name: 'x'.repeat(101) },
      NOT_NULL_VIOLATION: { name: null },
    },
    onlyNew: { RECORD_NOT_UNIQUE: { id: adminPolicy } },
    last: [adminPolicy, { admin_access: false }],
  },
  permissions: {
    valid: () => ({ policy: adminPolicy, collection: 'users', action: 'read' }),
    bad: {
      FAILED_VALIDATION: { action: 'look' },
      INVALID_FOREIGN_KEY: { policy: unknownKey },
      VALUE_TOO_LONG: { presets: { title: 'x'.repeat(16 * 1024) } },
      NOT_NULL_VIOLATION: { policy: null },
    },
    onlyNew: { VALUE_OUT_OF_RANGE: { id: 2 ** 31 } },
  },
};

for (const [collection, { valid, bad, onlyNew = {}, last }] of Object.entries(collections)) {
  const refuse = (response: LightMyRequestResponse, code: string, what: string) =>
    refused(t, response, code as ErrorCode, `${collection} ${what} ${code}`);
  const root = `/${collection}`;

  await t.test(`${collection}: creating an item fails with each declared error`, async () => {
    for (const [code, item] of Object.entries({ ...bad, ...onlyNew })) {
      refuse(await send('POST', root, { ...valid(), ...item }), code, 'create');
    }
    refuse(await send('POST', `${root}?meta=all`, valid()), 'INVALID_QUERY', 'create');
    refuse(await send('POST', root, valid(), stranger), 'FORBIDDEN', 'create');
  });

  await t.test(`${collection}: updating an item fails with each declared error`, async (t) => {
    const { id } = await make(collection, valid());
    for (const [code, data] of Object.entries(bad)) {
      refuse(await send('PATCH', root, { keys: [id], data }), code, 'update many');
      refuse(await send('PATCH', `${root}/${id}`, data), code, 'update one');
    }
    for (const [headers, query, code] of [
      [asAdmin, '?meta=all', 'INVALID_QUERY'],
      [stranger, '', 'FORBIDDEN'],
    ] as const) {
      refuse(await send('PATCH', `${root}${query}`, { keys: [id], data: {} }, headers), code, 'update many');
      refuse(await send('PATCH', `${root}/${id}${query}`, {}, headers), code, 'update one');
    }
    if (!last) return t.pass('no administrator depends on this collection');
    const [key, data] = last;
    refuse(await send('PATCH', root, { keys: [key], data }), 'UNPROCESSABLE_CONTENT', 'update many');
    refuse(await send('PATCH', `${root}/${key}`, data), 'UNPROCESSABLE_CONTENT', 'update one');
  });

  await t.test(`${collection}: reading and deleting items fail with each declared error`, async () => {
    const { id } = await make(collection, valid());
    for (const headers of [stranger]) {
      refuse(await get(root, headers), 'FORBIDDEN', 'list');
      refuse(await get(`${root}/${id}`, headers), 'FORBIDDEN', 'read');
      refuse(await send('SEARCH', root, {}, headers), 'FORBIDDEN', 'search');
      refuse(await send('DELETE', root, [id], headers), 'FORBIDDEN', 'delete many');
      refuse(await send('DELETE', `${root}/${id}`, {}, headers), 'FORBIDDEN', 'delete one');
    }
    refuse(await get(`${root}?limit=many`, asAdmin), 'INVALID_QUERY', 'list');
    refuse(await get(`${root}/${id}?meta=all`, asAdmin), 'INVALID_QUERY', 'read');
    refuse(await send('SEARCH', root, { query: { limit: -2 } }), 'INVALID_QUERY', 'search');
    refuse(await send('DELETE', root, { query: { limit: -2 } }), 'INVALID_QUERY', 'delete many');
    if (last) {
      refuse(await send('DELETE', root, [last[0]]), 'UNPROCESSABLE_CONTENT', 'delete many');
      refuse(await send('DELETE', `${root}/${last[0]}`, {}), 'UNPROCESSABLE_CONTENT', 'delete one');
    }
    t.equal((await send('DELETE', `${root}/${id}`, {})).statusCode, 204);
    const other = await make(collection, valid());
    t.equal((await send('DELETE', root, [other.id])).statusCode, 204);
  });

  await t.test(`${collection}: reading and updating items succeed`, async () => {
    const { id } = await make(collection, valid());
    t.equal((await get(`${root}/${id}`, asAdmin)).statusCode, 200);
    t.equal((await get(`${root}?aggregate[count]=*`, asAdmin)).statusCode, 200);
    t.equal((await send('SEARCH', root, { query: { limit: 1 } })).statusCode, 200);
    t.equal((await send('PATCH', root, [{ id }])).statusCode, 200);
    t.equal((await send('PATCH', `${root}/${id}`, {})).statusCode, 200);
  });

  await t.test(`${collection}: a caller who may write but not read gets no content`, async () => {
    const granted = (['create', 'update'] as const).map((action) => ({ collection, action, fields: ['*'] }));
    const { headers } = await createUserWithToken(app, { policies: [await policyWith(app, granted)] });
    const none = await send('PATCH', root, { keys: [], data: {} }, headers);
    if (collection === 'permissions') {
      // Only administrators can write permissions, and they can always read them.
      refuse(none, 'FORBIDDEN', 'update many');
      refuse(await send('POST', root, valid(), headers), 'FORBIDDEN', 'create');
      return;
    }
    t.equal(none.statusCode, 204, 'update many');
    t.equal((await send('POST', root, valid(), headers)).statusCode, 204, 'create');
    const { id } = await make(collection, valid());
    t.equal((await send('PATCH', `${root}/${id}`, {}, headers)).statusCode, 204, 'update one');
  });
}

t.test('a role that violates a validation rule returns FAILED_VALIDATION', async (t) => {
  const validation = { name: { _eq: 'the only name' } };
  const granted = (['create', 'update'] as const).map((action) => ({
    collection: 'roles',
    action,
    fields: ['*'],
    validation,
  }));
  const { headers } = await createUserWithToken(app, { policies: [await policyWith(app, granted)] });
  const { id } = await make('roles', { name: 'Some role' });
  const data = { name: 'another name' };
  refused(t, await send('POST', '/roles', data, headers), 'FAILED_VALIDATION', 'create');
  refused(t, await send('PATCH', '/roles', { keys: [id], data }, headers), 'FAILED_VALIDATION', 'update many');
  refused(t, await send('PATCH', `/roles/${id}`, data, headers), 'FAILED_VALIDATION', 'update one');
});

t.test('a permission with an existing id returns RECORD_NOT_UNIQUE', async (t) => {
  const permission = { policy: adminPolicy, collection: 'users', action: 'read' };
  const { id } = await make('permissions', permission);
  refused(t, await send('POST', '/permissions', { ...permission, id }), 'RECORD_NOT_UNIQUE', 'create');
});

t.test('updating the current user fails with each declared error', async (t) => {
  const other = await createUserWithToken(app);
  // A static token may not change the address of its own user.
  const session = await openSession(app, me.id);
  refused(t, await send('PATCH', '/users/me', { email: other.email }), 'FORBIDDEN', 'update me, with a static token');
  const { bad = {} } = collections.users ?? {};
  for (const [code, data] of Object.entries({ ...bad, RECORD_NOT_UNIQUE: { email: other.email } })) {
    refused(t, await send('PATCH', '/users/me', data, session), code as ErrorCode, `update me ${code}`);
  }
  refused(t, await send('PATCH', '/users/me?meta=all', {}), 'INVALID_QUERY', 'update me');
  refused(t, await send('PATCH', '/users/me', { status: 'suspended' }), 'UNPROCESSABLE_CONTENT', 'update me');
  refused(t, await send('PATCH', '/users/me', { title: 'Dr.' }, stranger), 'FORBIDDEN', 'update me');
  const own = {
    collection: 'users',
    action: 'update' as const,
    fields: ['*'],
    permissions: { id: { _eq: '$CURRENT_USER' } },
  };
  const { headers } = await createUserWithToken(app, { policies: [await policyWith(app, [own])] });
  t.equal(
    (await send('PATCH', '/users/me', { title: 'Dr.' }, headers)).statusCode,
    204,
    'no content for a user without read access to their own row',
  );
});
