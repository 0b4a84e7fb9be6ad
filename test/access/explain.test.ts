import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { insertActivity } from '../../db/queries/activity/activity.js';
import { withoutSplitting } from '../../db/queries/items/costly-queries.js';
import { countReached } from '../../db/queries/items/reach.js';
import { collections } from '../../db/query-language/collections.js';
import { activity, policies, rolePolicies, sessions, users } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { engine } from '../helpers/database/databases.js';
import { asAdmin, startWithAdmin, stateOf } from '../helpers/http/writing.js';
import { codeOf } from '../helpers/service/app.js';
import { createRole, everyPermission, policyWith, setPublicPolicy } from '../helpers/users/rights.js';
import { openSession } from '../helpers/users/sessions.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

type Body = Record<string, unknown>;

async function start(t: Test) {
  const service = await startWithAdmin(t);
  const ask = (body: Body, headers: Record<string, string> = asAdmin) =>
    service.post('/permissions/explain', body, headers);
  const explain = async (body: Body) => {
    const response = await ask(body);
    if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${response.body}`);
    return response.json().data;
  };
  return { ...service, ask, explain };
}

const codesOf = ({ missing }: { missing: { code: string }[] }) => missing.map(({ code }) => code);

const activeUsers = { status: { _eq: 'active' } };

t.test('explains which permission of which policy allows an action, and why the policy applies', async (t) => {
  const { app, explain } = await start(t);
  const read = (fields: string[], rule: object | null = null) => ({
    collection: 'users',
    action: 'read' as const,
    fields,
    permissions: rule as Record<string, unknown> | null,
  });
  const byRole = await policyWith(app, [read(['id', 'email'], activeUsers)], { name: 'Of the role' });
  const byParent = await policyWith(app, [read(['id', 'title'])], { name: 'Of the parent' });
  const byUser = await policyWith(app, [read(['last_name'], { role: { _null: true } })], { name: 'Own' });
  const parent = await createRole(app, { policies: [byParent] });
  const role = await createRole(app, { policies: [byRole], parent });
  const ada = await createUser(app, { role, policies: [byUser] });
  const bob = await createUser(app, { status: 'suspended' });

  const all = await explain({ user: ada.id, collection: 'users', action: 'read' });
  t.match(all, { allowed: true, missing: [], filter: null, validation: null, requires_tfa: false });
  t.strictSame(all.fields, ['id', 'last_name', 'email', 'title']);
  t.strictSame(all.counts, { fields: 4, all_fields: 29, items: 3, more_items: false });
  t.strictSame(
    all.because.map(({ policy_name, by, role_name }: Record<string, string>) => [policy_name, by, role_name]).sort(),
    [
      ['Of the parent', 'parent', `Role ${parent}`],
      ['Of the role', 'role', `Role ${role}`],
      ['Own', 'user', null],
    ],
  );

  const email = await explain({ user: ada.id, collection: 'users', action: 'read', field: 'email' });
  t.match(email, { allowed: true, filter: activeUsers, counts: { items: 2 } });
  t.equal(email.because.length, 1);
  t.match(email.because[0], { policy: byRole, permission: Number, change: null, by: 'role', role });

  const shown = await explain({ user: ada.id, collection: 'users', action: 'read', item: bob.id, field: 'title' });
  t.match(shown, { allowed: true, missing: [] });
  t.strictSame(shown.fields, ['id', 'last_name', 'title']);
  const hidden = await explain({ user: ada.id, collection: 'users', action: 'read', item: bob.id, field: 'email' });
  t.match(hidden, { allowed: false, because: [], fields: ['id', 'last_name', 'title'] });
  t.strictSame(hidden.because, [], 'not the permission for other users');
  t.strictSame(codesOf(hidden), ['field_not_permitted']);
  t.equal(hidden.missing[0].field, 'email');
});

t.test('only administrators can call it, and the question must be valid', async (t) => {
  const { app, ask } = await start(t);
  const manager = await policyWith(app, everyPermission, { appAccess: true });
  const ada = await createUserWithToken(app, { policies: [manager] });
  const question = { user: ada.id, collection: 'users', action: 'read' };
  t.equal(codeOf(await ask(question, ada.headers)), 'FORBIDDEN');
  t.equal((await ask(question, {})).statusCode, 401);
  // Callers who are not administrators are rejected before their body is evaluated.
  t.equal(codeOf(await ask({ user: 1 }, ada.headers)), 'FORBIDDEN');

  const { collection, action } = question;
  const invalid: [what: string, body: Body][] = [
    ['nobody', { collection, action }],
    ['two subjects', { ...question, public: true }],
    ['public: false', { public: false, collection, action }],
    ['an ID that is not a UUID', { ...question, user: 'ada' }],
    ['an unknown collection', { ...question, collection: 'clients' }],
    ['a property of all objects', { ...question, collection: 'constructor' }],
    ['an unknown action', { ...question, action: 'share' }],
    ['no action', { user: ada.id, collection }],
    ['an item to create', { ...question, action: 'create', item: ada.id }],
    ['an item of the settings', { ...question, collection: 'settings', item: '1' }],
    ['a field to delete', { ...question, action: 'delete', field: 'email' }],
    ['an empty field', { ...question, field: '' }],
    ['something else than an address', { ...question, ip: 'localhost' }],
    ['a range of addresses', { ...question, ip: '192.0.2.0/24' }],
    ['an unknown key', { ...question, fields: ['email'] }],
    ['an unknown key in the changes', { ...question, changes: { users: [] } }],
    ['changes that are not lists', { ...question, changes: { roles: {} } }],
  ];
  for (const [what, body] of invalid) t.equal(codeOf(await ask(body)), 'INVALID_PAYLOAD', what);
});

t.test('says what is missing', async (t) => {
  const { app, explain } = await start(t);
  const limited = await policyWith(
    app,
    [
      { collection: 'users', action: 'read', fields: ['id', 'email', 'nonsense'], permissions: activeUsers },
      { collection: 'users', action: 'update', fields: ['title', 'role', 'password'], permissions: activeUsers },
      { collection: 'users', action: 'create', fields: ['title'] },
    ],
    { name: 'Limited' },
  );
  const office = await policyWith(app, [{ collection: 'roles', action: 'read', fields: ['*'] }], {
    ipAccess: ['192.0.2.0/24'],
  });
  const ada = await createUser(app, { policies: [limited, office] });
  const bob = await createUser(app, { status: 'suspended', policies: [limited] });
  const on = (action: string, more: object = {}) => explain({ user: ada.id, collection: 'users', action, ...more });
  const missing = async (answer: Promise<{ allowed: boolean; missing: { code: string }[] }>) => {
    const { allowed, missing: found } = await answer;
    t.equal(allowed, found.length === 0);
    return found.map(({ code }) => code);
  };

  t.strictSame(await missing(explain({ user: randomUUID(), collection: 'users', action: 'read' })), ['no_such_user']);
  t.strictSame(await missing(explain({ role: randomUUID(), collection: 'users', action: 'read' })), ['no_such_role']);
  t.strictSame(await missing(explain({ user: bob.id, collection: 'users', action: 'read' })), ['user_not_active']);
  t.strictSame(await missing(explain({ public: true, collection: 'users', action: 'read' })), ['no_permission']);
  t.strictSame(await missing(on('delete')), ['no_permission']);
  t.strictSame(await missing(on('read', { item: ada.id })), []);
  t.strictSame(await missing(on('read', { item: bob.id })), ['item_not_reached']);
  t.strictSame(await missing(on('read', { item: randomUUID() })), ['no_such_item']);
  t.strictSame(await missing(on('read', { item: 'not an ID' })), ['no_such_item']);
  t.strictSame(await missing(on('read', { item: 7 })), ['no_such_item']);
  t.strictSame(await missing(on('read', { field: 'title' })), ['field_not_permitted']);
  for (const field of ['password', 'nonsense', 'constructor', 'role.name', '*']) {
    t.strictSame(await missing(on('read', { field })), ['no_such_field'], field);
  }
  t.strictSame(await missing(on('update', { field: 'password' })), [], 'the password can be written');
  t.strictSame(await missing(on('update', { field: 'role' })), ['reserved'], 'only administrators can write the role');
  t.strictSame(await missing(on('create')), ['required_field']);
  t.match((await on('create')).missing, [{ field: 'email' }]);

  const from = (ip?: string) =>
    explain({ user: ada.id, collection: 'roles', action: 'read', ...(ip === undefined ? {} : { ip }) });
  t.strictSame(await missing(from()), ['no_permission', 'other_addresses']);
  t.match((await from()).missing[1], { policy: office });
  t.strictSame(await missing(from('198.51.100.1')), ['no_permission', 'other_addresses']);
  t.strictSame(await missing(from('192.0.2.7')), []);
  t.strictSame(await missing(from('::ffff:192.0.2.7')), []);
  t.match((await from('192.0.2.7')).because, [{ policy: office, by: 'user' }]);
});

t.test('covers the access flags of policies', async (t) => {
  const { app, explain } = await start(t);
  const administrators = await policyWith(app, [], { name: 'Root', adminAccess: true });
  const members = await policyWith(app, [], { name: 'Members', appAccess: true });
  const strict = await policyWith(app, [], { name: 'Strict', enforceTfa: true });
  const root = await createUser(app, { policies: [administrators] });
  const role = await createRole(app, { policies: [members] });
  const ada = await createUser(app, { role });

  for (const collection of ['users', 'roles', 'policies', 'permissions']) {
    for (const action of ['create', 'read', 'update']) {
      const answer = await explain({ user: root.id, collection, action });
      t.match(answer, { allowed: true, fields: ['*'], filter: null, because: [{ policy: administrators }] });
      t.equal(answer.because[0].permission, null);
    }
    t.match(await explain({ user: root.id, collection, action: 'delete' }), { allowed: true, fields: [] });
  }
  t.match(await explain({ user: root.id, collection: 'users', action: 'read' }), {
    counts: { fields: 29, all_fields: 29, items: 3, more_items: false },
  });

  const own = await explain({ user: ada.id, collection: 'users', action: 'read' });
  t.match(own, { allowed: true, fields: ['*'], filter: { id: { _eq: ada.id } }, counts: { items: 1 } });
  t.match(own.because, [{ policy: members, permission: null, by: 'role', role }]);
  t.equal((await explain({ user: ada.id, collection: 'users', action: 'read', item: root.id })).allowed, false);
  t.equal((await explain({ user: ada.id, collection: 'users', action: 'read', item: ada.id })).allowed, true);
  t.match(await explain({ user: ada.id, collection: 'roles', action: 'read' }), { filter: { id: { _in: [role] } } });
  t.match(await explain({ role, collection: 'users', action: 'read' }), {
    allowed: true,
    filter: { id: { _eq: '$CURRENT_USER' } },
    counts: { items: 0 },
  });
  t.equal((await explain({ user: ada.id, collection: 'policies', action: 'read' })).allowed, false);

  const careful = await createUser(app, { policies: [administrators, strict] });
  const refused = await explain({ user: careful.id, collection: 'users', action: 'read' });
  t.match(refused, { allowed: false, requires_tfa: true, fields: ['*'], because: [{ policy: administrators }] });
  t.strictSame(codesOf(refused), ['second_factor']);
  const secured = await createUser(app, { policies: [administrators, strict], tfa: true });
  const accepted = await explain({ user: secured.id, collection: 'users', action: 'read' });
  t.match(accepted, { allowed: true, requires_tfa: true, missing: [] });
  const strictRole = await createRole(app, { policies: [members, strict] });
  const ofRole = await explain({ role: strictRole, collection: 'users', action: 'read' });
  t.match(ofRole, { allowed: true, requires_tfa: true });
});

t.test('covers the settings, and the public policy', async (t) => {
  const { app, explain } = await start(t);
  const policy = await policyWith(app, [
    { collection: 'settings', action: 'read', fields: ['project_name', 'self_service'] },
    { collection: 'settings', action: 'update', fields: ['*'] },
    { collection: 'settings', action: 'delete', fields: ['*'] },
    { collection: 'users', action: 'read', fields: ['id'], permissions: { role: { _null: true } } },
  ]);
  await setPublicPolicy(app, policy);
  const homeless = await createUser(app);
  for (const subject of [{ public: true }, { user: homeless.id }]) {
    const on = (action: string, more: object = {}) => explain({ ...subject, collection: 'settings', action, ...more });
    const read = await on('read');
    t.match(read, { allowed: true, fields: ['project_name', 'self_service'], because: [{ policy, by: 'public' }] });
    t.equal((await on('read', { field: 'public_policy' })).allowed, false);
    const update = await on('update');
    t.strictSame(update.fields.sort(), ['default_language', 'project_color', 'project_logo', 'project_name']);
    t.strictSame(codesOf(await on('update', { field: 'self_service' })), ['reserved']);
    t.strictSame(codesOf(await on('delete')), ['no_operation']);
    t.strictSame(codesOf(await on('update', { field: 'nothing' })), ['no_such_field']);
    t.match(await explain({ ...subject, collection: 'users', action: 'read' }), {
      allowed: true,
      counts: { items: 1 },
    });
    t.match(await explain({ ...subject, collection: 'directus_users', action: 'read' }), { allowed: true });
  }
});

t.test('knows what the service refuses whatever the permissions', async (t) => {
  const { app, explain } = await start(t);
  const manager = await policyWith(app, everyPermission);
  const root = await createUser(app, { policies: [await policyWith(app, [], { adminAccess: true })] });
  const stronger = await createUser(app, {
    policies: [await policyWith(app, [{ collection: 'sessions', action: 'read', fields: ['*'] }])],
  });
  const ada = await createUser(app, { policies: [manager] });
  const plain = await createUser(app);
  const on = (action: string, more: object) => explain({ user: ada.id, collection: 'users', action, ...more });

  t.strictSame(codesOf(await on('update', { item: root.id, field: 'title' })), ['reserved'], 'an administrator');
  t.strictSame(codesOf(await on('delete', { item: root.id })), ['reserved']);
  t.strictSame(codesOf(await on('update', { item: plain.id, field: 'password' })), []);
  t.strictSame(codesOf(await on('update', { item: stronger.id, field: 'password' })), ['reserved'], 'more rights');
  t.strictSame(codesOf(await on('update', { item: stronger.id, field: 'title' })), []);
  t.strictSame(codesOf(await on('update', { item: plain.id, field: 'token' })), ['reserved']);
  t.strictSame(codesOf(await on('update', { item: ada.id, field: 'token' })), []);
  for (const field of ['role', 'policies', 'provider', 'external_identifier', 'auth_data', 'last_access']) {
    t.strictSame(codesOf(await on('update', { field })), ['reserved'], field);
    t.strictSame(codesOf(await explain({ user: root.id, collection: 'users', action: 'update', field })), [], field);
  }
  for (const field of ['created_at', 'email_verified_at', 'id']) {
    t.strictSame(codesOf(await on('update', { field })), ['no_such_field'], field);
  }
  for (const [collection, action] of [
    ['roles', 'delete'],
    ['policies', 'delete'],
    ['permissions', 'create'],
    ['permissions', 'update'],
    ['permissions', 'delete'],
  ]) {
    const answer = await explain({ user: ada.id, collection, action });
    t.strictSame(codesOf(answer), ['reserved'], `${action} ${collection}`);
  }
});

t.test(
  'covers the audit log, emails, and sessions, whose items callers reach only if they have the rights of the user',
  async (t) => {
    const { app, get, post, request, explain } = await start(t);
    const { schemas } = app.databaseConnection;
    const rights = [
      ['activity', 'read'],
      ['mails', 'read'],
      ['mails', 'update'],
      ['sessions', 'read'],
      ['sessions', 'delete'],
    ] as const;
    const all = rights.map(([collection, action]) => ({ collection, action, fields: ['*'] }));
    const policy = await policyWith(app, all);
    const more = await policyWith(app, [{ collection: 'roles', action: 'read', fields: ['*'] }]);
    const desk = await createUserWithToken(app, { policies: [policy] });
    const weak = await createUser(app);
    const strong = await createUser(app, { policies: [more] });
    const on = (collection: string, action: string, rest: Body = {}) =>
      explain({ user: desk.id, collection, action, ...rest });
    const url = `${app.config.PUBLIC_URL}/account/`;
    const queue = sql.identifier(schemas.queue);

    /** An item of each collection that is about a user. */
    const itemsAbout = async (user: string) => {
      await openSession(app, user);
      await app.mail.enqueue(app.db, { kind: 'invite', user, url, invitedBy: null });
      await insertActivity(app.db, [
        {
          ...{
            id: randomUUID(),
            timestamp: app.clock(),
            action: 'logout',
            outcome: 'success',
            code: null,
            reason: null,
          },
          ...{ user, actor: null, collection: 'users', item: user, ip: null, userAgent: null, requestId: null },
          ...{ changed: null, seal: '' },
        },
      ] as never);
      const [found] = await rows<{ mail: string; session: string; entry: string }>(
        app.db,
        sql`select (select id from ${queue}.job where data ->> 'user' = ${user} limit 1) as mail,
        (select id from ${sessions} s where s."user" = ${user} limit 1) as session,
        (select id from ${activity} a where a."user" = ${user} and a.action = 'logout' limit 1) as entry`,
      );
      if (!found) throw new Error('There are no items.');
      return found;
    };
    const fail = (id: string) => app.db.execute(sql`update ${queue}.job set state = 'failed' where id = ${id}`);
    const statuses = async (user: string, { mail, session, entry }: Awaited<ReturnType<typeof itemsAbout>>) => {
      const mails: { id: string }[] = (await get('/mails', desk.headers)).json().data;
      const listed = await get(`/users/${user}/sessions`, desk.headers);
      return [
        (await get(`/activity/${entry}`, desk.headers)).statusCode === 200,
        mails.some(({ id }) => id === mail),
        (await post(`/mails/${mail}/retry`, undefined, desk.headers)).statusCode === 204,
        listed.statusCode === 200 && listed.json().data.some(({ id }: { id: string }) => id === session),
        (await request({ method: 'DELETE', url: `/users/${user}/sessions/${session}`, headers: desk.headers }))
          .statusCode === 204,
      ];
    };

    for (const [collection, action] of rights) {
      const found = await on(collection, action);
      t.match(found, { allowed: true, filter: null, because: [{ policy, by: 'user' }], counts: { items: null } });
      t.strictSame(found.fields, action === 'read' ? ['*'] : []);
      t.strictSame(codesOf(await on(collection, action, { item: randomUUID() })), ['no_such_item']);
      t.strictSame(codesOf(await on(collection, action, { item: 'none' })), ['no_such_item'], 'a malformed ID');
      t.strictSame(codesOf(await explain({ user: weak.id, collection, action })), ['no_permission']);
      t.strictSame(codesOf(await explain({ public: true, collection, action })), ['no_permission']);
    }
    const cases = [
      [weak.id, []],
      [strong.id, ['more_rights']],
    ] as const;
    for (const [user, codes] of cases) {
      const items = await itemsAbout(user);
      t.strictSame(
        codesOf(await on('mails', 'update', { item: items.mail })),
        codes.length > 0 ? codes : ['not_failed'],
      );
      await fail(items.mail);
      const itemOf = { activity: items.entry, mails: items.mail, sessions: items.session };
      const explained = [];
      for (const [collection, action] of rights) {
        const item = itemOf[collection];
        const answer = await on(collection, action, { item });
        t.strictSame(codesOf(answer), codes, `${action} ${collection}`);
        t.equal(answer.because.length, codes.length > 0 ? 0 : 1);
        explained.push(answer.allowed);
        const narrow = { policy, collection, action, fields: ['id'], permissions: { id: { _neq: item } } };
        const deleted = (
          await get(`/permissions?filter[policy]=${policy}&filter[collection]=${collection}`, asAdmin)
        ).json();
        const changes = {
          permissions: [narrow],
          deleted: { permissions: deleted.data.map(({ id }: { id: number }) => id) },
        };
        t.strictSame(codesOf(await on(collection, action, { item, changes })), ['item_not_reached'], 'after a change');
        const same = { permissions: [{ policy, collection: 'roles', action: 'read', fields: ['*'] }] };
        t.strictSame(codesOf(await on(collection, action, { item, changes: same })), [], 'with the rights of the user');
      }
      t.strictSame(explained, await statuses(user, items), 'what the API does');
    }
    const items = await itemsAbout(desk.id);
    for (const [field, codes] of Object.entries({ device: [], user: ['no_such_field'], nonsense: ['no_such_field'] }))
      t.strictSame(codesOf(await on('sessions', 'read', { item: items.session, field })), codes, field);
    t.strictSame(codesOf(await on('mails', 'update', { field: 'state' })), ['no_such_field']);
    const device = { permissions: [{ policy: more, collection: 'sessions', action: 'read', fields: ['device'] }] };
    const narrow = (field: string) =>
      explain({ user: strong.id, collection: 'sessions', action: 'read', field, changes: device });
    t.match(await narrow('device'), { allowed: true, fields: ['device'] });
    t.strictSame(codesOf(await narrow('address')), ['field_not_permitted']);

    await setPublicPolicy(app, policy);
    for (const [collection, action] of rights)
      t.strictSame(codesOf(await explain({ public: true, collection, action })), ['reserved'], 'an anonymous caller');
    t.equal((await get('/activity')).statusCode, 403);

    const [root] = await rows<{ id: string }>(
      app.db,
      sql`select u.id from ${users} u join ${rolePolicies} rp on rp.role = u.role join ${policies} p on p.id = rp.policy where p.admin_access`,
    );
    const without: [string, string][] = [
      ['activity', 'create'],
      ['activity', 'update'],
      ['activity', 'delete'],
      ['mails', 'create'],
      ['mails', 'delete'],
      ['sessions', 'create'],
      ['sessions', 'update'],
    ];
    for (const [collection, action] of without)
      t.strictSame(codesOf(await explain({ user: root?.id, collection, action })), ['no_operation']);
    for (const method of ['PATCH', 'DELETE'] as const) {
      const response = await request({ method, url: `/activity/${items.entry}`, headers: asAdmin, payload: {} });
      t.equal(response.statusCode, 404, method);
    }
    for (const [collection, action] of rights)
      t.match(await explain({ user: root?.id, collection, action }), { allowed: true });
  },
);

t.test('describes the state after changes, and writes nothing', async (t) => {
  const { app, explain, ask } = await start(t);
  const policy = await policyWith(app, [{ collection: 'users', action: 'read', fields: ['id'] }]);
  const role = await createRole(app, { policies: [policy] });
  const ada = await createUser(app, { role });
  const question = { user: ada.id, collection: 'users', action: 'read', field: 'email' };
  const [{ permission }] = (await explain({ ...question, field: 'id' })).because;
  const newPolicy = randomUUID();
  const newRole = randomUUID();

  const before = await stateOf(app);
  const announced = async () => (await rows(app.db, sql`select from ${activity}`)).length;
  const count = await announced();
  const after = async (changes: object, more: object = {}) => explain({ ...question, ...more, changes });
  t.equal((await after({})).allowed, false);
  const added = await after({ permissions: [{ policy, collection: 'users', action: 'read', fields: ['email'] }] });
  t.match(added, { allowed: true, because: [{ policy, permission: null, change: 0, by: 'role' }] });
  t.match(await after({ permissions: [{ id: permission, fields: ['*'] }] }), {
    allowed: true,
    fields: ['*'],
    because: [{ permission, change: null }],
  });
  t.match(await after({ deleted: { permissions: [permission] } }, { field: 'id' }), { allowed: false });
  t.match(await after({ policies: [{ id: policy, ip_access: ['192.0.2.1'] }] }, { field: 'id' }), { allowed: false });
  t.match(await after({ policies: [{ id: policy, app_access: true }] }), {
    allowed: true,
    because: [{ permission: null }],
  });
  // A session need not be fresh, because nothing is written.
  t.match(await after({ policies: [{ id: policy, admin_access: true }] }), { allowed: true, filter: null });
  t.match(await after({ policies: [{ id: policy, enforce_tfa: true }] }, { field: 'id' }), {
    allowed: false,
    missing: [{ code: 'second_factor' }],
  });
  const wider = {
    policies: [{ id: newPolicy, name: 'New' }],
    roles: [
      { id: newRole, name: 'Above', policies: [newPolicy] },
      { id: role, parent: newRole },
    ],
    permissions: [
      { policy, collection: 'users', action: 'update', fields: ['title'] },
      { policy: newPolicy, collection: 'users', action: 'read', fields: ['email'] },
    ],
  };
  t.match(await after(wider), {
    allowed: true,
    because: [
      {
        policy: newPolicy,
        policy_name: 'New',
        permission: null,
        change: 1,
        fields: ['email'],
        own: false,
        by: 'parent',
        role: newRole,
        role_name: 'Above',
      },
    ],
  });
  const ofNewRole = { user: undefined, role: newRole };
  t.match(await after(wider, ofNewRole), { allowed: true, because: [{ by: 'role' }] });
  t.match(await after({ deleted: { roles: [role] } }, { field: 'id' }), { allowed: false });
  t.equal(await stateOf(app), before, 'nothing is written');
  t.equal(await announced(), count, 'nothing is recorded');
  t.equal((await explain(question)).allowed, false);
  t.equal((await explain({ role: newRole, collection: 'users', action: 'read' })).allowed, false);

  const [administrator] = (await explain({ role: await administratorRole(app), collection: 'users', action: 'read' }))
    .because;
  const invalid: [what: string, changes: object, code: string][] = [
    ['an invalid rule', { permissions: [{ id: permission, permissions: { nonsense: 1 } }] }, 'INVALID_PAYLOAD'],
    ['an unknown field', { roles: [{ id: role, nonsense: 1 }] }, 'INVALID_PAYLOAD'],
    ['an unknown collection', { permissions: [{ policy, collection: 'x', action: 'read' }] }, 'FAILED_VALIDATION'],
    ['a malformed range', { policies: [{ id: policy, ip_access: ['x'] }] }, 'FAILED_VALIDATION'],
    ['an unknown policy', { roles: [{ id: role, policies: [newPolicy] }] }, 'INVALID_FOREIGN_KEY'],
    ['a role above itself', { roles: [{ id: role, parent: role }] }, 'INVALID_PAYLOAD'],
    ['a long name', { roles: [{ id: role, name: 'x'.repeat(101) }] }, 'VALUE_TOO_LONG'],
    ['no name', { roles: [{ id: role, name: null }] }, 'NOT_NULL_VIOLATION'],
    ['an unknown permission', { permissions: [{ id: 2_000_000, fields: [] }] }, 'FORBIDDEN'],
    ['a deleted permission', { deleted: { permissions: [2_000_000] } }, 'FORBIDDEN'],
    ['the last administrator', { deleted: { policies: [administrator.policy] } }, 'UNPROCESSABLE_CONTENT'],
    ['a malformed ID', { roles: [{ id: 'x' }] }, 'INVALID_PAYLOAD'],
    ['an ID of another type', { permissions: [{ id: {} }] }, 'INVALID_PAYLOAD'],
    ['too many', { permissions: Array.from({ length: 51 }, () => ({ id: permission })) }, 'INVALID_PAYLOAD'],
    [
      'too many in total',
      { permissions: Array.from({ length: 30 }, () => ({})), roles: Array.from({ length: 30 }, () => ({})) },
      'INVALID_PAYLOAD',
    ],
  ];
  for (const [what, changes, code] of invalid) t.equal(codeOf(await ask({ ...question, changes })), code, what);
  t.equal(await stateOf(app), before, 'invalid changes write nothing');
});

t.test('others are not affected by changes that are only explained', async (t) => {
  const { app, get, explain } = await start(t);
  const policy = await policyWith(app, [{ collection: 'users', action: 'read', fields: ['id'] }]);
  const ada = await createUserWithToken(app, { policies: [policy] });
  const changes = { permissions: [{ policy, collection: 'users', action: 'read', fields: ['*'] }] };
  const question = { user: ada.id, collection: 'users', action: 'read', field: 'email', changes };
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, index) =>
      index % 2 === 0 ? (await explain(question)).allowed : codeOf(await get('/users?fields=email', ada.headers)),
    ),
  );
  t.strictSame(new Set(answers), new Set([true, 'FORBIDDEN']));
  t.equal(codeOf(await get('/users?fields=email', ada.headers)), 'FORBIDDEN');
});

t.test('the filter selects the same items, and counts stop at a thousand', async (t) => {
  const { app, explain, get } = await start(t);
  const rule = {
    _or: [{ title: { _in: ['a', 'b'] } }, { _and: [{ title: { _nnull: true } }, { title: { _neq: 'c' } }] }],
  };
  const policy = await policyWith(app, [{ collection: 'users', action: 'read', fields: ['id'], permissions: rule }]);
  const ada = await createUser(app, { policies: [policy], title: 'a' });
  await createUser(app, { title: 'c' });
  await createUser(app, { title: 'd' });
  // Before the first count, because the service remembers for some seconds how many users there are.
  await app.db.execute(
    sql`insert into ${users} (id, email, status, provider) select gen_random_uuid(), 'many-' || n || '@example.com', 'draft', 'default' from generate_series(1, 1100) n`,
  );
  const answer = await explain({ user: ada.id, collection: 'users', action: 'read' });
  t.match(answer, { counts: { items: 2, more_items: false } });
  const found = await get(`/users?filter=${encodeURIComponent(JSON.stringify(answer.filter))}`, asAdmin);
  t.equal(found.json().data.length, 2);
  const root = await explain({ role: await administratorRole(app), collection: 'users', action: 'read' });
  t.match(root, { counts: { items: 1000, more_items: true } });

  const titles = Array.from({ length: 40 }, (_, index) => ({ title: { _contains: `title ${index}` } }));
  const costly = await policyWith(app, [
    { collection: 'users', action: 'read', fields: ['id'], permissions: { _or: titles } },
  ]);
  const bob = await createUser(app, { policies: [costly] });
  // The embedded engine cannot cancel a statement, so it does not start one that could take long.
  const { counts } = await explain({ user: bob.id, collection: 'users', action: 'read' });
  t.strictSame(counts, { fields: 1, all_fields: 29, items: engine === 'embedded' ? null : 0, more_items: false });
});

t.test('the time limit of a count ends with the count', async (t) => {
  const { app } = await start(t);
  await app.db.transaction(async (tx) => {
    const limit = () => rows(tx, sql`show statement_timeout`);
    const before = await limit();
    t.equal(await countReached(tx, withoutSplitting, collections.users, [null]), 1);
    t.strictSame(await limit(), before);
  });
});

async function administratorRole(app: FastifyInstance): Promise<string> {
  const [found] = await rows<{ role: string }>(
    app.db,
    sql`select rp.role from ${rolePolicies} rp join ${policies} p on p.id = rp.policy where p.admin_access and p.name = 'Administrator'`,
  );
  return found?.role ?? '';
}
