import { sql } from 'drizzle-orm';
import t from 'tap';
import { migrate } from '../../db/migrate.js';
import { rows } from '../../db/statements.js';
import { engine } from '../helpers/database/databases.js';
import { asAdmin, remove, startWithAdmin } from '../helpers/http/writing.js';
import { readGuide } from '../helpers/project/guide.js';
import { logIn, logOut, modes, readMe, refresh, sessionOf } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

const skip = engine === 'embedded' ? 'PostgreSQL only' : false;

t.test('sessions still work after the table is partitioned as the guide describes', { skip }, async (t) => {
  const service = await startWithAdmin(t);
  const { app, get } = service;
  const user = await createUser(app);
  const before = await Promise.all(modes.map((mode) => logIn(service, mode, user)));

  // The columns that are usually false or null have a value, too.
  await app.db.execute(
    sql`update sessions set verified_by_passkey = true where id = (select id from sessions limit 1)`,
  );
  const stored = () => rows(app.db, sql`select to_jsonb(sessions) as row from sessions order by id`);
  const unpartitioned = await stored();
  const script = readGuide('docs/capacity.md').find(({ language }) => language === 'sql')?.text ?? '';
  await app.databaseConnection.runScript(script);
  await migrate(app.databaseConnection, async () => {});

  t.strictSame(await stored(), unpartitioned, 'every column is copied');

  for (const session of before) {
    t.equal((await readMe(service, session)).statusCode, 200, `${session.mode}: the session still works`);
    const next = sessionOf(session.mode, await refresh(service, session));
    t.equal((await readMe(service, next)).statusCode, 200);
    t.equal((await logOut(service, next)).statusCode, 204);
    t.equal((await refresh(service, next)).statusCode, 401);
  }
  const after = await Promise.all(Array.from({ length: 16 }, () => logIn(service, 'json', user)));
  const listed = (await get(`/users/${user.id}/sessions`, asAdmin)).json().data;
  t.equal(listed.length, after.length);
  const spread = await rows(app.db, sql`select distinct tableoid from sessions`);
  t.ok(spread.length > 1, `${spread.length} partitions contain sessions`);

  // As the service looks up sessions. In a small table, the planner would prefer to read everything.
  const plan = await app.db.transaction(async (tx) => {
    for (const method of ['seqscan', 'hashjoin', 'mergejoin']) {
      await tx.execute(sql.raw(`set local enable_${method} = off`));
    }
    return rows<Record<string, string>>(
      tx,
      sql`explain analyze select 1 from unnest((select ${`{${listed[0].id}}`}::text::uuid[])) as named(key) join sessions s on s.id = named.key`,
    );
  });
  const scans = plan.flatMap((line) => Object.values(line)).filter((line) => /Scan .*\bon sessions/.test(line));
  t.equal(scans.length, 4, scans.join());
  const executed = scans.filter((line) => !line.includes('never executed'));
  t.equal(executed.length, 1, `reading one session reads one partition: ${executed}`);
  t.equal((await remove(service, `/users/${user.id}`)).statusCode, 204);
  const left = await rows(app.db, sql`select 1 from sessions where "user" = ${user.id}`);
  t.equal(left.length, 0, 'deleting the user deletes the sessions');
});
