import { randomUUID } from 'node:crypto';
import t from 'tap';
import { countStatements } from '../helpers/database/statements.js';
import { startTestApp } from '../helpers/service/app.js';
import { policyWith } from '../helpers/users/rights.js';
import { logIn } from '../helpers/users/sessions.js';
import { changeUser, createUserWithToken, setLastAccess } from '../helpers/users/users.js';

// If the caller is certain to be allowed to read their own row, the service reads it together with their rights.
// Otherwise, and always with `meta`, it uses the query engine. Callers must not be able to tell the difference.
const testApp = await startTestApp(t);
const { app, get } = testApp;

type Granted = Parameters<typeof policyWith>[1][number];
const reads = (fields: string[], permissions: object | null = null): Granted => ({
  collection: 'users',
  action: 'read',
  fields,
  permissions: permissions as Record<string, unknown> | null,
});
const own = { id: { _eq: '$CURRENT_USER' } };

const grants: [who: string, granted: Granted[], policy?: { appAccess?: boolean; adminAccess?: boolean }][] = [
  ['nothing', []],
  ['everything of all users', [reads(['*'])]],
  ['everything of all users, with an empty rule', [reads(['*'], {})]],
  ['everything of their own row', [reads(['*'], own)]],
  ['some fields of all users', [reads(['id', 'email', 'status'])]],
  [
    'some fields of their own row, others of all users',
    [reads(['first_name', 'token'], own), reads(['id', 'policies'])],
  ],
  ['everything, with a rule that does not match', [reads(['*'], { status: { _eq: 'draft' } })]],
  ['everything, with a rule that matches', [reads(['*'], { status: { _eq: 'active' } })]],
  ['everything of another user', [reads(['*'], { id: { _eq: randomUUID() } })]],
  [
    'everything, with a rule that requires the own row and does not match',
    [reads(['*'], { _and: [own, { status: { _eq: 'draft' } }] })],
  ],
  ['fields that do not exist', [reads(['password', 'unknown'])]],
  ['no fields', [reads([])]],
  ['all users, for update', [{ collection: 'users', action: 'update', fields: ['*'] }]],
  ['all roles', [{ collection: 'roles', action: 'read', fields: ['*'] }]],
  ['an app', [], { appAccess: true }],
  ['an administrator', [], { adminAccess: true }],
];
const asked = [
  undefined,
  '',
  '*',
  'id',
  'id,email',
  'email,id',
  'email,email',
  ' email',
  'email,',
  'email,*',
  '*.*',
  'role.name',
  'policies',
  'policies.name',
  'token,tfa_secret',
  'first_name,token,id,policies',
  'password',
  'id,password',
  'token_hash',
  'unknown',
  'toString',
  '__proto__',
  'id,"; drop table users; --',
];

for (const [who, granted, policy = {}] of grants) {
  t.test(`both ways return the same to a caller who may read: ${who}`, async (t) => {
    const { id, headers } = await createUserWithToken(app, {
      firstName: 'Ada',
      tags: ['a "quoted" one', 'ü'],
      tfaSecret: 'a sealed secret',
      authData: { deep: [1, { x: null }] },
      avatar: randomUUID(),
      policies: [await policyWith(app, granted, policy), await policyWith(app, [])],
    });
    for (const fields of asked) {
      const query = fields === undefined ? '' : `fields=${encodeURIComponent(fields)}`;
      const [quick, thorough] = [
        await get(`/users/me?${query}`, headers),
        await get(`/users/me?${query}&meta=total_count`, headers),
      ];
      t.equal(quick.statusCode, thorough.statusCode, `${fields}: status`);
      if (quick.statusCode === 200) {
        t.equal(JSON.stringify(quick.json().data), JSON.stringify(thorough.json().data), `${fields}: data`);
        if (fields === 'id') t.equal(quick.json().data.id, id);
      } else t.same(quick.json(), thorough.json(), `${fields}: error`);
    }
    const several = await get('/users/me?fields[]=id&fields[]=email', headers);
    t.same(several.json(), (await get('/users/me?fields=id,email', headers)).json(), 'a repeated parameter');
  });
}

t.test('the row is always current', async (t) => {
  const { id, headers } = await createUserWithToken(app, {
    policies: [await policyWith(app, [], { appAccess: true })],
  });
  const name = async () => (await get('/users/me?fields=first_name', headers)).json().data?.first_name;
  t.equal(await name(), null);
  await changeUser(app, id, { firstName: 'Grace' });
  t.equal(await name(), 'Grace');
  await changeUser(app, id, { status: 'suspended' });
  t.equal((await get('/users/me', headers)).statusCode, 401);
});

t.test('reading the row needs one SQL statement, and one more for fields of related items', async (t) => {
  const { headers } = await logIn(testApp, 'json');
  const count = countStatements(app);
  const statementsOf = async (url: string) => {
    const before = count();
    t.equal((await get(url, headers)).statusCode, 200);
    return count() - before;
  };
  await setLastAccess(app, app.clock());
  t.equal(await statementsOf('/users/me'), 2, 'the first request also reads what the policies grant');
  t.equal(await statementsOf('/users/me'), 1);
  t.equal(await statementsOf('/users/me?fields=id,email'), 1);
  t.equal(await statementsOf('/users/me?fields=role.name'), 2);
});
