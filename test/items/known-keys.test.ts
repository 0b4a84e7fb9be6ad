import t from 'tap';
import { hearStatements } from '../helpers/database/statements.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { createUser } from '../helpers/users/users.js';

/** Lists of users with a condition on their role. However many users there are, PostgreSQL must not read all of them. */

const service = await startWithAdmin(t);
const { app, get, post } = service;
const create = async (name: string, parent: string | null = null): Promise<string> =>
  (await post('/roles', { name, parent }, asAdmin)).json().data.id;
const staff = await create('Staff');
const support = await create('Support', staff);
const sales = await create('Sales', staff);
const guest = await create('Guest');
for (const [email, role] of [
  ['support@example.com', support],
  ['sales@example.com', sales],
  ['guest@example.com', guest],
  ['nobody@example.com', null],
] as const)
  await createUser(app, { email, role });

/** The users that a filter finds, and the statements that read roles and users for it. */
async function find(filter: object) {
  const sent: string[] = [];
  const stop = hearStatements(app, ({ text }) => void (text.includes('"t0"') && sent.push(text)));
  const query = new URLSearchParams({
    filter: JSON.stringify(filter),
    fields: 'email',
    sort: 'email',
    meta: 'filter_count',
  });
  const { data, meta } = (await get(`/users?${query}`, asAdmin)).json();
  stop();
  t.equal(meta.filter_count, data.length);
  return {
    emails: data.map(({ email }: { email: string }) => email),
    ofRoles: sent.filter((text) => text.includes('from "roles"')),
    ofUsers: sent.filter((text) => text.includes('from "users"')),
  };
}

t.test('the keys of the roles are looked up first', async (t) => {
  const { emails, ofRoles, ofUsers } = await find({ role: { parent: { _eq: staff } } });
  t.strictSame(emails, ['sales@example.com', 'support@example.com']);
  t.equal(ofRoles.length, 1);
  t.ok(ofUsers.every((text) => /"t0"."role" in \(/.test(text)));

  const nested = await find({
    _and: [{ role: { parent: { name: { _eq: 'Staff' } } } }, { email: { _contains: 'sales' } }],
  });
  t.strictSame(nested.emails, ['sales@example.com']);
  const listed = await find({ role: { children: { _some: { name: { _eq: 'Sales' } } } } });
  t.strictSame(listed.emails, []);
});

t.test('without such a role, no user is read', async (t) => {
  const { emails, ofUsers } = await find({ role: { parent: { _eq: guest } } });
  t.strictSame(emails, []);
  t.ok(ofUsers.every((text) => / where [^"]*\bfalse\b/.test(text)));
});

t.test('users without a role are found by what is absent', async (t) => {
  const { emails } = await find({
    _and: [{ role: { name: { _null: true } } }, { email: { _contains: '@example.com' } }],
  });
  t.ok(emails.includes('nobody@example.com'));
  t.notOk(emails.includes('guest@example.com'));
  const either = await find({ role: { _or: [{ name: { _eq: 'Guest' } }, { parent: { _null: true } }] } });
  t.ok(either.emails.includes('nobody@example.com'), 'in one of several conditions, too');
});

t.test('a query with many conditions sends few statements', async (t) => {
  const { emails, ofRoles } = await find({
    _and: Array.from({ length: 12 }, () => ({ role: { name: { _eq: 'Guest' } } })),
  });
  t.strictSame(emails, ['guest@example.com']);
  t.ok(ofRoles.length <= 4 + 2, `${ofRoles.length} statements`);
});
