import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { permissions, policies, rolePolicies, roles, sessions, userPolicies, users } from '../../db/schema.js';
import { hashToken } from '../../plugins/tokens/refresh-tokens.js';
import { userStatuses } from '../../schemas/users.js';
import { bearer, codeOf, startTestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import {
  type ClientSession,
  claimsOf,
  cookieOf,
  logIn,
  logOut,
  modes,
  refresh,
  sessionOf,
} from '../helpers/users/sessions.js';
import { changeUser, createUser, type TestUser } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, clock, get } = service;

const appPolicy = await createPolicy(app, { appAccess: true });

/** One way to send a credential. */
interface Way {
  name: string;
  url: string;
  headers: Record<string, string>;
}

const waysOf = ({ mode, headers, accessToken }: ClientSession): Way[] => [
  { name: `mode ${mode}`, url: '/users/me', headers },
  { name: `mode ${mode}, in the header`, url: '/users/me', headers: bearer(accessToken) },
  { name: `mode ${mode}, in the query`, url: `/users/me?access_token=${accessToken}`, headers: {} },
];

/** A user with a session in every mode and a static token. */
async function userWithEverything() {
  const token = `static-token-${randomUUID()}`;
  const user = await createUser(app, { token, policies: [appPolicy] });
  const held: ClientSession[] = [];
  for (const mode of modes) held.push(await logIn(service, mode, user));
  const staticWays: Way[] = [
    { name: 'static token in the header', url: '/users/me', headers: bearer(token) },
    { name: 'static token in the query', url: `/users/me?access_token=${token}`, headers: {} },
  ];
  return { user, held, staticWays, ways: [...held.flatMap(waysOf), ...staticWays] };
}

async function allWork(t: Test, ways: Way[], user: TestUser) {
  for (const { name, url, headers } of ways) {
    const response = await get(url, headers);
    t.equal(response.statusCode, 200, name);
    t.equal(response.json().data?.email, user.email, name);
  }
}

async function noneWorks(t: Test, ways: Way[]) {
  for (const { name, url, headers } of ways) {
    const response = await get(url, headers);
    t.equal(response.statusCode, 401, name);
    t.strictSame(response.json().errors[0].extensions, { code: 'INVALID_CREDENTIALS' }, name);
    // Public routes reject them too, and ignore only an unusable cookie.
    const open = await get(url.replace('/users/me', '/server/info'), headers);
    t.equal(codeOf(open), 'cookie' in headers ? undefined : 'INVALID_CREDENTIALS', `${name}, on a public route`);
    t.strictSame(Boolean(cookieOf(open, 'session')), 'cookie' in headers, name);
    // Only the cookie itself is cleared.
    t.strictSame(Boolean(cookieOf(response, 'session')), 'cookie' in headers, name);
  }
}

async function noneRefreshes(t: Test, held: ClientSession[]) {
  for (const session of held)
    t.equal((await refresh(service, session)).statusCode, 401, `refresh, mode ${session.mode}`);
}

t.test(
  'the credentials of a user who is no longer active are rejected (GHSA-56p6-qw3c-fq2g, CVE-2024-47000, CVE-2026-43983)',
  async (t) => {
    for (const status of userStatuses.filter((status) => status !== 'active')) {
      t.test(status, async (t) => {
        const { user, held, ways } = await userWithEverything();
        const bystander = await userWithEverything();
        await allWork(t, ways, user);
        await changeUser(app, user.id, { status });
        await noneWorks(t, ways);
        await noneRefreshes(t, held);
        await allWork(t, bystander.ways, bystander.user);
      });
    }
  },
);

t.test('the credentials of a deleted user are rejected (GHSA-2vg6-77g8-24mp)', async (t) => {
  const { user, held, ways } = await userWithEverything();
  await allWork(t, ways, user);
  await app.db.delete(users).where(eq(users.id, user.id));
  await noneWorks(t, ways);
  await noneRefreshes(t, held);
  t.strictSame(await app.db.select().from(sessions).where(eq(sessions.user, user.id)), []);
});

t.test('credentials of a deleted user do not work for a new user with the same email address', async (t) => {
  const { user, held, ways } = await userWithEverything();
  await allWork(t, ways, user);
  await app.db.delete(users).where(eq(users.id, user.id));
  await createUser(app, { email: user.email, policies: [appPolicy] });
  await noneWorks(t, ways);
  await noneRefreshes(t, held);
});

t.test('a logout revokes the tokens of its own session and no others (CVE-2024-34709, CVE-2024-31999)', async (t) => {
  for (const mode of modes) {
    const { user, held, staticWays } = await userWithEverything();
    for (const session of held) await allWork(t, waysOf(session), user);
    for (const session of held.filter((session) => session.mode === mode)) {
      t.equal((await logOut(service, session)).statusCode, 204);
      await noneWorks(t, waysOf(session));
      await noneRefreshes(t, [session]);
    }
    const others = held.filter((session) => session.mode !== mode);
    await allWork(t, [...others.flatMap(waysOf), ...staticWays], user);
  }
});

t.test('deleting a session from the database revokes its tokens (CVE-2025-29928)', async (t) => {
  for (const mode of modes) {
    const { user, held, staticWays } = await userWithEverything();
    for (const session of held.filter((session) => session.mode === mode)) {
      await allWork(t, waysOf(session), user);
      await app.db.delete(sessions).where(eq(sessions.id, String(claimsOf(session.accessToken).session)));
      await noneWorks(t, waysOf(session));
      await noneRefreshes(t, [session]);
    }
    const others = held.filter((session) => session.mode !== mode);
    await allWork(t, [...others.flatMap(waysOf), ...staticWays], user);
  }
});

