import { randomUUID } from 'node:crypto';
import t from 'tap';
import { permissions } from '../../db/schema.js';
import type { ErrorCode } from '../../schemas/errors.js';
import { asAdmin, refusedUnchanged, remove, startWithAdmin, stateOf } from '../helpers/http/writing.js';
import { bearer } from '../helpers/service/app.js';
import { createPolicy } from '../helpers/users/rights.js';
import { logIn, modes, readMe } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

t.test('deleting users', async (t) => {
  const service = await startWithAdmin(t, { MAX_BATCH_MUTATION: '10' });
  const { app, get } = service;
  const gone = async (id: string) => (await get(`/users/${id}`, asAdmin)).statusCode === 403;

  t.test('deleting a user deletes everything that belongs to them', async (t) => {
    const before = await stateOf(app);
    const policy = await createPolicy(app);
    const user = await createUser(app, { token: 'a-token-to-go', policies: [policy] });
    const sessions = [];
    for (const mode of modes) sessions.push(await logIn(service, mode, user));
    const response = await remove(service, `/users/${user.id.toUpperCase()}`);
    t.equal(response.statusCode, 204);
    t.equal(response.body, '');
    t.equal(response.headers['content-type'], undefined);
    for (const session of sessions) t.equal((await readMe(service, session)).statusCode, 401, session.mode);
    t.equal((await get('/users/me', bearer('a-token-to-go'))).statusCode, 401);
    t.equal((await remove(service, `/policies/${policy}`)).statusCode, 204);
    t.equal(await stateOf(app), before, 'nothing of the user remains');
  });

  t.test('many users can be deleted, in three forms of the request', async (t) => {
    const users = [];
    for (let index = 0; index < 7; index++) users.push((await createUser(app, { title: 'to go' })).id);
    const [a = '', b = '', c = '', d = ''] = users;
    t.equal((await remove(service, '/users', [a, b.toUpperCase(), a])).statusCode, 204);
    t.equal((await remove(service, '/users', { keys: [c, d] })).statusCode, 204);
    for (const id of [a, b, c, d]) t.ok(await gone(id));
    const query = { filter: { title: { _eq: 'to go' } }, limit: 2, sort: 'id' };
    t.equal((await remove(service, '/users', { query })).statusCode, 204);
    const left = (await get('/users?fields=id&filter[title][_eq]=to go', asAdmin)).json().data;
    t.strictSame(left, [{ id: users.slice(4).sort()[2] }], 'the limit of the query applies');
  });

  t.test('a request that selects no users deletes nothing', async (t) => {
    const before = await stateOf(app);
    const nothing = { query: { filter: { email: { _eq: 'nobody@example.com' } } } };
    for (const payload of [[], { keys: [] }, nothing, { query: { limit: 0 } }]) {
      t.equal((await remove(service, '/users', payload)).statusCode, 204);
    }
    t.equal(await stateOf(app), before);
  });

  t.test('a rejected request changes nothing', async (t) => {
    const { id } = await createUser(app);
    const nobody = randomUUID();
    const cases: [what: string, payload: object | undefined, code: ErrorCode][] = [
      ['no body', undefined, 'INVALID_PAYLOAD'],
      ['an empty object', {}, 'INVALID_PAYLOAD'],
      ['keys and query', { keys: [id], query: {} }, 'INVALID_PAYLOAD'],
      ['an unknown key', { ids: [id] }, 'INVALID_PAYLOAD'],
      ['keys and an unknown key', { keys: [id], more: 1 }, 'INVALID_PAYLOAD'],
      ['keys as a text', { keys: id }, 'INVALID_PAYLOAD'],
      ['keys as an object', { keys: { 0: id } }, 'INVALID_PAYLOAD'],
      ['query as null', { query: null }, 'INVALID_PAYLOAD'],
      ['query with an unknown operator', { query: { filter: { id: { _x: 1 } } } }, 'INVALID_QUERY'],
      ['query with a bad limit', { query: { limit: -2 } }, 'INVALID_QUERY'],
      ['query with an unknown field', { query: { filter: { nickname: 'x' } } }, 'FORBIDDEN'],
      ['a nonexistent id', [id, nobody], 'FORBIDDEN'],
      ['a malformed id', { keys: [id, 'x'] }, 'FORBIDDEN'],
      ['an object as an id', [{ id }], 'FORBIDDEN'],
      ['too many', Array.from({ length: 11 }, () => id), 'INVALID_PAYLOAD'],
    ];
    for (const [what, payload, code] of cases) {
      await refusedUnchanged(t, service, () => remove(service, '/users', payload), [code], what);
    }
    for (const key of [nobody, 'x', '1']) {
      await refusedUnchanged(t, service, () => remove(service, `/users/${key}`), ['FORBIDDEN'], key);
    }
  });

  t.test('a permission allows deleting only rows that match its rule, and never an administrator', async (t) => {
    const policy = await createPolicy(app);
    const rule = { status: { _eq: 'draft' } };
    await app.db.insert(permissions).values({ policy, collection: 'users', action: 'delete', permissions: rule });
    await createUser(app, { token: 'may-delete-drafts', policies: [policy] });
    const headers = bearer('may-delete-drafts');
    const draft = await createUser(app, { status: 'draft' });
    const active = await createUser(app);
    const adminPolicy = await createPolicy(app, { adminAccess: true });
    const administrator = await createUser(app, { status: 'draft', policies: [adminPolicy] });
    const cases: [string, () => ReturnType<typeof remove>][] = [
      ['another row', () => remove(service, `/users/${active.id}`, undefined, headers)],
      ['one of two', () => remove(service, '/users', [draft.id, active.id], headers)],
      ['by a query, without a right to read', () => remove(service, '/users', { query: {} }, headers)],
      ['an administrator', () => remove(service, `/users/${administrator.id}`, undefined, headers)],
      ['an administrator among others', () => remove(service, '/users', [draft.id, administrator.id], headers)],
      ['an anonymous caller', () => remove(service, `/users/${draft.id}`, undefined, {})],
      ['roles', () => remove(service, '/roles', [], headers)],
    ];
    for (const [what, send] of cases) await refusedUnchanged(t, service, send, ['FORBIDDEN'], what);
    t.equal((await remove(service, `/users/${draft.id}`, undefined, headers)).statusCode, 204);
    t.ok(await gone(draft.id));
  });
});
