import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openDatabase } from '../../db/client.js';
import { createChain } from '../../plugins/activity/chain.js';
import { createSignatures } from '../../plugins/activity/signatures.js';
import { keysFor } from '../../plugins/platform/key-derivation.js';
import { createTestDatabase, engine, schemas } from '../helpers/database/databases.js';
import { askStored, verifyAuditLog } from '../helpers/database/stored.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { bearer } from '../helpers/service/app.js';
import { day } from '../helpers/service/clock.js';
import { runCommand } from '../helpers/service/command.js';
import { createHome, type Home, logIn, logLines, refusedService, startService } from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';

const skip = engine === 'embedded' && 'PostgreSQL only';
const variables = {
  ...cheapHashing,
  MIGRATE: 'off',
  AUDIT_RETENTION: '30d',
  ACCESS_TOKEN_ALGORITHM: 'EdDSA',
  ADMIN_PASSWORD: 'the password of the administrator',
  MAILBOX_KEY: 'key-of-the-mailbox',
};

function psql(url: string, ...args: string[]): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync('psql', [url, '-X', '-At', ...args], { encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

/** A database that one role owns, and a role that the service uses. */
async function startRoles(t: Test) {
  const database = await createTestDatabase();
  const url = database.url ?? '';
  const role = `gatehouse_test_${randomBytes(6).toString('hex')}`;
  psql(url, '-c', `create role ${role} login`);
  const asRole = new URL(url);
  asRole.username = role;
  asRole.password = '';
  const owner = await createHome(t, { databaseUrl: url });
  const service = await createHome(t, { databaseUrl: asRole.href });
  atEndOf(t, async () => {
    await database.drop();
    const server = new URL(url);
    server.pathname = '/postgres';
    psql(server.href, '-c', `drop role ${role}`);
  });
  const grant = () =>
    psql(
      url,
      '-v',
      `role=${role}`,
      '-v',
      `schema=${schemas.tables}`,
      '-v',
      `audit_retention=${variables.AUDIT_RETENTION}`,
      '-f',
      'db/grants.sql',
    );
  return { owner, service, url, roleUrl: asRole.href, grant };
}

/** The text of the newest email to an address, once it has arrived. */
async function mailTo(home: Home, recipient: string): Promise<string> {
  for (let tries = 0; tries < 100; tries++, await sleep(200)) {
    const [mail] = await askStored(
      home,
      `select text from mailbox where recipient = '${recipient}' order by sent_at desc`,
    );
    if (mail) return String(mail.text);
  }
  throw new Error(`No email to ${recipient} arrived.`);
}

t.test('the service runs with a role that has no rights on the schema', { skip }, async (t) => {
  const { owner, service: home, url, roleUrl, grant } = await startRoles(t);
  const early = await refusedService(home, variables);
  t.equal(early.code, 1);
  t.match(early.stderr, 'the tables are not up to date');

  // The command needs no SECRET.
  for (const run of ['first', 'second']) {
    const { code, said } = await runCommand(owner, 'migrate', [], { SECRET: undefined });
    t.strictSame([code, said], [0, 'The tables are up to date.\n'], `${run} run`);
  }
  const indexes = await askStored(
    owner,
    `select count(*)::int as count from pg_indexes where indexname like 'users\\_search\\_%'`,
  );
  t.match(indexes, [{ count: 3 }], 'the command creates the search indexes');
  const ungranted = await refusedService(home, variables);
  t.equal(ungranted.code, 1);
  t.match(ungranted.stderr, /does not let this user create or read tables\. .*db\/grants\.sql/);
  for (const run of ['first', 'second']) t.equal(grant().status, 0, `${run} run of the grants`);

  const service = await startService(home, variables);
  const { status, body } = await logIn(service, variables.ADMIN_PASSWORD);
  t.equal(status, 200);
  const auth = bearer(body.data.access_token);
  const send = async (method: string, path: string, payload?: object) =>
    fetch(`${service.url}${path}`, {
      method,
      headers: { ...auth, ...(payload && { 'content-type': 'application/json' }) },
      ...(payload && { body: JSON.stringify(payload) }),
    });
  const made = async (path: string, payload: object) => {
    const { data } = (await (await send('POST', path, payload)).json()) as { data: { id: string } };
    return data.id;
  };
  const user = await made('/users', { email: 'a@example.com', password: 'a good long password' });
  const one = `/users/${user}`;
  t.equal((await send('PATCH', one, { title: 'Engineer', status: 'active' })).status, 200);
  t.match(await (await send('GET', '/users?search=a@example&fields=title')).json(), { data: [{ title: 'Engineer' }] });
  const role = await made('/roles', { name: 'Editors' });
  t.equal(
    (await send('PATCH', '/settings', { public_registration: true, public_registration_role: role })).status,
    200,
  );
  t.equal((await send('POST', '/users/invite', { email: 'b@example.com', role: role })).status, 204);
  const invitation = /token=([\w.-]+)/.exec(await mailTo(owner, 'b@example.com'))?.[1];
  const accepted = await service.post('/users/invite/accept', { token: invitation, password: 'another good password' });
  t.equal(accepted.status, 204);
  t.equal((await logIn(service, 'another good password', 'b@example.com')).status, 200);
  t.equal(
    (await service.post('/users/register', { email: 'c@example.com', password: 'yet another password' })).status,
    204,
  );
  t.match(await mailTo(owner, 'c@example.com'), 'verify-email');
  t.equal((await service.post('/auth/login', { email: 'a@example.com', password: 'wrong' })).status, 401);
  const refreshed = await service.post('/auth/refresh', { refresh_token: body.data.refresh_token });
  t.equal(refreshed.status, 200);
  t.equal((await send('DELETE', one)).status, 204);
  t.match(await (await send('GET', '/mails')).json(), { data: [{ state: 'sent' }, { state: 'sent' }] });

  for (let tries = 0; tries < 100; tries++, await sleep(100)) {
    const [row] = await askStored(owner, 'select count(*)::int as count from activity where position is null');
    if (row?.count === 0) break;
  }
  const verified = await verifyAuditLog(home, [], variables);
  t.match(verified, { code: 0, said: /^The audit log is intact: \d+ rows, positions 1 to \d+; 0 rows/ });
  await service.stop();
  const faults = logLines(service.stdout).filter(({ level, err }) => Number(level) >= 40 && err !== undefined);
  t.strictSame(faults, [], 'no background task failed');

  for (const statement of [
    'update activity set item = null',
    'update activity set hash = null',
    'delete from activity',
    'truncate activity',
    'drop table activity',
    'alter table activity disable trigger all',
    'truncate users',
    `create table ${schemas.tables}.own (id int)`,
    'create schema own',
    'create index on users (email)',
    "update migration_compatibility set works_with = '0000_initial'",
    `insert into ${schemas.journal}.__drizzle_migrations (hash, created_at) values (1, 1)`,
  ]) {
    const { status, said } = psql(roleUrl, '-c', statement);
    t.equal(status, 1, statement);
    t.match(said, /permission denied|must be owner/, statement);
  }
  psql(
    roleUrl,
    '-c',
    `select link_activity(jsonb_agg(jsonb_build_object('id', id, 'position', 0, 'hash', 'x'))) from activity`,
  );
  t.equal((await verifyAuditLog(home, [], variables)).code, 0, 'rows that are linked cannot be linked again');

  // Only rows past the retention can be removed, whatever the service asks for.
  const connection = await openDatabase({ kind: 'postgres', url: roleUrl, poolMax: 2 });
  const signatures = createSignatures(
    keysFor({ SECRET: String(home.variables.SECRET), PREVIOUS_SECRETS: [] }, 'activity'),
  );
  const chain = createChain(connection, signatures);
  await t.rejects(chain.removeOlderThan(new Date(Date.now() + day)), {
    cause: { message: /newer rows up to position/ },
  });
  await askStored(owner, `update activity set "timestamp" = "timestamp" - interval '31 days' where position <= 4`);
  t.equal(await chain.removeOlderThan(new Date(Date.now() - 30 * day)), 4);
  await connection.close();
  t.match(await verifyAuditLog(home, [], variables), { code: 0, said: /positions 5 to/ });
  t.match(psql(url, '-c', 'select min(position) from activity').said, '5');
});
