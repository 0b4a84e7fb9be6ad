import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { openDatabase } from '../../db/client.js';
import { migrate } from '../../db/migrate.js';
import { ensureSearchIndexes } from '../../db/queries/users/search-indexes.js';
import { collections } from '../../db/query-language/collections.js';
import { searchedTexts } from '../../db/query-language/search-text.js';
import { users } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { createTestDatabase, engine, schemas } from '../helpers/database/databases.js';
import { hearStatements, type Sent, withValues } from '../helpers/database/statements.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { createPolicy } from '../helpers/users/rights.js';
import { changeUser, createUser, createUserWithToken } from '../helpers/users/users.js';

const skip = engine === 'postgres' ? false : 'the embedded database has no such index';

const indexes = async (location: Parameters<typeof openDatabase>[0]) => {
  const connection = await openDatabase(location);
  const found = await rows<{ name: string; definition: string }>(
    connection.db,
    sql`select indexname as name, indexdef as definition from pg_indexes where indexname like 'users\\_search\\_%' order by 1`,
  );
  await connection.close();
  return [...found];
};

async function emptyDatabase(t: Test) {
  const { location, url, drop } = await createTestDatabase();
  t.teardown(drop);
  if (location.kind !== 'postgres' || !url) throw new Error('This test requires PostgreSQL.');
  return { location, url };
}

