// @suite not-everyday: tries every operation that requires a fresh session

import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
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
import { createSignedInUser, createUser, type NewUser, type SignedInUser } from '../helpers/users/users.js';

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
const { app, request } = service;
await app.db.update(settings).set({ selfDeletion: true });
const everything = await policyWith(app, everyPermission);
const administration = await createPolicy(app, { adminAccess: true });

const adminRole = await createRole(app, { policies: [administration] });
const childRole = await createRole(app, { parent: adminRole });
const plainRole = await createRole(app);
const { id: bystander } = await createUser(app);
/** Administrators with a fresh and a stale session. */
const fresh = await createSignedInUser(service, { policies: [administration] });
const stale = await createSignedInUser(service, { policies: [administration] });
await makeStale(app, stale.id);

type Headers = Record<string, string>;
/** A request without the credentials of its caller. */
type Request = Pick<InjectOptions, 'method' | 'url' | 'payload'>;

const patch = (url: string, payload: object): Request => ({ method: 'PATCH', url, payload });
const post = (url: string, payload?: object): Request => ({ method: 'POST', url, ...(payload && { payload }) });
const remove = (url: string): Request => ({ method: 'DELETE', url });
const send = (options: Request, headers: Headers) => request({ ...options, headers });
const newPassword = () => `a password nobody has guessed ${randomUUID()}`;
const newAddress = () => `${randomUUID()}@example.com`;
const newToken = () => `a-static-token-of-32-characters-${randomUUID()}`;
const newCode = () => codeOfStep(nextStep(service));

/** Links an account at a provider. @returns the ID of the identity */
async function link({ id }: Pick<SignedInUser, 'id'>): Promise<string> {
  const identity = { user: id, provider: 'alpha', identifier: randomUUID(), email: null, isPrimary: false };
  const [made] = await app.db
    .insert(identities)
    .values({ ...identity, createdAt: app.clock() })
    .returning({ id: identities.id });
  return made?.id ?? '';
}

interface Caller {
  who: string;
  columns: NewUser;
  /** How the caller can make a stale session fresh. */
  methods: string[];
  /** What the caller also signs in with. */
  add?: (user: SignedInUser) => Promise<unknown>;
}
const callers: Caller[] = [
  { who: 'a user', columns: { policies: [everything] }, methods: ['password'] },
  { who: 'an administrator', columns: { policies: [administration] }, methods: ['password'] },
  { who: 'a user with TFA', columns: { policies: [everything], tfa: true }, methods: ['otp'] },
  {
    who: 'a user of a provider',
    columns: { policies: [everything], password: null, provider: 'alpha' },
    methods: ['email', 'provider'],
    add: link,
  },
  {
    who: 'a user with only a passkey',
    columns: { policies: [everything], password: null },
    methods: ['passkey'],
    add: ({ id }) => addPasskeyTo(service, id),
  },
];
async function create({ columns, add }: Caller): Promise<SignedInUser> {
  const user = await createSignedInUser(service, columns);
  await add?.(user);
  return user;
}

/** Changes to the user’s own row that require a fresh session, in each form of the request. */
const changes = [
  { change: 'password', data: () => ({ password: newPassword() }) },
  { change: 'email', data: () => ({ email: newAddress() }) },
  { change: 'token', data: () => ({ token: newToken() }) },
  { change: 'no token', data: () => ({ token: null }) },
  { change: 'password among others', data: () => ({ title: 'Dr.', password: newPassword() }) },
];
type Form = { operationId: string; form: string; toRequest: (id: string, data: object) => Request };
const byQuery = (id: string) => ({ filter: { id: { _eq: id } } });
const forms: Form[] = [
  { operationId: 'updateMe', form: 'own', toRequest: (_id, data) => patch('/users/me', data) },
  { operationId: 'updateUser', form: 'by key', toRequest: (id, data) => patch(`/users/${id.toUpperCase()}`, data) },
  { operationId: 'updateUsers', form: 'by keys', toRequest: (id, data) => patch('/users', { keys: [id], data }) },
  { operationId: 'updateUsers', form: 'a list', toRequest: (id, data) => patch('/users', [{ id, ...data }]) },
  {
    operationId: 'updateUsers',
    form: 'by a query',
    toRequest: (id, data) => patch('/users', { query: byQuery(id), data }),
  },
];

