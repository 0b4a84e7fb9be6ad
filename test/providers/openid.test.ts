// @suite not-everyday: tries many cases

import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { roles, users } from '../../db/schema.js';
import { userStatuses } from '../../schemas/users.js';
import { setCookies } from '../helpers/http/cookies.js';
import { refused } from '../helpers/http/refusals.js';
import { type Claims, logInAt, startOpenIdProvider } from '../helpers/providers/openid-provider.js';
import { digestOfAccounts, identitiesOf, sessionsOf, userBehind } from '../helpers/providers/provider-records.js';
import { refusedLogin, sentBack, signInCookies } from '../helpers/providers/refused-logins.js';
import {
  begin,
  completeLogin,
  createVisitor,
  type Start,
  startPath,
  type Visitor,
} from '../helpers/providers/visitor.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { minute, second } from '../helpers/service/clock.js';
import { administrator } from '../helpers/users/credentials.js';
import { claimsOf, logIn, modes, refreshCookie, sessionCookie } from '../helpers/users/sessions.js';
import { codeOfStep, rfcSecret, stepOf } from '../helpers/users/totp.js';
import { changeUser, createUser, lastAccessOf, storedUser } from '../helpers/users/users.js';

const publicUrl = 'http://gatehouse.example.com';
const keys = ['in-session', 'in-cookie', 'in-json', 'closed', 'mapped', 'synced', 'verified', 'by-number'] as const;
type Key = (typeof keys)[number];

const roleIds = {
  viewer: '0b7f4a52-55b8-4d2c-9a62-0f8f5c0f3f01',
  staff: '0b7f4a52-55b8-4d2c-9a62-0f8f5c0f3f02',
  editor: '0b7f4a52-55b8-4d2c-9a62-0f8f5c0f3f03',
  other: '0b7f4a52-55b8-4d2c-9a62-0f8f5c0f3f04',
};

