// @suite not-everyday: starts the service many times

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { buildApp } from '../../app.js';
import type { DatabaseLocation } from '../../db/client.js';
import { policies, rolePolicies, roles, settings, users } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { createTestDatabase, engine, schemas } from '../helpers/database/databases.js';
import { listen } from '../helpers/servers/ports.js';
import { bearer, codeOf, testConfig } from '../helpers/service/app.js';
import { collectLog } from '../helpers/service/collect-log.js';
import { administrator } from '../helpers/users/credentials.js';
import { changeUser, createUser } from '../helpers/users/users.js';

/** A database that remains after the service on it is closed. */
async function lastingDatabase(t: Test): Promise<DatabaseLocation> {
  if (engine === 'embedded') {
    const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
    t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
    return { kind: 'embedded', dataDir };
  }
  const database = await createTestDatabase();
  t.teardown(() => database.drop());
  return database.location;
}

const migrations = readdirSync(new URL('../../db/migrations', import.meta.url)).filter((name) => name.endsWith('.sql'));

const logIn = (app: FastifyInstance, payload: object = administrator) =>
  app.inject({ method: 'POST', url: '/auth/login', payload });

/** Asserts that everything a first start creates exists exactly once. */
async function isBootstrappedOnce(t: Test, { db }: FastifyInstance) {
  const [applied] = await rows<{ count: number }>(
    db,
    sql`select count(*)::int as count from ${sql.raw(schemas.journal)}.__drizzle_migrations`,
  );
  t.equal(applied?.count, migrations.length, 'every migration is applied once');
  t.equal((await db.select().from(settings)).length, 1, 'there is one row of settings');
  const [role, ...otherRoles] = await db.select().from(roles);
  const [policy, ...otherPolicies] = await db.select().from(policies);
  const [user, ...otherUsers] = await db.select().from(users);
  t.strictSame([otherRoles, otherPolicies, otherUsers], [[], [], []], 'there is one role, one policy, and one user');
  t.match(policy, { name: 'Administrator', adminAccess: true, appAccess: true, ipAccess: null });
  t.match(user, { email: administrator.email, role: role?.id, status: 'active', provider: 'default' });
  t.strictSame(await db.select().from(rolePolicies), [{ role: role?.id, policy: policy?.id }]);
}

t.test(
  'five instances that start at the same time on one database create one administrator',
  { skip: engine === 'embedded' && 'only one process at a time can open the embedded database' },
  async (t) => {
    const location = await lastingDatabase(t);
    if (location.kind !== 'postgres') return t.fail('not on PostgreSQL');
    // The smallest allowed pool: an instance that waits for the others must not block itself.
    const tight = { ...location, poolMax: 2 };
    const started = await Promise.allSettled(
      Array.from({ length: 5 }, () => buildApp(testConfig(), { database: tight })),
    );
    const instances = started.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    t.teardown(() => Promise.all(instances.map((app) => app.close())));
    t.equal(instances.length, 5, 'all instances start');
    t.equal(instances.filter((app) => app.createdAdministrator !== null).length, 1, 'one created the administrator');
    for (const app of instances) t.equal((await logIn(app)).statusCode, 200);
    if (instances[0]) await isBootstrappedOnce(t, instances[0]);
  },
);

