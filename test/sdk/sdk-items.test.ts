// @suite embedded-only: hardly depends on the engine

import {
  aggregate,
  createDirectus,
  createPermission,
  createPermissions,
  createPolicies,
  createPolicy,
  createRole,
  createRoles,
  createUser,
  createUsers,
  deletePermission,
  deletePermissions,
  deletePolicies,
  deletePolicy,
  deleteRole,
  deleteRoles,
  deleteUser,
  deleteUsers,
  readActivities,
  readActivity,
  readMe,
  readPermission,
  readPermissions,
  readPolicies,
  readPolicy,
  readPolicyGlobals,
  readRole,
  readRoles,
  readRolesMe,
  readSettings,
  readUser,
  readUserPermissions,
  readUsers,
  rest,
  serverHealth,
  serverInfo,
  serverPing,
  staticToken,
  updateMe,
  updatePermission,
  updatePermissions,
  updatePermissionsBatch,
  updatePolicies,
  updatePoliciesBatch,
  updatePolicy,
  updateRole,
  updateRoles,
  updateRolesBatch,
  updateSettings,
  updateUser,
  updateUsers,
  updateUsersBatch,
  withSearch,
} from '@directus/sdk';
import t from 'tap';
import { adminToken, startWithAdmin } from '../helpers/http/writing.js';
import { checkedFetch } from '../helpers/openapi/document.js';

const { app } = await startWithAdmin(t);
const url = await app.listen({ host: '127.0.0.1', port: 0 });
const client = createDirectus(url, { globals: { fetch: checkedFetch } })
  .with(staticToken(adminToken))
  .with(rest());
const idsOf = (items: Record<string, unknown>[]) => items.map(({ id }) => id);

t.test('the functions for users work', async (t) => {
  const ada = await client.request(createUser({ email: 'ada@example.com', first_name: 'Ada' }, { fields: ['*'] }));
  t.match(ada, { email: 'ada@example.com', first_name: 'Ada', status: 'active', policies: [] });
  const made = await client.request(
    createUsers(
      ['bob', 'eve'].map((name) => ({ email: `${name}@example.com`, password: 'a fine password', first_name: name })),
      { fields: ['id', 'first_name'] },
    ),
  );
  t.strictSame(
    made.map(({ first_name }) => first_name),
    ['bob', 'eve'],
  );
  const keys = [ada.id, ...idsOf(made).map(String)];

  t.equal((await client.request(readUser(ada.id))).email, 'ada@example.com');
  const query = {
    fields: ['id' as const],
    filter: { first_name: { _in: ['bob', 'eve'] } },
    sort: ['-first_name' as const],
  };
  t.strictSame(idsOf(await client.request(readUsers(query))), idsOf(made).reverse());
  t.strictSame(idsOf(await client.request(withSearch(readUsers(query)))), idsOf(made).reverse(), 'by SEARCH');
  t.equal((await client.request(readUsers({ limit: 2, page: 2, sort: ['email'] }))).length, 2);
  t.equal((await client.request(readUsers({ search: 'ADA' }))).length, 1);
  t.match(await client.request(aggregate('directus_users', { aggregate: { count: '*' } })), [{ count: 4 }]);
  const groups = await client.request(
    aggregate('directus_users', { aggregate: { count: 'id' }, groupBy: ['status'], query: { limit: -1 } }),
  );
  t.match(groups, [{ status: 'active', count: { id: 4 } }]);

  t.equal((await client.request(updateUser(ada.id, { title: 'Countess' }))).title, 'Countess');
  const updated = await client.request(updateUsers(keys, { location: 'London' }, { fields: ['id', 'location'] }));
  t.strictSame(
    updated,
    keys.map((id) => ({ id, location: 'London' })),
  );
  const batch = await client.request(updateUsersBatch(keys.map((id, index) => ({ id, title: `${index}` }))));
  t.strictSame(
    batch.map(({ title }) => title),
    ['0', '1', '2'],
  );
  t.equal((await client.request(updateMe({ first_name: 'Root' }))).first_name, 'Root');
  t.equal((await client.request(readMe({ fields: ['first_name', 'role'] }))).first_name, 'Root');
  await client.request(deleteUser(ada.id));
  await client.request(deleteUsers(keys.slice(1)));
  t.equal((await client.request(readUsers())).length, 1);
  const refusal: unknown = await client.request(readUser(ada.id)).catch((error: unknown) => error);
  t.match(refusal, { errors: [{ extensions: { code: 'FORBIDDEN' } }] });
});

