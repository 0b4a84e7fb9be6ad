// @suite not-everyday: tries hundreds of cases

import { asc } from 'drizzle-orm';
import t from 'tap';
import { users } from '../../db/schema.js';
import { startTestApp } from '../helpers/service/app.js';
import { assertUnchanged, createPolicy, createRole, everyPermission, policyWith } from '../helpers/users/rights.js';
import { changeUser, createUser, createUserWithToken } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, request } = service;

const role = await createRole(app);
const policy = await createPolicy(app);

/** Two states of a user that differ only in the secrets. Responses must be identical for both. */
const states = [
  {
    password: 'aaa-secret-password-hash',
    tfaSecret: 'aaa-secret-tfa',
    tokenHash: 'aaa-secret-token-hash',
    tfaLastStep: 11,
  },
  {
    password: 'zzz-secret-password-hash',
    tfaSecret: 'zzz-secret-tfa',
    tokenHash: 'zzz-secret-token-hash',
    tfaLastStep: 99,
  },
] as const;
const subject = await createUser(app, { ...states[0], role, policies: [policy], lastAccess: app.clock() });
// Another user, whose secrets sort between the two. Comparing secrets would therefore yield different results.
await createUser(app, {
  password: 'mmm-secret-password-hash',
  tfaSecret: 'mmm-secret-tfa',
  tokenHash: 'mmm-secret-token-hash',
  tfaLastStep: 50,
  role,
  policies: [policy],
  lastAccess: app.clock(),
});

const secret = /secret-(password|tfa|token)|argon2/;

const callers = {
  administrator: await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] }),
  'all but admin access': await createUserWithToken(app, { policies: [await policyWith(app, everyPermission)], role }),
};

/** Names of secrets, and of columns that are not fields. */
const concealed = ['token', 'tfa_secret'];
const hidden = ['password', 'token_hash', 'tokenHash', 'tfa_last_step', 'password_hash'];
const names = [...concealed, ...hidden];

const operators =
  'eq neq in nin null nnull empty nempty contains ncontains icontains starts_with nstarts_with istarts_with nistarts_with ends_with nends_with iends_with niends_with lt lte gt gte between nbetween regex some none submitted'
    .split(' ')
    .map((name) => `_${name}`);

/** Values that an attacker would compare a secret with: the secret, a part of the range, and the masked form. */
const probes = ['mmm', 'aaa-secret-token-hash', '**********'];
const valuesFor = (operator: string): unknown[] =>
  /null|empty/.test(operator)
    ? [true, false]
    : /between/.test(operator)
      ? [['a', 'm']]
      : /in$/.test(operator)
        ? [['aaa-secret-token-hash', 'aaa-secret-tfa', 'aaa-secret-password-hash'], ['**********']]
        : /some|none/.test(operator)
          ? [{}]
          : probes;

interface Ask {
  url: string;
  query: Record<string, unknown>;
}

const ofSubject = { id: { _eq: subject.id } };

/** Every way to name a field of users in a query, directly and through relations. */
function asks(name: string): Ask[] {
  const wrap: [string, (condition: object) => object][] = [
    ['/users', (condition) => condition],
    ['/users', (condition) => ({ _or: [condition] })],
    ['/roles', (condition) => ({ users: condition })],
    ['/roles', (condition) => ({ users: { _none: condition } })],
    ['/policies', (condition) => ({ users: { _some: condition } })],
    ['/users', (condition) => ({ role: { users: condition } })],
    ['/permissions', (condition) => ({ policy: { users: condition } })],
  ];
  const filters = operators.flatMap((operator) =>
    valuesFor(operator).flatMap((value, index) =>
      // Through relations, testing a few operators is sufficient.
      (index === 0 && /^_(eq|starts_with|nnull|in|gt)$/.test(operator) ? wrap : wrap.slice(0, 1)).map(
        ([url, around]) => ({
          url,
          query: { filter: around({ [name]: { [operator]: value } }), fields: 'id', meta: '*' },
        }),
      ),
    ),
  );
  const direct = [
    { fields: name },
    { fields: `id,${name}` },
    { fields: `role.users.${name}` },
    { fields: `policies.users.${name}` },
    { fields: `role.users.role.users.${name}` },
    { sort: name, fields: 'id' },
    { sort: `-${name}`, fields: 'id' },
    { sort: `${name},id`, fields: 'id', limit: 1 },
    { sort: `role.${name}`, fields: 'id' },
    { aggregate: { count: name } },
    { aggregate: { countDistinct: name } },
    { aggregate: { min: name } },
    { aggregate: { max: name } },
    { aggregate: { min: 'id', max: name } },
    { aggregate: { count: '*' }, groupBy: name },
    { aggregate: { count: '*' }, groupBy: `status,${name}` },
    { aggregate: { count: '*', min: name }, groupBy: name },
    { filter: { [name]: 'aaa-secret-tfa' } },
    { filter: { [name]: null } },
    { filter: { [`${name}.x`]: { _eq: 'a' } } },
    { filter: { email: { _eq: `$${name}` } } },
    { alias: { x: name }, fields: 'x' },
    { deep: { role: { _filter: { users: { [name]: { _contains: 'a' } } } } }, fields: 'role.id' },
    { fields: `${name}.x` },
    { fields: `${name} as x` },
    { fields: `*,${name}` },
    { fields: `count(${name})` },
  ];
  const related = [
    ['/roles', { fields: `users.${name}` }],
    ['/roles', { sort: `users.${name}` }],
    ['/policies', { fields: `users.${name},roles.users.${name}` }],
    ['/permissions', { fields: `policy.users.${name}` }],
    [`/users/${subject.id}`, { fields: name }],
    [`/roles/${role}`, { fields: `users.${name}` }],
  ] as const;
  return [
    ...filters,
    ...direct.map((query) => ({ url: '/users', query })),
    ...related.map(([url, query]) => ({ url, query })),
  ];
}