interface OwnCase {
  operationId: string;
  what?: string;
  /** The callers who can use the operation; by default, all. */
  onlyFor?: (columns: NewUser) => boolean;
  /** Creates what the operation works on. @returns its ID */
  prepare?: (user: SignedInUser) => Promise<string>;
  toRequest: (user: SignedInUser, prepared: string) => Request;
}
const ofOwnRow: OwnCase[] = forms.flatMap(({ operationId, form, toRequest }) =>
  changes.map(({ change, data }) => ({
    operationId,
    what: `${form}: ${change}`,
    toRequest: ({ id }) => toRequest(id, data()),
  })),
);
const ofOwnAccount: OwnCase[] = [
  { operationId: 'changeMyPassword', toRequest: () => post('/users/me/password', { password: newPassword() }) },
  { operationId: 'requestEmailChange', toRequest: () => post('/users/me/email', { email: newAddress() }) },
  { operationId: 'deleteMe', toRequest: () => remove('/users/me') },
  { operationId: 'linkIdentity', toRequest: () => post('/users/me/identities/alpha', {}) },
  { operationId: 'unlinkIdentity', prepare: link, toRequest: (_user, id) => remove(`/users/me/identities/${id}`) },
  { operationId: 'startPasskeyRegistration', toRequest: () => post('/users/me/passkeys/options', {}) },
  {
    operationId: 'generateTfaSecret',
    onlyFor: ({ password }) => password === null,
    toRequest: () => post('/users/me/tfa/generate', {}),
  },
  {
    operationId: 'enableTfa',
    onlyFor: ({ tfa }) => !tfa,
    toRequest: () => post('/users/me/tfa/enable', { secret: rfcSecret.base32, otp: newCode() }),
  },
  {
    operationId: 'createRecoveryCodes',
    onlyFor: ({ tfa }) => tfa === true,
    toRequest: () => post('/users/me/tfa/recovery-codes', { otp: newCode() }),
  },
];

for (const caller of callers) {
  t.test(
    `${caller.who}: a stale session and a static token are rejected, and a fresh session is accepted`,
    async (t) => {
      const person = await create(caller);
      await makeStale(app, person.id);
      for (const { operationId, what = '', onlyFor = () => true, prepare, toRequest } of [
        ...ofOwnRow,
        ...ofOwnAccount,
      ]) {
        if (!onlyFor(caller.columns)) continue;
        const prepared = await prepare?.(person);
        const isRefused = (headers: Headers, error: Parameters<typeof refusedUnchanged>[3], credential: string) =>
          refusedUnchanged(
            t,
            service,
            () => send(toRequest(person, prepared ?? ''), headers),
            error,
            `${operationId}: ${what}: ${credential}`,
          );
        // An identity that was prepared is another method.
        const extensions = { max_age: 86400, ...(!prepare && { methods: caller.methods }) };
        await isRefused(person.headers, ['REAUTHENTICATION_REQUIRED', extensions], 'stale');
        await isRefused(person.tokenHeaders, ['FORBIDDEN'], 'static token');
        const needsPermission = app.operations.get(operationId)?.config.access === 'permission';
        await isRefused({}, [needsPermission ? 'FORBIDDEN' : 'INVALID_CREDENTIALS'], 'anonymous');
        if (prepared) await app.db.delete(identities).where(eq(identities.id, prepared));

        const other = await create(caller);
        const { statusCode, body } = await send(toRequest(other, (await prepare?.(other)) ?? ''), other.headers);
        t.ok([200, 204].includes(statusCode), `${operationId}: ${what}: fresh: ${statusCode} ${body}`);
      }
    },
  );
}

t.test('every operation that requires a fresh session is tested here', async (t) => {
  // The next test covers these two, which need a passkey that exists.
  const tested = [...ofOwnAccount.map(({ operationId }) => operationId), 'addPasskey', 'removePasskey'];
  const declared = [...app.operations].filter(([, { config }]) => config.requiresFresh).map(([id]) => id);
  t.not(declared.length, 0);
  t.strictSame(
    declared.filter((operationId) => !tested.includes(operationId)),
    [],
  );
});

