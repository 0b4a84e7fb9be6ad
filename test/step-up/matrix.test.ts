// @suite not-everyday: tries every operation that requires a fresh session

import { randomUUID } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { identities, settings } from '../../db/schema.js';
import { refusedUnchanged, startWithAdmin } from '../helpers/http/writing.js';
import { codeOf } from '../helpers/service/app.js';
import { createAuthenticator } from '../helpers/users/authenticator.js';
import { addPasskeyTo, creationOptions } from '../helpers/users/passkeys.js';
import { createPolicy, createRole, everyPermission, policyWith } from '../helpers/users/rights.js';
import { makeStale, openSession } from '../helpers/users/sessions.js';
import { codeOfStep, rfcSecret } from '../helpers/users/totp.js';
import { nextStep } from '../helpers/users/two-factor.js';
import { createSignedInUser, type SignedInUser } from '../helpers/users/users.js';

/** Every operation for which a stolen token must not be sufficient, with every kind of caller. */

/** Roles that a provider can give to users, although nobody has them. They do not exist yet. */
const assignable = Array.from({ length: 12 }, () => randomUUID());
const nextAssignable = () => assignable.shift() ?? '';
const [defaultRole = ''] = assignable;

const service = await startWithAdmin(t, {
  REAUTHENTICATION_PERIOD: '1d',
  AUTH_PROVIDERS: 'alpha,beta',
  AUTH_BETA_DRIVER: 'openid',
  AUTH_BETA_CLIENT_ID: 'id',
  AUTH_BETA_CLIENT_SECRET: 'secret',
  AUTH_BETA_ISSUER_URL: 'https://beta.example.com',
  AUTH_BETA_DEFAULT_ROLE_ID: defaultRole.toUpperCase(),
  AUTH_BETA_ROLE_MAPPING: JSON.stringify(
    Object.fromEntries(assignable.slice(1).map((role, i) => [`group ${i}`, role])),
  ),
  AUTH_ALPHA_DRIVER: 'oauth2',
  AUTH_ALPHA_CLIENT_ID: 'id',
  AUTH_ALPHA_CLIENT_SECRET: 'secret',
  AUTH_ALPHA_AUTHORIZE_URL: 'https://alpha.example.com/authorize',
  AUTH_ALPHA_ACCESS_URL: 'https://alpha.example.com/token',
  AUTH_ALPHA_PROFILE_URL: 'https://alpha.example.com/profile',
});
const { app, request, post } = service;
await app.db.update(settings).set({ selfDeletion: true });
const everything = await policyWith(app, everyPermission);
const administration = await createPolicy(app, { adminAccess: true });

type Headers = Record<string, string>;
type Operation = (person: SignedInUser, headers: Headers) => Promise<LightMyRequestResponse>;

const patch = (url: string, payload: object, headers: Headers) => request({ method: 'PATCH', url, payload, headers });
const newPassword = () => `a password nobody has guessed ${randomUUID()}`;

/** Changes to the user’s own row, in each form of the request. */
const changes: Record<string, () => object> = {
  password: () => ({ password: newPassword() }),
  email: () => ({ email: `${randomUUID()}@example.com` }),
  token: () => ({ token: `a-static-token-of-32-characters-${randomUUID()}` }),
  'no token': () => ({ token: null }),
  'password among others': () => ({ title: 'Dr.', password: newPassword() }),
};
const forms: Record<string, (data: object) => Operation> = {
  'PATCH /users/me': (data) => (_person, headers) => patch('/users/me', data, headers),
  'PATCH /users/{id}': (data) => (person, headers) => patch(`/users/${person.id.toUpperCase()}`, data, headers),
  'PATCH /users, by keys': (data) => (person, headers) => patch('/users', { keys: [person.id], data }, headers),
  'PATCH /users, a list': (data) => (person, headers) => patch('/users', [{ id: person.id, ...data }], headers),
  'PATCH /users, by a query': (data) => (person, headers) =>
    patch('/users', { query: { filter: { id: { _eq: person.id } } }, data }, headers),
};
const ofOwnRow: Record<string, Operation> = Object.fromEntries(
  Object.entries(forms).flatMap(([form, send]) =>
    Object.entries(changes).map(([what, data]): [string, Operation] => [
      `${form}: ${what}`,
      (person, headers) => send(data())(person, headers),
    ]),
  ),
);