const searches = [...probes, 'secret', 'password-hash', '99'];

/** Sends each query with the method that its path requires, and returns the responses. */
async function answers(headers: Record<string, string>, questions: Ask[]): Promise<string[]> {
  const given: string[] = [];
  for (const { url, query } of questions) {
    const isOne = url.split('/').length > 2;
    const response = await (isOne
      ? request({
          method: 'GET',
          url,
          query: Object.fromEntries(Object.entries(query).map(([k, v]) => [k, String(v)])),
          headers,
        })
      : request({ method: 'SEARCH', url, payload: { query }, headers }));
    given.push(`${response.statusCode} ${response.body}`);
  }
  return given;
}

for (const [who, { headers }] of Object.entries(callers)) {
  t.test(
    `no query reveals a secret: ${who} (CVE-2023-27481, CVE-2024-34708, CVE-2025-30352, CVE-2025-64748, CVE-2026-35442, CVE-2023-22894, GHSA-2m6g-crv8-p3c6)`,
    async (t) => {
      const questions = [
        ...names.flatMap(asks),
        ...searches.flatMap((search) => [
          { url: '/users', query: { search, fields: 'id', meta: '*' } },
          { url: '/users', query: { search, aggregate: { count: '*' } } },
          { url: '/roles', query: { search } },
        ]),
        { url: '/users', query: { fields: '*.*.*' } },
        { url: '/roles', query: { fields: '*,users.*,users.policies.users.*' } },
        { url: '/policies', query: { fields: '*.*' } },
        { url: '/permissions', query: { fields: '*,policy.users.*' } },
      ];
      await changeUser(app, subject.id, states[0]);
      const first = await answers(headers, questions);
      await changeUser(app, subject.id, states[1]);
      const second = await answers(headers, questions);
      let differences = 0;
      questions.forEach((question, index) => {
        const what = `${question.url} ${JSON.stringify(question.query)}`;
        // The last access is not a secret, and may have changed in the meantime.
        const [one, two] = [first, second].map((given) => (given[index] ?? '').replaceAll(/"last_access":[^,}]*/g, ''));
        if (one !== two && ++differences < 10) t.equal(two, one, what);
        if (secret.test(`${one}${two}`.replace(/(The field|does not support the operator|"reason":).*/, '')))
          t.fail(`reveals a secret: ${what} ${one}`);
        if (/^5/.test(`${one}`)) t.fail(`${what} ${one}`);
      });
      t.equal(differences, 0, `${questions.length} queries`);

      for (const name of hidden) {
        const refused = asks(name)
          .filter(({ query }) => !('alias' in query || 'deep' in query) && !JSON.stringify(query).includes('$'))
          .map((question) => questions.findIndex((other) => JSON.stringify(other) === JSON.stringify(question)));
        for (const index of refused) {
          t.match(first[index], /^40[03] /, `${name}: ${JSON.stringify(questions[index])}`);
        }
      }
      for (const name of concealed) {
        const shown = JSON.parse(
          (await answers(headers, [{ url: '/users', query: { fields: name, filter: ofSubject } }]))[0]?.slice(4) ?? '',
        );
        t.strictSame(shown, { data: [{ [name]: '**********' }] });
      }
    },
  );
}

// For such a caller, the service builds a different search, which does not combine all texts of a row.
t.test(
  'a search reveals no secret to a caller who can read only some text fields (CVE-2025-30352, CVE-2025-64748)',
  async (t) => {
    const fields = ['id', 'email', 'token', 'tfa_secret'];
    const policy = await policyWith(app, [{ collection: 'users', action: 'read', fields }]);
    const { headers } = await createUserWithToken(app, { policies: [policy] });
    await changeUser(app, subject.id, states[0]);
    for (const search of ['aaa-secret', 'secret-tfa', 'token-hash', 'password-hash']) {
      const question = { url: '/users', query: { search, fields: 'id' } };
      t.strictSame(await answers(headers, [question]), ['200 {"data":[]}'], search);
    }
    const byAddress = { url: '/users', query: { search: subject.email, fields: 'id' } };
    t.strictSame(await answers(headers, [byAddress]), [`200 {"data":[{"id":"${subject.id}"}]}`]);
  },
);

