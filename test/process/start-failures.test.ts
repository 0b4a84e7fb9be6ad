import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { startFakePostgres } from '../helpers/database/fake-postgres.js';
import { freePort, listen } from '../helpers/servers/ports.js';
import {
  createHome,
  launchService,
  logIn,
  refusedService,
  type Service,
  serverFile,
  startService,
} from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';

t.test('every error in the configuration is named, and nothing is created', async (t) => {
  const home = await createHome(t);
  const { code, stdout, stderr } = await refusedService(home, {
    PORT: 'eighty',
    SECRET: 'too short',
    DATABASE_URL: 'mysql://root:hunter2@localhost/gatehouse',
    ADMIN_EMAIL: 'nobody',
    ADMIN_PASSWORD: 'short',
    ACCESS_TOKEN_TTL: 'a while',
    LOG_LEVEL: 'loud',
    DATA_DIR: './data',
  });
  t.equal(code, 1);
  t.equal(stdout, '');
  const named = [...stderr.matchAll(/^ {2}- ([A-Z_]+): /gm)].map(([, name]) => name);
  t.strictSame(named.sort(), [
    'ACCESS_TOKEN_TTL',
    'ADMIN_EMAIL',
    'ADMIN_PASSWORD',
    'DATABASE_URL',
    'LOG_LEVEL',
    'PORT',
    'SECRET',
  ]);
  for (const secret of ['too short', 'hunter2', 'short,', '"short"']) t.notOk(stderr.includes(secret));
  t.notMatch(stderr, /^\s+at /m);
  t.strictSame(readdirSync(home.directory), []);
});

t.test('DATABASE_URL without SECRET is rejected', async (t) => {
  const home = await createHome(t);
  const variables = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', SECRET: undefined };
  const { code, stderr } = await refusedService(home, variables);
  t.equal(code, 1);
  t.match(stderr, /^ {2}- SECRET: must be set when DATABASE_URL is set/m);
  t.strictSame(readdirSync(home.directory), []);
});

t.test('a port in use is reported with a message, and the generated password is not lost', async (t) => {
  const home = await createHome(t, { prepared: true });
  const other = createServer();
  const port = await listen(other);
  t.teardown(() => other.close());
  const { code, stderr } = await refusedService(home, { PORT: String(port) });
  t.equal(code, 1);
  t.match(stderr, `Port ${port} is in use.`);
  t.notMatch(stderr, /^\s+at /m);
  const password = readFileSync(join(home.directory, 'data/admin-password'), 'utf8').trim();

  const service = await startService(home);
  t.equal((await logIn(service, password)).status, 200);
  await service.stop();
});

t.test('an address of another machine is reported with a message', async (t) => {
  const home = await createHome(t, { prepared: true });
  const { code, stderr } = await refusedService(home, { HOST: '192.0.2.1' });
  t.equal(code, 1);
  t.match(stderr, 'This machine does not have the address 192.0.2.1.');
  t.notMatch(stderr, /^\s+at /m);
});

t.test('an unavailable database is reported quickly with a message, without the password', async (t) => {
  const refusing = (code: string, message: string) => startFakePostgres(t, { refusal: { code, message } });
  const secret = 'hunter2-the-password';
  const cases = [
    { name: 'nothing listens', port: await freePort(), says: 'PostgreSQL cannot be reached' },
    { name: 'wrong password', port: await refusing('28P01', 'wrong'), says: 'rejects this password' },
    { name: 'unknown user', port: await refusing('28000', 'who?'), says: 'rejects this user' },
    { name: 'no such database', port: await refusing('3D000', 'none'), says: 'does not have this database' },
    { name: 'it is starting up', port: await refusing('57P03', 'wait'), says: 'PostgreSQL cannot be reached' },
    {
      name: 'a bad setting',
      port: await refusing('22023', 'no such setting'),
      says: 'no such setting. Check DATABASE_URL.',
    },
    { name: 'full', port: await refusing('53300', 'full'), says: 'PostgreSQL cannot be reached' },
    { name: 'it never responds', port: await startFakePostgres(t, 'silent'), says: 'PostgreSQL cannot be reached' },
    { name: 'it hangs up', port: await startFakePostgres(t, 'hangs up'), says: 'PostgreSQL cannot be reached' },
    { name: 'it is something else', port: await startFakePostgres(t, 'http'), says: 'PostgreSQL cannot be reached' },
  ];
  const home = await createHome(t);
  const start = (port: number) =>
    refusedService(home, {
      DATABASE_URL: `postgres://gatehouse:${secret}@127.0.0.1:${port}/gatehouse`,
      SECRET: 'a secret for tests, long enough to be taken',
    });
  // Not all at the same time, because the test measures how long the service waits for the database, not for a CPU.
  const outcomes: Awaited<ReturnType<typeof start>>[] = [];
  for (let first = 0; first < cases.length; first += 3) {
    outcomes.push(...(await Promise.all(cases.slice(first, first + 3).map(({ port }) => start(port)))));
  }
  for (const [index, { name, port, says }] of cases.entries()) {
    const outcome = outcomes[index];
    t.equal(outcome?.code, 1, name);
    t.match(outcome?.stderr, says, name);
    t.notMatch(outcome?.stderr, /^\s+at /m, name);
    t.notOk(`${outcome?.stderr}${outcome?.stdout}`.includes(secret), name);
    t.match(outcome?.stderr, `127.0.0.1:${port}`, `${name}: the message names the server`);
    t.ok((outcome?.ms ?? 0) < 20_000, `${name}: within 20 seconds`);
  }
});

