import { randomUUID } from 'node:crypto';
import t from 'tap';
import { recorded } from '../helpers/database/activity.js';
import { dumpDatabase } from '../helpers/database/dump.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, patch, refusedUnchanged, remove, startWithAdmin } from '../helpers/http/writing.js';
import { allOperations, configOf } from '../helpers/openapi/operations.js';
import { assertUnchanged, createPolicy, createRole, policyWith } from '../helpers/users/rights.js';
import { createUser, createUserWithToken, storedUser } from '../helpers/users/users.js';

const service = await startWithAdmin(t, { MAX_BATCH_MUTATION: '20' });
const { app, post, request } = service;
const newUser = () => ({ email: `${randomUUID()}@example.com`, password: 'a strong pass phrase 7' });
const dryRun = { dry_run: true };

t.test('a dry run of a creation returns the users as they would be, and changes nothing', async (t) => {
  const role = await createRole(app);
  const users = [
    { ...newUser(), role, first_name: 'Ada' },
    { ...newUser(), title: 'Analyst' },
  ];
  const fields = 'fields=*,role.name&meta=total_count';
  await assertUnchanged(t, app, 'dry run', async () => {
    for (const body of [users, { data: users }]) {
      const response = await post(`/users?dry_run=true&${fields}`, body, asAdmin);
      t.equal(response.statusCode, 200, response.body);
      const { data, meta } = response.json();
      t.strictSame(meta, { total_count: 3, ...dryRun }, 'the count includes the new users');
      t.match(data, [
        { email: users[0]?.email, role: { name: `Role ${role}` }, first_name: 'Ada', status: 'active' },
        { email: users[1]?.email, role: null, title: 'Analyst', status: 'active' },
      ]);
      t.match(data[0].created_at, /^\d{4}-/);
    }
  });
  const real = await post(`/users?${fields}`, users, asAdmin);
  t.equal(real.statusCode, 200);
  t.strictSame(real.json().meta, { total_count: 3 });
});

t.test('a dry run does not hash passwords, but checks them', async (t) => {
  const { passwords } = app;
  const { hashMany } = passwords;
  t.teardown(() => Object.assign(passwords, { hashMany }));
  let hashed = 0;
  passwords.hashMany = (...given) => {
    hashed++;
    return hashMany(...given);
  };
  t.equal((await post('/users?dry_run=true', [newUser()], asAdmin)).statusCode, 200);
  t.equal(hashed, 0);
  refused(
    t,
    await post('/users?dry_run=true', [{ ...newUser(), password: 'password' }], asAdmin),
    'FAILED_VALIDATION',
    'weak',
  );
  t.equal((await post('/users', [newUser()], asAdmin)).statusCode, 200);
  t.equal(hashed, 1, 'a real creation hashes');
});

t.test('the refusal of a dry run is not in the audit log', async (t) => {
  const policy = await policyWith(app, [{ collection: 'users', action: 'update', fields: ['title'] }]);
  const { headers } = await createUserWithToken(app, { policies: [policy] });
  const { id } = await createUser(app);
  const body = { keys: [id], data: { status: 'suspended' } };
  for (const [query, recordedRefusals] of [
    ['?dry_run=true', 0],
    ['', 1],
  ] as const) {
    const response = await patch(service, `/users${query}`, body, headers);
    refused(t, response, 'FORBIDDEN', query);
    t.equal((await recorded(app, response.headers['x-request-id'])).length, recordedRefusals, query);
  }
});

t.test('a dry run of an update returns the users as they would be, and ends no session', async (t) => {
  const [ada, bob] = [await createUserWithToken(app), await createUserWithToken(app)];
  await assertUnchanged(t, app, 'dry run', async () => {
    const forms = [
      { keys: [ada.id, bob.id], data: { status: 'suspended', title: 'gone' } },
      {
        query: { filter: { id: { _in: [ada.id, bob.id] } }, sort: ['email'] },
        data: { status: 'suspended', title: 'gone' },
      },
      [ada, bob].map(({ id }) => ({ id, status: 'suspended', title: 'gone' })),
    ];
    for (const body of forms) {
      const response = await patch(service, '/users?dry_run=true&fields=id,status,title', body);
      t.equal(response.statusCode, 200, response.body);
      const { data, meta } = response.json();
      t.strictSame(meta, dryRun);
      t.strictSame(
        data.toSorted((one: { id: string }, other: { id: string }) => one.id.localeCompare(other.id)),
        [ada, bob]
          .map(({ id }) => ({ id, status: 'suspended', title: 'gone' }))
          .toSorted((one, other) => one.id.localeCompare(other.id)),
      );
    }
    t.strictSame((await patch(service, '/users?dry_run=true', { keys: [], data: {} })).json(), {
      data: [],
      meta: dryRun,
    });
  });
  t.equal((await service.get('/users/me', ada.headers)).statusCode, 200, 'the user is still active');
});

