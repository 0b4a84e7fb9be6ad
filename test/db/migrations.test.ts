import { cpSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { migrateTables } from '../../db/migrate.js';
import { users } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { createTestDatabase, openUnmigrated, schemas } from '../helpers/database/databases.js';
import { addMigration } from '../helpers/database/migrations.js';

/** A database with one user, and a folder with the migrations that it has, to which a test adds some. */
async function createUpgrade(t: Test) {
  const { location, drop } = await createTestDatabase();
  const connection = await openUnmigrated(location);
  t.teardown(async () => {
    await connection.close();
    await drop();
  });
  const { db } = connection;
  await migrateTables(connection);
  await db.insert(users).values({ email: 'ada@example.com' });
  const folder = t.testdir();
  cpSync('db/migrations', folder, { recursive: true });
  const countApplied = async () => {
    const journal = sql`${sql.identifier(schemas.journal)}.__drizzle_migrations`;
    const [found] = await rows<{ count: number }>(db, sql`select count(*)::int as count from ${journal}`);
    return found?.count;
  };
  return { connection, db, folder, countApplied };
}

t.test('new migrations change the tables and their data once', async (t) => {
  const { connection, db, folder, countApplied } = await createUpgrade(t);
  addMigration(folder, {
    tag: '9998_names',
    sql: 'ALTER TABLE "users" ADD COLUMN "name" text;--> statement-breakpoint\nUPDATE "users" SET "name" = "email";',
  });
  addMigration(folder, { tag: '9999_more_names', sql: 'UPDATE "users" SET "name" = "name" || \' (new)\';' });
  const before = await countApplied();
  for (let time = 1; time <= 2; time++) {
    await migrateTables(connection, folder);
    t.strictSame([...(await rows(db, sql`select name from users`))], [{ name: 'ada@example.com (new)' }]);
    t.equal(await countApplied(), Number(before) + 2);
  }
});

t.test('a failed migration also rolls back the migrations that ran before it', async (t) => {
  const { connection, db, folder, countApplied } = await createUpgrade(t);
  addMigration(folder, { tag: '9998_deletion', sql: 'DELETE FROM "users";' });
  addMigration(folder, { tag: '9999_failure', sql: 'ALTER TABLE "missing" ADD COLUMN "name" text;' });
  const before = await countApplied();
  await t.rejects(migrateTables(connection, folder), { cause: { message: /"missing" does not exist/ } });
  t.equal(await db.$count(users), 1);
  t.equal(await countApplied(), before);
});