t.test('adding and removing a passkey requires a fresh session of the user', async (t) => {
  for (const caller of callers) {
    const { who } = caller;
    const person = await create(caller);
    const { id } = await addPasskeyTo(service, person.id);
    const options = await creationOptions(service, person.headers);
    const operations = {
      add: post('/users/me/passkeys', { credential: createAuthenticator().create(options) }),
      remove: remove(`/users/me/passkeys/${id}`),
    };
    await makeStale(app, person.id);
    const fresh = await openSession(app, person.id);
    for (const [what, operation] of Object.entries(operations)) {
      for (const [credential, headers, code] of [
        ['stale', person.headers, 'REAUTHENTICATION_REQUIRED'],
        ['static token', person.tokenHeaders, 'FORBIDDEN'],
        ['anonymous', {}, 'INVALID_CREDENTIALS'],
      ] as const) {
        await refusedUnchanged(t, service, () => send(operation, headers), [code], `${who}: ${what}, ${credential}`);
      }
      const { statusCode, body } = await send(operation, fresh);
      t.ok(statusCode === 200 || statusCode === 204, `${who}: ${what}, fresh: ${statusCode} ${body}`);
    }
  }
});

t.test(
  'with REAUTHENTICATION_PERIOD=0, a static token can change its user’s row, but no other credentials',
  async (t) => {
    const directus = await startWithAdmin(t, { REAUTHENTICATION_PERIOD: '0' });
    const rights = await policyWith(directus.app, everyPermission);
    for (const { change: what, data } of changes) {
      const person = await createSignedInUser(directus, { policies: [rights] });
      const change = (headers: Headers) => directus.request({ ...patch('/users/me', data()), headers });
      await makeStale(directus.app, person.id);
      t.equal((await change(person.headers)).statusCode, 200, `${what}: session`);
      if (!what.includes('token')) t.equal((await change(person.tokenHeaders)).statusCode, 200, `${what}: token`);
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
    for (const [what, data] of Object.entries({
      'other fields': { title: 'Dr.', first_name: 'Ada' },
      'the same address': { email: ada.email, title: 'Dr.' },
      'the masked token': { token: '**********' },
    })) {
      t.equal((await send(patch('/users/me', data), headers)).statusCode, 200, what);
    }
  }
  const others = await createSignedInUser(service, { policies: [] });
  const data = { password: newPassword(), email: newAddress() };
  t.equal((await send(patch(`/users/${others.id}`, data), ada.headers)).statusCode, 200, 'other fields of other users');
});

t.test('a session that is not fresh can change the password with current_password', async (t) => {
  const routes: Record<string, (id: string, body: object) => Request> = {
    'POST /users/me/password': (_id, body) => post('/users/me/password', body),
    'PATCH /users/me': (_id, body) => patch('/users/me', body),
    'PATCH /users/{id}': (id, body) => patch(`/users/${id}`, body),
  };
  const onlyPassword = await policyWith(app, [
    { collection: 'users', action: 'update', fields: ['password'], permissions: { id: { _eq: '$CURRENT_USER' } } },
  ]);
  for (const [what, toRequest] of Object.entries(routes)) {
    const ada = await createSignedInUser(service, { policies: [onlyPassword] });
    const change = (currentPassword: unknown, headers = ada.headers) =>
      send(toRequest(ada.id, { password: newPassword(), current_password: currentPassword }), headers);
    const isRefused = (value: unknown, code: Parameters<typeof refusedUnchanged>[3][0], headers = ada.headers) =>
      refusedUnchanged(t, service, () => change(value, headers), [code], `${what}: ${code}: ${JSON.stringify(value)}`);
    await isRefused('wrong', 'INVALID_CREDENTIALS');
    await makeStale(app, ada.id);
    await isRefused('wrong', 'INVALID_CREDENTIALS');
    await isRefused('', 'INVALID_PAYLOAD');
    await isRefused(1, 'INVALID_PAYLOAD');
    await isRefused(null, 'INVALID_PAYLOAD');
    await isRefused(ada.password, 'FORBIDDEN', ada.tokenHeaders);
    await isRefused('wrong', 'FORBIDDEN', ada.tokenHeaders);
    const done = await change(ada.password);
    t.equal(done.statusCode, 204, `${what}: ${done.body}`);
    t.notOk(done.body.includes(ada.password));
    const withoutCurrent = await send(toRequest(ada.id, { password: newPassword() }), ada.headers);
    t.equal(codeOf(withoutCurrent), 'REAUTHENTICATION_REQUIRED');

    const careful = await createSignedInUser(service, { tfa: true, policies: [onlyPassword] });
    const ofCareful = (current: string) =>
      send(toRequest(careful.id, { password: newPassword(), current_password: current }), careful.headers);
    t.equal(codeOf(await ofCareful('wrong')), 'INVALID_CREDENTIALS', 'fresh, wrong');
    await makeStale(app, careful.id);
    const required = () => ofCareful(careful.password);
    await refusedUnchanged(t, service, required, ['REAUTHENTICATION_REQUIRED', { methods: ['otp'] }], `${what}: TFA`);
    t.equal(codeOf(await ofCareful('wrong')), 'INVALID_CREDENTIALS', 'stale, wrong');
  }

  const ada = await createSignedInUser(service, { policies: [everything] });
  const others = await createSignedInUser(service, { policies: [] });
  const extra = { title: 'Dr.', current_password: ada.password };
  for (const [what, operation] of [
    ['of another user', patch(`/users/${others.id}`, extra)],
    ['among several', patch('/users', { keys: [ada.id], data: extra })],
    ['in a list', patch('/users', [{ id: ada.id, ...extra }])],
    ['of a new user', post('/users', { email: newAddress(), ...extra })],
  ] as const) {
    await refusedUnchanged(t, service, () => send(operation, ada.headers), ['INVALID_PAYLOAD'], what);
  }
  t.equal(
    (await send(patch('/users/me', extra), ada.headers)).statusCode,
    200,
    'with a field that does not require it',
  );
  const wrong = () => send(patch('/users/me', { ...extra, current_password: 'wrong' }), ada.headers);
  await refusedUnchanged(t, service, wrong, ['INVALID_CREDENTIALS'], 'wrong, with a field that does not require it');
});

