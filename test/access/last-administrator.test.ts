import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { eq, sql } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import t from 'tap';
import { lockAdministrators } from '../../db/queries/access/administrators.js';
import { identities, passkeys, rolePolicies, users } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { engine } from '../helpers/database/databases.js';
import { patch, refusedUnchanged, remove, startWithAdmin } from '../helpers/http/writing.js';
import { bearer, type TestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { addPasskeyTo } from '../helpers/users/passkeys.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { openSession } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

const last = ['UNPROCESSABLE_CONTENT'] as const;

/** The first administrator, with the role and the policy that grant admin access. */
async function administratorOf({ app }: TestApp) {
  const [user] = await app.db.select().from(users).where(eq(users.email, administrator.email));
  const [link] = await app.db
    .select()
    .from(rolePolicies)
    .where(eq(rolePolicies.role, user?.role ?? ''));
  if (!user?.role || !link) throw new Error('There is no administrator.');
  return { id: user.id, role: user.role, policy: link.policy };
}

t.test('the last active administrator cannot be removed', async (t) => {
  const service = await startWithAdmin(t);
  const { app } = service;
  const { id, role, policy } = await administratorOf(service);
  const plain = await createRole(app);
  const bystander = await createUser(app);
  // None of these is an active administrator: they are inactive, or have no admin access.
  await createUser(app, { role, status: 'suspended' });
  await createUser(app, { role, status: 'archived' });
  await createUser(app, { role: plain });

  const attempts: [what: string, send: () => ReturnType<typeof patch>][] = [
    ['deleted', () => remove(service, `/users/${id}`)],
    ['deleted together with another user', () => remove(service, '/users', [bystander.id, id])],
    ['deleted by a query', () => remove(service, '/users', { query: { limit: -1 } })],
    ['deactivated', () => patch(service, `/users/${id}`, { status: 'suspended' })],
    ['deactivated by their own request', () => patch(service, '/users/me', { status: 'draft' })],
    ['deactivated with all users', () => patch(service, '/users', { query: {}, data: { status: 'invited' } })],
    ['role removed', () => patch(service, `/users/${id}`, { role: null })],
    ['role replaced', () => patch(service, '/users', [{ id, role: plain }])],
    ['role deleted', () => remove(service, `/roles/${role}`)],
    ['all roles deleted', () => remove(service, '/roles', { query: {} })],
    ['policy deleted', () => remove(service, `/policies/${policy}`)],
    ['admin_access disabled', () => patch(service, `/policies/${policy}`, { admin_access: false })],
    ['policy removed from the role', () => patch(service, `/roles/${role}`, { policies: [] })],
  ];
  for (const [what, send] of attempts) await refusedUnchanged(t, service, send, last, what);

  t.test('the last administrator is protected if admin access comes from a parent role', async (t) => {
    const child = await createRole(app, { parent: role });
    t.equal((await patch(service, `/users/${id}`, { role: child })).statusCode, 200);
    for (const [what, send] of [
      ['parent removed', () => patch(service, `/roles/${child}`, { parent: null })],
      ['parent replaced', () => patch(service, `/roles/${child}`, { parent: plain })],
      ['parent deleted', () => remove(service, `/roles/${role}`)],
      ['child deleted', () => remove(service, `/roles/${child}`)],
    ] as const) {
      await refusedUnchanged(t, service, send, last, what);
    }
    t.equal((await patch(service, `/users/${id}`, { role })).statusCode, 200);
  });

  t.test('the last administrator is protected if admin access comes from their own policy', async (t) => {
    const own = await createPolicy(app, { adminAccess: true });
    t.equal((await patch(service, `/users/${id}`, { policies: [own], role: null })).statusCode, 200);
    for (const [what, send] of [
      ['own policy removed', () => patch(service, `/users/${id}`, { policies: [] })],
      ['own policy deleted', () => remove(service, '/policies', [own])],
      [
        'admin_access of the own policy disabled',
        () => patch(service, '/policies', [{ id: own, admin_access: false }]),
      ],
    ] as const) {
      await refusedUnchanged(t, service, send, last, what);
    }
    t.equal((await patch(service, `/users/${id}`, { policies: [], role })).statusCode, 200);
  });

  t.test('all of these changes are allowed if there is another administrator', async (t) => {
    const own = await createPolicy(app, { adminAccess: true });
    await createUser(app, { policies: [own] });
    const spare = async () => (await createUser(app, { role })).id;
    t.equal((await remove(service, `/users/${await spare()}`)).statusCode, 204);
    t.equal((await patch(service, `/users/${await spare()}`, { status: 'suspended' })).statusCode, 200);
    t.equal((await patch(service, `/users/${await spare()}`, { role: null })).statusCode, 200);
    t.equal(
      (await patch(service, `/roles/${role}`, { policies: [] })).statusCode,
      200,
      'an administrator removes their own rights',
    );
    t.equal((await patch(service, `/users/${bystander.id}`, { title: 'x' })).statusCode, 403, 'with immediate effect');
  });
});

t.test(
  'administrators who sign in only with a passkey or a linked account are administrators like any other',
  async (t) => {
    const service = await startWithAdmin(t);
    const { app } = service;
    const { id, role } = await administratorOf(service);
    const keyholder = await createUser(app, { role, password: null });
    const suspend = () => patch(service, `/users/${id}`, { status: 'suspended' });
    await refusedUnchanged(t, service, suspend, last, 'the other administrator cannot sign in');
    await addPasskeyTo(service, keyholder.id);
    const headers = await openSession(app, keyholder.id);
    t.equal((await suspend()).statusCode, 200, 'the other administrator has a passkey');
    for (const [what, send] of [
      ['suspended', () => patch(service, '/users/me', { status: 'suspended' }, headers)],
      ['role removed', () => patch(service, '/users/me', { role: null }, headers)],
      ['deleted', () => remove(service, '/users', [keyholder.id], headers)],
    ] as const) {
      await refusedUnchanged(t, service, send, last, `the last administrator, who has only a passkey: ${what}`);
    }
    const extra = await createUser(app, { role, password: null });
    t.equal((await remove(service, `/users/${extra.id}`, undefined, headers)).statusCode, 204);
    const linked = await createUser(app, { role, password: null });
    await app.db.insert(identities).values({
      user: linked.id,
      provider: 'alpha',
      identifier: '1',
      email: null,
      isPrimary: false,
      createdAt: app.clock(),
    });
    t.equal((await remove(service, `/users/${keyholder.id}`, undefined, headers)).statusCode, 204, 'a linked account');
  },
);

t.test(
  'if passkeys are turned off, an administrator who has nothing else is not the last one who can sign in',
  async (t) => {
    const service = await startWithAdmin(t, { AUTH_PASSKEYS: 'false' });
    const { app } = service;
    const { id, role } = await administratorOf(service);
    const { id: user } = await createUser(app, { role, password: null });
    const key = { publicKey: 'x', counter: 0, isBackupEligible: false, isBackedUp: false, aaguid: randomUUID() };
    await app.db.insert(passkeys).values({
      ...key,
      ...{
        id: randomUUID(),
        user,
        credentialId: 'x',
        name: 'x',
        transports: [],
        createdAt: app.clock(),
        lastUsedAt: null,
      },
    });
    await refusedUnchanged(
      t,
      service,
      () => patch(service, `/users/${id}`, { status: 'suspended' }),
      last,
      'turned off',
    );
  },
);

t.test('if two simultaneous requests would remove the last two administrators, one is rejected', async (t) => {
  const service = await startWithAdmin(t);
  const { app } = service;
  // Written directly to the database, so that only the two users of each round are administrators.
  await app.db.delete(users);
  const administrator = async (token: string) => {
    const policy = await createPolicy(app, { adminAccess: true });
    const role = await createRole(app, { policies: [policy] });
    const { id } = await createUser(app, { role, token });
    return { id, role, policy };
  };
  const ways: ((
    target: Awaited<ReturnType<typeof administrator>>,
    headers: Record<string, string>,
  ) => ReturnType<typeof patch>)[] = [
    ({ id }, headers) => remove(service, `/users/${id}`, undefined, headers),
    ({ id }, headers) => patch(service, `/users/${id}`, { status: 'archived' }, headers),
    ({ id }, headers) => patch(service, '/users', { keys: [id], data: { role: null } }, headers),
    ({ role }, headers) => remove(service, '/roles', [role], headers),
    ({ policy }, headers) => remove(service, `/policies/${policy}`, undefined, headers),
    ({ policy }, headers) => patch(service, `/policies/${policy}`, { admin_access: false }, headers),
    ({ role }, headers) => patch(service, `/roles/${role}`, { policies: [] }, headers),
  ];
  for (let round = 0; round < (engine === 'postgres' ? 50 : 14); round++) {
    await app.db.delete(users);
    const [a, b] = [await administrator(`token-a-${round}`), await administrator(`token-b-${round}`)];
    const [first, second] = [ways[round % ways.length], ways[Math.floor(round / 2) % ways.length]];
    if (!first || !second) throw new Error('There is no such operation.');
    const send = () => [first(a, bearer(`token-b-${round}`)), second(b, bearer(`token-a-${round}`))];
    const answers = await Promise.all(engine === 'postgres' ? await heldUp(app, send) : send());
    const statuses = answers.map(({ statusCode }) => statusCode).sort();
    t.equal(statuses[1], 422, `round ${round}: ${statuses}`);
    t.ok(statuses[0] === 200 || statuses[0] === 204, `round ${round}: ${statuses}`);
  }
});

/** Sends requests so that all of them have been authorized before any of them can remove an administrator. */
async function heldUp<T>(app: FastifyInstance, send: () => T[]): Promise<T[]> {
  return app.db.transaction(async (tx) => {
    await lockAdministrators(tx);
    const sent = send();
    const waiting = sql`select 1 from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`;
    for (let attempt = 0; attempt < 200 && (await rows(tx, waiting)).length < sent.length; attempt++) {
      await setTimeout(5);
    }
    return sent;
  });
}
