import { randomUUID } from 'node:crypto';
import t from 'tap';
import { permissions } from '../../db/schema.js';
import type { ErrorCode } from '../../schemas/errors.js';
import { asAdmin, type Extensions, patch, refusedUnchanged, remove, startWithAdmin } from '../helpers/http/writing.js';
import { bearer } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { createUser } from '../helpers/users/users.js';

t.test('roles, policies, permissions and settings', async (t) => {
  const service = await startWithAdmin(t, { MAX_BATCH_MUTATION: '10' });
  const { app, post, get, request } = service;
  const nobody = randomUUID();
  const policy = await createPolicy(app);
  const [a, b, c] = [await createRole(app), await createRole(app), await createRole(app)];
  const right = { policy, collection: 'users', action: 'read' };
  const made = await post('/permissions', right, asAdmin);
  const permission: number = made.json().data.id;
  const rowWithRule = await post('/permissions', { ...right, permissions: { email: { _eq: 'x' } } }, asAdmin);

  t.test('a new permission stores only the given fields, and the directus_ prefix is dropped', async (t) => {
    const { id, ...rest } = made.json().data;
    t.type(id, 'number');
    const empty = { permissions: null, validation: null, presets: null, fields: null };
    t.strictSame(rest, { ...right, ...empty });
    for (const collection of ['users', 'roles', 'policies', 'permissions', 'settings']) {
      const response = await post('/permissions', { ...right, collection: `directus_${collection}` }, asAdmin);
      t.equal(response.json().data.collection, collection);
      t.equal((await remove(service, `/permissions/${response.json().data.id}`)).statusCode, 204);
    }
  });

  t.test('new roles and policies get default values, and callers can query them', async (t) => {
    const role = (await post('/roles', { name: 'R', parent: a.toUpperCase(), policies: [policy] }, asAdmin)).json()
      .data;
    t.strictSame(role, {
      id: role.id,
      name: 'R',
      icon: null,
      description: null,
      parent: a,
      children: [],
      policies: [policy],
      users: [],
    });
    const created = (await post('/policies', [{ name: 'P' }], asAdmin)).json().data[0];
    t.match(created, { ip_access: null, enforce_tfa: false, admin_access: false, app_access: false, users: [] });
    const found = await request({
      method: 'SEARCH',
      url: '/roles',
      headers: asAdmin,
      payload: { query: { fields: ['name', 'parent.id'], filter: { name: 'R' }, meta: '*' } },
    });
    t.match(found.json(), { data: [{ name: 'R', parent: { id: a } }], meta: { filter_count: 1 } });
    t.equal((await remove(service, '/policies', { query: { filter: { name: 'P' } } })).statusCode, 204);
    t.equal((await remove(service, `/roles/${role.id}`)).statusCode, 204);
  });

  t.test('a rejected request changes nothing', async (t) => {
    const wrong = ['INVALID_PAYLOAD'] as const;
    const cidr: [ErrorCode, Extensions] = ['FAILED_VALIDATION', { field: 'ip_access', type: 'cidr' }];
    const creations: [url: string, payload: object, readonly [ErrorCode, Extensions?]][] = [
      ['/roles', {}, wrong],
      ['/roles', { name: null }, ['NOT_NULL_VIOLATION', { collection: 'roles', field: 'name' }]],
      ['/roles', { name: 'x'.repeat(101) }, ['VALUE_TOO_LONG', { collection: 'roles', field: 'name' }]],
      ['/roles', { name: 'x', nickname: 'x' }, wrong],
      ['/roles', { name: 'x', users: [] }, wrong],
      ['/roles', { name: 'x', parent: nobody }, ['INVALID_FOREIGN_KEY', { field: 'parent', value: nobody }]],
      ['/roles', { name: 'x', policies: [nobody] }, ['INVALID_FOREIGN_KEY', { field: 'policies', value: nobody }]],
      ['/roles', { name: 'x', id: a }, ['RECORD_NOT_UNIQUE', { collection: 'roles', field: 'id', value: a }]],
      ['/roles', [{ name: 'x' }, {}], wrong],
      ['/policies', {}, wrong],
      ['/policies', { name: 'x', admin_access: 1 }, wrong],
      ['/policies', { name: 'x', permissions: [] }, wrong],
      ['/policies', { name: 'x', ip_access: '10.0.0.0/8' }, wrong],
      ['/policies', { name: 'x', ip_access: [1] }, wrong],
      ...['10.0.0.0/33', '10.0.0.0/', '10.0.0', '::/129', '10.0.0.0/8/8', '', 'localhost', '10.0.0.0/-1'].map(
        (range): [string, object, readonly [ErrorCode, Extensions?]] => [
          '/policies',
          { name: 'x', ip_access: ['::1', range] },
          cidr,
        ],
      ),
      ['/permissions', { policy, collection: 'users' }, wrong],
      ['/permissions', { ...right, policy: nobody }, ['INVALID_FOREIGN_KEY', { field: 'policy', value: nobody }]],
      ...['passkeys', 'directus_', 'directus_directus_users', 'Users', '__proto__', ''].map(
        (collection): [string, object, readonly [ErrorCode, Extensions?]] => [
          '/permissions',
          { ...right, collection },
          ['FAILED_VALIDATION', { field: 'collection' }],
        ],
      ),
      ['/permissions', { ...right, action: 'share' }, ['FAILED_VALIDATION', { field: 'action' }]],
      ['/permissions', { ...right, action: null }, wrong],
      ['/permissions', { ...right, fields: 'id' }, wrong],
      ['/permissions', { ...right, presets: [] }, wrong],
      ['/permissions', { ...right, permissions: 'x' }, wrong],
      ['/permissions', { ...right, permissions: { nickname: { _eq: 1 } } }, wrong],
      ['/permissions', { ...right, permissions: { password: { _nnull: true } } }, wrong],
      ['/permissions', { ...right, validation: { email: { _regex: 'x' } } }, wrong],
      ['/permissions', { ...right, collection: 'settings', permissions: { project_name: { _eq: 'x' } } }, wrong],
    ];
    for (const [url, payload, error] of creations) {
      await refusedUnchanged(
        t,
        service,
        () => post(url, payload, asAdmin),
        error,
        JSON.stringify(payload).slice(0, 99),
      );
    }
    const updates: [url: string, payload: object, readonly [ErrorCode, Extensions?]][] = [
      [`/roles/${a}`, { parent: a }, wrong],
      ['/roles', { keys: [a, b], data: { parent: b } }, wrong],
      [
        '/roles',
        [
          { id: a, parent: b },
          { id: b, parent: c },
          { id: c, parent: a },
        ],
        wrong,
      ],
      [`/permissions/${permission}`, { permissions: { nickname: { _eq: 1 } } }, wrong],
      [`/permissions/${permission}`, { validation: { email: { _x: 1 } } }, wrong],
      [`/permissions/${rowWithRule.json().data.id}`, { collection: 'roles' }, wrong],
      [`/permissions/${permission}x`, {}, ['FORBIDDEN']],
      ['/permissions/999999999999', {}, ['FORBIDDEN']],
      [`/policies/${policy}`, { ip_access: ['x'] }, cidr],
    ];
    for (const [url, payload, error] of updates) {
      await refusedUnchanged(t, service, () => patch(service, url, payload), error, JSON.stringify(payload));
    }
    t.equal((await patch(service, `/roles/${b}`, { parent: a })).statusCode, 200);
    const circle = () => patch(service, `/roles/${a}`, { parent: b });
    await refusedUnchanged(t, service, circle, wrong, 'a cycle created by two requests');
    const racing = await Promise.all([
      patch(service, `/roles/${a}`, { parent: c }),
      patch(service, `/roles/${c}`, { parent: b }),
    ]);
    t.strictSame(
      racing.map(({ statusCode }) => statusCode).sort(),
      [200, 400],
      'two simultaneous requests cannot create a cycle either',
    );
  });

  t.test('only an administrator may change anything that determines rights', async (t) => {
    for (const collection of ['roles', 'policies', 'permissions', 'settings', 'users']) {
      for (const action of ['create', 'update', 'delete'] as const) {
        await app.db.insert(permissions).values({ policy, collection, action, fields: ['*'] });
      }
    }
    const { id } = await createUser(app, { token: 'may-write-everything', policies: [policy] });
    const headers = bearer('may-write-everything');
    const attempts: [string, () => ReturnType<typeof patch>][] = [
      ['create a permission', () => post('/permissions', right, headers)],
      ['update a permission', () => patch(service, `/permissions/${permission}`, { fields: ['*'] }, headers)],
      ['delete a permission', () => remove(service, `/permissions/${permission}`, undefined, headers)],
      ['set admin_access', () => patch(service, `/policies/${policy}`, { admin_access: true }, headers)],
      ['create a policy with admin_access', () => post('/policies', { name: 'x', admin_access: true }, headers)],
      ['clear ip_access', () => patch(service, `/policies/${policy}`, { ip_access: null }, headers)],
      ['delete a policy', () => remove(service, `/policies/${policy}`, undefined, headers)],
      ['create a role with a parent', () => post('/roles', { name: 'x', parent: a }, headers)],
      ['change the policies of a role', () => patch(service, `/roles/${a}`, { policies: [policy] }, headers)],
      ['delete a role', () => remove(service, '/roles', [a], headers)],
      ['change the public policy', () => patch(service, '/settings', { public_policy: policy }, headers)],
      ['change their own role', () => patch(service, `/users/${id}`, { role: a }, headers)],
    ];
    for (const [what, send] of attempts) await refusedUnchanged(t, service, send, ['FORBIDDEN'], what);
    t.equal((await post('/roles', { name: 'harmless' }, headers)).statusCode, 204);
  });

  t.test('settings are a single item, and the type of each field is validated', async (t) => {
    const wrong: [payload: object, readonly [ErrorCode, Extensions?]][] = [
      [{ nickname: 'x' }, ['INVALID_PAYLOAD']],
      [{ id: 2 }, ['INVALID_PAYLOAD']],
      [{ project_name: null }, ['INVALID_PAYLOAD']],
      [{ project_name: '' }, ['INVALID_PAYLOAD']],
      [{ public_registration: 'true' }, ['INVALID_PAYLOAD']],
      [{ auth_login_attempts: 0 }, ['INVALID_PAYLOAD']],
      [{ public_policy: 'x' }, ['INVALID_PAYLOAD']],
      [{ public_policy: nobody }, ['INVALID_FOREIGN_KEY', { field: 'public_policy', value: nobody }]],
      [{ public_registration_role: nobody }, ['INVALID_FOREIGN_KEY', { field: 'public_registration_role' }]],
      [{ auth_password_policy: '(' }, ['FAILED_VALIDATION', { field: 'auth_password_policy', type: 'regex' }]],
      [{ public_registration_email_filter: { role: { _nnull: true } } }, ['FAILED_VALIDATION']],
      [{ public_registration_email_filter: { email: { _x: 1 } } }, ['FAILED_VALIDATION']],
    ];
    for (const [payload, error] of wrong) {
      const send = () => patch(service, '/settings', { project_color: '#fff', ...payload });
      await refusedUnchanged(t, service, send, error, JSON.stringify(payload));
    }
    const given = {
      project_name: 'P',
      public_registration_email_filter: { email: { _ends_with: '@example.com' } },
      auth_login_attempts: null,
      public_policy: policy,
    };
    t.match((await patch(service, '/settings', given)).json().data, given);
    t.match((await get('/settings', asAdmin)).json().data, { ...given, public_registration: false });
    t.equal((await patch(service, '/settings', { public_policy: null })).statusCode, 200);
    await refusedUnchanged(t, service, () => get('/settings'), ['FORBIDDEN'], 'settings are private by default');
  });

  t.test('users can read their own rights and roles', async (t) => {
    const own = await createPolicy(app, { appAccess: true, read: ['id'] });
    const role = await createRole(app, { parent: a });
    await createUser(app, { token: 'an-app-user', role, policies: [own] });
    const headers = bearer('an-app-user');
    t.match((await get('/policies/me/globals', headers)).json().data, { app_access: true, admin_access: false });
    const mine = (await get('/permissions/me', headers)).json().data;
    t.equal(mine.users.read.access, 'full');
    t.equal(mine.settings.update.access, 'none');
    const roles = (await get('/roles/me?fields=id', headers)).json().data;
    t.ok(roles.some(({ id }: { id: string }) => id === role) && roles.length >= 2, 'the role and its ancestors');
    t.equal((await get('/roles/me')).statusCode, 401);
  });
});