const user = async (columns: NewUser = {}) => (await createUser(app, columns)).id;
const admin = () => user({ policies: [administration] });
const usedRole = async () => {
  const role = await createRole(app);
  await user({ role });
  return role;
};
const usedPolicy = async (values = {}) => {
  const policy = await createPolicy(app, values);
  await user({ policies: [policy] });
  return policy;
};
const mappedRole = (values = {}) => createRole(app, { id: nextAssignable(), ...values });
const parentOfMappedRole = async () => {
  const parent = await createRole(app);
  await mappedRole({ parent });
  return parent;
};
const policyOfMappedRole = async (values = {}) => {
  const policy = await createPolicy(app, values);
  await mappedRole({ policies: [policy] });
  return policy;
};
const passkeyOf = async (id: string) => `${id}/passkeys/${(await addPasskeyTo(service, id)).id}`;
const identityOf = async (id: string) => {
  const row = { user: id, provider: 'alpha', identifier: randomUUID(), createdAt: app.clock() };
  const [made] = await app.db.insert(identities).values(row).returning({ id: identities.id });
  return `${id}/identities/${made?.id}`;
};
const oneNetwork = { adminAccess: true, ipAccess: ['192.0.2.0/24'] };

/** A change by an administrator. `prepare` creates what is changed, and returns its key. */
interface Change {
  what: string;
  prepare?: () => Promise<string>;
  toRequest: (key: string) => Request;
}

