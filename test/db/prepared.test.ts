import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import t from 'tap';
import { createPostgresPool } from '../../db/postgres/pool.js';
import { createPreparing } from '../../db/postgres/prepared.js';
import { createTestDatabase, engine } from '../helpers/databases.js';

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
  for (let times = 0; times < 3; times++) t.equal(wants('e'), false, 'the limit is reached');
  t.ok(wants('c') && wants('d'), 'prepared statements stay prepared');
});

t.test('a connection prepares repeated statements', { skip: engine === 'embedded' && 'PostgreSQL only' }, async (t) => {
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
  t.same([...(await read())], [{ number: 0 }], 'a changed table causes no error');

  const without = start('?prepare=false');
  for (let times = 0; times < 3; times++) await without.execute(sql`select ${times}::int`);
  t.equal((await prepared(without)).length, 0, 'prepare=false prepares nothing');
});
