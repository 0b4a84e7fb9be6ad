import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { rows } from '../../db/statements.js';
import { engine } from '../helpers/database/databases.js';
import { asAdmin, patch, startWithAdmin } from '../helpers/http/writing.js';
import { createUserWithToken } from '../helpers/users/users.js';

const service = await startWithAdmin(t);
const { app, get } = service;

const execute = (statement: string) => app.db.execute(sql.raw(statement));
const own = `'{"id":{"_eq":"$CURRENT_USER"}}'`;

/** A user who may read their own address, through a policy of their role's parent. */
async function createMember(name: string) {
  const [policy] = await rows<{ id: string }>(app.db, sql`insert into policies (name) values (${name}) returning id`);
  const [parent] = await rows<{ id: string }>(app.db, sql`insert into roles (name) values (${name}) returning id`);
  const [role] = await rows<{ id: string }>(
    app.db,
    sql`insert into roles (name, parent) values (${name}, ${parent?.id}) returning id`,
  );
  await app.db.execute(sql`insert into role_policies (role, policy) values (${parent?.id}, ${policy?.id})`);
  const permission = `insert into permissions (policy, collection, action, fields, permissions)
    values ('${policy?.id}', 'users', 'read', '["id", "email"]', ${own})`;
  await execute(permission);
  const { headers } = await createUserWithToken(app, { role: role?.id ?? null });
  return {
    policy: policy?.id ?? '',
    parent: parent?.id ?? '',
    role: role?.id ?? '',
    permission,
    seesEmail: async () => (await get('/users/me', headers)).json().data.email !== undefined,
  };
}

/** Changes rights with SQL, and checks that the next request knows. */
async function check(
  t: Test,
  { seesEmail }: { seesEmail(): Promise<boolean> },
  { revoke, restore }: { revoke: string; restore: string },
) {
  t.equal(await seesEmail(), true, 'before');
  await execute(revoke);
  t.equal(await seesEmail(), false, revoke);
  await execute(restore);
  t.equal(await seesEmail(), true, restore);
}

t.test('changes with SQL apply to the next request', async (t) => {
  const member = await createMember('SQL');
  const { policy, parent, role, permission } = member;
  const ofPolicy = `where policy = '${policy}'`;
  const attach = `insert into role_policies (role, policy) values ('${parent}', '${policy}')`;
  for (const change of [
    { revoke: `delete from permissions ${ofPolicy}`, restore: permission },
    {
      revoke: `update permissions set fields = '["id"]' ${ofPolicy}`,
      restore: `update permissions set fields = '["id", "email"]' ${ofPolicy}`,
    },
    { revoke: `delete from role_policies ${ofPolicy}`, restore: attach },
    {
      revoke: `update roles set parent = null where id = '${role}'`,
      restore: `update roles set parent = '${parent}' where id = '${role}'`,
    },
    {
      revoke: `update policies set ip_access = '["192.0.2.1"]' where id = '${policy}'`,
      restore: `update policies set ip_access = null where id = '${policy}'`,
    },
  ]) {
    await check(t, member, change);
  }
});

t.test('a change to the public policy applies to the next request', async (t) => {
  const { policy } = await createMember('Public');
  const { headers } = await createUserWithToken(app);
  const seesEmail = async () => (await get('/users/me', headers)).json().data.email !== undefined;
  await execute(`update settings set public_policy = '${policy}'`);
  const change = {
    revoke: 'update settings set public_policy = null',
    restore: `update settings set public_policy = '${policy}'`,
  };
  await check(t, { seesEmail }, change);
  await execute('update settings set public_policy = null');
});

t.test('changes that load data without triggers apply, too', async (t) => {
  const member = await createMember('Replica');
  const ofPolicy = `where policy = '${member.policy}'`;
  t.equal(await member.seesEmail(), true);
  await app.db.transaction(async (tx) => {
    await tx.execute(sql`set local session_replication_role = replica`);
    await tx.execute(sql.raw(`delete from permissions ${ofPolicy}`));
  });
  t.equal(await member.seesEmail(), false);
});

t.test('if the version is missing, nothing is kept, and the next change creates it again', async (t) => {
  const member = await createMember('Missing');
  const ofPolicy = `where policy = '${member.policy}'`;
  const count = () => rows(app.db, sql`select 1 from grants_version`);
  t.equal(await member.seesEmail(), true);
  await execute('delete from grants_version');
  t.equal(await member.seesEmail(), true);
  await execute('alter table permissions disable trigger permissions_change_grants');
  await execute(`update permissions set fields = '["id"]' ${ofPolicy}`);
  t.equal(await member.seesEmail(), false);
  await execute('alter table permissions enable always trigger permissions_change_grants');
  t.equal((await count()).length, 0);
  await execute(`update permissions set fields = '["id", "email"]' ${ofPolicy}`);
  t.equal((await count()).length, 1);
  t.equal(await member.seesEmail(), true);
});

t.test(
  'simultaneous changes to a role and its policy cause no deadlock',
  { skip: engine === 'embedded' && 'one connection' },
  async (t) => {
    const { policy, role } = await createMember('Deadlock');
    const deadlocks = async () =>
      (
        await rows<{ count: number }>(
          app.db,
          sql`select deadlocks::int as count from pg_stat_database where datname = current_database()`,
        )
      )[0]?.count;
    const before = await deadlocks();
    for (let round = 0; round < 40; round++) {
      const answers = await Promise.all([
        patch(service, `/roles/${role}`, { policies: round % 2 ? [policy] : [] }, asAdmin),
        patch(service, `/policies/${policy}`, { description: `round ${round}` }, asAdmin),
      ]);
      for (const { statusCode } of answers) t.equal(statusCode, 200);
    }
    await app.db.execute(sql`select pg_stat_clear_snapshot()`);
    t.equal(await deadlocks(), before);
  },
);

t.test('emptying a table applies to the next request', async (t) => {
  const { policy, parent, seesEmail } = await createMember('Empty');
  const restore = `insert into role_policies (role, policy) values ('${parent}', '${policy}')`;
  await check(t, { seesEmail }, { revoke: 'truncate role_policies', restore });
});
