import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import t from 'tap';
import { permissions, sessions } from '../../db/schema.js';
import { maxListed } from '../../plugins/sessions/active-sessions.js';
import { refused } from '../helpers/http/refusals.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { createPolicy } from '../helpers/users/rights.js';
import { claimsOf, logIn, modes, readMe } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, clock, get, request } = service;
const administrator = await logIn(service, 'json');
const end = (url: string, headers: Record<string, string>) => request({ method: 'DELETE', url, headers });
const idOf = ({ accessToken }: { accessToken: string }) => String(claimsOf(accessToken).session);

async function signedInEverywhere() {
  const user = await createUser(app);
  const held = await Promise.all(modes.map((mode) => logIn(service, mode, user)));
  return { user, held };
}

t.test('an administrator can list and end the sessions of a user', async (t) => {
  const { user, held } = await signedInEverywhere();
  const bystander = await signedInEverywhere();
  const url = `/users/${user.id}/sessions`;
  const response = await get(url, administrator.headers);
  t.equal(response.statusCode, 200, response.body);
  const { data } = response.json();
  t.strictSame(data.map(({ id }: { id: string }) => id).sort(), held.map(idOf).sort());
  t.notOk(
    data.some(({ current }: { current: boolean }) => current),
    'none of them is the current session',
  );
  t.strictSame((await get(`/users/${user.id.toUpperCase()}/sessions`, administrator.headers)).json().data, data);

  const [first, ...others] = held;
  if (!first) return t.fail('no session');
  t.equal((await end(`${url}/${idOf(first)}`, administrator.headers)).statusCode, 204);
  refused(t, await readMe(service, first), 'INVALID_CREDENTIALS', 'the ended session');
  for (const session of others) t.equal((await readMe(service, session)).statusCode, 200, session.mode);

  t.equal((await end(url, administrator.headers)).statusCode, 204);
  for (const session of others) refused(t, await readMe(service, session), 'INVALID_CREDENTIALS', session.mode);
  t.strictSame((await get(url, administrator.headers)).json().data, []);
  t.equal((await end(url, administrator.headers)).statusCode, 204, 'there may be no session');
  for (const session of bystander.held) t.equal((await readMe(service, session)).statusCode, 200, session.mode);
});

t.test('a session that does not exist or belongs to another user cannot be ended', async (t) => {
  const [one, other] = [await signedInEverywhere(), await signedInEverywhere()];
  const [session] = one.held;
  if (!session) return t.fail('no session');
  for (const url of [
    `/users/${randomUUID()}/sessions`,
    '/users/nobody/sessions',
    `/users/${randomUUID()}/sessions/${idOf(session)}`,
    `/users/${other.user.id}/sessions/${idOf(session)}`,
    `/users/${one.user.id}/sessions/${randomUUID()}`,
    `/users/${one.user.id}/sessions/none`,
  ]) {
    refused(t, await end(url, administrator.headers), 'FORBIDDEN', `DELETE ${url}`);
  }
  for (const id of [randomUUID(), 'nobody']) {
    refused(t, await get(`/users/${id}/sessions`, administrator.headers), 'FORBIDDEN', `GET ${id}`);
  }
  t.equal((await readMe(service, session)).statusCode, 200);
});

t.test('permissions on users do not allow anyone to list or end the sessions of a user', async (t) => {
  const { user, held } = await signedInEverywhere();
  const policy = await createPolicy(app, { appAccess: true });
  for (const action of ['create', 'read', 'update', 'delete'] as const)
    await app.db.insert(permissions).values({ policy, collection: 'users', action, fields: ['*'] });
  const manager = await logIn(service, 'json', await createUser(app, { policies: [policy] }));
  const [session] = held;
  if (!session) return t.fail('no session');
  // The manager can use these URLs neither for another user nor for themselves.
  for (const asking of [manager, session]) {
    const { headers } = asking;
    refused(t, await get(`/users/${user.id}/sessions`, headers), 'FORBIDDEN', 'GET');
    refused(t, await end(`/users/${user.id}/sessions`, headers), 'FORBIDDEN', 'DELETE all');
    refused(t, await end(`/users/${user.id}/sessions/${idOf(session)}`, headers), 'FORBIDDEN', 'DELETE one');
  }
  refused(t, await get(`/users/${user.id}/sessions`), 'INVALID_CREDENTIALS', 'anonymous');
  refused(t, await end(`/users/${user.id}/sessions`, {}), 'INVALID_CREDENTIALS', 'anonymous');
  for (const session of held) t.equal((await readMe(service, session)).statusCode, 200, session.mode);
});

t.test('an administrator who ends their own sessions is signed out too', async (t) => {
  const mine = await logIn(service, 'session');
  const { data: me } = (await readMe(service, mine)).json();
  const { data } = (await get(`/users/${me.id}/sessions`, mine.headers)).json();
  t.strictSame(
    data.filter(({ current }: { current: boolean }) => current).map(({ id }: { id: string }) => id),
    [idOf(mine)],
  );
  t.equal((await end(`/users/${me.id}/sessions`, mine.headers)).statusCode, 204);
  refused(t, await readMe(service, mine), 'INVALID_CREDENTIALS', 'signed out');
});

t.test('the list of a user’s sessions is limited, but all of them can be ended', async (t) => {
  const token = `static-token-${randomUUID()}`;
  const user = await createUser(app, { token });
  const now = clock.now();
  const rows = Array.from({ length: maxListed + 5 }, (_, index) => ({
    user: user.id,
    createdAt: now,
    lastUsedAt: new Date(now.getTime() + index),
    expiresAt: new Date(now.getTime() + 60_000),
    userAgent: `program-${index}/1.0`,
  }));
  await app.db.insert(sessions).values(rows);
  const { data } = (await get('/users/me/sessions', bearer(token))).json();
  t.equal(data.length, maxListed);
  t.equal(data[0].user_agent, `program-${maxListed + 4}/1.0`, 'the most recently used session');
  t.equal((await end('/users/me/sessions', bearer(token))).statusCode, 204);
  t.strictSame(
    await app.db.select().from(sessions).where(eq(sessions.user, user.id)),
    [],
    'including the sessions that are not listed',
  );
});