const link = async ({ id }: SignedInUser, identifier = randomUUID()) => {
  const [made] = await app.db
    .insert(identities)
    .values({ user: id, provider: 'alpha', identifier, email: null, isPrimary: false, createdAt: app.clock() })
    .returning({ id: identities.id });
  return made?.id ?? '';
};

const ofOwnAccount: Record<string, Operation> = {
  'POST /users/me/password': (_person, headers) => post('/users/me/password', { password: newPassword() }, headers),
  'POST /users/me/identities/{id}': (_person, headers) => post('/users/me/identities/alpha', {}, headers),
  'POST /users/me/passkeys/options': (_person, headers) => post('/users/me/passkeys/options', {}, headers),
  'POST /users/me/email': (_person, headers) =>
    post('/users/me/email', { email: `${randomUUID()}@example.com` }, headers),
  'DELETE /users/me': (_person, headers) => request({ method: 'DELETE', url: '/users/me', headers }),
  'DELETE /users/me/identities/{id}': async (person, headers) =>
    request({ method: 'DELETE', url: `/users/me/identities/${await link(person)}`, headers }),
};
const withoutTfa: Record<string, Operation> = {
  'POST /users/me/tfa/enable': (_person, headers) =>
    post('/users/me/tfa/enable', { secret: rfcSecret.base32, otp: codeOfStep(nextStep(service)) }, headers),
};
const withTfa: Record<string, Operation> = {
  'POST /users/me/tfa/recovery-codes': (_person, headers) =>
    post('/users/me/tfa/recovery-codes', { otp: codeOfStep(nextStep(service)) }, headers),
};
const withoutPassword: Record<string, Operation> = {
  'POST /users/me/tfa/generate': (_person, headers) => post('/users/me/tfa/generate', {}, headers),
};

const newProviderUser = async () => {
  const person = await createSignedInUser(service, { policies: [everything], provider: 'alpha', password: null });
  await link(person);
  return person;
};
const callers = {
  'a user': {
    make: () => createSignedInUser(service, { policies: [everything] }),
    methods: ['password'],
    operations: { ...ofOwnRow, ...ofOwnAccount, ...withoutTfa },
  },
  'an administrator': {
    make: () => createSignedInUser(service, { policies: [administration] }),
    methods: ['password'],
    operations: { ...ofOwnRow, ...ofOwnAccount, ...withoutTfa },
  },
  'a user of a provider': {
    make: newProviderUser,
    methods: ['email', 'provider'],
    operations: { ...ofOwnRow, ...ofOwnAccount, ...withoutTfa, ...withoutPassword },
  },
  'a user who has only a passkey': {
    make: async () => {
      const person = await createSignedInUser(service, { policies: [everything], password: null });
      await addPasskeyTo(service, person.id);
      return person;
    },
    methods: ['passkey'],
    operations: { ...ofOwnRow, ...ofOwnAccount, ...withoutTfa, ...withoutPassword },
  },
  'a user with TFA': {
    make: () => createSignedInUser(service, { tfa: true, policies: [everything] }),
    methods: ['otp'],
    operations: { ...ofOwnRow, ...ofOwnAccount, ...withTfa },
  },
};

