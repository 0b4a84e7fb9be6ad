import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { lockAdministrators } from '../../db/queries/access/administrators.js';
import { rolePolicies, settings } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { engine } from '../helpers/database/databases.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, patch, refusedUnchanged, startWithAdmin } from '../helpers/http/writing.js';
import { createPolicy, createRole, policyWith } from '../helpers/users/rights.js';
import { createUserWithToken } from '../helpers/users/users.js';

/**
 * The public policy applies to everyone, and everyone who registers gets the registration role. Neither may grant
 * administrative rights.
 */

t.test('the public policy cannot grant admin_access or app_access, whichever is written last', async (t) => {
  const service = await startWithAdmin(t);
  const { app, post } = service;
  for (const right of ['admin_access', 'app_access'] as const) {
    const policy = (await post('/policies', { name: 'Public', [right]: true }, asAdmin)).json().data.id;
    const set = (id: string | null) => patch(service, '/settings', { public_policy: id });
    await refusedUnchanged(t, service, () => set(policy), ['UNPROCESSABLE_CONTENT'], `${right}, then the setting`);
    await refusedUnchanged(t, service, () => set(policy.toUpperCase()), ['UNPROCESSABLE_CONTENT'], 'in upper case');
    t.equal((await patch(service, `/policies/${policy}`, { [right]: false })).statusCode, 200);
    t.equal((await set(policy)).statusCode, 200);
    for (const [what, send] of [
      ['one', () => patch(service, `/policies/${policy}`, { [right]: true })],
      ['by keys', () => patch(service, '/policies', { keys: [policy], data: { [right]: true } })],
      ['by a query', () => patch(service, '/policies', { query: { filter: { id: policy } }, data: { [right]: true } })],
      ['in a list', () => patch(service, '/policies', [{ id: policy, name: 'x', [right]: true }])],
    ] as const) {
      await refusedUnchanged(t, service, send, ['UNPROCESSABLE_CONTENT'], `the setting, then ${right}: ${what}`);
    }
    t.equal((await patch(service, `/policies/${policy}`, { name: 'Everyone' })).statusCode, 200, 'the name may change');
    t.equal((await set(null)).statusCode, 200);
    t.equal((await patch(service, `/policies/${policy}`, { [right]: true })).statusCode, 200, 'no longer public');
  }
  t.equal(await app.db.$count(settings), 1);
});

t.test('the registration role never grants admin_access', async (t) => {
  const service = await startWithAdmin(t);
  const { app } = service;
  const admin = await createPolicy(app, { adminAccess: true, ipAccess: ['192.0.2.0/24'] });
  const plain = await createPolicy(app);
  const top = await createRole(app);
  const middle = await createRole(app, { parent: top });
  const role = await createRole(app, { parent: middle, policies: [plain] });
  const set = (id: string | null) => patch(service, '/settings', { public_registration_role: id });
  const error = ['UNPROCESSABLE_CONTENT'] as const;

  const powerful = await createRole(app, { policies: [admin] });
  const below = await createRole(app, { parent: powerful });
  await refusedUnchanged(t, service, () => set(powerful), error, 'a role with the policy');
  await refusedUnchanged(t, service, () => set(below), error, 'a role whose parent has it');

  t.equal((await set(role)).statusCode, 200);
  const later: [what: string, send: () => ReturnType<typeof patch>][] = [
    ['a policy of the role', () => patch(service, `/roles/${role}`, { policies: [plain, admin] })],
    ['a policy of its parent', () => patch(service, '/roles', { keys: [middle], data: { policies: [admin] } })],
    ['a policy of its grandparent', () => patch(service, '/roles', [{ id: top, policies: [admin] }])],
    ['another parent', () => patch(service, `/roles/${role}`, { parent: powerful })],
    ['another parent of an ancestor', () => patch(service, `/roles/${top}`, { parent: below })],
    ['admin_access of its policy', () => patch(service, `/policies/${plain}`, { admin_access: true })],
  ];
  for (const [what, send] of later) await refusedUnchanged(t, service, send, error, what);
  t.equal((await patch(service, `/policies/${plain}`, { app_access: true })).statusCode, 200, 'app_access is allowed');
  t.equal((await set(null)).statusCode, 200);
  t.equal(
    (await patch(service, `/roles/${role}`, { parent: powerful })).statusCode,
    200,
    'no longer the registration role',
  );
});

