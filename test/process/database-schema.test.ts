// @suite not-everyday: starts many processes

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { createTestDatabase, engine } from '../helpers/database/databases.js';
import { startPgBouncer, withoutPgBouncer } from '../helpers/database/pgbouncer.js';
import { askStored, verifyAuditLog } from '../helpers/database/stored.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { runCommand } from '../helpers/service/command.js';
import { databaseUrl } from '../helpers/service/outage.js';
import {
  createHome,
  type Home,
  launchService,
  logIn,
  logLines,
  refusedService,
  type Service,
  startService,
  type Variables,
} from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';
import { administrator } from '../helpers/users/credentials.js';

const skip = engine === 'embedded' && 'PostgreSQL only';
const password = 'the password of the administrator';
const mailboxKey = 'the-key-of-the-mailbox';
const basics = { ...cheapHashing, ADMIN_PASSWORD: password, MAILBOX_KEY: mailboxKey };

/** The tables of the service in each schema that has any. */
async function schemasOf(home: Home): Promise<unknown> {
  const found = await askStored(
    home,
    `select string_agg(nspname, ',' order by nspname) as names from pg_namespace n
      where exists (select from pg_class where relnamespace = n.oid and relname in ('users', '__drizzle_migrations', 'job'))`,
  );
  return found[0]?.names;
}