t.test('the functions for roles work', async (t) => {
  const parent = await client.request(createRole({ name: 'Parent' }));
  const children = await client.request(createRoles([{ name: 'A', parent: parent.id }, { name: 'B' }]));
  const keys = idsOf(children).map(String);
  t.strictSame((await client.request(readRole(parent.id))).children, [keys[0]]);
  const nested = await client.request(
    readRoles({ fields: ['name', { parent: ['name'] }], filter: { name: { _eq: 'A' } } }),
  );
  t.strictSame(nested, [{ name: 'A', parent: { name: 'Parent' } }]);
  t.equal((await client.request(updateRole(parent.id, { description: 'x' }))).description, 'x');
  t.equal((await client.request(updateRoles(keys, { icon: 'x' }))).length, 2);
  const batch = await client.request(updateRolesBatch(keys.map((id) => ({ id, name: `Role ${id}` }))));
  t.strictSame(
    batch.map(({ name }) => name),
    keys.map((id) => `Role ${id}`),
  );
  const mine = await client.request(readRolesMe({ fields: ['id', 'name'] }));
  t.match(mine, [{ name: 'Administrator' }]);
  await client.request(deleteRole(parent.id));
  await client.request(deleteRoles(keys));
  t.equal((await client.request(readRoles())).length, 1);
});

t.test('the functions for policies and permissions work', async (t) => {
  const policy = await client.request(createPolicy({ name: 'P', enforce_tfa: false }));
  const more = await client.request(createPolicies([{ name: 'Q' }, { name: 'R', app_access: true }]));
  const keys = idsOf(more).map(String);
  t.match(await client.request(readPolicy(policy.id)), { name: 'P', ip_access: null, admin_access: false });
  t.equal(
    (await client.request(readPolicies({ filter: { app_access: { _eq: true }, admin_access: { _eq: false } } })))
      .length,
    1,
  );
  t.equal((await client.request(updatePolicy(policy.id, { name: 'P2' }))).name, 'P2');
  t.equal((await client.request(updatePolicies(keys, { icon: 'x' }))).length, 2);
  t.equal((await client.request(updatePoliciesBatch(keys.map((id) => ({ id, icon: 'y' }))))).length, 2);
  t.match(await client.request(readPolicyGlobals()), { app_access: true, admin_access: true, enforce_tfa: false });

  const right = { policy: policy.id, collection: 'directus_users', action: 'read', fields: ['id'] };
  const permission = await client.request(createPermission(right));
  t.match(permission, { policy: policy.id, collection: 'users', action: 'read', fields: ['id'], permissions: null });
  const rights = await client.request(createPermissions([right, { ...right, action: 'update' }]));
  const rightKeys = idsOf(rights).map(Number);
  t.equal((await client.request(readPermission(Number(permission.id)))).action, 'read');
  t.equal((await client.request(readPermissions({ filter: { policy: { _eq: policy.id } } }))).length, 3);
  const rule = { id: { _eq: '$CURRENT_USER' } };
  t.strictSame(
    (await client.request(updatePermission(Number(permission.id), { permissions: rule }))).permissions,
    rule,
  );
  t.equal((await client.request(updatePermissions(rightKeys, { fields: ['*'] }))).length, 2);
  t.equal((await client.request(updatePermissionsBatch(rightKeys.map((id) => ({ id, fields: ['id'] }))))).length, 2);
  t.match(await client.request(readUserPermissions()), { users: { read: { access: 'full', fields: ['*'] } } });
  await client.request(deletePermission(Number(permission.id)));
  await client.request(deletePermissions(rightKeys));
  await client.request(deletePolicy(policy.id));
  await client.request(deletePolicies(keys));
  t.equal((await client.request(readPermissions())).length, 0);
});

t.test('the functions for the audit log work', async (t) => {
  const query = { fields: ['id', 'action', 'item'], filter: { action: { _eq: 'create' } }, sort: ['-id'], limit: 2 };
  const found = (await client.request(readActivities(query as object))) as unknown as Record<string, unknown>[];
  t.match(found, [{ action: 'create' }, { action: 'create' }]);
  const [newest] = found;
  t.match(await client.request(readActivity(newest?.id as number)), { action: 'create', item: newest?.item });
  t.equal((await client.request(withSearch(readActivities({ limit: 1 })))).length, 1, 'by SEARCH');
});

t.test('the functions for settings and the server work', async (t) => {
  t.match(await client.request(readSettings()), { project_name: 'Gatehouse' });
  t.equal(Reflect.get(await client.request(updateSettings({ project_name: 'Renamed' })), 'project_name'), 'Renamed');
  t.strictSame(await client.request(readSettings({ fields: ['project_name'] })), { project_name: 'Renamed' });
  t.equal(await client.request(serverPing()), 'pong');
  t.equal((await client.request(serverHealth())).status, 'ok');
  t.equal((await client.request(serverInfo())).project.project_name, 'Renamed');
});