/** What could give an attacker lasting administrator access, or that of another administrator. */
const gains: Change[] = [
  {
    what: 'a policy of a user',
    prepare: user,
    toRequest: (id) => patch(`/users/${id}`, { policies: [administration] }),
  },
  {
    what: 'a policy of a user, together with an update of the caller',
    prepare: user,
    toRequest: (id) =>
      patch('/users', [
        { id, policies: [administration] },
        { id: stale.id, title: 'x' },
      ]),
  },
  {
    what: 'a role of a user',
    prepare: user,
    toRequest: (id) => patch('/users', { keys: [id], data: { role: childRole } }),
  },
  {
    what: 'a new user with a role',
    toRequest: () => post('/users', { email: newAddress(), password: newPassword(), role: adminRole }),
  },
  {
    what: 'a new draft with a policy',
    toRequest: () =>
      post('/users', [{ email: newAddress(), password: newPassword(), status: 'draft', policies: [administration] }]),
  },
  {
    what: 'activating an administrator',
    prepare: () => user({ status: 'suspended', role: adminRole }),
    toRequest: (id) => patch(`/users/${id}`, { status: 'active' }),
  },
  ...(['invited', 'unverified', 'draft'] as const).flatMap((status) =>
    (['suspended', 'archived', 'active'] as const).map(
      (former): Change => ({
        what: `${status} instead of ${former} as the status of an administrator`,
        prepare: () => user({ status: former, role: childRole }),
        toRequest: (id) => patch('/users', [{ id, status }]),
      }),
    ),
  ),
  {
    what: 'a policy of a role',
    prepare: usedRole,
    toRequest: (id) => patch(`/roles/${id}`, { policies: [administration] }),
  },
  {
    what: 'a parent of a role',
    prepare: usedRole,
    toRequest: (id) => patch('/roles', { keys: [id], data: { parent: childRole } }),
  },
  {
    what: 'admin_access of a policy',
    prepare: usedPolicy,
    toRequest: (id) => patch(`/policies/${id}`, { admin_access: true }),
  },
  {
    what: 'more addresses for administrators',
    prepare: () => usedPolicy(oneNetwork),
    toRequest: (id) => patch(`/policies/${id}`, { ip_access: null }),
  },
  {
    what: 'inviting an administrator again',
    prepare: async () => (await createUser(app, { status: 'invited', role: adminRole })).email,
    toRequest: (email) => post('/users/invite', { email: [newAddress(), email.toUpperCase()], role: plainRole }),
  },
  {
    what: 'an invitation with a role',
    toRequest: () => post('/users/invite', { email: newAddress(), role: childRole }),
  },
  {
    what: 'the default role of a provider',
    prepare: mappedRole,
    toRequest: (id) => patch(`/roles/${id}`, { policies: [administration] }),
  },
  {
    what: 'a parent of a role in a mapping',
    prepare: parentOfMappedRole,
    toRequest: (id) => patch(`/roles/${id}`, { parent: adminRole }),
  },
  {
    what: 'a policy of a role in a mapping',
    prepare: policyOfMappedRole,
    toRequest: (id) => patch('/policies', [{ id, admin_access: true }]),
  },
  {
    what: 'more addresses for a role in a mapping',
    prepare: () => policyOfMappedRole(oneNetwork),
    toRequest: (id) => patch(`/policies/${id}`, { ip_access: ['0.0.0.0/0'] }),
  },
  {
    what: 'a new role that is in a mapping',
    prepare: async () => nextAssignable(),
    toRequest: (id) => post('/roles', { id, name: 'Mapped', policies: [administration] }),
  },
  ...Object.entries({
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
  }).map(
    ([name, value]): Change => ({
      what: `the setting ${name}`,
      toRequest: () => patch('/settings', { project_name: 'x', [name]: value }),
    }),
  ),
  { what: 'the development mailbox', toRequest: () => ({ url: '/mailbox' }) },
  { what: 'the style of the development mailbox', toRequest: () => ({ url: '/mailbox/style.css' }) },
  {
    what: 'the password of another administrator',
    prepare: admin,
    toRequest: (id) => patch(`/users/${id}`, { password: newPassword() }),
  },
  {
    what: 'the address of another administrator',
    prepare: admin,
    toRequest: (id) =>
      patch('/users', [
        { id: bystander, title: 'x' },
        { id, email: newAddress() },
      ]),
  },
  {
    what: 'the token of another administrator',
    prepare: admin,
    toRequest: (id) => patch(`/users/${id}`, { token: newToken() }),
  },
  {
    what: 'the provider of another administrator',
    prepare: admin,
    toRequest: (id) => patch(`/users/${id}`, { provider: 'alpha', external_identifier: randomUUID() }),
  },
  {
    what: 'the second factor of another administrator',
    prepare: () => user({ tfa: true, policies: [administration] }),
    toRequest: (id) => post(`/users/${id}/tfa/disable`),
  },
  {
    what: 'a passkey of another administrator',
    prepare: async () => passkeyOf(await admin()),
    toRequest: (passkey) => remove(`/users/${passkey}`),
  },
  {
    what: 'a linked account of another administrator',
    prepare: async () => identityOf(await admin()),
    toRequest: (identity) => remove(`/users/${identity}`),
  },
  { what: 'unlocking another administrator', prepare: admin, toRequest: (id) => post(`/users/${id}/unlock`) },
];