for (const [who, { make, methods, operations }] of Object.entries(callers)) {
  t.test(`${who}: a stale session and a static token are rejected, and a fresh session is accepted`, async (t) => {
    const stale = await make();
    await makeStale(app, stale.id);
    for (const [what, operation] of Object.entries(operations)) {
      const isRefused = async (headers: Headers, expected: Parameters<typeof refusedUnchanged>[3], caller: string) =>
        refusedUnchanged(t, service, () => operation(stale, headers), expected, `${what}: ${caller}`);
      if (what.startsWith('DELETE /users/me/identities')) {
        // The operation itself inserts the identity, so the state is not compared.
        t.equal(codeOf(await operation(stale, stale.headers)), 'REAUTHENTICATION_REQUIRED', what);
        t.equal(codeOf(await operation(stale, stale.tokenHeaders)), 'FORBIDDEN', what);
        await app.db.delete(identities);
        if (who === 'a user of a provider') await link(stale);
      } else {
        await isRefused(stale.headers, ['REAUTHENTICATION_REQUIRED', { methods, max_age: 86400 }], 'stale');
        await isRefused(stale.tokenHeaders, ['FORBIDDEN'], 'static token');
        await isRefused(
          {},
          [what.startsWith('PATCH /users') && !what.includes('me') ? 'FORBIDDEN' : 'INVALID_CREDENTIALS'],
          'anonymous',
        );
      }
      const fresh = await make();
      const { statusCode, body } = await operation(fresh, fresh.headers);
      t.ok(statusCode === 200 || statusCode === 204, `${what}: fresh: ${statusCode} ${statusCode < 300 ? '' : body}`);
    }
  });
}

t.test('every operation that requires a fresh session is tested here', async (t) => {
  const tested = new Set(Object.values(callers).flatMap(({ operations }) => Object.keys(operations)));
  // In the next test, because these operations require a passkey that exists.
  for (const operation of ['POST /users/me/passkeys', 'DELETE /users/me/passkeys/{id}']) tested.add(operation);
  const declared = [...app.operations.values()].filter(({ config }) => config.requiresFresh);
  t.ok(declared.length > 8);
  const nameOf = ({ method, url }: (typeof declared)[number]) =>
    `${method} ${url.replaceAll(/:(\w+)/g, '{$1}').replace(/(.)\/$/, '$1')}`;
  t.strictSame(
    declared.map(nameOf).filter((operation) => !tested.has(operation)),
    [],
  );
});

t.test('adding and removing a passkey requires a fresh session of the user', async (t) => {
  for (const [who, { make }] of Object.entries(callers)) {
    const person = await make();
    const { id } = await addPasskeyTo(service, person.id);
    const options = await creationOptions(service, person.headers);
    const add = (headers: Headers) =>
      post('/users/me/passkeys', { credential: createAuthenticator().create(options) }, headers);
    const remove = (headers: Headers) => request({ method: 'DELETE', url: `/users/me/passkeys/${id}`, headers });
    await makeStale(app, person.id);
    const fresh = await openSession(app, person.id);
    for (const [what, operation] of Object.entries({ add, remove })) {
      const send = (headers: Headers) => () => operation(headers);
      await refusedUnchanged(t, service, send(person.headers), ['REAUTHENTICATION_REQUIRED'], `${who}: ${what}, stale`);
      await refusedUnchanged(t, service, send(person.tokenHeaders), ['FORBIDDEN'], `${who}: ${what}, static token`);
      await refusedUnchanged(t, service, send({}), ['INVALID_CREDENTIALS'], `${who}: ${what}, anonymous`);
      const { statusCode, body } = await operation(fresh);
      t.ok(statusCode === 200 || statusCode === 204, `${who}: ${what}, fresh: ${statusCode} ${body}`);
    }
  }
});

t.test(
  'with REAUTHENTICATION_PERIOD=0, a static token can change its user’s row, but no other credentials',
  async (t) => {
    const directus = await startWithAdmin(t, { REAUTHENTICATION_PERIOD: '0' });
    const rights = await policyWith(directus.app, everyPermission);
    for (const [what, operation] of Object.entries(ofOwnRow)) {
      if (!what.startsWith('PATCH /users/me')) continue;
      const person = await createSignedInUser(directus, { policies: [rights] });
      const send = (headers: Headers) =>
        directus.request({
          method: 'PATCH',
          url: '/users/me',
          payload: changes[what.split(': ')[1] ?? '']?.() ?? {},
          headers,
        });
      await makeStale(directus.app, person.id);
      t.equal((await send(person.headers)).statusCode, 200, `${what}: session`);
      if (!what.includes('token')) t.equal((await send(person.tokenHeaders)).statusCode, 200, `${what}: token`);
      t.ok(operation);
    }
    const person = await createSignedInUser(directus, { policies: [rights] });
    const response = await directus.post('/users/me/password', { password: newPassword() }, person.tokenHeaders);
    t.equal(codeOf(response), 'FORBIDDEN');
  },
);