t.test('deleting all sessions of a user does not affect the static token', async (t) => {
  const { user, held, staticWays, ways } = await userWithEverything();
  await allWork(t, ways, user);
  await app.db.delete(sessions).where(eq(sessions.user, user.id));
  await noneWorks(t, held.flatMap(waysOf));
  await allWork(t, staticWays, user);
});

t.test('a session that is reassigned to another user is valid for neither user', async (t) => {
  const [one, other] = [await userWithEverything(), await userWithEverything()];
  const [session] = one.held;
  if (!session) return t.fail('no session');
  await allWork(t, waysOf(session), one.user);
  await app.db
    .update(sessions)
    .set({ user: other.user.id })
    .where(eq(sessions.id, String(claimsOf(session.accessToken).session)));
  await noneWorks(t, waysOf(session));
});

t.test('access tokens are rejected after their session has expired (CVE-2024-35220, CVE-2025-64708)', async (t) => {
  const { user, held, staticWays, ways } = await userWithEverything();
  await allWork(t, ways, user);
  await app.db
    .update(sessions)
    .set({ expiresAt: new Date(clock.now().getTime() - 1) })
    .where(eq(sessions.user, user.id));
  await noneWorks(t, held.flatMap(waysOf));
  await allWork(t, staticWays, user);
});

t.test('an access token expires before its session', async (t) => {
  const user = await createUser(app, { policies: [appPolicy] });
  for (const mode of ['json', 'cookie'] as const) {
    const session = await logIn(service, mode, user);
    clock.advance(16 * minute);
    for (const { name, url, headers } of waysOf(session))
      t.equal(codeOf(await get(url, headers)), 'TOKEN_EXPIRED', name);
    await allWork(t, waysOf(sessionOf(mode, await refresh(service, session))), user);
  }
});

t.test('a static token is rejected after it has been replaced or removed', async (t) => {
  const { user, held, staticWays } = await userWithEverything();
  await allWork(t, staticWays, user);
  await changeUser(app, user.id, { tokenHash: hashToken('another-static-token') });
  await noneWorks(t, staticWays);
  const another = { name: 'the new static token', url: '/users/me', headers: bearer('another-static-token') };
  await allWork(t, [another], user);
  await changeUser(app, user.id, { tokenHash: null });
  await noneWorks(t, [...staticWays, another]);
  await allWork(t, held.flatMap(waysOf), user);
});

t.test('rights come from the database, not from the token', async (t) => {
  /** Checks which of their own fields a user can read with each credential. */
  const reads = async (t: Test, ways: Way[], expected: 'all' | string[], what: string) => {
    for (const { name, url, headers } of ways) {
      const { data } = (await get(url, headers)).json();
      if (expected === 'all') t.ok(Object.keys(data).length > 20, `${what}: ${name}`);
      else t.strictSame(Object.keys(data), expected, `${what}: ${name}`);
    }
  };

  t.test('rights follow the user’s own policies', async (t) => {
    const { user, ways } = await userWithEverything();
    await reads(t, ways, 'all', 'at first');
    await app.db.delete(userPolicies).where(eq(userPolicies.user, user.id));
    await reads(t, ways, ['id'], 'the policy removed');
    await app.db.insert(userPolicies).values({ user: user.id, policy: await createPolicy(app, { read: ['email'] }) });
    await reads(t, ways, ['email'], 'another policy added');
  });

  t.test('rights follow the user’s role and its policies', async (t) => {
    const { user, held, ways } = await userWithEverything();
    await app.db.delete(userPolicies).where(eq(userPolicies.user, user.id));
    const administrators = await createPolicy(app, { adminAccess: true });
    const role = await createRole(app, { policies: [administrators] });
    await changeUser(app, user.id, { role });
    await reads(t, ways, 'all', 'promoted to administrator');

    // Tokens with admin_access, issued while it was true.
    const made = await Promise.all(
      held.map(async (session) => sessionOf(session.mode, await refresh(service, session))),
    );
    for (const { accessToken } of made) t.match(claimsOf(accessToken), { admin_access: true, app_access: false, role });
    const madeWays = made.flatMap(waysOf);
    await reads(t, madeWays, 'all', 'with tokens of an administrator');
    await app.db.delete(rolePolicies).where(eq(rolePolicies.role, role));
    await reads(t, madeWays, ['id'], 'the policy removed from the role');
    await app.db.insert(rolePolicies).values({ role, policy: administrators });
    await reads(t, madeWays, 'all', 'the policy added again');
    await app.db.update(policies).set({ adminAccess: false }).where(eq(policies.id, administrators));
    await reads(t, madeWays, ['id'], 'the policy without admin access');
    await app.db.update(policies).set({ adminAccess: true }).where(eq(policies.id, administrators));
    await app.db.delete(roles).where(eq(roles.id, role));
    await reads(t, madeWays, ['id'], 'the role deleted');

    for (const session of made) {
      const { accessToken } = sessionOf(session.mode, await refresh(service, session));
      t.match(claimsOf(accessToken), { admin_access: false, app_access: false, role: null }, 'new tokens reflect it');
    }
  });

  t.test('rights follow the permissions of a policy', async (t) => {
    const { user, ways } = await userWithEverything();
    await app.db.delete(userPolicies).where(eq(userPolicies.user, user.id));
    const policy = await createPolicy(app, { read: ['email', 'status'] });
    await app.db.insert(userPolicies).values({ user: user.id, policy });
    await reads(t, ways, ['email', 'status'], 'two fields');
    await app.db
      .update(permissions)
      .set({ fields: ['status'] })
      .where(eq(permissions.policy, policy));
    await reads(t, ways, ['status'], 'one field');
    await app.db.delete(permissions).where(eq(permissions.policy, policy));
    await reads(t, ways, ['id'], 'none');
  });
});