t.test('a caller who cannot read the users learns only that the write would succeed', async (t) => {
  const policy = await policyWith(app, [
    { collection: 'users', action: 'update', fields: ['title'] },
    { collection: 'users', action: 'create', fields: ['email', 'password'] },
  ]);
  const caller = await createUserWithToken(app, { policies: [policy] });
  const { id } = await createUser(app);
  await assertUnchanged(t, app, 'dry run', async () => {
    const updated = await patch(service, '/users?dry_run=true', { keys: [id], data: { title: 'x' } }, caller.headers);
    t.strictSame(updated.json(), { data: [], meta: dryRun });
    const created = await post('/users?dry_run=true', [newUser()], caller.headers);
    t.strictSame(created.json(), { data: [], meta: dryRun });
  });
});

t.test('a dry run of a deletion returns the keys', async (t) => {
  const policy = await createPolicy(app);
  const role = await createRole(app, { policies: [policy] });
  const permission = (await post('/permissions', { policy, collection: 'users', action: 'read' }, asAdmin)).json().data
    .id;
  const [ada, bob] = [await createUser(app, { role }), await createUser(app)];
  const cases: [url: string, payload: object | undefined, keys: unknown[]][] = [
    [`/users/${ada.id.toUpperCase()}`, undefined, [ada.id]],
    ['/users', [ada.id, bob.id, ada.id], [ada.id, bob.id]],
    ['/users', { keys: [bob.id] }, [bob.id]],
    ['/users', { query: { filter: { id: { _eq: bob.id } } } }, [bob.id]],
    ['/users', [], []],
    [`/roles/${role}`, undefined, [role]],
    ['/roles', [role], [role]],
    [`/policies/${policy}`, undefined, [policy]],
    ['/policies', { keys: [policy] }, [policy]],
    [`/permissions/${permission}`, undefined, [permission]],
    ['/permissions', [permission], [permission]],
  ];
  await assertUnchanged(t, app, 'dry run', async () => {
    for (const [url, payload, keys] of cases) {
      const response = await remove(service, `${url}?dry_run=true`, payload);
      t.equal(response.statusCode, 200, url);
      t.strictSame(response.json(), { data: keys, meta: dryRun }, url);
    }
  });
  t.equal((await remove(service, '/users?dry_run=false', [bob.id])).statusCode, 204, 'false: the user is deleted');
  refused(t, await service.get(`/users/${bob.id}`, asAdmin), 'FORBIDDEN', 'deleted');
});

t.test('the errors are those of the real write', async (t) => {
  const taken = await createUser(app);
  const unknown = randomUUID();
  const [administrator] = (await service.get('/users?filter[email][_eq]=admin@example.com&fields=id', asAdmin)).json()
    .data;
  const weak = await createUserWithToken(app, {
    policies: [
      await policyWith(app, [
        { collection: 'users', action: 'update', fields: ['title'], permissions: { title: { _eq: 'mine' } } },
      ]),
    ],
  });
  const cases: [
    what: string,
    send: (url: string) => ReturnType<typeof post>,
    code: Parameters<typeof refusedUnchanged>[3],
  ][] = [
    [
      'a taken address',
      (q) => post(`/users${q}`, [{ ...newUser(), email: taken.email }], asAdmin),
      ['RECORD_NOT_UNIQUE'],
    ],
    ['an unknown role', (q) => post(`/users${q}`, [{ ...newUser(), role: unknown }], asAdmin), ['INVALID_FOREIGN_KEY']],
    ['an unknown field', (q) => post(`/users${q}`, [{ ...newUser(), wings: 2 }], asAdmin), ['INVALID_PAYLOAD']],
    ['too many', (q) => post(`/users${q}`, Array.from({ length: 21 }, newUser), asAdmin), ['INVALID_PAYLOAD']],
    ['a key that does not exist', (q) => remove(service, `/users${q}`, [taken.id, randomUUID()]), ['FORBIDDEN']],
    ['the last administrator', (q) => remove(service, `/users/${administrator?.id}${q}`), ['UNPROCESSABLE_CONTENT']],
    [
      'another item',
      (q) => patch(service, `/users${q}`, { keys: [taken.id], data: { title: 'x' } }, weak.headers),
      ['FORBIDDEN'],
    ],
    ['an anonymous caller', (q) => remove(service, `/users${q}`, [taken.id], {}), ['FORBIDDEN']],
  ];
  for (const [what, send, code] of cases) {
    const real = await send('');
    await refusedUnchanged(t, service, () => send('?dry_run=true'), code, what);
    t.strictSame((await send('?dry_run=true')).json().errors, real.json().errors, `${what}: the same error`);
  }
});