const provider = await startOpenIdProvider(t, { publicUrl, keys });
const open = { ALLOW_PUBLIC_REGISTRATION: 'true' };
const testApp = await startTestApp(t, {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: keys.join(','),
  ...provider.variables('in-session', { ...open, LABEL: 'Session & Co', ICON: 'key' }),
  ...provider.variables('in-cookie', {
    ...open,
    MODE: 'cookie',
    ISSUER_URL: `${provider.issuer}/.well-known/openid-configuration`,
    PARAMS: '{"prompt":"login","ui_locales":"fr"}',
  }),
  ...provider.variables('in-json', { ...open, MODE: 'json' }),
  ...provider.variables('closed'),
  ...provider.variables('mapped', {
    ...open,
    DEFAULT_ROLE_ID: roleIds.viewer,
    ROLE_MAPPING: JSON.stringify({ editors: roleIds.editor, staff: roleIds.staff, 4711: roleIds.staff }).replace(
      /^\{("4711":"[^"]+"),(.*)\}$/,
      '{$2,$1}',
    ),
  }),
  ...provider.variables('synced', { ...open, SYNC_USER_INFO: 'true' }),
  ...provider.variables('verified', { ...open, SYNC_USER_INFO: 'true', REQUIRE_VERIFIED_EMAIL: 'true' }),
  ...provider.variables('by-number', { ...open, IDENTIFIER_KEY: 'employee_number' }),
});
const { app, clock, get, post } = testApp;
for (const [name, id] of Object.entries(roleIds)) await app.db.insert(roles).values({ id, name });

const newVisitor = () => createVisitor(testApp, publicUrl);
const userCount = () => app.db.$count(users);

let people = 0;

/** Creates an account at the provider. Its name is also its `sub`. */
function newPerson({ sub: name = `person-${++people}`, ...claims }: Partial<Claims> = {}) {
  const email = `${name.toLowerCase()}@example.com`;
  const all = { sub: name, email, email_verified: true, given_name: 'Ada', family_name: 'Lovelace', ...claims };
  provider.setAccount(name, all);
  return { name, email, change: (changed: object) => provider.setAccount(name, { ...all, ...changed }) };
}

/** A complete login. If `account` is undefined, the user cancels at the provider. */
const login = (key: Key, account: string | undefined, start: Start = {}, visitor: Visitor = newVisitor()) =>
  completeLogin(visitor, key, start, (url) => logInAt(provider, url, visitor.jar, account));

/** A login that returns its result as JSON. */
const plainLogin = (key: Key, account: string | undefined) => login(key, account, { family: 'oauth' });

async function succeeds(t: Test, key: Key, account: string, what: string): Promise<void> {
  const response = await plainLogin(key, account);
  t.equal(response.statusCode, 200, `${what}: ${response.statusCode === 200 ? 'signed in' : response.body}`);
}

async function userOf(key: Key, identifier: string) {
  const found = await userBehind(app, key, identifier);
  if (!found) throw new Error(`${identifier} of ${key} has no user.`);
  return found.user;
}

/** The login must be rejected, and no stored data may change. */
async function refusedAndNothingStored(t: Test, key: Key, account: string, code: Parameters<typeof refusedLogin>[2]) {
  const before = await digestOfAccounts(app);
  refusedLogin(t, await plainLogin(key, account), code, code);
  t.equal(await digestOfAccounts(app), before, 'nothing was stored');
}

t.test('the configured providers are listed without their secrets', async (t) => {
  t.strictSame((await get('/auth/oauth')).json(), { public: true, data: [...keys] });
  const entry = (name: string) => ({ name, driver: 'openid' });
  const all = keys.map((key) =>
    key === 'in-session' ? { ...entry(key), label: 'Session & Co', icon: 'key' } : entry(key),
  );
  t.same((await get('/auth')).json(), { data: all, disableDefault: false });
  const sessionOnly = all.filter(({ name }) => name !== 'in-cookie' && name !== 'in-json');
  t.same((await get('/auth?sessionOnly')).json(), { data: sessionOnly, disableDefault: false });
  const text = (await get('/auth')).body + (await get('/auth/oauth')).body;
  for (const secret of ['client-of', '100%', '127.0.0.1']) t.notOk(text.includes(secret), `${secret} is not listed`);
});

t.test('a provider that is not configured returns ROUTE_NOT_FOUND', async (t) => {
  for (const key of ['unknown', 'default', 'IN-SESSION', 'in_session', '__proto__', 'constructor', 'toString', '%00']) {
    for (const path of [`/auth/login/${key}`, `/auth/oauth/${key}`, `/auth/login/${key}/callback?code=x&state=x`]) {
      refused(t, await get(path), 'ROUTE_NOT_FOUND', path);
    }
    refused(t, await post(`/auth/login/${key}`, { otp: '123456' }), 'ROUTE_NOT_FOUND', `POST ${key}`);
  }
});

t.test('the authorization request contains state, nonce, PKCE, and the configured PARAMS', async (t) => {
  const seen = new Set<string>();
  for (const family of ['login', 'oauth', 'login', 'oauth'] as const) {
    const url = new URL(await begin(newVisitor(), 'in-session', { family }));
    t.equal(url.origin, provider.issuer);
    const { state = '', nonce = '', code_challenge = '', ...rest } = Object.fromEntries(url.searchParams);
    t.strictSame(rest, {
      response_type: 'code',
      client_id: 'client-of-in-session',
      redirect_uri: `${publicUrl}/auth/login/in-session/callback`,
      scope: 'openid profile email',
      code_challenge_method: 'S256',
    });
    t.match(code_challenge, /^[\w-]{43}$/);
    t.ok(nonce.length >= 22, 'the nonce has at least 128 bits');
    for (const value of [state, nonce, code_challenge]) {
      t.ok(value !== '' && !seen.has(value), 'every value is unique');
      seen.add(value);
    }
  }
  const { searchParams } = new URL(await begin(newVisitor(), 'in-cookie'));
  t.match(Object.fromEntries(searchParams), { prompt: 'login', ui_locales: 'fr', response_type: 'code' }, 'PARAMS');
});

t.test('the start of a login ignores host headers and sets only short-lived HttpOnly cookies', async (t) => {
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' };
  const response = await get('/auth/login/in-session', headers);
  t.equal(response.statusCode, 302);
  t.equal(response.body, '');
  t.equal(response.headers['cache-control'], 'no-store');
  t.notMatch(response.headers.location, 'evil.example');
  const cookies = Object.values(setCookies(response));
  t.ok(cookies.length > 0);
  for (const { attributes, value } of cookies) {
    t.ok(value.length >= 22);
    const known = attributes.filter((text) => !/^(Path=.*|Expires)$/.test(text));
    t.strictSame(known, ['HttpOnly', 'Max-Age=300', 'SameSite=Lax']);
  }
});

t.test('a complete login works in every mode, on both routes, with and without a redirect', async (t) => {
  const signedIn: Record<(typeof modes)[number], string> = {
    json: refreshCookie,
    cookie: refreshCookie,
    session: sessionCookie,
  };
  /** Checks that the session in the cookies of the browser works and can be refreshed. */
  const sessionWorks = async (t: Test, mode: (typeof modes)[number], visitor: Visitor, id: string) => {
    if (mode === 'session') t.equal((await visitor.visit('/users/me')).json().data?.id, id);
    const options = { method: 'POST', url: '/auth/refresh' } as const;
    const refreshed = await visitor.send({ ...options, payload: { mode: mode === 'session' ? mode : 'cookie' } });
    t.equal(refreshed.statusCode, 200, 'the session can be refreshed');
    if (mode !== 'session') t.equal(claimsOf(refreshed.json().data.access_token).id, id);
  };

  for (const mode of modes) {
    const key = `in-${mode}` as const;
    for (const family of ['login', 'oauth'] as const) {
      for (const redirect of ['/account?x=1&y=%2F#z', `${publicUrl}/account`, undefined]) {
        t.test(`mode ${mode}, /auth/${family}, ${redirect ? `to ${redirect}` : 'without redirect'}`, async (t) => {
          const { name } = newPerson();
          const visitor = newVisitor();
          const start = redirect === undefined ? { family } : { family, redirect };
          const response = await login(key, name, start, visitor);
          const { id } = await userOf(key, name);
          t.equal((await sessionsOf(app, id)).length, 1, 'one session');
          t.equal(response.headers['cache-control'], 'no-store');
          if (redirect === undefined && family === 'oauth') {
            t.equal(response.statusCode, 200);
            const { data, ...rest } = response.json();
            t.strictSame(rest, { public: true });
            t.strictSame(Object.keys(data).sort(), ['access_token', 'expires', 'refresh_token']);
            t.equal(data.expires, 900_000);
            t.equal((await get('/users/me', bearer(data.access_token))).json().data?.id, id);
            t.equal((await post('/auth/refresh', { refresh_token: data.refresh_token })).statusCode, 200);
            return;
          }
          t.equal(response.statusCode, 302, response.body);
          t.equal(response.headers.location, redirect ?? '/');
          t.equal(response.body, '');
          t.strictSame(signInCookies(response), [signedIn[mode]]);
          await sessionWorks(t, mode, visitor, id);
        });
      }
    }
  }

  t.test('the callback works on both routes', async (t) => {
    const visitor = newVisitor();
    const url = await begin(visitor, 'in-session', { family: 'oauth' });
    const callback = await logInAt(provider, url, visitor.jar, newPerson().name);
    const response = await visitor.visit(callback.replace('/auth/login/', '/auth/oauth/'));
    t.equal(response.statusCode, 200, response.body);
    t.equal(response.json().public, true);
  });

  t.test('the cookies of a login are removed when it ends', async (t) => {
    const visitor = newVisitor();
    await login('in-session', newPerson().name, {}, visitor);
    t.equal((await visitor.cookies('/auth/login/in-session/callback')).split('; ').length, 1);
  });
});

t.test('a first login creates a user', async (t) => {
  const { name, email } = newPerson({ sub: 'First-Login' });
  const before = clock.now().getTime();
  await succeeds(t, 'in-json', name, 'first login');
  const user = await userOf('in-json', 'First-Login');
  t.match(user, {
    provider: 'in-json',
    externalIdentifier: 'First-Login',
    email,
    firstName: 'Ada',
    lastName: 'Lovelace',
    status: 'active',
    role: null,
    password: null,
    tokenHash: null,
    tfaSecret: null,
  });
  t.ok(((await lastAccessOf(app, user.id))?.getTime() ?? 0) >= before, 'the login is the last access');
  const [identity, ...more] = await identitiesOf(app, user.id);
  t.strictSame(more, []);
  t.match(identity, { provider: 'in-json', identifier: 'First-Login', email, isPrimary: true });

  t.test('the provider may send nothing but the identifier', async (t) => {
    for (const sub of ['tells-nothing', 'tells-nothing-either']) {
      const claims = {
        sub,
        email: undefined,
        email_verified: undefined,
        given_name: undefined,
        family_name: undefined,
      };
      await succeeds(t, 'in-json', newPerson(claims).name, sub);
      t.match(await userOf('in-json', sub), { email: null, firstName: null, lastName: null });
    }
  });

  t.test('simultaneous first logins create only one user', async (t) => {
    const { name } = newPerson();
    const visitors = Array.from({ length: 4 }, newVisitor);
    const callbacks = await Promise.all(
      visitors.map(async (visitor) => logInAt(provider, await begin(visitor, 'in-session'), visitor.jar, name)),
    );
    const count = await userCount();
    const responses = await Promise.all(visitors.map((visitor, index) => visitor.visit(callbacks[index] ?? '')));
    t.strictSame(
      responses.map(({ statusCode }) => statusCode),
      [302, 302, 302, 302],
    );
    t.equal(await userCount(), count + 1);
  });
});

t.test('a later login signs in the same user', async (t) => {
  const { name, email, change } = newPerson();
  await succeeds(t, 'in-json', name, 'first');
  const first = await userOf('in-json', name);
  const firstAccess = (await lastAccessOf(app, first.id))?.getTime() ?? 0;
  clock.advance(minute);
  change({ email: `new-${email}`, given_name: 'Augusta', family_name: 'King' });
  await succeeds(t, 'in-json', name, 'later');
  const later = await userOf('in-json', name);
  t.equal(later.id, first.id);
  t.match(later, { email, firstName: 'Ada', lastName: 'Lovelace' }, 'without SYNC_USER_INFO, nothing is updated');
  t.ok(((await lastAccessOf(app, later.id))?.getTime() ?? 0) > firstAccess);
  const found = await userBehind(app, 'in-json', name);
  t.ok((found?.identity.lastUsedAt?.getTime() ?? 0) > firstAccess, 'the same identity was used');

  t.test('an identifier in another letter case belongs to another account', async (t) => {
    const count = await userCount();
    const other = newPerson({ sub: name.toUpperCase(), email: `other-${email}` });
    await succeeds(t, 'in-json', other.name, 'upper case');
    t.equal(await userCount(), count + 1);
    t.equal((await sessionsOf(app, first.id)).length, 2);
  });
});

t.test('IDENTIFIER_KEY can name another claim', async (t) => {
  const { name } = newPerson({ employee_number: 4711 });
  await succeeds(t, 'by-number', name, 'a number');
  t.equal((await userOf('by-number', '4711')).externalIdentifier, '4711');
  const again = newPerson({ sub: 'another', employee_number: '4711', email: undefined });
  const count = await userCount();
  await succeeds(t, 'by-number', again.name, 'the same number as a string');
  t.equal(await userCount(), count);
  for (const employee_number of [undefined, null, '', true, {}, [], ['4711'], 'x'.repeat(256)]) {
    const person = newPerson({ employee_number });
    await t.test(JSON.stringify(employee_number)?.slice(0, 30) ?? 'none', (t) =>
      refusedAndNothingStored(t, 'by-number', person.name, 'INVALID_CREDENTIALS'),
    );
  }
});

t.test('without public registration, only users that an administrator created can sign in', async (t) => {
  const stranger = newPerson();
  await refusedAndNothingStored(t, 'closed', stranger.name, 'INVALID_CREDENTIALS');
  const visitor = newVisitor();
  sentBack(
    t,
    await login('closed', stranger.name, { redirect: '/a?b=c' }, visitor),
    '/a',
    'INVALID_CREDENTIALS',
    'in the redirect',
  );

  const { headers } = await logIn(testApp, 'json');
  const body = { email: 'employee@example.com', provider: 'closed', external_identifier: 'employee-1' };
  t.equal((await post('/users', body, headers)).statusCode, 200);
  const employee = newPerson({ sub: 'employee-1', email: 'elsewhere@example.com' });
  await succeeds(t, 'closed', employee.name, 'a user that an administrator created');
  const user = await userOf('closed', 'employee-1');
  t.equal(user.email, 'employee@example.com');

  const moved = { external_identifier: 'employee-2' };
  const patched = await testApp.request({ method: 'PATCH', url: `/users/${user.id}`, payload: moved, headers });
  t.equal(patched.statusCode, 200);
  await refusedAndNothingStored(t, 'closed', employee.name, 'INVALID_CREDENTIALS');
  await succeeds(t, 'closed', newPerson({ sub: 'employee-2' }).name, 'with the new identifier');
});

t.test('ROLE_MAPPING assigns roles by group', async (t) => {
  const { name, change } = newPerson();
  const roleAfter = async (groups: unknown) => {
    change({ groups });
    await succeeds(t, 'mapped', name, JSON.stringify(groups));
    return (await userOf('mapped', name)).role;
  };
  t.equal(await roleAfter(undefined), roleIds.viewer, 'the default role without groups');
  t.equal(await roleAfter(['staff']), roleIds.staff);
  t.equal(await roleAfter(['staff', 'editors']), roleIds.editor, 'in the order of the mapping, not of the groups');
  t.equal(await roleAfter(['nobody']), roleIds.viewer, 'a role from a group is removed with the group');
  t.equal(await roleAfter(['4711', 'editors']), roleIds.editor, 'even if another group has a number as its name');
  for (const groups of [
    ['__proto__'],
    ['constructor', 'toString'],
    ['STAFF'],
    [['staff']],
    [null, 7, {}],
    {},
    7,
    null,
  ]) {
    t.equal(await roleAfter(groups), roleIds.viewer, `${JSON.stringify(groups)} is not a group in the mapping`);
  }
  const { id } = await userOf('mapped', name);
  await changeUser(app, id, { role: roleIds.other });
  t.equal(await roleAfter(['nobody']), roleIds.other, 'a manually assigned role stays');
  t.equal(await roleAfter(['editors']), roleIds.editor);

  const newcomer = newPerson({ groups: ['staff'] });
  await succeeds(t, 'mapped', newcomer.name, 'at a first login');
  t.equal((await userOf('mapped', newcomer.name)).role, roleIds.staff);

  const unmapped = newPerson({ groups: ['staff'] });
  await succeeds(t, 'in-json', unmapped.name, 'without a mapping');
  t.equal((await userOf('in-json', unmapped.name)).role, null);
});

t.test('SYNC_USER_INFO updates the names and the address at each login', async (t) => {
  const { name, email, change } = newPerson();
  const after = async (claims: object) => {
    change(claims);
    await succeeds(t, 'synced', name, JSON.stringify(claims));
    return userOf('synced', name);
  };
  await after({});
  t.match(await after({ given_name: 'Augusta', family_name: 'King' }), {
    firstName: 'Augusta',
    lastName: 'King',
    email,
  });
  const moved = `moved-${email}`;
  t.match(await after({ email: moved }), { email: moved });
  const taken = await createUser(app);
  t.match(await after({ email: taken.email.toUpperCase(), given_name: 'Byron' }), { email: moved, firstName: 'Byron' });
  t.equal((await storedUser(app, taken.id)).provider, 'default', 'the owner of the address is not affected');
  t.match(await after({ email: undefined }), { email: moved }, 'a missing claim changes nothing');
});

t.test('REQUIRE_VERIFIED_EMAIL rejects every login without a verified address', async (t) => {
  for (const email_verified of [undefined, false, null, 0, 1, '', 'yes', 'false', 'TRUE', [true], [], {}]) {
    await t.test(`email_verified ${JSON.stringify(email_verified)}`, (t) =>
      refusedAndNothingStored(t, 'verified', newPerson({ email_verified }).name, 'INVALID_CREDENTIALS'),
    );
  }
  const unaddressed = newPerson({ email: undefined });
  await refusedAndNothingStored(t, 'verified', unaddressed.name, 'INVALID_CREDENTIALS');
  const { name, email, change } = newPerson();
  await succeeds(t, 'verified', name, 'true');
  for (const email_verified of ['TRUE', false, undefined]) {
    change({ email: `other-${email}`, email_verified });
    await refusedAndNothingStored(t, 'verified', name, 'INVALID_CREDENTIALS');
  }
  change({ email: `other-${email}` });
  await succeeds(t, 'verified', name, 'an existing user');
  t.equal((await userOf('verified', name)).email, `other-${email}`);

  await succeeds(t, 'in-json', newPerson({ email_verified: false }).name, 'not required without the setting');
});

t.test('an address is stored as verified if the provider marks it as verified', async (t) => {
  const verified = newPerson();
  await succeeds(t, 'synced', verified.name, 'verified');
  const { createdAt, emailVerifiedAt } = await userOf('synced', verified.name);
  t.strictSame(emailVerifiedAt?.getTime(), createdAt.getTime());
  const moved = `moved-${verified.email}`;
  verified.change({ email: moved });
  await succeeds(t, 'synced', verified.name, 'another address, verified');
  const later = await userOf('synced', verified.name);
  t.equal(later.email, moved);
  t.ok(Number(later.emailVerifiedAt) > Number(emailVerifiedAt));
  const unverified = newPerson({ email_verified: false });
  await succeeds(t, 'synced', unverified.name, 'not verified');
  t.equal((await userOf('synced', unverified.name)).emailVerifiedAt, null);
});

t.test('an account is never linked by its email address', async (t) => {
  const victim = await createUser(app, { email: 'Victim@Example.com' });
  for (const email of ['Victim@Example.com', 'victim@example.com', 'VICTIM@EXAMPLE.COM', administrator.email]) {
    for (const key of ['in-json', 'synced', 'verified'] as const) {
      await t.test(`${key} ${email}`, (t) =>
        refusedAndNothingStored(t, key, newPerson({ email, email_verified: true }).name, 'INVALID_PROVIDER'),
      );
    }
  }
  const { name } = newPerson({ email: victim.email });
  sentBack(t, await login('in-session', name, { redirect: '/x' }), '/x', 'INVALID_PROVIDER', 'in the redirect');
  t.strictSame(await identitiesOf(app, victim.id), []);
  t.equal((await post('/auth/login', victim)).statusCode, 200, 'the owner of the address can still sign in');
});

t.test('the same identifier at two providers belongs to two users', async (t) => {
  const { name, email, change } = newPerson();
  await succeeds(t, 'in-json', name, 'at one provider');
  change({ email: `second-${email}` });
  await succeeds(t, 'in-session', name, 'at the other provider');
  t.not((await userOf('in-json', name)).id, (await userOf('in-session', name)).id);
});

t.test('users who are not active cannot sign in (CVE-2025-53942)', async (t) => {
  const { name } = newPerson();
  await succeeds(t, 'in-json', name, 'active');
  const { id } = await userOf('in-json', name);
  for (const status of userStatuses.filter((status) => status !== 'active')) {
    await changeUser(app, id, { status });
    await t.test(status, (t) => refusedAndNothingStored(t, 'in-json', name, 'INVALID_CREDENTIALS'));
  }
  sentBack(t, await login('in-json', name, { redirect: '/x' }), '/x', 'INVALID_CREDENTIALS', 'in the redirect');

  await changeUser(app, id, { status: 'active' });
  const visitor = newVisitor();
  const callback = await logInAt(provider, await begin(visitor, 'in-json', { family: 'oauth' }), visitor.jar, name);
  await changeUser(app, id, { status: 'suspended' });
  refusedLogin(t, await visitor.visit(callback), 'INVALID_CREDENTIALS', 'suspended before the callback');
});

t.test('a user who cancels at the provider is not signed in', async (t) => {
  const before = await digestOfAccounts(app);
  refusedLogin(t, await plainLogin('in-json', undefined), 'INVALID_CREDENTIALS', 'in JSON');
  const response = await login('in-json', undefined, { redirect: '/a/b?c=d' });
  sentBack(t, response, '/a/b', 'INVALID_CREDENTIALS', 'in the redirect');
  t.equal(await digestOfAccounts(app), before);
});

t.test('a login through a provider requires the second factor (CVE-2025-64103, CVE-2024-45042)', async (t) => {
  const code = () => codeOfStep(stepOf(clock.now()));

  /** Returns from the provider as a user who must then enter a code. */
  async function askedForCode(start: Start = { redirect: '/welcome?x=1' }) {
    const { name } = newPerson();
    await succeeds(t, 'in-session', name, 'before two-factor authentication');
    const { id } = await userOf('in-session', name);
    await changeUser(app, id, { tfaSecret: app.tfaSecrets.seal(rfcSecret.base32, id) });
    const visitor = newVisitor();
    const response = await login('in-session', name, start, visitor);
    const complete = (payload: object, key: Key = 'in-session', headers: Record<string, string> = {}) =>
      visitor.send({ method: 'POST', url: `/auth/login/${key}`, payload, headers });
    return { id, visitor, response, complete };
  }

  const isSignedIn = async (t: Test, response: LightMyRequestResponse, mode: (typeof modes)[number], id: string) => {
    t.equal(response.statusCode, 200, response.body);
    const { data } = response.json();
    const token = mode === 'session' ? setCookies(response)[sessionCookie]?.value : data.access_token;
    t.equal(claimsOf(token ?? '').id, id);
    const expected = {
      json: ['access_token', 'expires', 'refresh_token'],
      cookie: ['access_token', 'expires'],
      session: ['expires'],
    };
    t.strictSame(Object.keys(data).sort(), expected[mode]);
    t.strictSame(signInCookies(response), { json: [], cookie: [refreshCookie], session: [sessionCookie] }[mode]);
  };

  for (const mode of modes) {
    t.test(`the login is completed in mode ${mode}`, async (t) => {
      const { id, response, complete } = await askedForCode();
      sentBack(t, response, '/welcome', 'INVALID_OTP', 'asked for a code');
      const sessions = (await sessionsOf(app, id)).length;
      refused(t, await complete({ mode }), 'INVALID_PAYLOAD', 'no code');
      refused(t, await complete({ otp: '000000', mode }), 'INVALID_OTP', 'a wrong code');
      t.equal((await sessionsOf(app, id)).length, sessions, 'no session yet');
      const otp = code();
      await isSignedIn(t, await complete({ otp, mode }), mode, id);
      t.equal((await sessionsOf(app, id)).length, sessions + 1);
      t.not((await complete({ otp, mode })).statusCode, 200, 'a code works once');
    });
  }

  t.test('without a redirect, the code is requested in JSON', async (t) => {
    const { id, response, complete } = await askedForCode({ family: 'oauth' });
    refusedLogin(t, response, 'INVALID_OTP', 'asked for a code');
    await isSignedIn(t, await complete({ otp: code(), mode: 'json' }), 'json', id);
  });

  t.test('the cookie of a pending login works for nothing else', async (t) => {
    const { response, complete } = await askedForCode();
    const pending = Object.values(setCookies(response)).filter(({ value }) => value !== '');
    t.equal(pending.length, 1);
    for (const { value, attributes } of pending) {
      const known = attributes.filter((text) => !/^(Path=.*|Expires)$/.test(text));
      t.strictSame(known, ['HttpOnly', 'Max-Age=300', 'SameSite=Lax']);
      for (const headers of [bearer(value), { cookie: `${sessionCookie}=${value}` }]) {
        t.ok([401, 403].includes((await get('/users/me', headers)).statusCode));
      }
      const refreshed = await post('/auth/refresh', { refresh_token: value });
      refused(t, refreshed, 'INVALID_CREDENTIALS', 'as a refresh token');
    }
    const otp = code();
    refused(t, await complete({ otp }, 'in-json'), 'INVALID_CREDENTIALS', 'at another provider');
    refused(t, await complete({ otp }, 'in-session', { cookie: '' }), 'INVALID_CREDENTIALS', 'without the cookie');
  });

  t.test('the code must be sent within five minutes', async (t) => {
    const { id, complete } = await askedForCode();
    clock.advance(5 * minute + second);
    refused(t, await complete({ otp: code() }), 'INVALID_CREDENTIALS', 'too late');
    const sessions = await sessionsOf(app, id);
    t.equal(sessions.length, 1);
  });

  t.test('a user who is suspended in the meantime cannot complete the login', async (t) => {
    const { id, complete } = await askedForCode();
    await changeUser(app, id, { status: 'suspended' });
    refused(t, await complete({ otp: code() }), 'INVALID_CREDENTIALS', 'suspended');
  });

  t.test('an invalid body is rejected', async (t) => {
    const { complete } = await askedForCode();
    for (const body of [{}, { otp: '' }, { otp: 123456 }, { otp: null }, { otp: ['1'] }, { otp: '1', mode: 'x' }]) {
      refused(t, await complete(body), 'INVALID_PAYLOAD', JSON.stringify(body));
    }
  });
});

t.test('a user created by a provider login has no password and cannot sign in with one', async (t) => {
  const { name, email } = newPerson();
  await succeeds(t, 'in-json', name, 'through the provider');
  for (const password of ['x', name, randomUUID()]) {
    refused(t, await post('/auth/login', { email, password }), 'INVALID_CREDENTIALS', 'with a password');
  }
  t.equal((await app.db.select().from(users).where(eq(users.email, email))).length, 1);
});

t.test('a login cannot be started with another HTTP method', async (t) => {
  const url = startPath('in-session');
  for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
    refused(t, await testApp.request({ method, url }), 'ROUTE_NOT_FOUND', method);
  }
});
