import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { openDatabase, rows } from '../../db/client.js';
import { migrate } from '../../db/migrate.js';
import { ensureSearchIndex } from '../../db/postgres/search-index.js';
import { admin, bearer, startTestApp } from '../helpers/app.js';
import { createTestDatabase, engine } from '../helpers/databases.js';
import { hearStatements, type Sent } from '../helpers/statements.js';

const skip = engine === 'postgres' ? false : 'the embedded database has no such index';

const indexes = async (location: Parameters<typeof openDatabase>[0]) => {
  const connection = await openDatabase(location);
  const found = await rows<{ name: string; definition: string }>(
    connection.db,
    sql`select indexname as name, indexdef as definition from pg_indexes where indexname like 'users\\_search\\_%'`,
  );
  await connection.close();
  return [...found];
};

async function emptyDatabase(t: Test) {
  const { location, url, drop } = await createTestDatabase();
  t.teardown(drop);
  if (location.kind !== 'postgres' || !url) throw new Error('This is for PostgreSQL.');
  return { location, url };
}

t.test('users are searched by an index that the query has word for word', { skip }, async (t) => {
  const { app, get, post } = await startTestApp(t);
  const token = (await post('/auth/login', admin)).json().data.access_token;
  const sent: Sent[] = [];
  const stop = hearStatements(app, (statement) => void sent.push(statement));
  t.equal((await get('/users?search=admin', bearer(token))).json().data.length, 1);
  stop();
  const search = sent.find(({ text }) => text.includes('ilike'));
  const plan = await app.databaseConnection.db.transaction(async (tx) => {
    // In a table of one row nothing is faster than to read it.
    await tx.execute(sql`set local enable_seqscan = off`);
    await tx.execute(sql`set local enable_indexscan = off`);
    const { text, parameters } = search ?? { text: '', parameters: [] };
    let values = 0;
    const literal = text.replaceAll(/\$\d+/g, () => `'${String(parameters[values++])}'`);
    return JSON.stringify(await rows(tx, sql.raw(`explain ${literal}`)));
  });
  t.match(plan, /Bitmap Index Scan on users_search_[0-9a-f]{8}/);
});

t.test('it is made once, and takes the place of that of another version', { skip }, async (t) => {
  const { location } = await emptyDatabase(t);
  const connection = await openDatabase(location);
  await migrate(connection, async () => {});
  const [made] = await indexes(location);
  t.match(made?.name, /^users_search_[0-9a-f]{8}$/);
  await connection.db.execute(sql`alter index ${sql.identifier(made?.name ?? '')} rename to users_search_00000000`);
  await migrate(connection, async () => {});
  await migrate(connection, async () => {});
  await connection.close();
  t.strictSame(await indexes(location), [made]);
});

t.test('a server that does not let us have the extension is no obstacle', { skip }, async (t) => {
  const { location, url } = await emptyDatabase(t);
  const owner = await openDatabase(location);
  await migrate(owner, async () => {});
  const [made] = await indexes(location);
  const role = `stranger_${randomBytes(4).toString('hex')}`;
  await owner.db.execute(sql.raw(`drop index ${made?.name}; drop extension pg_trgm; create role ${role} login`));
  t.teardown(async () => {
    await owner.db.execute(sql.raw(`drop role ${role}`));
    await owner.close();
  });
  const asStranger = new URL(url);
  asStranger.username = role;
  const connection = await openDatabase({ ...location, url: asStranger.href });
  t.equal(await ensureSearchIndex(connection.db), false);
  await connection.close();
  t.equal(await ensureSearchIndex(owner.db), true, 'and it comes when the server does');
});

t.test('an address is found as a whole, though the index is asked for its first part only', async (t) => {
  const { get, post } = await startTestApp(t);
  const token = (await post('/auth/login', admin)).json().data.access_token;
  const password = 'the password of all of them';
  const emails = ['ada.allen@example.com', 'ada.allen@example.org', 'xy@example.com', 'bob@example.net'];
  const users = emails.map((email) => ({ email, password }));
  t.equal((await post('/users', users, bearer(token))).statusCode, 200);
  const titled = { email: 'carol@example.net', password, title: 'writes to ada.allen@example.com@night' };
  t.equal((await post('/users', titled, bearer(token))).statusCode, 200);
  for (const [term, expected] of [
    ['ada.allen@example.org', ['ada.allen@example.org']],
    ['ADA.Allen@Example.C', ['ada.allen@example.com', 'carol@example.net']],
    ['len@example.com@ni', ['carol@example.net']],
    ['xy@example.com', ['xy@example.com']],
    ['@example.net', ['bob@example.net', 'carol@example.net']],
    ['ada.allen@', ['ada.allen@example.com', 'ada.allen@example.org', 'carol@example.net']],
    ['ada_allen@example.com', []],
    ['%@example.com', []],
  ] as const) {
    const found = (
      await get(`/users?fields=email&sort=email&search=${encodeURIComponent(term)}`, bearer(token))
    ).json();
    t.strictSame(
      found.data.map(({ email }: { email: string }) => email),
      expected,
      term,
    );
  }
});