t.test('the role of everyone who registers through a provider never grants admin_access', async (t) => {
  const [open, other] = [randomUUID(), randomUUID()];
  const [closed, mapped, created] = [randomUUID(), randomUUID(), randomUUID()];
  const providers: Record<string, Record<string, string>> = {
    OPEN: { ALLOW_PUBLIC_REGISTRATION: 'true', DEFAULT_ROLE_ID: open.toUpperCase() },
    OTHER: { ALLOW_PUBLIC_REGISTRATION: 'true', DEFAULT_ROLE_ID: other },
    NEW: { ALLOW_PUBLIC_REGISTRATION: 'true', DEFAULT_ROLE_ID: created },
    CLOSED: { DEFAULT_ROLE_ID: closed },
    MAPPED: { ALLOW_PUBLIC_REGISTRATION: 'true', ROLE_MAPPING: JSON.stringify({ admins: mapped }) },
  };
  const common = { DRIVER: 'openid', CLIENT_ID: 'id', CLIENT_SECRET: 'secret', ISSUER_URL: 'https://id.example.com' };
  const service = await startWithAdmin(t, {
    AUTH_PROVIDERS: Object.keys(providers).join(',').toLowerCase(),
    ...Object.fromEntries(
      Object.entries(providers).flatMap(([key, own]) =>
        Object.entries({ ...common, ...own }).map(([name, value]) => [`AUTH_${key}_${name}`, value]),
      ),
    ),
  });
  const { app, post } = service;
  const admin = await createPolicy(app, { adminAccess: true });
  const plain = await createPolicy(app);
  const top = await createRole(app);
  await createRole(app, { id: open, parent: top, policies: [plain] });
  await createRole(app, { id: other });
  await createRole(app, { id: closed });
  await createRole(app, { id: mapped });
  const powerful = await createRole(app, { policies: [admin] });
  const refusals: [what: string, send: () => ReturnType<typeof patch>][] = [
    ['a policy of the role', () => patch(service, `/roles/${open}`, { policies: [admin] })],
    ['a policy of its parent', () => patch(service, '/roles', { keys: [top], data: { policies: [plain, admin] } })],
    ['another parent', () => patch(service, `/roles/${open}`, { parent: powerful })],
    ['another parent of an ancestor', () => patch(service, '/roles', [{ id: top, parent: powerful }])],
    ['admin_access of its policy', () => patch(service, `/policies/${plain}`, { admin_access: true })],
    ['a new role with a policy', () => post('/roles', { id: created, name: 'x', policies: [admin] }, asAdmin)],
    ['a new role with a parent', () => post('/roles', [{ id: created, name: 'x', parent: powerful }], asAdmin)],
  ];
  for (const [what, send] of refusals) await refusedUnchanged(t, service, send, ['UNPROCESSABLE_CONTENT'], what);
  t.equal((await patch(service, `/policies/${plain}`, { app_access: true })).statusCode, 200, 'app_access is allowed');
  t.equal((await patch(service, `/roles/${closed}`, { policies: [admin] })).statusCode, 200, 'without registration');
  t.equal((await patch(service, `/roles/${mapped}`, { policies: [admin] })).statusCode, 200, 'by a group');

  await app.db.insert(rolePolicies).values({ role: open, policy: admin });
  const grantsToOther = () => patch(service, `/roles/${other}`, { policies: [admin] });
  await refusedUnchanged(t, service, grantsToOther, ['UNPROCESSABLE_CONTENT'], 'the role of another provider');
  t.equal((await patch(service, `/roles/${powerful}`, { policies: [] })).statusCode, 200, 'other changes are possible');
  t.equal((await patch(service, `/roles/${open}`, { policies: [plain] })).statusCode, 200, 'and so is the remedy');
  await refusedUnchanged(
    t,
    service,
    () => patch(service, `/roles/${open}`, { policies: [admin] }),
    ['UNPROCESSABLE_CONTENT'],
    'after the remedy',
  );
});

t.test('if two simultaneous requests would together grant administrative rights, one is rejected', async (t) => {
  const service = await startWithAdmin(t);
  const { app } = service;
  for (let round = 0; round < 10; round++) {
    const policy = await createPolicy(app);
    const parent = await createRole(app);
    const role = await createRole(app, { parent });
    const admin = await createPolicy(app, { adminAccess: true });
    await patch(service, '/settings', { public_policy: null, public_registration_role: null });
    const pairs = [
      [
        () => patch(service, '/settings', { public_policy: policy }),
        () => patch(service, `/policies/${policy}`, { app_access: true }),
      ],
      [
        () => patch(service, '/settings', { public_registration_role: role }),
        () => patch(service, `/roles/${parent}`, { policies: [admin] }),
      ],
    ] as const;
    const [first, second] = pairs[round % 2] ?? [];
    if (!first || !second) throw new Error('There is no such pair.');
    const send = () => (round % 4 < 2 ? [first(), second()] : [second(), first()]);
    // On PostgreSQL, both requests are authorized before either can change anything.
    const answers = await Promise.all(
      engine === 'postgres'
        ? await app.db.transaction(async (tx) => {
            await lockAdministrators(tx);
            const sent = send();
            const waiting = sql`select 1 from pg_locks where locktype = 'advisory' and not granted
              and database = (select oid from pg_database where datname = current_database())`;
            for (let attempt = 0; attempt < 200 && (await rows(tx, waiting)).length < 2; attempt++) await setTimeout(5);
            return sent;
          })
        : send(),
    );
    t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [200, 422], `round ${round}`);
  }
});

t.test('a permission is sufficient to change the appearance of the project, but no other setting', async (t) => {
  const service = await startWithAdmin(t);
  const { app, get, request } = service;
  const policy = await policyWith(app, [
    { collection: 'settings', action: 'update', fields: ['*'] },
    { collection: 'settings', action: 'read', fields: ['*'] },
  ]);
  const { headers } = await createUserWithToken(app, { policies: [policy] });
  const all = (await get('/settings', asAdmin)).json().data as Record<string, unknown>;
  const delegable = new Set(['project_name', 'project_color', 'project_logo', 'default_language']);
  t.ok(Object.keys(all).length >= 11);
  for (const [name, value] of Object.entries(all)) {
    const response = await request({ method: 'PATCH', url: '/settings', headers, payload: { [name]: value } });
    if (delegable.has(name)) {
      t.equal(response.statusCode, 200, name);
      continue;
    }
    refused(t, response, 'FORBIDDEN', name);
    t.match(response.json().errors[0].extensions.reason, new RegExp(`\\b${name}\\b`), 'the reason names the setting');
    const mixed = { project_name: 'Other', [name]: value };
    refused(t, await request({ method: 'PATCH', url: '/settings', headers, payload: mixed }), 'FORBIDDEN', name);
  }
  t.equal((await get('/settings?fields=project_name', asAdmin)).json().data.project_name, all.project_name);
});
