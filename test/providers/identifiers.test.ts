// @suite not-everyday: tries many cases

import { sql } from 'drizzle-orm';
import t from 'tap';
import { findIdentityHolder } from '../../db/queries/providers/identities.js';
import { identities } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { hearStatements, withValues } from '../helpers/database/statements.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, patch, startWithAdmin } from '../helpers/http/writing.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { identitiesOf, userBehind } from '../helpers/providers/provider-records.js';
import { refusedLogin } from '../helpers/providers/refused-logins.js';
import { completeLogin, createVisitor, followRedirect } from '../helpers/providers/visitor.js';
import { createUser } from '../helpers/users/users.js';

const publicUrl = 'http://gatehouse.example.com';
const keys = ['exact', 'closed', 'folded', 'folded-closed'] as const;
const server = await startOauth2Server(t, { publicUrl, keys });
const open = { ALLOW_PUBLIC_REGISTRATION: 'true' };
const testApp = await startWithAdmin(t, {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: keys.join(','),
  ...server.variables('exact', open),
  ...server.variables('closed'),
  ...server.variables('folded', { ...open, IDENTIFIER_IGNORE_CASE: 'true' }),
  ...server.variables('folded-closed', { IDENTIFIER_IGNORE_CASE: 'true' }),
});
const { app, post } = testApp;

let people = 0;
const logIn = (key: (typeof keys)[number], id: string) => {
  server.profile = { id, name: 'Mona', email: `mona-${++people}@example.com` };
  return completeLogin(createVisitor(testApp, publicUrl), key, { family: 'oauth' }, followRedirect);
};

/** The id of the user whom a login signs in. */
async function userAfter(key: (typeof keys)[number], id: string): Promise<string> {
  const response = await logIn(key, id);
  if (response.statusCode !== 200) throw new Error(`${key}, ${id}: ${response.body}`);
  const { access_token } = response.json().data;
  const me = await testApp.get('/users/me?fields=id', { authorization: `Bearer ${access_token}` });
  return me.json().data.id;
}

t.test('identifiers are compared exactly as the provider spells them', async (t) => {
  const spellings = ['AbC', 'abc', 'ABC', 'abc ', 'ábc', 'ABC\u200b'];
  const ids = [];
  for (const spelling of spellings) ids.push(await userAfter('exact', spelling));
  t.equal(new Set(ids).size, spellings.length, 'each spelling has its own account');
  for (const [index, spelling] of spellings.entries()) t.equal(await userAfter('exact', spelling), ids[index]);

  const known = await post(
    '/users',
    { email: 'known@example.com', provider: 'closed', external_identifier: 'Known' },
    asAdmin,
  );
  t.equal(known.statusCode, 200, known.body);
  t.equal(await userAfter('closed', 'Known'), known.json().data.id);
  for (const spelling of ['known', 'KNOWN', ' Known']) {
    refusedLogin(t, await logIn('closed', spelling), 'INVALID_CREDENTIALS', spelling);
  }
});

t.test('administrators can create users whose identifiers differ only in letter case', async (t) => {
  const create = (external_identifier: string) =>
    post('/users', { email: `e-${++people}@example.com`, provider: 'closed', external_identifier }, asAdmin);
  const [lower, upper] = [await create('two'), await create('TWO')];
  t.strictSame([lower.statusCode, upper.statusCode], [200, 200]);
  refused(t, await create('two'), 'RECORD_NOT_UNIQUE', 'the same again');
  const path = `/users/${upper.json().data.id}`;
  refused(t, await patch(testApp, path, { external_identifier: 'two' }), 'RECORD_NOT_UNIQUE', 'through an update');
});

t.test('with IDENTIFIER_IGNORE_CASE, the letter case of identifiers does not matter', async (t) => {
  const id = await userAfter('folded', 'MixedCase');
  for (const spelling of ['mixedcase', 'MIXEDCASE', 'mixedCase']) t.equal(await userAfter('folded', spelling), id);
  t.match(
    (await identitiesOf(app, id)).map(({ identifier }) => identifier),
    ['mixedcase'],
  );
  t.not(await userAfter('folded', 'mixed case'), id);
  const all = await Promise.all(['Twice', 'twice', 'TWICE', 'tWICE'].map((spelling) => userAfter('folded', spelling)));
  t.equal(new Set(all).size, 1, 'also when they arrive at the same time');

  const known = await post(
    '/users',
    { email: 'folded@example.com', provider: 'folded-closed', external_identifier: 'Known' },
    asAdmin,
  );
  for (const spelling of ['Known', 'known', 'KNOWN']) {
    t.equal(await userAfter('folded-closed', spelling), known.json().data.id, 'stored with a capital letter');
  }
});

t.test('a linked identifier is found in any letter case if the provider ignores the case', async (t) => {
  const owner = await createUser(app);
  const at = { provider: 'folded', isPrimary: false, createdAt: new Date() };
  await app.db.insert(identities).values({ ...at, user: owner.id, identifier: 'Stored' });
  t.equal(await userAfter('folded', 'sTORED'), owner.id);
  t.equal((await userBehind(app, 'folded', 'stored'))?.user.id, undefined, 'no second identity');
});

t.test('identifiers are looked up through an index', async (t) => {
  const owners = await Promise.all(Array.from({ length: 20 }, () => createUser(app)));
  await app.db.execute(sql`insert into ${identities} (id, "user", provider, identifier, is_primary, created_at)
    select gen_random_uuid(), owner::uuid, 'exact', owner || number, false, now()
    from jsonb_array_elements_text(${JSON.stringify(owners.map(({ id }) => id))}::jsonb) owner, generate_series(1, 100) number`);
  await app.db.execute(sql`analyze ${identities}`);
  const sent: { text: string; parameters: unknown[] }[] = [];
  const stop = hearStatements(app, (statement) => void sent.push(statement));
  await findIdentityHolder(app.db, 'exact', 'abc', false);
  await findIdentityHolder(app.db, 'exact', 'abc', true);
  stop();
  t.equal(sent.length, 2);
  const expected = ['identities_external_identifier_unique', 'identities_folded_identifier_index'];
  for (const [index, statement] of sent.entries()) {
    const plan = await app.db.transaction(async (tx) => {
      await tx.execute(sql`set local enable_seqscan = off`);
      return JSON.stringify(await rows(tx, sql.raw(`explain (format json) ${withValues(statement)}`)));
    });
    t.match(plan, expected[index] as string, statement.text);
    t.match(plan, /Index Cond[^}]*identifier/, 'by the identifier, not only by the provider');
  }
});
