import t from 'tap';
import { settings } from '../../db/schema.js';
import { startTestApp, type TestApp } from '../helpers/app.js';
import { mailsTo, tokenFor } from '../helpers/mails.js';
import { createPolicy, createRole, createUser } from '../helpers/records.js';
import { tokenHolder } from '../helpers/rights.js';

/** Every route that sets a password, as a question: what comes of this one? */
async function routesOf(service: TestApp) {
  const { app, post, request } = service;
  const admin = await tokenHolder(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  const role = await createRole(app);
  await app.db.update(settings).set({ publicRegistration: true });
  let count = 0;
  const address = () => `somebody-${++count}@example.com`;
  const { headers } = admin;
  const statusOf = async (answer: ReturnType<TestApp['post']>) => {
    const response = await answer;
    const { field, type } = response.statusCode === 400 ? response.json().errors[0].extensions : {};
    return field === 'password' ? `${response.statusCode} ${type}` : String(response.statusCode);
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
    /** It tells nothing, so whether there is a mail has to. */
    register: async (password: string) => {
      const email = address();
      await post('/users/register', { email, password });
      return (await mailsTo(app, email)).length === 1 ? '204' : '400';
    },
  };
}

const quick = { REGISTRATION_ANSWER_TIME: '1ms' };
const service = await startTestApp(t, quick);
const routes = await routesOf(service);

for (const [name, set] of Object.entries(routes)) {
  t.test(name, async (t) => {
    const refusedAs = async (password: string, type: string) =>
      t.match(await set(password), new RegExp(`^400( ${type})?$`), password.slice(0, 20));
    for (const password of ['a', 'seven77', '😀'.repeat(7)]) await refusedAs(password, 'min_length');
    for (const password of ['password1', 'iloveyou1', 'PassWord1', '1q2w3e4r', '24081990'])
      await refusedAs(password, 'common');
    for (const password of [
      'eight888',
      '密码密码密码密码',
      '😀'.repeat(8),
      `${'ä'.repeat(1_023)}x`,
      ' leading and trailing ',
      'e\u0301'.repeat(8),
    ]) {
      t.match(await set(password), /^20[04]$/, password.slice(0, 20));
    }
  });
}

t.test('the policy of the settings holds on every route', async (t) => {
  const { app } = service;
  await app.db.update(settings).set({ authPasswordPolicy: '/^(?=.*\\d).{10,}$/' });
  for (const [name, set] of Object.entries(routes)) {
    t.match(await set('no digits in it'), /^400( regex)?$/, name);
    t.match(await set('1 digit in it'), /^20[04]$/, name);
  }
  await app.db.update(settings).set({ authPasswordPolicy: null });
});

t.test('passwords are taken untouched (CVE-2025-25298)', async (t) => {
  const { app, post, get, request } = service;
  const admin = await tokenHolder(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  const role = await createRole(app);
  const pairs = [
    [`${'x'.repeat(200)}1`, `${'x'.repeat(200)}2`],
    ['Straße 12345', 'STRASSE 12345'],
    [' blanks around ', 'blanks around'],
    ['e\u0301'.repeat(8), '\u00e9'.repeat(8)],
  ] as const;
  for (const [index, [password, other]] of pairs.entries()) {
    const { headers } = admin;
    /** Each way to a password gives the address of who has it then. */
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
        const own = await tokenHolder(app, { email, policies: [await createPolicy(app, { adminAccess: true })] });
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

t.test('the rules can be switched off', async (t) => {
  const lax = await startTestApp(t, { ...quick, PASSWORD_MIN_LENGTH: '1', PASSWORD_REJECT_COMMON: 'false' });
  for (const [name, set] of Object.entries(await routesOf(lax))) {
    t.match(await set('a'), /^20[04]$/, name);
    t.match(await set('password'), /^20[04]$/, name);
  }
});
