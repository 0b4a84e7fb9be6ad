import t from 'tap';
import { permissions } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { bearer } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { createUser } from '../helpers/users/users.js';

/**
 * A field that a caller can read only for some items is null for the other items, whatever its type, as the OpenAPI
 * document says. An ID is left out, so that clients always get a key.
 */

t.test('a field that the caller can read only for some items is null for the others', async (t) => {
  const { app, get, post } = await startWithAdmin(t);
  const own = await createPolicy(app);
  const role = await createRole(app, { policies: [own] });
  const reader = await createUser(app, { token: 'the-token-of-the-reader', role, title: 'a needle' });
  await createUser(app, { policies: [own], role, title: 'another needle' });
  const right = (await post('/permissions', { policy: own, collection: 'settings', action: 'read' }, asAdmin)).json();
  const known = {
    users: reader.id,
    roles: role,
    policies: own,
    permissions: right.data.id as number,
  };
  for (const [collection, id] of Object.entries(known)) {
    const common = { policy: own, collection, action: 'read' as const };
    await app.db.insert(permissions).values([
      { ...common, fields: ['*'], permissions: { id: { _eq: id } } },
      { ...common, fields: ['id'] },
    ]);
  }

  const reading = bearer('the-token-of-the-reader');
  for (const [name, id] of Object.entries(known)) {
    const all: Record<string, unknown>[] = (await get(`/${name}?limit=-1`, asAdmin)).json().data;
    const seen: Record<string, unknown>[] = (await get(`/${name}?limit=-1`, reading)).json().data;
    t.equal(seen.length, all.length, name);
    t.ok(all.length > 1, name);
    for (const [index, item] of seen.entries()) {
      if (item.id === id) {
        t.strictSame(item, all[index], `${name}: the whole item`);
        continue;
      }
      const { id: shown, ...hidden } = item;
      t.equal(shown, all[index]?.id, `${name}: the readable field`);
      t.strictSame(new Set(Object.values(hidden)), new Set([null]), `${name}: the other fields are hidden`);
      t.strictSame(Object.keys(item), Object.keys(all[index] ?? {}), 'but their keys are present');
    }
    for (const field of Object.keys(all[0] ?? {})) {
      const grouped = await get(`/${name}?aggregate[count]=*&groupBy=${field}`, reading);
      if (grouped.statusCode !== 200) {
        refused(t, grouped, 'INVALID_QUERY', `${name} by ${field}, which cannot be compared`);
        continue;
      }
      const groups: Record<string, unknown>[] = grouped.json().data;
      t.ok(field === 'id' || groups.some((group) => group[field] === null), `${name} by ${field}`);
    }
  }

  const search = async (headers: Record<string, string>): Promise<{ title: string }[]> =>
    (await get('/users?search=needle&fields=title&sort=title', headers)).json().data;
  t.strictSame(await search(asAdmin), [{ title: 'a needle' }, { title: 'another needle' }]);
  t.strictSame(await search(reading), [{ title: 'a needle' }], 'a search does not find what is hidden');
});

t.test('an ID that may be read only for some items is left out for the others', async (t) => {
  const { app, get } = await startWithAdmin(t);
  const policy = await createPolicy(app);
  const role = await createRole(app, { policies: [policy] });
  const reader = await createUser(app, { token: 'the-token-of-the-reader', role });
  await createUser(app, { role });
  const common = { policy, action: 'read' as const };
  await app.db.insert(permissions).values([
    { ...common, collection: 'users', fields: ['id', 'role'], permissions: { id: { _eq: reader.id } } },
    { ...common, collection: 'users', fields: ['first_name', 'role'] },
    { ...common, collection: 'roles', fields: ['id'], permissions: { name: { _eq: 'none has this name' } } },
    { ...common, collection: 'roles', fields: ['name', 'description'] },
  ]);
  const reading = bearer('the-token-of-the-reader');
  const read = async (query: string) =>
    (await get(`/users?${query}`, reading)).json().data as Record<string, unknown>[];

  const seen = await read('fields=id,first_name');
  t.ok(seen.length > 1);
  t.strictSame(
    seen.filter((item) => 'id' in item).map(({ id }) => id),
    [reader.id],
  );
  for (const fields of ['role.id,role.name', 'role.id,role.name,role.description']) {
    for (const { role } of await read(`fields=${fields}`)) {
      if (role !== null) t.notOk('id' in (role as object), fields);
    }
  }
  const groups = await read('aggregate[count]=*&groupBy[]=id');
  t.strictSame(
    groups.map((group) => group.id),
    [reader.id, undefined],
  );
  t.notOk('id' in (groups[1] ?? {}));
});
