import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { compactUserCounts, countAllUsers } from '../../db/queries/users/user-counts.js';
import { permissions, userCounts, users } from '../../db/schema.js';
import { engine, schemas } from '../helpers/database/databases.js';
import { hearStatements } from '../helpers/database/statements.js';
import { asAdmin, patch, remove, startWithAdmin } from '../helpers/http/writing.js';
import { readGuide } from '../helpers/project/guide.js';
import { bearer, type TestApp } from '../helpers/service/app.js';
import { createPolicy } from '../helpers/users/rights.js';
import { createUser } from '../helpers/users/users.js';

const totalOf = async ({ get }: TestApp, headers = asAdmin, query = ''): Promise<number> =>
  (await get(`/users?limit=1&fields=id&meta=total_count${query}`, headers)).json().meta.total_count;

const people = (count: number) =>
  Array.from({ length: count }, () => ({ email: `${randomUUID()}@example.com`, password: 'the password of many' }));

t.test('the total number of users is read without counting the users', async (t) => {
  const service = await startWithAdmin(t);
  const { app, get, post } = service;
  const sent: string[] = [];
  const stop = hearStatements(app, ({ text }) => void sent.push(text));
  t.equal(await totalOf(service), 1);
  stop();
  t.ok(sent.some((text) => text.includes('user_counts')));
  t.notOk(sent.some((text) => /count\(\*\).*from "users"/s.test(text)));

  const made = (await post('/users', people(20), asAdmin)).json().data.map(({ id }: { id: string }) => id);
  t.equal(await totalOf(service), 21, 'after a bulk creation');
  t.equal((await post('/users', [...people(2), { status: 'nonsense' }], asAdmin)).statusCode, 400);
  t.equal((await post('/users', [...people(2), { role: made[0] }], asAdmin)).statusCode, 400);
  t.equal(await totalOf(service), 21, 'rejected requests do not change the count');
  t.equal((await patch(service, '/users', { keys: made, data: { title: 'The same' } })).statusCode, 200);
  t.equal(await totalOf(service), 21, 'updates do not change the count');
  t.equal((await remove(service, `/users/${made[0]}`)).statusCode, 204);
  t.equal((await remove(service, '/users', made.slice(1, 6))).statusCode, 204);
  t.equal(await totalOf(service), 15, 'after a single and a bulk deletion');

  t.equal(await totalOf(service, asAdmin, '&filter={"title":{"_eq":"nobody"}}&search=nobody'), 15);
  const { meta } = (await get('/users?limit=1&meta=*', asAdmin)).json();
  t.strictSame(meta, { total_count: 15, filter_count: 15 });
  const filtered = (await get('/users?meta=filter_count&filter={"title":{"_eq":"The same"}}', asAdmin)).json();
  t.equal(filtered.meta.filter_count, 14, 'filter_count contains only the matching users');
});

t.test('total_count contains only the users that the caller can read', async (t) => {
  const service = await startWithAdmin(t);
  const { app, post } = service;
  t.equal((await post('/users', people(4), asAdmin)).statusCode, 200);
  const all = await createPolicy(app, { read: ['id'] });
  await createUser(app, { token: 'the-token-of-one', policies: [all] });
  t.equal(await totalOf(service, bearer('the-token-of-one')), 6);
  await app.db.update(permissions).set({ permissions: { id: { _eq: '$CURRENT_USER' } } });
  t.equal(await totalOf(service, bearer('the-token-of-one')), 1);
  const another = await createPolicy(app, { read: ['email'] });
  await createUser(app, { token: 'the-token-of-another', policies: [all, another] });
  t.equal(await totalOf(service, bearer('the-token-of-another')), 7, 'one of two policies allows reading all users');
});

t.test('the count is correct after concurrent writes', async (t) => {
  const service = await startWithAdmin(t);
  const { app } = service;
  const write = async (number: number) => {
    const work = app.db.transaction(async (tx) => {
      const made = await tx.insert(users).values(people(3)).returning({ id: users.id });
      await tx.delete(users).where(sql`id = ${made[0]?.id}`);
      if (number % 3 === 0) throw new Error('All for nothing.');
    });
    await work.catch((error: Error) => t.equal(error.message, 'All for nothing.'));
    if (number % 4 === 0) await compactUserCounts(app.db);
  };
  await Promise.all(Array.from({ length: 24 }, (_, number) => write(number)));
  const expected = 1 + 16 * 2;
  t.equal(await app.db.$count(users), expected);
  t.equal(await totalOf(service), expected);
  await Promise.all(Array.from({ length: 4 }, () => compactUserCounts(app.db)));
  t.strictSame(
    (await app.db.select({ change: userCounts.change }).from(userCounts)).filter(({ change }) => change !== 0),
    [{ change: expected }],
    'the count is summed up in one row',
  );
  t.equal(await totalOf(service), expected);

  const again = sql`insert into ${sql.raw(schemas.tables)}.users (email) values ('twice@example.com') on conflict do nothing`;
  await app.db.execute(again);
  await app.db.execute(again);
  t.equal(await totalOf(service), expected + 1, 'a skipped duplicate is not counted');
  await app.db.transaction(async (tx) => {
    await tx.execute(sql`set local search_path = ''`);
    await tx.execute(sql`delete from ${sql.raw(schemas.tables)}.users where email = 'twice@example.com'`);
  });
  t.equal(await totalOf(service), expected, 'a deletion with another search_path is counted');
});

/** Concurrency requires several connections. */
const skip = engine === 'embedded' && 'the embedded database has only one connection';

t.test('the count is correct after the table is truncated while its count is summed up', { skip }, async (t) => {
  const { app } = await startWithAdmin(t);
  await app.db.insert(users).values(people(3));
  const work: Promise<unknown>[] = [];
  await app.db.transaction(async (tx) => {
    await compactUserCounts(tx);
    work.push(Promise.resolve(app.db.execute(sql`truncate users cascade`)));
    await sleep(300);
  });
  await Promise.all(work);
  t.equal(await countAllUsers(app.db), 0);
  await app.db.insert(users).values(people(2));
  t.equal(await countAllUsers(app.db), 2);
});

t.test('the guide’s statement corrects a wrong count, even during writes', async (t) => {
  const service = await startWithAdmin(t);
  const { app } = service;
  await app.db.transaction(async (tx) => {
    await tx.execute(sql`set local session_replication_role = replica`);
    await tx.insert(users).values(people(5));
  });
  t.equal(await totalOf(service), 1, 'the triggers did not run');
  const repair = readGuide('docs/capacity.md').find(({ text }) => text.includes('user_counts'))?.text ?? '';
  const slowly = repair.replace(/(?=insert into)/, 'select pg_sleep(0.5);\n');
  t.not(slowly, repair);
  const repairing = app.databaseConnection.runScript(slowly);
  await sleep(100);
  await Promise.all([repairing, app.db.insert(users).values(people(1)), compactUserCounts(app.db)]);
  t.equal(await totalOf(service), 7);
});
