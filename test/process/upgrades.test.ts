// @suite not-everyday: starts many processes

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { engine, schemas } from '../helpers/database/databases.js';
import { askStored } from '../helpers/database/stored.js';
import { bearer } from '../helpers/service/app.js';
import { createNewerBuild, newestMigration } from '../helpers/service/builds.js';
import { runCommand } from '../helpers/service/command.js';
import { createHome, logIn, refusedService, startService } from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';

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
  t.match(
    stderr,
    /^Gatehouse could not start. MIGRATE is off, and the tables are not up to date: 0000_initial[\w, ]*\. /,
  );
  t.match(stderr, 'Run `npm run migrate`');
});

t.test('a database of a development version from before 0.1.0 is refused and stays as it is', async (t) => {
  const home = await createHome(t, { prepared: true });
  await (await startService(home, variables)).stop();
  const journal = `${schemas.journal}.__drizzle_migrations`;
  await askStored(home, 'truncate migration_compatibility');
  await askStored(home, `delete from ${journal}`);
  // The second one declares that it is compatible with builds that contain the first one.
  for (const [createdAt, tag, worksWith] of [
    [1_790_000_000_000, '0000_start', 'null'],
    [1_790_000_001_000, '0001_mail', "'0000_start'"],
  ]) {
    await askStored(home, `insert into ${journal} (hash, created_at) values ('x', ${createdAt})`);
    await askStored(home, `insert into migration_compatibility values (${createdAt}, '${tag}', ${worksWith})`);
  }
  const stored = () =>
    askStored(
      home,
      `select (select json_agg(m) from ${journal} m) as journal, (select json_agg(c) from migration_compatibility c) as declared,
        (select json_agg(u) from users u) as users, json_agg(json_build_array(relname, relfilenode) order by oid) as tables
        from pg_class where relnamespace = current_schema()::regnamespace`,
    );
  const before = await stored();
  const message =
    /A development version from before 0\.1\.0 created the tables, and they cannot be upgraded\. Use an empty database/;
  for (const mode of ['on', 'off']) {
    const { code, stderr } = await refusedService(home, { ...variables, MIGRATE: mode });
    t.equal(code, 1);
    t.match(stderr, message);
  }
  t.match(await runCommand(home, 'migrate'), { code: 1, said: message });
  t.strictSame(await stored(), before);
});

/** Declarations of compatibility that cannot be read, or that do not name an earlier migration of the folder. */
function findFaultyDeclarations(folder: string): string[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  return files.flatMap((file) => {
    const [first = ''] = readFileSync(join(folder, file), 'utf8').split('\n', 1);
    if (!/works with/i.test(first)) return [];
    const [, declared = ''] = /^-- Works with builds since (\w+)\.$/.exec(first) ?? [];
    const isEarlier = files.includes(`${declared}.sql`) && `${declared}.sql` < file;
    return isEarlier ? [] : [`${file}: ${first}`];
  });
}

t.test('what migrations declare about older builds names an earlier migration', async (t) => {
  t.strictSame(findFaultyDeclarations('db/migrations'), []);
  const declarations = {
    valid: '-- Works with builds since 0000_initial.',
    itself: '-- Works with builds since 0002_itself.',
    later: '-- Works with builds since 0004_unknown.',
    unknown: '-- Works with builds since 0003_unknown.',
    unreadable: '-- works with builds since 0000_initial',
  };
  const names = Object.keys(declarations);
  const files = Object.entries(declarations).map(([name, line], index) => [`000${index + 1}_${name}.sql`, `${line}\n`]);
  const faulty = findFaultyDeclarations(t.testdir({ '0000_initial.sql': 'SELECT 1;\n', ...Object.fromEntries(files) }));
  t.strictSame(
    faulty.map((fault) => /^\d+_(\w+)/.exec(fault)?.[1]),
    names.filter((name) => name !== 'valid'),
  );
});
