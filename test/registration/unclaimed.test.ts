// @suite not-everyday: tries many cases

import { setTimeout as sleep } from 'node:timers/promises';
import { eq, sql } from 'drizzle-orm';
import t from 'tap';
import { inLowerCase } from '../../db/lower-case.js';
import { deleteExpiredRegistrations } from '../../db/queries/registration/registrations.js';
import { activity, registrations, settings, users } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { engine } from '../helpers/database/databases.js';
import { hearStatements } from '../helpers/database/statements.js';
import { refused } from '../helpers/http/refusals.js';
import { findLink, linkIn, mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { logInAt, startOpenIdProvider } from '../helpers/providers/openid-provider.js';
import { userBehind } from '../helpers/providers/provider-records.js';
import { refusedLogin } from '../helpers/providers/refused-logins.js';
import { completeLogin, createVisitor } from '../helpers/providers/visitor.js';
import { startTestApp } from '../helpers/service/app.js';
import { day } from '../helpers/service/clock.js';
import { assertUnchanged, createPolicy, createRole, policyWith } from '../helpers/users/rights.js';
import { logIn } from '../helpers/users/sessions.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

/** A registration whose address nobody has verified reserves nothing. */

const publicUrl = 'http://gatehouse.example.com';
const provider = await startOpenIdProvider(t, { publicUrl, keys: ['plain', 'synced'] });
const service = await startTestApp(t, {
  PUBLIC_URL: publicUrl,
  REGISTRATION_ANSWER_TIME: '1ms',
  PASSWORD_REJECT_COMMON: 'false',
  ACCESS_TOKEN_TTL: '90d',
  REAUTHENTICATION_PERIOD: '90d',
  AUTH_PROVIDERS: 'plain,synced',
  ...provider.variables('plain', { ALLOW_PUBLIC_REGISTRATION: 'true' }),
  ...provider.variables('synced', { ALLOW_PUBLIC_REGISTRATION: 'true', SYNC_USER_INFO: 'true' }),
});
/** The logins at the provider run before the tests that move the clock, because the provider does not move its clock. */
const { app, post, get, request, clock } = service;
const set = (values: Partial<typeof settings.$inferInsert>) => app.db.update(settings).set(values);
const role = await createRole(app);
await set({ publicRegistration: true, publicRegistrationRole: role });
const { headers: asAdmin } = await createUserWithToken(app, {
  policies: [await createPolicy(app, { adminAccess: true })],
});

const password = 'the password of a newcomer';
let count = 0;
const newAddress = () => `unclaimed-${++count}@example.com`;
const found = async (email: string) =>
  (
    await app.db
      .select()
      .from(users)
      .where(eq(inLowerCase(users.email), email.toLowerCase()))
  )[0];
const verify = (token: string) => get(`/users/register/verify-email?token=${token}`);
const patch = (url: string, payload: object, headers: Record<string, string>) =>
  request({ method: 'PATCH', url, payload, headers });
const send = (email: string[] | string, headers: Record<string, string> = asAdmin) =>
  post('/users/invite', { email, role }, headers);

/** An address that an anonymous caller has registered. @returns the ID of the row, and the token in the email */
async function squatted(email = newAddress()) {
  t.equal((await post('/users/register', { email, password: 'the password of a stranger' })).statusCode, 204);
  const id = (await found(email))?.id ?? '';
  return { email, id, token: await tokenFor(app, email) };
}

const eventsOf = async (id: string) =>
  (await app.db.select().from(activity).where(eq(activity.item, id)).orderBy(activity.id)).map(({ action }) => action);

/** Logs in at a provider whose account has this address. */
const logInWith = (key: 'plain' | 'synced', name: string, email: string) => {
  provider.setAccount(name, { sub: name, email, email_verified: true, given_name: 'Ada' });
  const visitor = createVisitor(service, publicUrl);
  return completeLogin(visitor, key, { family: 'oauth' }, (url) => logInAt(provider, url, visitor.jar, name));
};

async function member() {
  const user = await createUser(app);
  return { ...user, headers: (await logIn(service, 'json', user)).headers };
}

async function requireLink(email: string, page: string) {
  const mail = (await mailsTo(app, email)).at(-1);
  if (!findLink(mail ?? { text: '' })?.includes(page)) throw new Error(`There is no link to ${page}.`);
}

/** The embedded engine has a single connection, so its transactions never overlap. */
const onPostgres = { skip: engine === 'embedded' && 'one connection' };

/** Ways in which another user gets an address. @returns the status of the response */
const ways: Record<string, (email: string) => Promise<number>> = {
  'an invitation': async (email) => {
    const { statusCode } = await send(email.toUpperCase());
    await requireLink(email.toUpperCase(), '/account/accept-invite');
    return statusCode;
  },
  'POST /users': async (email) => (await post('/users', { email: email.toUpperCase(), password }, asAdmin)).statusCode,
  'POST /users without costly work': async (email) => (await post('/users', { email }, asAdmin)).statusCode,
  'PATCH of another user': async (email) => {
    const { id } = await createUser(app);
    return (await patch(`/users/${id}`, { email }, asAdmin)).statusCode;
  },
  'a confirmed change of address': async (email) => {
    const { headers } = await member();
    t.equal((await post('/users/me/email', { email }, headers)).statusCode, 204);
    await requireLink(email, '/account/confirm-email');
    return (await post('/users/me/email/confirm', { token: await tokenFor(app, email) })).statusCode;
  },
  'the first login through a provider': async (email) => (await logInWith('plain', `new-${email}`, email)).statusCode,
  SYNC_USER_INFO: async (email) => {
    const name = `synced-${email}`;
    await logInWith('synced', name, newAddress());
    const { statusCode } = await logInWith('synced', name, email);
    if ((await userBehind(app, 'synced', name))?.user.email !== email) throw new Error('The address has not changed.');
    return statusCode;
  },
};

for (const [way, take] of Object.entries(ways)) {
  t.test(`an unverified registration does not stop ${way}, which ends it`, async (t) => {
    for (const expired of [false, true]) {
      const { email, id, token } = await squatted();
      if (expired) {
        await app.db.update(registrations).set({ expiresAt: clock.now() }).where(eq(registrations.user, id));
      }
      t.match(String(await take(email)), /^20[04]$/);
      const owner = await found(email);
      t.not(owner?.id, id);
      t.not(owner?.status, 'unverified');
      t.notOk(await app.db.$count(users, eq(users.id, id)));
      t.notOk(await app.db.$count(registrations, eq(registrations.user, id)));
      t.strictSame(await eventsOf(id), ['register', 'delete']);
      if (!expired) refused(t, await verify(token), 'INVALID_PAYLOAD', 'the link is void');
    }
  });

  t.test(`whatever an administrator has written to the row: ${way}`, async (t) => {
    const { email, id } = await squatted();
    const query = { filter: { email: { _eq: email } } };
    t.equal((await patch('/users', { query, data: { title: 'Member' } }, asAdmin)).statusCode, 200);
    await patch(`/users/${id}`, { policies: [await createPolicy(app)], location: 'Here' }, asAdmin);
    t.match(String(await take(email)), /^20[04]$/);
    t.not((await found(email))?.id, id);
    t.notOk(await app.db.$count(users, eq(users.id, id)));
  });

  t.test(`users who did more than register keep their address: ${way}`, async (t) => {
    const suspended = await createUser(app, { status: 'suspended' });
    t.equal((await patch(`/users/${suspended.id}`, { status: 'unverified' }, asAdmin)).statusCode, 200);
    const created = newAddress();
    const unverified = { email: created, status: 'unverified' };
    t.equal((await post('/users', unverified, asAdmin)).statusCode, 200);
    const again = await squatted();
    for (const status of ['draft', 'unverified']) await patch(`/users/${again.id}`, { status }, asAdmin);
    for (const email of [suspended.email, created, again.email]) {
      const before = await found(email);
      // A registration of the address changes nothing.
      await post('/users/register', { email, password });
      await take(email).catch(() => {});
      t.match(await found(email), { id: before?.id, status: 'unverified' });
    }
  });
}

t.test('one request ends many registrations, with a bounded number of statements', async (t) => {
  const statementsOf = async (length: number, isSquatted: boolean, work: (emails: string[]) => Promise<number>) => {
    const emails = Array.from({ length }, newAddress);
    if (isSquatted) for (const email of emails) await post('/users/register', { email, password });
    let statements = 0;
    const stop = hearStatements(app, ({ text }) => {
      if (!/with used as/.test(text)) statements++;
    });
    t.equal(await work(emails), emails.length);
    stop();
    for (const email of emails) t.not((await found(email))?.status, 'unverified');
    return statements;
  };
  const bulk = {
    invite: async (emails: string[]) => {
      t.equal((await send(emails)).statusCode, 204);
      return app.db.$count(users, sql`${users.status} = 'invited' and ${users.email} in ${emails}`);
    },
    create: async (emails: string[]) => {
      const list = emails.map((email) => ({ email, provider: 'plain' }));
      return (await post('/users', list, asAdmin)).json().data.length;
    },
  };
  for (const [name, work] of Object.entries(bulk)) {
    const few = await statementsOf(2, true, work);
    t.equal(await statementsOf(12, true, work), few, name);
  }
  const { email } = await squatted();
  const twice = [
    { email, password },
    { email: email.toUpperCase(), password },
  ];
  await assertUnchanged(t, app, 'twice in one request', async () => {
    refused(t, await post('/users', twice, asAdmin), 'RECORD_NOT_UNIQUE', 'twice in one request');
  });
});

t.test('a request that is refused does not end a registration', async (t) => {
  const { email, id, token } = await squatted();
  const { headers: reader } = await member();
  const fields = ['email', 'role', 'status', 'password'];
  const rule = { email: { _ends_with: '@example.org' } };
  const { headers: limited } = await createUserWithToken(app, {
    policies: [await policyWith(app, [{ collection: 'users', action: 'create', fields, validation: rule }])],
  });
  const taken = (await createUser(app)).email;
  await assertUnchanged(t, app, 'refused', async () => {
    for (const body of [{ email }, { email, password }, [{ email, password }]]) {
      refused(t, await post('/users', body, reader), 'FORBIDDEN', 'no permission');
    }
    refused(t, await send(email, reader), 'FORBIDDEN', 'no permission');
    refused(t, await post('/users', { email, password }, limited), 'FAILED_VALIDATION', 'a rule');
    refused(t, await post('/users', { email, password: 'short' }, asAdmin), 'FAILED_VALIDATION', 'a short password');
    const list = [
      { email, password },
      { email: taken, password },
    ];
    refused(t, await post('/users', list, asAdmin), 'RECORD_NOT_UNIQUE', 'another address is taken');
    refused(t, await post('/users', { email, role: id }, asAdmin), 'INVALID_FOREIGN_KEY', 'an unknown role');
  });
  const { id: own, headers } = await member();
  refused(t, await patch(`/users/${own}`, { email }, headers), 'FORBIDDEN', 'no permission to update');
  t.equal((await verify(token)).statusCode, 204);
});

t.test('an administrator’s request never ends the registration that it updates', async (t) => {
  const { email, id, token } = await squatted();
  t.equal((await patch(`/users/${id}`, { email: email.toUpperCase() }, asAdmin)).statusCode, 200);
  t.match(await found(email), { id, email: email.toUpperCase() });
  refused(t, await verify(token), 'INVALID_PAYLOAD', 'the address has changed');
  const other = await squatted();
  const { id: user } = await createUser(app);
  const list = [
    { id: other.id, title: 'Dr.' },
    { id: user, email: other.email },
  ];
  refused(t, await patch('/users', list, asAdmin), 'RECORD_NOT_UNIQUE', 'updated in the same request');
  t.equal((await verify(other.token)).statusCode, 204);
});

t.test('a provider login for the address of an active user is still refused', async (t) => {
  const { email, token } = await squatted();
  t.equal((await verify(token)).statusCode, 204);
  refusedLogin(t, await logInWith('plain', `late-${email}`, email), 'INVALID_PROVIDER', 'an active user');
});

t.test('of an invitation, a creation and a verification at the same time, one wins', onPostgres, async (t) => {
  const rounds = 12;
  const outcomes = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    const { email, token } = await squatted();
    const [verified, taken, registered] = await Promise.all([
      verify(token),
      round % 2 === 0 ? send(email) : post('/users', { email }, asAdmin),
      post('/users/register', { email, password }),
    ]);
    t.equal(registered.statusCode, 204);
    const owner = await found(email);
    outcomes.add(`${round % 2} ${verified.statusCode}`);
    if (verified.statusCode === 204) {
      t.equal(owner?.status, 'active');
      if (round % 2 === 0) t.equal(taken.statusCode, 204);
      else refused(t, taken, 'RECORD_NOT_UNIQUE', 'the address has been verified');
    } else {
      refused(t, verified, 'INVALID_PAYLOAD', 'the registration has ended');
      t.equal(taken.statusCode, round % 2 === 0 ? 204 : 200);
      t.equal(owner?.status, round % 2 === 0 ? 'invited' : 'active');
    }
  }
  t.ok(outcomes.size > 0);
});