t.test('changes to other fields require no fresh session', async (t) => {
  const ada = await createSignedInUser(service, { policies: [everything] });
  await makeStale(app, ada.id);
  for (const headers of [ada.headers, ada.tokenHeaders]) {
    t.equal((await patch('/users/me', { title: 'Dr.', first_name: 'Ada' }, headers)).statusCode, 200);
    t.equal(
      (await patch('/users/me', { email: ada.email, title: 'Dr.' }, headers)).statusCode,
      200,
      'the same address',
    );
    t.equal((await patch('/users/me', { token: '**********' }, headers)).statusCode, 200, 'the masked token');
  }
  const others = await createSignedInUser(service, { policies: [] });
  const data = { password: newPassword(), email: `${randomUUID()}@example.com` };
  t.equal((await patch(`/users/${others.id}`, data, ada.headers)).statusCode, 200, 'other fields of other users');
});

t.test('a session that is not fresh can change the password with current_password', async (t) => {
  const routes: Record<string, (body: object) => Operation> = {
    'POST /users/me/password': (body) => (_person, headers) => post('/users/me/password', body, headers),
    'PATCH /users/me': (body) => (_person, headers) => patch('/users/me', body, headers),
    'PATCH /users/{id}': (body) => (person, headers) => patch(`/users/${person.id}`, body, headers),
  };
  const onlyPassword = await policyWith(app, [
    { collection: 'users', action: 'update', fields: ['password'], permissions: { id: { _eq: '$CURRENT_USER' } } },
  ]);
  for (const [what, operation] of Object.entries(routes)) {
    const ada = await createSignedInUser(service, { policies: [onlyPassword] });
    const send = (currentPassword: unknown, headers = ada.headers) =>
      operation({ password: newPassword(), current_password: currentPassword })(ada, headers);
    const isRefused = (value: unknown, code: Parameters<typeof refusedUnchanged>[3][0], headers = ada.headers) =>
      refusedUnchanged(t, service, () => send(value, headers), [code], `${what}: ${code}: ${JSON.stringify(value)}`);
    await isRefused('wrong', 'INVALID_CREDENTIALS');
    await makeStale(app, ada.id);
    await isRefused('wrong', 'INVALID_CREDENTIALS');
    await isRefused('', 'INVALID_PAYLOAD');
    await isRefused(1, 'INVALID_PAYLOAD');
    await isRefused(null, 'INVALID_PAYLOAD');
    await isRefused(ada.password, 'FORBIDDEN', ada.tokenHeaders);
    await isRefused('wrong', 'FORBIDDEN', ada.tokenHeaders);
    const done = await send(ada.password);
    t.equal(done.statusCode, 204, `${what}: ${done.body}`);
    t.notOk(done.body.includes(ada.password));
    t.equal(codeOf(await operation({ password: newPassword() })(ada, ada.headers)), 'REAUTHENTICATION_REQUIRED');

    const careful = await createSignedInUser(service, { tfa: true, policies: [onlyPassword] });
    const body = (currentPassword: string) => ({ password: newPassword(), current_password: currentPassword });
    t.equal(codeOf(await operation(body('wrong'))(careful, careful.headers)), 'INVALID_CREDENTIALS', 'fresh, wrong');
    await makeStale(app, careful.id);
    const required = () => operation(body(careful.password))(careful, careful.headers);
    await refusedUnchanged(t, service, required, ['REAUTHENTICATION_REQUIRED', { methods: ['otp'] }], `${what}: TFA`);
    t.equal(codeOf(await operation(body('wrong'))(careful, careful.headers)), 'INVALID_CREDENTIALS', 'stale, wrong');
  }

  const ada = await createSignedInUser(service, { policies: [everything] });
  const others = await createSignedInUser(service, { policies: [] });
  const extra = { title: 'Dr.', current_password: ada.password };
  for (const [what, send] of [
    ['of another user', () => patch(`/users/${others.id}`, extra, ada.headers)],
    ['among several', () => patch('/users', { keys: [ada.id], data: extra }, ada.headers)],
    ['in a list', () => patch('/users', [{ id: ada.id, ...extra }], ada.headers)],
    ['of a new user', () => post('/users', { email: `${randomUUID()}@example.com`, ...extra }, ada.headers)],
  ] as const) {
    await refusedUnchanged(t, service, send, ['INVALID_PAYLOAD'], what);
  }
  t.equal((await patch('/users/me', extra, ada.headers)).statusCode, 200, 'with a field that does not require it');
  const wrong = () => patch('/users/me', { ...extra, current_password: 'wrong' }, ada.headers);
  await refusedUnchanged(t, service, wrong, ['INVALID_CREDENTIALS'], 'wrong, with a field that does not require it');
});

