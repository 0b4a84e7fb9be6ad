// @suite not-everyday: starts many processes

import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { bearer } from '../helpers/app.js';
import { createNewerBuild, newestMigration } from '../helpers/builds.js';
import { createHome, engine, logIn, refusedService, startService } from '../helpers/service.js';
import { cheapHashing } from '../helpers/variables.js';

const variables = { ...cheapHashing, ADMIN_PASSWORD: 'the password of the administrator' };
const onlyPostgres = { skip: engine === 'embedded' && 'two processes cannot share the embedded database' };

t.test('an older build refuses to start after a newer one has changed the tables incompatibly', async (t) => {
  const home = await createHome(t, { prepared: true });
  const newer = createNewerBuild(t, {
    tag: '9999_incompatible',
    sql: 'ALTER TABLE "settings" ADD COLUMN "invented" text;',
  });
  await (await startService(home, variables, newer)).stop();
  for (const mode of ['on', 'off']) {
    const { code, stderr } = await refusedService(home, { ...variables, MIGRATE: mode });
    t.equal(code, 1);
    t.match(stderr, 'A newer version of the service has changed the tables (9999_incompatible)');
    t.notMatch(stderr, /^\s+at /m);
  }
  await (await startService(home, variables, newer)).stop();
});

t.test('an older and a newer build run side by side if the migration says so', onlyPostgres, async (t) => {
  const home = await createHome(t);
  const old = await startService(home, variables);
  const { body } = await logIn(old, variables.ADMIN_PASSWORD);
  const file = createNewerBuild(t, {
    tag: '9999_compatible',
    sql: `-- Works with builds since ${newestMigration()}.\nALTER TABLE "settings" ADD COLUMN "invented" text;`,
  });
  const newer = await startService(home, variables, file);
  const another = await startService(home, variables);
  const answers = async (headers: Record<string, string>) => {
    const all = [old, newer, another];
    return Promise.all(all.map(async (service) => (await service.get('/users/me', headers)).status));
  };
  t.strictSame(await answers(bearer(body.data.access_token)), [200, 200, 200]);
  for (const service of [old, newer, another]) {
    const refreshed = await service.post('/auth/refresh', { refresh_token: body.data.refresh_token });
    t.equal(refreshed.status, 200);
    Object.assign(body, await refreshed.json());
    const created = await service.post('/roles', { name: 'A role' }, bearer(body.data.access_token));
    t.equal(created.status, 200);
  }
  for (const service of [old, newer, another]) t.strictSame(await service.stop(), { code: 0, signal: null });
});

t.test('a build that is older than the declared one refuses to start', async (t) => {
  const home = await createHome(t, { prepared: true });
  const newer = createNewerBuild(t, {
    tag: '9999_later',
    sql: '-- Works with builds since 9998_not_in_this_build.\nALTER TABLE "settings" ADD COLUMN "invented" text;',
  });
  await (await startService(home, variables, newer)).stop();
  const { code, stderr } = await refusedService(home, variables);
  t.equal(code, 1);
  t.match(stderr, '(9999_later), and this version cannot work with them');
});

t.test('with MIGRATE=off, a build refuses to start until the tables are up to date', async (t) => {
  const home = await createHome(t);
  const { code, stderr } = await refusedService(home, { ...variables, MIGRATE: 'off' });
  t.equal(code, 1);
  t.match(stderr, /^Gatehouse could not start. MIGRATE is off, and the tables are not up to date: 0000_start, /);
  t.match(stderr, 'Run `npm run migrate`');
});

t.test('what migrations declare about older builds names an earlier migration', async (t) => {
  const files = readdirSync('db/migrations').filter((name) => name.endsWith('.sql'));
  for (const file of files) {
    const [first = ''] = readFileSync(`db/migrations/${file}`, 'utf8').split('\n', 1);
    if (!/works with/i.test(first)) continue;
    const [, declared = ''] = /^-- Works with builds since (\w+)\.$/.exec(first) ?? [];
    t.ok(declared < file && files.includes(`${declared}.sql`), `${file}: ${first}`);
  }
  t.ok(files.length > 10);
});
