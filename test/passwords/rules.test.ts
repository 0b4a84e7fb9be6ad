// @suite not-everyday: tries many cases

import { eq } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { settings, users } from '../../db/schema.js';
import { mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { startTestApp, type TestApp } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

/** A function for each route that sets a password. It returns the result for a given password. */
async function routesOf(service: TestApp) {
  const { app, post, request } = service;
  const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  const role = await createRole(app);
  await app.db.update(settings).set({ publicRegistration: true });
  let count = 0;
  const address = () => `somebody-${++count}@example.com`;
  const { headers } = admin;
  const statusOf = async (answer: ReturnType<TestApp['post']>) => {
    const response = await answer;
    const { field, type, code } = response.statusCode === 400 ? response.json().errors[0].extensions : {};
    return [response.statusCode, field === 'password' ? type : code].filter(Boolean).join(' ');
  };
  return {
    'create one': (password: string) => statusOf(post('/users', { email: address(), password }, headers)),
    'create many': (password: string) => statusOf(post('/users', [{ email: address(), password }], headers)),
    'update one': async (password: string) => {
      const { id } = await createUser(app);
      return statusOf(request({ method: 'PATCH', url: `/users/${id}`, headers, payload: { password } }));
    },
    'update me': (password: string) =>
      statusOf(request({ method: 'PATCH', url: '/users/me', headers, payload: { password } })),
    'accept an invitation': async (password: string) => {
      const email = address();
      await post('/users/invite', { email, role }, headers);
      return statusOf(post('/users/invite/accept', { token: await tokenFor(app, email), password }));
    },
    reset: async (password: string) => {
      const { email } = await createUser(app);
      await post('/auth/password/request', { email });
      return statusOf(post('/auth/password/reset', { token: await tokenFor(app, email), password }));
    },
    /** The response reveals nothing, so the test checks whether an email was sent. */
    register: async (password: string) => {
      const email = address();
      await post('/users/register', { email, password });
      return (await mailsTo(app, email)).length === 1 ? '204' : '400';
    },
  };
}

const phrase = 'correct horse battery staple ';

/** Password hashes as other services store them. */
const hashes = [
  '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g',
  '$2a$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW',
  '$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW',
  '$2y$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW',
  '$scrypt$ln=16,r=8,p=1$c2FsdHNhbHQ$aGFzaGhhc2g',
  'pbkdf2_sha256$600000$salt$aGFzaGhhc2g=',
];

// Without this period, a static token can change the password of its user.
const quick = { REGISTRATION_ANSWER_TIME: '1ms', REAUTHENTICATION_PERIOD: '0' };
const service = await startTestApp(t, quick);
await service.app.db.update(settings).set({ projectName: 'Kestrelwick Ltd' });
const routes = await routesOf(service);

for (const [name, set] of Object.entries(routes)) {
  t.test(`the password rules apply to: ${name}`, async (t) => {
    const refusedAs = async (password: string, type: string) =>
      t.match(await set(password), new RegExp(`^400( ${type})?$`), password.slice(0, 20));
    for (const password of ['a', 'seven77', '😀'.repeat(7)]) await refusedAs(password, 'too_short');
    for (const password of ['password1', 'PassWord1', 'Password1!', '12341234', '1q2w3e4r', '24081990', '😀'.repeat(8)])
      await refusedAs(password, 'too_common');
    await refusedAs(`${'x'.repeat(128)}dGhp8c7Qz2`, 'too_common');
    for (const password of ['Kestrelwick Ltd', 'kestrelwick-1', 'KCIWLERTSEK1', 'k3strelw1ck'])
      await refusedAs(password, 'own_words');
    for (const password of hashes)
      t.match(await set(password), name === 'register' ? '400' : '400 INVALID_PAYLOAD', password);
    for (const password of [
      'vRk3#tZ9',
      '我的密码很难猜对',
      'e\u0301te\u0301 a\u0300 Paris',
      `${phrase}${'x'.repeat(1_024 - phrase.length)}`,
      ' leading and trailing ',
      '$argon is a gas',
    ]) {
      t.match(await set(password), /^20[04]$/, password.slice(0, 20));
    }
  });
}

t.test('the password policy from the settings applies to every route', async (t) => {
  const { app } = service;
  await app.db.update(settings).set({ authPasswordPolicy: '/^(?=.*\\d).{10,}$/' });
  for (const [name, set] of Object.entries(routes)) {
    t.match(await set('no digits in it'), /^400( regex)?$/, name);
    t.match(await set('1 digit in it'), /^20[04]$/, name);
  }
  await app.db.update(settings).set({ authPasswordPolicy: null });
});

t.test('passwords are stored unmodified, except for their Unicode normalization (CVE-2025-25298)', async (t) => {
  const { app, post, get, request } = service;
  const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  const role = await createRole(app);
  const pairs = [
    [`${phrase.repeat(7)}1`, `${phrase.repeat(7)}2`],
    ['Straße 12345', 'STRASSE 12345'],
    [' blanks around ', 'blanks around'],
    // Normalization to NFC keeps the ligature.
    ['\ufb01ve quiet apples', 'five quiet apples'],
  ] as const;
  for (const [index, [password, other]] of pairs.entries()) {
    const { headers } = admin;
    /** Functions that set the password of the user with the given address. */
    const ways: Record<string, (email: string) => Promise<unknown>> = {
      'create one': (email) => post('/users', { email, password }, headers),
      'create many': (email) => post('/users', [{ email, password }], headers),
      'update one': async (email) => {
        const { id } = await createUser(app, { email });
        return request({ method: 'PATCH', url: `/users/${id}`, headers, payload: { password } });
      },
      'update many': async (email) => {
        const { id } = await createUser(app, { email });
        return request({ method: 'PATCH', url: '/users', headers, payload: { keys: [id], data: { password } } });
      },
      'update me': async (email) => {
        const own = await createUserWithToken(app, {
          email,
          policies: [await createPolicy(app, { adminAccess: true })],
        });
        return request({ method: 'PATCH', url: '/users/me', headers: own.headers, payload: { password } });
      },
      'accept an invitation': async (email) => {
        await post('/users/invite', { email, role }, headers);
        return post('/users/invite/accept', { token: await tokenFor(app, email), password });
      },
      reset: async (email) => {
        await createUser(app, { email });
        await post('/auth/password/request', { email });
        return post('/auth/password/reset', { token: await tokenFor(app, email), password });
      },
      register: async (email) => {
        await post('/users/register', { email, password });
        return service.get(`/users/register/verify-email?token=${await tokenFor(app, email)}`);
      },
    };
    for (const [way, setPassword] of Object.entries(ways)) {
      const email = `untouched-${index}-${way.replaceAll(' ', '-')}@example.com`;
      await setPassword(email);
      t.equal((await post('/auth/login', { email, password })).statusCode, 200, way);
      t.equal((await post('/auth/login', { email, password: other })).statusCode, 401, way);
    }
  }
  t.equal((await get('/server/ping')).statusCode, 200);
});

t.test('a password that consists of the user’s own words is rejected on every route', async (t) => {
  const { app, post, request } = service;
  const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  const { headers } = admin;
  const role = await createRole(app);
  const patch = (url: string, payload: object, as = headers) => request({ method: 'PATCH', url, payload, headers: as });
  let count = 0;
  const words = () => ({
    email: `grzegorz.${++count}@brzeczyszczykiewicz.example`,
    firstName: 'Chrząszcz',
    lastName: null,
  });
  const existing = () => createUser(app, words());
  const ways: Record<string, (password: string) => Promise<LightMyRequestResponse>> = {
    'create one': (password) => post('/users', { email: words().email, first_name: 'Chrząszcz', password }, headers),
    'create many': (password) => post('/users', [{ email: words().email, first_name: 'Chrząszcz', password }], headers),
    'update one': async (password) => patch(`/users/${(await existing()).id}`, { password }),
    'update one, with new names': async (password) =>
      patch(`/users/${(await createUser(app)).id}`, { email: words().email, first_name: 'Chrząszcz', password }),
    'update many by keys': async (password) =>
      patch('/users', { keys: [(await createUser(app)).id, (await existing()).id], data: { password } }),
    'update many with separate values': async (password) => patch('/users', [{ id: (await existing()).id, password }]),
    'update me': async (password) => {
      const own = await createUserWithToken(app, {
        ...words(),
        policies: [await createPolicy(app, { adminAccess: true })],
      });
      return patch('/users/me', { password }, own.headers);
    },
    'accept an invitation': async (password) => {
      const { email } = words();
      await post('/users/invite', { email, role }, headers);
      await app.db.update(users).set({ firstName: 'Chrząszcz' }).where(eq(users.email, email));
      return post('/users/invite/accept', { token: await tokenFor(app, email), password });
    },
    reset: async (password) => {
      const { email } = await existing();
      await post('/auth/password/request', { email });
      return post('/auth/password/reset', { token: await tokenFor(app, email), password });
    },
  };
  for (const [way, setPassword] of Object.entries(ways)) {
    for (const password of ['Brzeczyszczykiewicz', 'chrząszcz1']) {
      const answer = await setPassword(password);
      t.match(answer.json().errors?.[0]?.extensions, { field: 'password', type: 'own_words' }, `${way}: ${password}`);
    }
  }
  t.match(await routes['create one']('Brzeczyszczykiewicz'), '200', 'a word of another user is accepted');
});

t.test('the rules can be disabled', async (t) => {
  const lax = await startTestApp(t, { ...quick, PASSWORD_MIN_LENGTH: '1', PASSWORD_REJECT_COMMON: 'false' });
  for (const [name, set] of Object.entries(await routesOf(lax))) {
    t.match(await set('a'), /^20[04]$/, name);
    t.match(await set('password'), /^20[04]$/, name);
  }
});