t.test('an unknown host name is reported with a message', async (t) => {
  const home = await createHome(t);
  const { code, stderr } = await refusedService(home, {
    DATABASE_URL: 'postgres://gatehouse:hunter2@database.invalid/gatehouse',
    SECRET: 'a secret for tests, long enough to be taken',
  });
  t.equal(code, 1);
  t.match(stderr, 'PostgreSQL cannot be reached');
  t.notOk(stderr.includes('hunter2'));
});

const embeddedOnly = engine === 'postgres' && 'there is no data directory on PostgreSQL';

t.test('a DATA_DIR that cannot be written is reported with a message', { skip: embeddedOnly }, async (t) => {
  const home = await createHome(t);
  writeFileSync(join(home.directory, 'file'), '');
  symlinkSync('/nowhere/at/all', join(home.directory, 'broken'));
  for (const dataDir of ['./file/data', './file', './broken']) {
    const { code, stderr } = await refusedService(home, { DATA_DIR: dataDir });
    t.equal(code, 1, dataDir);
    t.match(stderr, 'set DATA_DIR to another folder', dataDir);
    t.match(stderr, `${dataDir.replace('./', '')} cannot be written`, dataDir);
    t.notMatch(stderr, /^\s+at /m, dataDir);
  }
  t.strictSame(readdirSync(home.directory).sort(), ['broken', 'file']);
});

const nobody = { uid: 65_534, gid: 65_534 };
const cannotSwitchUser =
  embeddedOnly ||
  (process.getuid?.() !== 0 && 'only root can start a process as another user') ||
  (spawnSync(process.execPath, ['--check', serverFile], nobody).status !== 0 &&
    'other users may not read this checkout');

t.test('a DATA_DIR of another user is reported with a message', { skip: cannotSwitchUser }, async (t) => {
  const home = await createHome(t);
  const dataDir = join(home.directory, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  const { code, stderr } = await refusedService(home, { DATA_DIR: dataDir }, nobody);
  t.equal(code, 1);
  t.match(stderr, dataDir);
  t.match(stderr, 'cannot be written (EACCES)');
  t.notMatch(stderr, /^\s+at /m);
});

t.test('ADMIN_PASSWORD is required if there is neither a terminal nor a place for the first password', async (t) => {
  const home = await createHome(t, { prepared: true });
  writeFileSync(join(home.directory, 'file'), '');
  const SECRET = 'a secret for tests, long enough to be taken';
  // On the embedded engine, the start fails earlier, because there is no place for the data either.
  if (engine === 'embedded') return;
  const { code, stderr } = await refusedService(home, { DATA_DIR: './file/data', SECRET });
  t.equal(code, 1);
  t.match(stderr, /^ {2}- ADMIN_PASSWORD: must be set, because .*file\/data/m);
  const service = await startService(home, {
    DATA_DIR: './file/data',
    SECRET,
    ADMIN_PASSWORD: 'chosen by the operator',
  });
  t.equal((await logIn(service, 'chosen by the operator')).status, 200, 'no account was left behind');
  await service.stop();
});

t.test('the data is private in an existing folder', { skip: embeddedOnly }, async (t) => {
  const home = await createHome(t);
  for (const mode of [0o755, 0o777]) {
    const dataDir = join(home.directory, `data-${mode}`);
    mkdirSync(dataDir);
    chmodSync(dataDir, mode);
    const service = await startService(home, { ...cheapHashing, DATA_DIR: dataDir });
    t.equal(statSync(dataDir).mode & 0o777, 0o700);
    t.strictSame(readdirSync(dataDir).sort(), ['admin-password', 'database', 'lock', 'secret']);
    await service.stop();
  }
});

t.test('the data is private in a folder of another user', { skip: cannotSwitchUser }, async (t) => {
  const home = await createHome(t);
  const dataDir = join(home.directory, 'volume');
  mkdirSync(dataDir);
  chmodSync(dataDir, 0o777);
  chmodSync(home.directory, 0o755);
  const { uid, gid } = nobody;
  const service = launchService(home, { ...cheapHashing, DATA_DIR: dataDir }, nobody);
  await Promise.race([service.ended, untilListening(service)]);
  t.match(service.announcement, {
    database: `embedded, in ${dataDir}/private`,
    passwordFile: `${dataDir}/private/admin-password`,
  });
  await service.stop();
  const inner = statSync(join(dataDir, 'private'));
  t.strictSame([inner.mode & 0o777, inner.uid, inner.gid], [0o700, uid, gid]);
  t.strictSame(readdirSync(dataDir), ['private'], 'everything is in the private folder');
  chownSync(join(dataDir, 'private/secret'), 0, 0);
  const { code, stderr } = await refusedService(home, { DATA_DIR: dataDir }, nobody);
  t.equal(code, 1);
  t.match(stderr, 'private/secret belongs to another user (0)');
});

async function untilListening(service: Service): Promise<void> {
  while (!service.url) await sleep(20);
}
