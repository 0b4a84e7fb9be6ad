import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import t from 'tap';
import { createPostgresPool } from '../../db/postgres/pool.js';
import { createPreparing, maxPrepared } from '../../db/postgres/prepared.js';
import { createTestDatabase, engine, isHostile } from '../helpers/database/databases.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { policyWith } from '../helpers/users/rights.js';
import { createUserWithToken } from '../helpers/users/users.js';

t.test('a statement is prepared from its second use on', async (t) => {
  const { wants } = createPreparing();
  t.strictSame([wants('a'), wants('b'), wants('a'), wants('b'), wants('a')], [false, false, true, true, true]);
});

t.test('the numbers of prepared and of remembered statements are limited', async (t) => {
  const { wants } = createPreparing({ max: 2, noted: 3 });
  for (const text of ['a', 'b', 'c', 'd']) t.equal(wants(text), false);
  t.equal(wants('a'), false, 'the oldest statement is forgotten');
  t.equal(wants('d'), true);
  t.equal(wants('c'), true);
  t.ok(wants('d'), 'prepared statements stay prepared');
  t.strictSame([wants('e'), wants('e')], [false, true], 'beyond the limit');
  t.strictSame(
    [wants('d'), wants('c')],
    [true, false],
    'it takes the place of the one that was not used for the longest time',
  );
});

const skip = engine === 'embedded' && 'PostgreSQL only';

t.test('statements that a user makes up neither keep out those of others nor pile up', { skip }, async (t) => {
  const { app } = await startWithAdmin(t);
  const policy = await policyWith(app, [
    { collection: 'users', action: 'read', fields: ['*'], permissions: { email: { _nnull: true } } },
  ]);
  const { headers } = await createUserWithToken(app, { policies: [policy] });
  const names = ['id', 'first_name', 'last_name', 'title', 'location', 'description', 'language'];
  for (const order of permutations(names).slice(0, 1_100)) {
    const url = `/users?fields=${order}&limit=1`;
    for (let times = 0; times < 2; times++) {
      const { statusCode } = await app.inject({ url, headers });
      if (statusCode !== 200) t.fail(`${url}: ${statusCode}`);
    }
  }
  for (let times = 0; times < 2; times++) {
    t.equal((await app.inject({ url: '/roles?fields=id,icon', headers: asAdmin })).statusCode, 200);
  }
  const prepared = await app.db.execute<{ statement: string }>(sql`select statement from pg_prepared_statements`);
  const texts = [...(prepared as unknown as Iterable<{ statement: string }>)].map(({ statement }) => statement);
  t.ok(
    texts.some((text) => text.includes('"roles"') && text.includes('"icon"')),
    'a new statement is prepared',
  );
  t.ok(texts.length <= 2 * maxPrepared, `${texts.length} statements on the connection`);
});

function permutations(names: readonly string[]): string[] {
  if (names.length === 1) return [...names];
  return names.flatMap((first) =>
    permutations(names.filter((name) => name !== first)).map((rest) => `${first},${rest}`),
  );
}

t.test('a connection prepares repeated statements', { skip }, async (t) => {
  const database = await createTestDatabase();
  const start = (query = '') => {
    const pool = createPostgresPool(`${database.url}${query}`, { max: 1 });
    t.teardown(() => pool.close());
    return drizzle(pool.client);
  };
  const prepared = (db: ReturnType<typeof start>) =>
    db.execute(sql`select statement from pg_prepared_statements where statement ~ 'things|int$'`);
  t.teardown(() => database.drop());

  const db = start();
  await db.execute(sql`create table things (number int)`);
  for (let number = 0; number < 4; number++) {
    await db.execute(sql`insert into things values (${number}::int)`);
    await db.transaction((tx) =>
      tx.execute(sql`update things set number = ${number}::int where number = ${number}::int`),
    );
    await db.execute(sql`select count(*) from things`);
  }
  const kinds = [...(await prepared(db))].map(({ statement }) => String(statement).split(' ', 1)[0]);
  t.strictSame(kinds.sort(), ['insert', 'select', 'update'], 'in a transaction or not, with parameters or without');

  await db.execute(sql`alter table things alter column number type text`);
  const read = () => db.execute(sql`select number from things order by number limit ${1}::int`);
  for (let times = 0; times < 3; times++) t.same([...(await read())], [{ number: '0' }]);
  await db.execute(sql`alter table things alter column number type int using number::int`);
  // With another default isolation level, each statement is in a transaction, where it fails once.
  if (!isHostile) t.same([...(await read())], [{ number: 0 }], 'a changed table causes no error');

  const without = start('?prepare=false');
  for (let times = 0; times < 3; times++) await without.execute(sql`select ${times}::int`);
  t.equal((await prepared(without)).length, 0, 'prepare=false prepares nothing');
});