t.test('every other write rejects dry_run, and any value but true and false', async (t) => {
  const { id } = await createUser(app);
  const [supported, checked] = [new Set<string>(), new Set<string>()];
  await assertUnchanged(t, app, 'rejected', async () => {
    for (const { operationId, method, url, hasBody } of allOperations({ id })) {
      const { supportsDryRun, recordedAs } = configOf(app, operationId);
      if (['GET', 'SEARCH'].includes(method) && recordedAs === undefined) continue;
      if (supportsDryRun) supported.add(operationId);
      const values = supportsDryRun ? ['', '1', 'TRUE', 'yes', 'true&dry_run=true'] : ['true', 'false', ''];
      for (const value of values) {
        const response = await request({
          method,
          url: `${url}?dry_run=${value}`,
          headers: asAdmin,
          ...(hasBody ? { payload: { title: 'changed' } } : {}),
        });
        // Rejected even earlier: the caller cannot use the operation, or the provider does not exist.
        if ([403, 404].includes(response.statusCode)) continue;
        checked.add(operationId);
        refused(t, response, 'INVALID_QUERY', `${operationId} ${value}`);
      }
    }
    for (const query of ['dry_run[a]=true', 'dry_run[]=true', 'dry_run'])
      refused(t, await remove(service, `/users?${query}`, [id]), 'INVALID_QUERY', query);
    refused(t, await post('/users?dry_run=true', newUser(), asAdmin), 'INVALID_QUERY', 'a single user');
    refused(t, await post('/roles?dry_run=true', [{ name: 'x' }], asAdmin), 'INVALID_QUERY', 'another collection');
    refused(t, await patch(service, `/users/${id}?dry_run=true`, { title: 'x' }), 'INVALID_QUERY', 'one user');
  });
  t.ok(checked.size > 50, `${checked.size} operations`);
  t.strictSame([...supported].sort(), [
    'createUsers',
    'deleteClient',
    'deleteClients',
    'deletePermission',
    'deletePermissions',
    'deletePolicies',
    'deletePolicy',
    'deleteResource',
    'deleteResources',
    'deleteRole',
    'deleteRoles',
    'deleteUser',
    'deleteUsers',
    'updateUsers',
  ]);
});

t.test('a dry run records no access, queues no email, and does not block others', async (t) => {
  const policy = await policyWith(app, [
    { collection: 'users', action: 'update', fields: ['email'] },
    { collection: 'users', action: 'read', fields: ['*'] },
  ]);
  const caller = await createUserWithToken(app, { policies: [policy], lastAccess: null });
  const before = await dumpDatabase(app, 'changes');
  const { id, email } = await createUser(app);
  const after = await dumpDatabase(app, 'changes');
  t.not(after, before);
  const send = () =>
    patch(service, '/users?dry_run=true&fields=email', { keys: [id], data: { email: `new-${email}` } }, caller.headers);
  const responses = await Promise.all([send(), send(), service.get('/users/me', asAdmin), send()]);
  for (const response of responses) t.equal(response.statusCode, 200, response.body);
  await new Promise((resolve) => setTimeout(resolve, 300));
  t.equal((await storedUser(app, id)).email, email);
  t.equal(await dumpDatabase(app, 'changes'), after, 'not even the last access of the caller has changed');
});