t.test('a search for users uses the indexes of the texts that the caller may read', { skip }, async (t) => {
  const { app, get, post } = await startTestApp(t);
  const token = (await post('/auth/login', administrator)).json().data.access_token;
  const person = async (read: string[], more: Partial<Parameters<typeof createPolicy>[1]> = {}) => {
    const { id, token = '' } = await createUserWithToken(app, {
      policies: [await createPolicy(app, { read, ...more })],
    });
    return { id, token };
  };
  const desk = await person(['id', 'first_name', 'email', 'title'], { appAccess: true });
  const clerk = await person(['id', 'first_name']);
  await createUser(app, { email: 'somebody@example.com', firstName: 'Fadmina', description: 'hidden words' });
  /** What the database looks up, and the conditions of the indexes. */
  const lookedUp = async (term: string, by: string, count: number) => {
    const sent: Sent[] = [];
    const stop = hearStatements(app, (statement) => void sent.push(statement));
    const answer = await get(`/users?fields=id&search=${encodeURIComponent(term)}`, bearer(by));
    t.equal(answer.json().data.length, count, term);
    stop();
    const search = sent.find(({ text }) => text.includes('ilike'));
    return app.databaseConnection.db.transaction(async (tx) => {
      // In a table with few rows, a sequential scan would always be the fastest plan.
      await tx.execute(sql`set local enable_seqscan = off`);
      await tx.execute(sql`set local enable_indexscan = off`);
      const plan = (await rows(tx, sql.raw(`explain ${search && withValues(search)}`))).map((row) =>
        String(Object.values(row as object)[0]),
      );
      const names = plan.flatMap((line) => /Bitmap Index Scan on (\w+?)(?:_[0-9a-f]{8})? /.exec(line)?.[1] ?? []);
      const columns = plan.flatMap((line) => /Index Cond: \(\((\w+)\)::text ~~\*/.exec(line)?.[1] ?? []);
      return { names: [...new Set(names)].sort(), columns: [...new Set(columns)].sort() };
    });
  };
  const texts = 'users_search_texts';
  const all = await lookedUp('admin', token, 2);
  t.strictSame(all.names, [texts]);
  t.ok(all.columns.includes('first_name') && all.columns.includes('external_identifier'));
  t.strictSame((await lookedUp(administrator.email, token, 1)).names, [
    'users_search_addresses',
    'users_search_other_addresses',
    texts,
  ]);
  t.strictSame(await lookedUp('admin', clerk.token, 1), { names: [texts], columns: ['first_name'] });
  t.strictSame(
    await lookedUp('admin', desk.token, 2),
    { names: ['users_pkey', texts], columns: ['email', 'first_name', 'title'] },
    'other texts are looked up only for the own account',
  );
  t.strictSame((await lookedUp('somebody@example.com', desk.token, 1)).columns, ['first_name', 'title']);
  await lookedUp('hidden words', desk.token, 0);
  await changeUser(app, desk.id, { description: 'hidden words' });
  await lookedUp('hidden words', desk.token, 1);
});

t.test('search indexes are created once and replace those of another version', { skip }, async (t) => {
  const { location } = await emptyDatabase(t);
  const connection = await openDatabase(location);
  await migrate(connection, async () => {});
  const made = await indexes(location);
  t.match(
    made.map(({ name }) => name),
    [
      /^users_search_addresses_[0-9a-f]{8}$/,
      /^users_search_other_addresses_[0-9a-f]{8}$/,
      /^users_search_texts_[0-9a-f]{8}$/,
    ],
  );
  t.match(made[1]?.definition, / WHERE /, 'the index covers only users with an unusual address');
  const [one, other] = made.map(({ name }) => sql.identifier(name));
  await connection.db.execute(sql`alter index ${one} rename to users_search_00000000`);
  await connection.db.execute(sql`drop index ${other}`);
  await migrate(connection, async () => {});
  await migrate(connection, async () => {});
  await connection.close();
  t.strictSame(await indexes(location), made);
});

t.test('the indexes of another version are kept while a transaction reads the table', { skip }, async (t) => {
  const { location } = await emptyDatabase(t);
  const connection = await openDatabase(location);
  await migrate(connection, async () => {});
  const made = await indexes(location);
  const { db } = connection;
  await db.execute(sql`alter index ${sql.identifier(made[0]?.name ?? '')} rename to users_search_00000000`);
  await db.transaction(async (reader) => {
    await reader.select().from(users);
    t.equal(await ensureSearchIndexes(db), true);
    t.equal((await indexes(location)).length, 4, 'the new index exists');
    t.strictSame(await db.select().from(users), [], 'other transactions can read');
  });
  t.equal(await ensureSearchIndexes(db), true);
  t.strictSame(await indexes(location), made);
  await connection.close();
});

t.test('a server that does not allow the extension runs without search indexes', { skip }, async (t) => {
  const { location, url } = await emptyDatabase(t);
  const owner = await openDatabase(location);
  await migrate(owner, async () => {});
  const made = await indexes(location);
  const role = `stranger_${randomBytes(4).toString('hex')}`;
  await owner.db.execute(
    sql.raw(
      `drop index ${made.map(({ name }) => name).join()}; drop extension pg_trgm; create role ${role} login; grant usage on schema ${schemas.tables} to ${role}`,
    ),
  );
  t.teardown(async () => {
    await owner.db.execute(sql.raw(`drop owned by ${role}; drop role ${role}`));
    await owner.close();
  });
  const asStranger = new URL(url);
  asStranger.username = role;
  const connection = await openDatabase({ ...location, url: asStranger.href });
  t.equal(await ensureSearchIndexes(connection.db), false);
  await connection.close();
  t.equal(await ensureSearchIndexes(owner.db), true, 'the indexes are created once the server allows it');
});

/** Texts that contain an address in various positions, including unusual addresses. */
const people: Partial<typeof users.$inferInsert>[] = [
  { email: 'ada.allen@example.com' },
  { email: 'Ada.Allen@example.org' },
  { email: 'xada.allen@example.net' },
  { email: 'ada.allen2@example.com' },
  { email: 'xy@example.com' },
  { email: 'y@example.com.au' },
  { email: 'bob@example.net', title: 'writes to ada.allen@example.com@night' },
  { email: 'carol@example.net', description: 'first line\nADA.ALLEN@EXAMPLE.COM' },
  { email: null, provider: 'alpha', externalIdentifier: 'XY@example.com' },
  { email: 'a_b%c@example.com' },
  { email: 'a~b@example.com' },
  { email: 'a{c@example.com' },
  // Not addresses to the service: another program wrote these into the table.
  { email: 'two@ada.allen@example.com' },
  { email: 'a\\b@example.com' },
  { email: 'jörg~@example.com' },
  // A letter that becomes i in lower case in some database locales, and an address that contains an i.
  { email: '\u0130ris@example.com' },
  { email: 'iris@example.org' },
  { email: 'no address' },
];

t.test('a search matches whole addresses, although it looks up only the part before the @ in indexes', async (t) => {
  const { app, get, post } = await startTestApp(t);
  const token = (await post('/auth/login', administrator)).json().data.access_token;
  await app.db.insert(users).values(people);
  // One text is hidden from this reader, so their search cannot use indexes that cover all texts.
  const all = searchedTexts(collections.users).map(([name]) => name);
  const policy = await createPolicy(app, { read: ['id', ...all.filter((name) => name !== 'appearance')] });
  await createUser(app, { email: 'reader@example.info', token: 'the-token-of-the-reader', policies: [policy] });
  const found = async (term: string, headers: Record<string, string>): Promise<{ email: string }[]> => {
    const answer = await get(`/users?limit=-1&fields=id,email&sort=email&search=${encodeURIComponent(term)}`, headers);
    return answer.json().data;
  };

  for (const [term, expected] of [
    ['ada.allen@example.org', ['Ada.Allen@example.org']],
    ['ADA.Allen@Example.N', ['xada.allen@example.net']],
    ['len@example.com@ni', ['bob@example.net']],
    ['xy@example.com', ['xy@example.com', null]],
    ['y@example.com.au', ['y@example.com.au']],
    ['ada_allen@example.com', []],
    ['%@example.com', []],
    ['c@example.com', ['a_b%c@example.com', 'a{c@example.com']],
    ['ll <ada.allen@example.com>', []],
  ] as const) {
    t.same(
      (await found(term, bearer(token))).map(({ email }) => email),
      expected,
      term,
    );
  }

  const terms = new Set(
    people.flatMap(({ email, title, description, externalIdentifier }) =>
      [email, title, description, externalIdentifier].flatMap((text) => {
        const at = text?.lastIndexOf('@') ?? -1;
        return text && at >= 0
          ? [text.slice(at), text.slice(at - 1), text.slice(at - 2, at + 1), text.slice(0, at + 1), text]
          : [];
      }),
    ),
  );
  t.ok(terms.size > 30);
  let some = 0;
  for (const term of [...terms, ...[...terms].map((text) => text.toUpperCase())]) {
    const asAdmin = await found(term, bearer(token));
    t.same(asAdmin, await found(term, bearer('the-token-of-the-reader')), `same result as without indexes: ${term}`);
    if (asAdmin.length > 0 && asAdmin.length < people.length) some++;
  }
  t.ok(some > 30);
});
