import { sql } from 'drizzle-orm';
import t from 'tap';
import type { Executor } from '../../db/client.js';
import { rows } from '../../db/statements.js';
import type { ActivityEvent, ActivityListener } from '../../plugins/activity/service.js';
import { adminToken, asAdmin } from '../helpers/http/writing.js';
import { startTestApp } from '../helpers/service/app.js';
import { userPassword } from '../helpers/users/credentials.js';
import { codeOfStep } from '../helpers/users/totp.js';
import { nextStep } from '../helpers/users/two-factor.js';
import { createUser } from '../helpers/users/users.js';

// A listener that stores a row for every event, in the transaction of what it reports.

const service = await startTestApp(t, { ADMIN_TOKEN: adminToken });
const { app, request, post } = service;
await app.db.execute(sql`create table listened (action text, item text, fields jsonb)`);

let isBroken = false;
const store = async (tx: Executor, { action, item = null, changed = [] }: ActivityEvent) => {
  await rows(tx, sql`insert into listened values (${action}, ${String(item)}, ${JSON.stringify(changed)}::jsonb)`);
};
const refusals: unknown[] = [];
const listener: ActivityListener = {
  onRecord: async (tx, _origin, events) => {
    for (const event of events) await store(tx, event);
    if (isBroken) throw new Error('The listener is broken.');
  },
  onRefusal: async ({ userId }, { action, item }, code) => void refusals.push({ userId, action, item, code }),
};
app.activity.addListener(listener);

const listened = async (item: string) => [
  ...(await rows<{ action: string; fields: string[] }>(
    app.db,
    sql`select action, fields from listened where item = ${item} order by action`,
  )),
];
const countOf = async (table: string, item: string, column = 'user') => {
  const where = sql`${sql.identifier(column)}::text = ${item}`;
  const [found] = await rows<{ count: number }>(
    app.db,
    sql`select count(*)::int as count from ${sql.identifier(table)} where ${where}`,
  );
  return found?.count;
};
const rename = (id: string, name: string) =>
  request({ method: 'PATCH', url: `/users/${id}`, headers: asAdmin, payload: { first_name: name } });
const nameOf = async (id: string) =>
  (await request({ url: `/users/${id}?fields=first_name`, headers: asAdmin })).json().data.first_name;

/** Runs requests with a listener that fails. */
async function whileBroken<T>(work: () => Promise<T>): Promise<T> {
  isBroken = true;
  try {
    return await work();
  } finally {
    isBroken = false;
  }
}

t.test('a listener stores a row in the transaction of a change', async (t) => {
  const { id } = await createUser(app);
  t.equal((await rename(id, 'After')).statusCode, 200);
  t.strictSame(await listened(id), [{ action: 'update', fields: ['first_name'] }]);
  const [one] = await rows<{ same: boolean }>(
    app.db,
    sql`select u.xmin = l.xmin and a.xmin = l.xmin as same from users u, listened l, activity a
      where u.id::text = ${id} and l.item = ${id} and a.item = ${id}`,
  );
  t.equal(one?.same, true, 'the user, the audit log, and the listener are written by the same transaction');
});

t.test('a listener that fails rolls back the change and its row in the audit log', async (t) => {
  const { id } = await createUser(app, { firstName: 'Before' });
  t.equal((await whileBroken(() => rename(id, 'After'))).statusCode, 500);
  t.equal(await nameOf(id), 'Before');
  t.strictSame(await listened(id), []);
  t.equal(await countOf('activity', id, 'item'), 0);
});

t.test('a login is also in one transaction with what a listener stores', async (t) => {
  const { id, email } = await createUser(app);
  const logIn = () => post('/auth/login', { email, password: userPassword });
  t.equal((await whileBroken(logIn)).statusCode, 500);
  t.equal(await countOf('sessions', id), 0);
  t.equal(await countOf('activity', id, 'item'), 0);
  t.strictSame(await listened(id), []);
  t.equal((await logIn()).statusCode, 200);
  t.equal(await countOf('sessions', id), 1);
  t.strictSame(await listened(id), [{ action: 'login', fields: [] }]);
});

t.test('so is a login with a code, which is used only once', async (t) => {
  const { id, email } = await createUser(app, { tfa: true });
  const step = nextStep(service);
  const logIn = () => post('/auth/login', { email, password: userPassword, otp: codeOfStep(step) });
  t.equal((await whileBroken(logIn)).statusCode, 500);
  t.equal(await countOf('sessions', id), 0);
  t.equal((await logIn()).statusCode, 200, 'the code was not used up');
  t.strictSame(await listened(id), [{ action: 'login', fields: [] }]);
});

t.test('a listener is also notified of denied requests', async (t) => {
  const { id, email } = await createUser(app);
  refusals.length = 0;
  t.equal((await post('/auth/login', { email, password: 'wrong' })).statusCode, 401);
  t.strictSame(refusals, [{ userId: null, action: 'login', item: id, code: 'INVALID_CREDENTIALS' }]);
  t.strictSame(await listened(id), []);
});

t.test('a listener is notified only of the actions that it names, after those that were added before it', async (t) => {
  const seen: string[] = [];
  const add = (name: string, actions?: ActivityListener['actions']) =>
    app.activity.addListener({
      ...(actions && { actions }),
      onRecord: async (_tx, _origin, events) => void seen.push(`${name}: ${events.map(({ action }) => action)}`),
      mayFollowLogin: true,
    });
  add('first');
  add('second', new Set(['login']));
  add('third', new Set(['update']));
  const { id } = await createUser(app);
  await rename(id, 'After');
  t.strictSame(seen, ['first: update', 'third: update']);
});