t.test('updating or deleting by a query reveals no secret', async (t) => {
  const { headers } = callers['all but admin access'];
  for (const [title, state] of states.entries()) {
    await changeUser(app, subject.id, state);
    for (const name of names) {
      for (const condition of [
        { _starts_with: 'aaa' },
        { _eq: 'aaa-secret-tfa' },
        { _contains: 'zzz' },
        { _in: ['aaa-secret-token-hash'] },
      ]) {
        const query = { filter: { _and: [ofSubject, { [name]: condition }] } };
        await assertUnchanged(t, app, `${name} ${title}`, async () => {
          for (const [method, payload] of [
            ['PATCH', { query, data: { title: 'found' } }],
            ['DELETE', { query }],
          ] as const) {
            const { statusCode, body } = await request({ method, url: '/users', payload, headers });
            const isHidden = hidden.includes(name);
            const nothing = method === 'PATCH' ? statusCode === 200 && body === '{"data":[]}' : statusCode === 204;
            t.ok(
              isHidden ? statusCode === 403 : nothing,
              `${method} ${name} ${JSON.stringify(condition)} ${statusCode} ${body}`,
            );
          }
        });
      }
    }
  }
});

t.test('the rules and validations of permissions reveal no secret', async (t) => {
  const { headers } = callers.administrator;
  for (const name of hidden) {
    for (const rule of [
      { [name]: { _starts_with: 'aaa' } },
      { _or: [{ role: { users: { [name]: { _nnull: true } } } }] },
    ]) {
      for (const place of ['permissions', 'validation']) {
        const payload = { policy, collection: 'users', action: 'read', fields: ['id'], [place]: rule };
        const { statusCode } = await request({ method: 'POST', url: '/permissions', payload, headers });
        t.equal(statusCode, 400, `${place} ${JSON.stringify(rule)}`);
      }
    }
  }
  for (const [state] of states.entries()) {
    await changeUser(app, subject.id, states[state] ?? {});
    for (const name of names) {
      const rule = { [name]: { _starts_with: 'aaa' } };
      const reader = await createUserWithToken(app, {
        role,
        policies: [
          await policyWith(app, [
            { collection: 'users', action: 'read', fields: ['id'], permissions: rule },
            { collection: 'users', action: 'update', fields: ['title'], validation: rule },
          ]),
        ],
      });
      const read = await request({ method: 'GET', url: '/users', headers: reader.headers });
      t.strictSame(read.json(), { data: [] }, `a rule on ${name}`);
      const update = {
        method: 'PATCH',
        url: `/users/${subject.id}`,
        payload: { title: 'x' },
        headers: reader.headers,
      } as const;
      t.equal((await request(update)).statusCode, 400, `a validation on ${name}`);
    }
  }
});

t.test('a response to a write reveals no secret', async (t) => {
  const { headers } = callers.administrator;
  const [password, token] = ['the-very-secret-password', 'the-very-secret-token-of-this-user'];
  const told = async (method: 'POST' | 'PATCH', url: string, payload: object) => {
    const { body } = await request({ method, url, payload, headers });
    t.notMatch(body, /very-secret|argon2/, `${method} ${url} ${JSON.stringify(payload).slice(0, 80)}`);
  };
  await request({ method: 'PATCH', url: '/settings', payload: { auth_password_policy: '^the-very-.*word$' }, headers });
  const email = () => `${crypto.randomUUID()}@example.com`;
  await told('POST', '/users?fields=*.*', { email: email(), password, token });
  await told('POST', '/users', { email: email(), token });
  await told('POST', '/users', [
    { email: email(), password, token: `${token}-2-of-32-characters-or-more` },
    { email: email(), password, token: `${token}-2-of-32-characters-or-more` },
  ]);
  await told('POST', '/users', { email: email(), password: `${password} against the policy` });
  await told('PATCH', `/users/${subject.id}`, { token });
  await told('PATCH', `/users/${subject.id}`, { token: `very-secret${'x'.repeat(300)}` });
  await told('PATCH', `/users/${subject.id}`, { password: `very-secret${'x'.repeat(2000)}` });
  await told('PATCH', `/users/${subject.id}`, { tfa_secret: 'very-secret' });
  await told('PATCH', `/users/${subject.id}`, { password: ['very-secret'], token: { a: 'very-secret' } });
  await told('PATCH', `/users/${subject.id}`, { token: { a: 'very-secret' } });
  await told('PATCH', '/users', {
    keys: [subject.id],
    data: { password, token: 'very-secret-3-of-32-characters-or-more' },
  });
  await request({ method: 'PATCH', url: '/settings', payload: { auth_password_policy: null }, headers });
  const kept = await app.db.select().from(users).orderBy(asc(users.id));
  t.notOk(JSON.stringify(kept).includes('very-secret'), 'no secret is stored in plaintext');
});
