import { sql } from 'drizzle-orm';
import t from 'tap';
import { migrate, migrateTables } from '../../db/migrate.js';
import { rows } from '../../db/statements.js';
import { createTestDatabase, openUnmigrated } from '../helpers/databases.js';
import { migrationsBefore } from '../helpers/migrations.js';

t.test('the migration moves the password and names of unverified users to a registration', async (t) => {
  const { location, drop } = await createTestDatabase();
  t.teardown(drop);
  const connection = await openUnmigrated(location);
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

t.test(
  'the migration marks rows that only a registration created, and deletes those whose registrations have expired',
  async (t) => {
    const { location, drop } = await createTestDatabase();
    t.teardown(drop);
    const connection = await openUnmigrated(location);
    const { db } = connection;
    await migrateTables(connection, await migrationsBefore(t, '0020_unclaimed_users'));
    const events: Record<string, string[]> = {
      'pending@example.com': ['register', 'register'],
      'expired@example.com': ['register'],
      'created@example.com': ['create'],
      'changed@example.com': ['register', 'update'],
      'reset@example.com': ['register', 'email_verified', 'update'],
      'unknown@example.com': [],
    };
    for (const [email, actions] of Object.entries(events)) {
      await db.execute(sql`insert into users (email, status) values (${email}, 'unverified')`);
      for (const action of actions) {
        await db.execute(sql`insert into activity (id, timestamp, action, outcome, collection, item, seal)
        select gen_random_uuid(), now(), ${action}, 'success', 'users', id::text, 'x' from users where email = ${email}`);
      }
    }
    for (const email of Object.keys(events).filter((name) => name !== 'expired@example.com')) {
      await db.execute(sql`insert into registrations ("user", password, created_at, expires_at)
      select id, 'a hash', now(), now() + interval '1 day' from users where email = ${email}`);
    }
    await migrate(connection, async () => {});
    const found = await rows<{ email: string; from_registration: boolean }>(
      db,
      sql`select email, from_registration from users order by email`,
    );
    t.strictSame(
      found.map((row) => [row.email, row.from_registration]),
      [
        ['changed@example.com', false],
        ['created@example.com', false],
        ['pending@example.com', true],
        ['reset@example.com', false],
        ['unknown@example.com', false],
      ],
    );
    await connection.close();
  },
);