t.test('a second start creates nothing, even with a different configuration', async (t) => {
  const location = await lastingDatabase(t);
  const token = 'the-static-token-of-the-administrator';

  const first = await buildApp(testConfig({ ADMIN_TOKEN: token }), { database: location });
  t.strictSame(
    first.createdAdministrator,
    { email: administrator.email, password: null, passwordFile: null },
    'a configured password is not reported',
  );
  await isBootstrappedOnce(t, first);
  t.equal((await logIn(first)).statusCode, 200);
  const me = await first.inject({ url: '/users/me?fields=email,token', headers: bearer(token) });
  t.strictSame(me.json(), { data: { email: administrator.email, token: '**********' } });
  const stored = JSON.stringify(await first.db.select().from(users));
  t.notOk(stored.includes(token) || stored.includes(administrator.password), 'neither secret is stored in plain text');
  const { refresh_token } = (await logIn(first)).json().data;
  await first.close();

  // The configuration of the administrator applies only to the first start.
  const changed = { ADMIN_EMAIL: 'other@example.com', ADMIN_PASSWORD: 'another password', ADMIN_TOKEN: `${token}-2` };
  const second = await buildApp(testConfig(changed), { database: location });
  t.equal(second.createdAdministrator, null);
  await isBootstrappedOnce(t, second);
  t.equal((await logIn(second)).statusCode, 200, 'the first password still works');
  t.equal(codeOf(await logIn(second, { ...administrator, password: 'another password' })), 'INVALID_CREDENTIALS');
  t.equal(
    codeOf(await logIn(second, { email: changed.ADMIN_EMAIL, password: 'another password' })),
    'INVALID_CREDENTIALS',
  );
  const refreshed = await second.inject({ method: 'POST', url: '/auth/refresh', payload: { refresh_token } });
  t.equal(refreshed.statusCode, 200, 'sessions survive a restart');

  // No new administrator is created when the first one is archived, renamed, or loses the role.
  const [archived] = await second.db.select().from(users);
  await changeUser(second, archived?.id ?? '', { status: 'archived', email: 'former@example.com', role: null });
  await second.close();
  const third = await buildApp(testConfig(), { database: location });
  t.equal(third.createdAdministrator, null);
  t.equal((await third.db.select().from(users)).length, 1);
  await third.close();
});

t.test('a breached ADMIN_PASSWORD is reported, and nothing else waits for the check', async (t) => {
  const database = await createTestDatabase();
  const { lines, logger } = collectLog('warn');
  const isWarning = ({ msg }: Record<string, unknown>) => String(msg).startsWith('ADMIN_PASSWORD is weak');
  const mirror = createServer();
  const asked = once(mirror, 'request') as Promise<[IncomingMessage, ServerResponse]>;
  const variables = { PASSWORD_BREACH_CHECK: `http://127.0.0.1:${await listen(mirror)}` };
  const app = await buildApp(testConfig(variables), { database: database.location, logger });
  t.teardown(async () => {
    mirror.closeAllConnections();
    mirror.close();
    await app.close();
    await database.drop();
  });
  const isNextHookReached = new Promise<void>((resolve) => app.addHook('onListen', async () => resolve()));
  await app.listen({ port: 0, host: '127.0.0.1' });
  const [, response] = await asked;
  await isNextHookReached;
  const hash = createHash('sha1').update(administrator.password).digest('hex').toUpperCase();
  response.end(`${hash.slice(5)}:3`);
  for (let tries = 0; tries < 100 && !lines.some(isWarning); tries++) await sleep(20);
  t.match(lines.find(isWarning), { level: 40, reasons: ['breached'] });
});

t.test('without ADMIN_PASSWORD, a password is generated and shown on the terminal', async (t) => {
  const database = await createTestDatabase();
  const DATA_DIR = join(t.testdir(), 'data');
  const options = { database: database.location, showsPassword: true };
  const app = await buildApp(testConfig({ ADMIN_PASSWORD: '', DATA_DIR }), options);
  t.teardown(async () => {
    await app.close();
    await database.drop();
  });
  const { email, password } = app.createdAdministrator ?? {};
  t.match(password, /^[\w-]{20}$/);
  t.equal((await logIn(app, { email, password })).statusCode, 200);
  t.notOk(existsSync(DATA_DIR), 'the password is not stored in a file');
});