t.test('a registration that is committed during a request does not make the request fail', onPostgres, async (t) => {
  for (const [way, take] of Object.entries(ways)) {
    const email = newAddress();
    let commit = () => {};
    let registered: Promise<void> | undefined;
    await new Promise<void>((resolve) => {
      registered = app.db.transaction(async (tx) => {
        await tx.insert(users).values({ email, status: 'unverified', isFromRegistration: true });
        resolve();
        await new Promise<void>((end) => {
          commit = end;
        });
      });
    });
    let isOver = false;
    const taken = take(email).finally(() => {
      isOver = true;
    });
    const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    while (!isOver && (await rows(app.db, waiting)).length === 0) await sleep(20);
    commit();
    await registered;
    t.match(String(await taken), /^20[04]$/, way);
    t.not((await found(email))?.status, 'unverified');
  }
});

t.test('a user is deleted together with the last registration', async (t) => {
  const old = await squatted();
  clock.advance(6 * day);
  const joined = await squatted();
  await post('/users/register', { email: old.email, password });
  const admins = await createUser(app, { status: 'suspended' });
  await patch(`/users/${admins.id}`, { status: 'unverified' }, asAdmin);
  await post('/users/register', { email: admins.email, password });
  clock.advance(2 * day);
  await deleteExpiredRegistrations(app.db, clock.now());
  t.match(await found(old.email), { id: old.id }, 'another registration is pending');
  clock.advance(6 * day);
  const { deletedUsers } = await deleteExpiredRegistrations(app.db, clock.now());
  t.match(new Set(deletedUsers), new Set([old.id, joined.id]));
  t.equal(await found(joined.email), undefined);
  t.match(await found(admins.email), { status: 'unverified' }, 'not created by a registration');
});