/** Uses tables, foreign keys, triggers, and the queue. */
async function works(t: Test, home: Home, variables: Variables = {}): Promise<void> {
  const service = await startService(home, { ...basics, ...variables });
  const { status, body } = await logIn(service, password);
  t.equal(status, 200);
  const caller = { authorization: `Bearer ${body.data.access_token}` };
  const made = await service.post(
    '/users',
    { email: 'somebody@example.com', password: 'a good long password' },
    caller,
  );
  t.equal(made.status, 200);
  t.equal((await service.get('/users?search=somebody@example&meta=total_count', caller)).status, 200);
  t.equal((await service.post('/auth/password/request', { email: 'somebody@example.com' })).status, 204);
  t.ok(await arrives(service, 'somebody@example.com'), 'an email arrives');
  t.equal((await service.get('/mails', caller)).status, 200);
  const { data } = (await made.json()) as { data: { id: string } };
  const deleted = await fetch(`${service.url}/users/${data.id}`, { method: 'DELETE', headers: caller });
  t.equal(deleted.status, 204);
  t.strictSame(await service.stop(), { code: 0, signal: null });
  t.match(await verifyAuditLog(home, [], variables), { code: 0 });
  const rotated = await runCommand(home, 'keys-rotate', [], { ...variables, ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  t.equal(rotated.code, 0, rotated.said);
}

async function arrives(service: Service, to: string): Promise<boolean> {
  for (let tries = 0; tries < 200; tries++) {
    const response = await service.get(`/mailbox?key=${mailboxKey}`, { accept: 'application/json' });
    const { data } = (await response.json()) as { data: { to: string }[] };
    if (data.some((mail) => mail.to === to)) return true;
    await sleep(100);
  }
  return false;
}

/** A home whose service uses a role of its own. */
async function homeWithRole(t: Test, role: string): Promise<Home> {
  const owner = await createHome(t);
  const url = databaseUrl(owner);
  await askStored(owner, `create role "${role}" login superuser`);
  url.username = encodeURIComponent(role);
  url.password = '';
  const home = await createHome(t, { databaseUrl: url.href });
  atEndOf(t, async () => {
    const server = new URL(databaseUrl(owner));
    const name = server.pathname.slice(1);
    server.pathname = '/postgres';
    const sql = postgres(server.href, { max: 1, onnotice: () => {} });
    await sql.unsafe(`drop database if exists "${name}" with (force)`);
    await sql.unsafe(`drop role "${role}"`);
    await sql.end();
  });
  return home;
}

t.test('two services use the same database with different schemas', { skip }, async (t) => {
  const home = await createHome(t);
  await works(t, home);
  t.equal(await schemasOf(home), 'drizzle,pgboss,public');
  const schema = { DATABASE_SCHEMA: 'other-Service' };
  const first = await runCommand(home, 'migrate', [], schema);
  t.match(first, { code: 0, said: 'The tables are up to date.\n' });
  await works(t, home, { ...schema, MIGRATE: 'off' });
  await works(t, home);
  const [counts] = await askStored(
    home,
    `select (select count(*)::int from "other-Service".users) as other, (select count(*)::int from public.users) as own,
      (select count(*)::int from pg_constraint c join pg_namespace n on n.oid = c.connamespace join pg_class r on r.oid = c.confrelid
        where n.nspname = 'other-Service' and r.relnamespace <> n.oid) as outside,
      (select count(*)::int from pg_indexes where schemaname = 'other-Service' and indexname like 'users\\_search\\_%') as indexes`,
  );
  t.strictSame(counts, { other: 1, own: 1, outside: 0, indexes: 3 });
});

t.test('the default is the first schema of the search path', { skip }, async (t) => {
  const name = `gatehouse_test_${randomBytes(6).toString('hex')}`;
  await t.test('a schema that is named like the role', async (t) => {
    const home = await homeWithRole(t, name);
    await askStored(home, `create schema "${name}"`);
    await works(t, home);
    t.equal(await schemasOf(home), `drizzle_${name},${name},pgboss_${name}`);
    t.match(await refusedService(home, { ...basics, DATABASE_SCHEMA: 'pg_x' }), {
      code: 1,
      stderr: /DATABASE_SCHEMA: expected a name/,
    });
  });

  await t.test('a schema that does not exist yet', async (t) => {
    const home = await homeWithRole(t, `${name}-2`);
    await askStored(home, `alter role "${name}-2" set search_path = auth, public`);
    await works(t, home);
    // `public` exists, and `auth` does not.
    t.equal(await schemasOf(home), 'drizzle,pgboss,public');
    await askStored(home, 'create schema auth');
    const refused = await refusedService(home, basics);
    t.equal(refused.code, 1);
    t.match(refused.stderr, 'The tables of the service are in the schema public');
    await works(t, home, { DATABASE_SCHEMA: 'public' });
    await works(t, home, { DATABASE_SCHEMA: 'auth' });
  });

  await t.test('a search path that leads nowhere, also through PgBouncer', { skip: withoutPgBouncer }, async (t) => {
    const home = await homeWithRole(t, `${name}-3`);
    await askStored(home, `alter role "${name}-3" set search_path = auth`);
    const bouncer = await startPgBouncer(t, home, { pool_mode: 'transaction' });
    const through = { DATABASE_URL: bouncer.url.href };
    await works(t, home, through);
    t.equal(await schemasOf(home), 'auth,drizzle_auth,pgboss_auth');
    await works(t, home);
    const refused = await refusedService(home, { ...basics, ...through, DATABASE_SCHEMA: 'auth' });
    t.match(refused.stderr, 'ALTER ROLE');
    const ignoring = await startPgBouncer(t, home, { ignore_startup_parameters: 'search_path,extra_float_digits' });
    const wrong = await refusedService(home, { ...basics, DATABASE_URL: ignoring.url.href, DATABASE_SCHEMA: 'other' });
    t.match(wrong.stderr, 'DATABASE_SCHEMA is other, but the connections use the schema auth');
  });
});

t.test('a role without rights on another schema runs the service after db/grants.sql', { skip }, async (t) => {
  const home = await createHome(t);
  const url = databaseUrl(home);
  const role = `gatehouse_test_${randomBytes(6).toString('hex')}`;
  await askStored(home, `create role ${role} login`);
  const asRole = new URL(url);
  asRole.username = role;
  asRole.password = '';
  for (const schema of ['auth', 'Auth-2']) {
    const variables = { DATABASE_SCHEMA: schema };
    t.equal((await runCommand(home, 'migrate', [], variables)).code, 0);
    const granted = spawnSync(
      'psql',
      [url.href, '-X', '-q', '-v', `role=${role}`, '-v', `schema=${schema}`, '-f', 'db/grants.sql'],
      { encoding: 'utf8' },
    );
    t.equal(granted.status, 0, granted.stderr);
    await works(t, home, { ...variables, DATABASE_URL: asRole.href, MIGRATE: 'off' });
  }
  await askStored(home, `drop owned by ${role}; drop role ${role}`);
});

t.test('a database that is not encoded in UTF-8 is refused', { skip }, async (t) => {
  const database = await createTestDatabase();
  const server = new URL(database.url ?? '');
  const name = `${server.pathname.slice(1)}_latin1`;
  const sql = postgres(server.href, { max: 1, onnotice: () => {} });
  await sql.unsafe(`create database ${name} template template0 encoding 'LATIN1' locale 'C'`);
  server.pathname = `/${name}`;
  const home = await createHome(t, { databaseUrl: server.href });
  const { code, stderr } = await refusedService(home, basics);
  t.equal(code, 1);
  t.match(stderr, 'The encoding of the database is LATIN1, and the service requires UTF8');
  t.notMatch(stderr, /^\s+at /m);
  t.match((await runCommand(home, 'migrate')).said, 'The encoding of the database is LATIN1');
  await sql.unsafe(`drop database ${name} with (force)`);
  await sql.end();
  await database.drop();
});

t.test('an instance that starts beside another warns only if there is something to migrate', { skip }, async (t) => {
  const home = await createHome(t, { prepared: true });
  const client = postgres(databaseUrl(home).href, { max: 1, onnotice: () => {} });
  const waits = (service: Service) => logLines(service.stdout).filter(({ msg }) => msg === 'waiting for the database');
  let service: Service | undefined;
  await client.begin(async (tx) => {
    // The lock that an instance holds while it starts.
    await tx`select pg_advisory_xact_lock(${0x6761_7465})`;
    service = launchService(home, basics);
    for (let tries = 0; tries < 200 && waits(service).length === 0; tries++) await sleep(100);
    const [first] = waits(service);
    t.match(first, { reason: 'another instance is starting' }, 'a long wait is reported');
  });
  await client.end();
  await service?.stop('SIGKILL');

  const group = await Promise.all([0, 1, 2, 3].map(() => startService(home, basics)));
  for (const one of group) {
    t.strictSame(waits(one), []);
    t.equal((await logIn(one, password, administrator.email)).status, 200);
    await one.stop();
  }
});