t.test('without a terminal, the generated password is written to a private file, never through a link', async (t) => {
  const database = await createTestDatabase();
  const DATA_DIR = t.testdir({ elsewhere: 'untouched' });
  const elsewhere = join(DATA_DIR, 'elsewhere');
  symlinkSync(elsewhere, join(DATA_DIR, 'admin-password'));
  chmodSync(DATA_DIR, 0o755);
  const app = await buildApp(testConfig({ ADMIN_PASSWORD: '', DATA_DIR }), { database: database.location });
  t.teardown(async () => {
    await app.close();
    await database.drop();
  });
  const { email, password, passwordFile } = app.createdAdministrator ?? {};
  t.equal(password, null);
  t.equal(passwordFile, join(DATA_DIR, 'admin-password'));
  t.equal(statSync(DATA_DIR).mode & 0o777, 0o700);
  const file = lstatSync(passwordFile ?? '');
  t.ok(file.isFile());
  t.equal(file.mode & 0o777, 0o600);
  t.equal(readFileSync(elsewhere, 'utf8'), 'untouched');
  const kept = readFileSync(passwordFile ?? '', 'utf8');
  t.match(kept, /^[\w-]{20}\n$/);
  t.equal((await logIn(app, { email, password: kept.trim() })).statusCode, 200);
  t.strictSame(readdirSync(DATA_DIR).sort(), ['admin-password', 'elsewhere'], 'no draft is left behind');
});

t.test('if the generated password cannot be stored, no account is created', async (t) => {
  const database = await createTestDatabase();
  t.teardown(() => database.drop());
  const DATA_DIR = join(t.testdir({ file: '' }), 'file/data');
  const start = (variables: Record<string, string>) =>
    buildApp(testConfig({ ADMIN_PASSWORD: '', DATA_DIR, ...variables }), { database: database.location });
  await t.rejects(start({}), { message: /ADMIN_PASSWORD: must be set, because .*file\/data/ });
  const app = await start({ ADMIN_PASSWORD: administrator.password });
  t.teardown(() => app.close());
  t.equal((await logIn(app)).statusCode, 200);
});

t.test('the database itself rejects duplicates and invalid values', async (t) => {
  const database = await createTestDatabase();
  const app = await buildApp(testConfig(), { database: database.location });
  t.teardown(async () => {
    await app.close();
    await database.drop();
  });
  const state = async (writing: Promise<unknown>) => {
    try {
      await writing;
      return 'written';
    } catch (error) {
      return ((error as Error).cause as { code?: string } | undefined)?.code;
    }
  };
  const [uniqueViolation, checkViolation] = ['23505', '23514'];

  const ann = await createUser(app, {
    email: 'Ann.Lee@Example.com',
    token: 'a-token',
    provider: 'p',
    externalIdentifier: 'Id',
  });
  for (const email of ['Ann.Lee@Example.com', 'ann.lee@example.com', 'ANN.LEE@EXAMPLE.COM', 'aNN.lEE@eXAMPLE.COM']) {
    t.equal(await state(createUser(app, { email })), uniqueViolation, email);
  }
  t.equal(await state(createUser(app, { email: 'ann.lee@example.co' })), 'written');
  const bob = await createUser(app);
  t.equal(await state(changeUser(app, bob.id, { email: 'ANN.lee@example.com' })), uniqueViolation, 'by update');
  t.equal(
    await state(changeUser(app, ann.id, { email: 'ann.lee@example.com' })),
    'written',
    'users can change the case of their own address',
  );
  t.equal(
    (await logIn(app, { email: 'ANN.LEE@example.com', password: ann.password })).statusCode,
    401,
    'a user of a provider cannot log in with a password',
  );
  t.equal((await logIn(app, { email: bob.email.toUpperCase(), password: bob.password })).statusCode, 200);

  const race = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      state(createUser(app, { email: index % 2 === 0 ? 'Race@example.com' : 'race@EXAMPLE.com' })),
    ),
  );
  t.equal(race.filter((result) => result === 'written').length, 1, 'of ten concurrent writes, one succeeds');

  t.equal(await state(createUser(app, { token: 'a-token' })), uniqueViolation, 'duplicate token');
  const identified = (provider: string, externalIdentifier: string) =>
    createUser(app, { provider, externalIdentifier });
  t.equal(await state(identified('p', 'Id')), uniqueViolation, 'duplicate identifier');
  t.equal(await state(identified('p', 'iD')), 'written', 'identifiers are case-sensitive');
  t.equal(await state(identified('q', 'Id')), 'written', 'another provider');
  t.equal(await state(createUser(app, { status: 'banned' })), checkViolation, 'unknown status');
  t.equal(await state(app.db.insert(settings).values({ id: 2 })), checkViolation, 'second row of settings');
});