t.test('a registration after all others have expired starts over', async (t) => {
  const first = await squatted();
  clock.advance(8 * day);
  const second = await squatted(first.email);
  t.not(second.id, first.id);
  t.strictSame(await eventsOf(first.id), ['register', 'delete']);
  t.equal((await verify(second.token)).statusCode, 204);
  t.equal((await post('/auth/login', { email: first.email, password: 'the password of a stranger' })).statusCode, 200);
});

t.test('the account receives the role that the settings named at the latest registration', async (t) => {
  const { email, token } = await squatted();
  const other = await createRole(app);
  await set({ publicRegistrationRole: other });
  await post('/users/register', { email, password });
  await set({ publicRegistrationRole: role });
  t.equal((await verify(token)).statusCode, 204, 'registering again does not end the earlier registration');
  t.match(await found(email), { role: other });
});

t.test('nothing is resent while the settings do not allow the registration, and sent links remain valid', async (t) => {
  const again: Record<string, (email: string, token: string) => Promise<unknown>> = {
    'the resend operation': (email) => post('/users/register/resend', { email }),
    'a password reset': (email) => post('/auth/password/request', { email }),
    'another registration': (email) => post('/users/register', { email, password }),
  };
  const closed: Record<string, Partial<typeof settings.$inferInsert>> = {
    off: { publicRegistration: false },
    filter: { publicRegistrationEmailFilter: { email: { _ends_with: '@example.org' } } },
  };
  for (const [what, values] of Object.entries(closed)) {
    const { email, token } = await squatted();
    await set(values);
    for (const [way, repeat] of Object.entries(again)) {
      await repeat(email, token);
      t.equal((await mailsTo(app, email)).length, 1, `${what}: ${way}`);
    }
    t.equal((await verify(token)).statusCode, 204, what);
    await set({ publicRegistration: true, publicRegistrationEmailFilter: null });
  }
  for (const repeat of Object.values(again)) {
    const { email, token } = await squatted();
    await repeat(email, token);
    t.equal(linkIn((await mailsTo(app, email))[1] ?? { text: '' }).pathname, '/account/verify-email');
  }
});