/** What gives nobody more rights. */
const harmless: Change[] = [
  {
    what: 'a role without administrator access',
    prepare: user,
    toRequest: (id) => patch(`/users/${id}`, { role: plainRole }),
  },
  {
    what: 'the same policies again',
    prepare: admin,
    toRequest: (id) => patch(`/users/${id}`, { policies: [administration], status: 'active' }),
  },
  {
    what: 'a role without users',
    prepare: () => createRole(app),
    toRequest: (id) => patch(`/roles/${id}`, { policies: [administration] }),
  },
  {
    what: 'suspending an administrator',
    prepare: admin,
    toRequest: (id) => patch(`/users/${id}`, { status: 'suspended' }),
  },
  { what: 'removing administrator access', prepare: admin, toRequest: (id) => patch(`/users/${id}`, { policies: [] }) },
  {
    what: 'archiving an administrator',
    prepare: admin,
    toRequest: (id) => patch(`/users/${id}`, { status: 'archived' }),
  },
  {
    what: 'the status that an administrator has',
    prepare: () => user({ status: 'invited', role: adminRole }),
    toRequest: (id) => patch(`/users/${id}`, { status: 'invited' }),
  },
  {
    what: 'another status of a user',
    prepare: () => user({ status: 'suspended' }),
    toRequest: (id) => patch(`/users/${id}`, { status: 'invited' }),
  },
  {
    what: 'inviting a user again',
    prepare: async () => (await createUser(app, { status: 'invited' })).email,
    toRequest: (email) => post('/users/invite', { email, role: plainRole }),
  },
  {
    what: 'a new role that is in a mapping',
    prepare: async () => nextAssignable(),
    toRequest: (id) => post('/roles', { id, name: 'Mapped' }),
  },
  {
    what: 'the appearance of the project',
    toRequest: () =>
      patch('/settings', { project_name: 'x', project_color: null, project_logo: null, default_language: 'en-US' }),
  },
  {
    what: 'the development mailbox, with its key',
    toRequest: () => ({ url: `/mailbox?key=${app.mailbox.access.key}` }),
  },
  { what: 'deleting an administrator', prepare: admin, toRequest: (id) => remove(`/users/${id}`) },
  { what: 'unlocking a user', prepare: user, toRequest: (id) => post(`/users/${id}/unlock`) },
  {
    what: 'the password of a user',
    prepare: user,
    toRequest: (id) => patch(`/users/${id}`, { password: newPassword() }),
  },
  {
    what: 'an invitation without administrator access',
    toRequest: () => post('/users/invite', { email: newAddress(), role: plainRole }),
  },
  { what: 'an administrator’s title', prepare: admin, toRequest: (id) => patch(`/users/${id}`, { title: 'Dr.' }) },
];

t.test(
  'granting administrator access or changing the credentials of another administrator requires a fresh session',
  async (t) => {
    const isAllowed = (what: string, { statusCode, body }: LightMyRequestResponse) =>
      t.ok(statusCode < 300, `${what}: ${statusCode} ${statusCode < 300 ? '' : body}`);
    for (const { what, prepare, toRequest } of gains) {
      const key = (await prepare?.()) ?? '';
      const refusal = ['REAUTHENTICATION_REQUIRED', { methods: ['password'] }] as const;
      await refusedUnchanged(t, service, () => send(toRequest(key), stale.headers), refusal, what);
      isAllowed(`${what}: fresh`, await send(toRequest(key), fresh.headers));
      isAllowed(`${what}: token`, await send(toRequest((await prepare?.()) ?? ''), stale.tokenHeaders));
    }

    t.equal(
      (await send(patch('/settings', { self_deletion: true, auth_login_attempts: 25 }), fresh.headers)).statusCode,
      200,
    );
    for (const { what, prepare, toRequest } of harmless) {
      isAllowed(what, await send(toRequest((await prepare?.()) ?? ''), stale.headers));
    }
  },
);

t.test('a stolen token of a stale session cannot be used to gain lasting access', async (t) => {
  const victim = await createSignedInUser(service, { policies: [everything] });
  await makeStale(app, victim.id);
  const enableTfa = ofOwnAccount.filter(({ operationId }) => operationId === 'enableTfa');
  const attempts = [
    ...[...ofOwnRow, ...enableTfa].map(({ toRequest }) => toRequest(victim, '')),
    post('/users/me/password', { password: newPassword() }),
    post('/auth/reauthenticate', { password: 'a guess' }),
    post('/users/me/tfa/generate', { password: 'a guess' }),
  ];
  for (const response of await Promise.all(attempts.map((attempt) => send(attempt, victim.headers))))
    t.ok([401, 403].includes(response.statusCode), response.body);
  t.equal((await victim.login()).statusCode, 200, 'the owner can still log in');
  const row = await victim.row();
  t.match(row, { email: victim.email, tfaSecret: null });
  t.equal((await service.get('/users/me', victim.tokenHeaders)).statusCode, 200, 'the static token is unchanged');
});