t.test(
  'granting administrator access or changing the credentials of another administrator requires a fresh session',
  async (t) => {
    const root = await createSignedInUser(service, { policies: [administration] });
    const stale = await createSignedInUser(service, { policies: [administration] });
    await makeStale(app, stale.id);
    const mail = () => `${randomUUID()}@example.com`;
    const plain = async (columns = {}) => createSignedInUser(service, { policies: [], ...columns });
    const other = () => createSignedInUser(service, { policies: [administration] });
    const adminRole = await createRole(app, { policies: [administration] });
    const childRole = await createRole(app, { parent: adminRole });
    type Step = (headers: Headers) => Promise<LightMyRequestResponse>;
    /** Each function creates the necessary rows and returns the request. */
    const gains: Record<string, () => Promise<Step>> = {
      'a policy of a user': async () => {
        const { id } = await plain();
        return (headers) => patch(`/users/${id}`, { policies: [administration] }, headers);
      },
      'a policy of a user, together with an update of the caller': async () => {
        const { id } = await plain();
        return (headers) =>
          patch(
            '/users',
            [
              { id, policies: [administration] },
              { id: stale.id, title: 'x' },
            ],
            headers,
          );
      },
      'a role of a user': async () => {
        const { id } = await plain();
        return (headers) => patch('/users', { keys: [id], data: { role: childRole } }, headers);
      },
      'a new user with a role': async () => (headers) =>
        post('/users', { email: mail(), password: newPassword(), role: adminRole }, headers),
      'a new draft with a policy': async () => (headers) =>
        post(
          '/users',
          [{ email: mail(), password: newPassword(), status: 'draft', policies: [administration] }],
          headers,
        ),
      'activating an administrator': async () => {
        const { id } = await plain({ status: 'suspended', role: adminRole });
        return (headers) => patch(`/users/${id}`, { status: 'active' }, headers);
      },
      'a policy of a role': async () => {
        const role = await createRole(app);
        await plain({ role });
        return (headers) => patch(`/roles/${role}`, { policies: [administration] }, headers);
      },
      'a parent of a role': async () => {
        const role = await createRole(app);
        await plain({ role });
        return (headers) => patch('/roles', { keys: [role], data: { parent: childRole } }, headers);
      },
      'admin_access of a policy': async () => {
        const policy = await createPolicy(app);
        await plain({ policies: [policy] });
        return (headers) => patch(`/policies/${policy}`, { admin_access: true }, headers);
      },
      'more addresses for administrators': async () => {
        const policy = await createPolicy(app, { adminAccess: true, ipAccess: ['192.0.2.0/24'] });
        await plain({ policies: [policy] });
        return (headers) => patch(`/policies/${policy}`, { ip_access: null }, headers);
      },
      ...Object.fromEntries(
        (['invited', 'unverified', 'draft'] as const).flatMap((status) =>
          (['suspended', 'archived', 'active'] as const).map((former): [string, () => Promise<Step>] => [
            `${status} instead of ${former} as the status of an administrator`,
            async () => {
              const { id } = await plain({ status: former, role: childRole });
              return (headers) => patch('/users', [{ id, status }], headers);
            },
          ]),
        ),
      ),
      'inviting an administrator again': async () => {
        const { email } = await plain({ status: 'invited', role: adminRole });
        const role = await createRole(app);
        return (headers) => post('/users/invite', { email: [mail(), email.toUpperCase()], role }, headers);
      },
      'the default role of a provider': async () => {
        const role = await createRole(app, { id: nextAssignable() });
        return (headers) => patch(`/roles/${role}`, { policies: [administration] }, headers);
      },
      'a parent of a role in a mapping': async () => {
        const parent = await createRole(app);
        await createRole(app, { id: nextAssignable(), parent });
        return (headers) => patch(`/roles/${parent}`, { parent: adminRole }, headers);
      },
      'a policy of a role in a mapping': async () => {
        const policy = await createPolicy(app);
        await createRole(app, { id: nextAssignable(), policies: [policy] });
        return (headers) => patch('/policies', [{ id: policy, admin_access: true }], headers);
      },
      'more addresses for a role in a mapping': async () => {
        const policy = await createPolicy(app, { adminAccess: true, ipAccess: ['192.0.2.0/24'] });
        await createRole(app, { id: nextAssignable(), policies: [policy] });
        return (headers) => patch(`/policies/${policy}`, { ip_access: ['0.0.0.0/0'] }, headers);
      },
      'a new role that is in a mapping': async () => {
        const id = nextAssignable();
        return (headers) => post('/roles', { id, name: 'Mapped', policies: [administration] }, headers);
      },
      ...Object.fromEntries(
        Object.entries({
          auth_login_attempts: null,
          auth_password_policy: null,
          public_registration: false,
          public_registration_verify_email: true,
          public_registration_role: null,
          public_registration_email_filter: null,
          public_policy: null,
          self_service: true,
          self_deletion: true,
          email_login: false,
        }).map(([name, value]): [string, () => Promise<Step>] => [
          `the setting ${name}`,
          async () => (headers) => patch('/settings', { project_name: 'x', [name]: value }, headers),
        ]),
      ),
      ...Object.fromEntries(
        ['', '/style.css'].map((path): [string, () => Promise<Step>] => [
          `the development mailbox${path}`,
          async () => (headers) => request({ url: `/mailbox${path}`, headers }),
        ]),
      ),
      'an invitation with a role': async () => (headers) =>
        post('/users/invite', { email: mail(), role: childRole }, headers),
      'the password of another administrator': async () => {
        const { id } = await other();
        return (headers) => patch(`/users/${id}`, { password: newPassword() }, headers);
      },
      'the address of another administrator': async () => {
        const { id } = await other();
        const { id: plainId } = await plain();
        return (headers) =>
          patch(
            '/users',
            [
              { id: plainId, title: 'x' },
              { id, email: mail() },
            ],
            headers,
          );
      },
      'the token of another administrator': async () => {
        const { id } = await other();
        return (headers) =>
          patch(`/users/${id}`, { token: `a-static-token-of-32-characters-${randomUUID()}` }, headers);
      },
      'the provider of another administrator': async () => {
        const { id } = await other();
        return (headers) => patch(`/users/${id}`, { provider: 'alpha', external_identifier: randomUUID() }, headers);
      },
      'the second factor of another administrator': async () => {
        const { id } = await createSignedInUser(service, { tfa: true, policies: [administration] });
        return (headers) => post(`/users/${id}/tfa/disable`, undefined, headers);
      },
      'a passkey of another administrator': async () => {
        const { id } = await other();
        const passkey = await addPasskeyTo(service, id);
        return (headers) => request({ method: 'DELETE', url: `/users/${id}/passkeys/${passkey.id}`, headers });
      },
      'unlocking another administrator': async () => {
        const { id } = await other();
        return (headers) => post(`/users/${id}/unlock`, undefined, headers);
      },
    };
    for (const [what, prepare] of Object.entries(gains)) {
      const send = await prepare();
      const refusal = ['REAUTHENTICATION_REQUIRED', { methods: ['password'] }] as const;
      await refusedUnchanged(t, service, () => send(stale.headers), refusal, what);
      const fresh = await send(root.headers);
      t.ok(fresh.statusCode < 300, `${what}: fresh: ${fresh.statusCode} ${fresh.statusCode < 300 ? '' : fresh.body}`);
      const byToken = await (await prepare())(stale.tokenHeaders);
      t.ok(
        byToken.statusCode < 300,
        `${what}: token: ${byToken.statusCode} ${byToken.statusCode < 300 ? '' : byToken.body}`,
      );
    }

    t.equal((await patch('/settings', { self_deletion: true, auth_login_attempts: 25 }, root.headers)).statusCode, 200);
    const role = await createRole(app);
    const everyday: Record<string, Step> = {
      'a role without administrator access': async (headers) =>
        patch(`/users/${(await plain()).id}`, { role }, headers),
      'the same policies again': async (headers) =>
        patch(`/users/${(await other()).id}`, { policies: [administration], status: 'active' }, headers),
      'a role without users': async (headers) =>
        patch(`/roles/${await createRole(app)}`, { policies: [administration] }, headers),
      'suspending an administrator': async (headers) =>
        patch(`/users/${(await other()).id}`, { status: 'suspended' }, headers),
      'removing administrator access': async (headers) =>
        patch(`/users/${(await other()).id}`, { policies: [] }, headers),
      'archiving an administrator': async (headers) =>
        patch(`/users/${(await other()).id}`, { status: 'archived' }, headers),
      'the status that an administrator has': async (headers) =>
        patch(`/users/${(await plain({ status: 'invited', role: adminRole })).id}`, { status: 'invited' }, headers),
      'another status of a user': async (headers) =>
        patch(`/users/${(await plain({ status: 'suspended' })).id}`, { status: 'invited' }, headers),
      'inviting a user again': async (headers) =>
        post('/users/invite', { email: (await plain({ status: 'invited' })).email, role }, headers),
      'a new role that is in a mapping': async (headers) =>
        post('/roles', { id: nextAssignable(), name: 'Mapped' }, headers),
      'the appearance of the project': async (headers) =>
        patch(
          '/settings',
          { project_name: 'x', project_color: null, project_logo: null, default_language: 'en-US' },
          headers,
        ),
      'the development mailbox, with its key': async () => request({ url: `/mailbox?key=${app.mailbox.access.key}` }),
      'deleting an administrator': async (headers) =>
        request({ method: 'DELETE', url: `/users/${(await other()).id}`, headers }),
      'unlocking a user': async (headers) => post(`/users/${(await plain()).id}/unlock`, undefined, headers),
      'the password of a user': async (headers) =>
        patch(`/users/${(await plain()).id}`, { password: newPassword() }, headers),
      'an invitation without administrator access': async (headers) =>
        post('/users/invite', { email: mail(), role }, headers),
      'an administrator’s title': async (headers) => patch(`/users/${(await other()).id}`, { title: 'Dr.' }, headers),
    };
    for (const [what, send] of Object.entries(everyday)) {
      const { statusCode, body } = await send(stale.headers);
      t.ok(statusCode < 300, `${what}: ${statusCode} ${statusCode < 300 ? '' : body}`);
    }
  },
);

t.test('a stolen token of a stale session cannot be used to gain lasting access', async (t) => {
  const victim = await createSignedInUser(service, { policies: [everything] });
  await makeStale(app, victim.id);
  const stolen = victim.headers;
  const attempts = [
    ...Object.values({ ...ofOwnRow, ...withoutTfa }).map((operation) => operation(victim, stolen)),
    post('/users/me/password', { password: newPassword() }, stolen),
    post('/auth/reauthenticate', { password: 'a guess' }, stolen),
    post('/users/me/tfa/generate', { password: 'a guess' }, stolen),
  ];
  for (const response of await Promise.all(attempts)) t.ok([401, 403].includes(response.statusCode), response.body);
  t.equal((await victim.login()).statusCode, 200, 'the owner can still log in');
  const row = await victim.row();
  t.match(row, { email: victim.email, tfaSecret: null });
  t.equal((await service.get('/users/me', victim.tokenHeaders)).statusCode, 200, 'the static token is unchanged');
});
