import { sql } from 'drizzle-orm';
import t from 'tap';
import { openDatabase } from '../../db/client.js';
import { migrate, migrateTables } from '../../db/migrate.js';
import { rows } from '../../db/statements.js';
import { createTestDatabase } from '../helpers/databases.js';
import { migrationsBefore } from '../helpers/migrations.js';

t.test('the migration moves the password and names of unverified users to a registration', async (t) => {
  const { location, drop } = await createTestDatabase();
  t.teardown(drop);
  const connection = await openDatabase(location);
  const { db } = connection;
  await migrateTables(connection, await migrationsBefore(t, '0008_own_account'));
  await db.execute(sql`insert into users (email, status, password, first_name, last_name) values
    ('waiting@example.com', 'unverified', 'a hash', 'Ada', 'Lovelace'),
    ('active@example.com', 'active', 'another hash', 'Grace', 'Hopper')`);
  await migrate(connection, async () => {});
  const found = await rows(db, sql`select email, password, first_name, last_name from users order by email`);
  t.strictSame(
    [...found],
    [
      { email: 'active@example.com', password: 'another hash', first_name: 'Grace', last_name: 'Hopper' },
      { email: 'waiting@example.com', password: null, first_name: null, last_name: null },
    ],
  );
  const pending = await rows(db, sql`select password, first_name, last_name from registrations`);
  t.strictSame([...pending], [{ password: 'a hash', first_name: 'Ada', last_name: 'Lovelace' }]);
  await connection.close();
});
