import { randomUUID } from 'node:crypto';
import t from 'tap';
import { settings } from '../../db/schema.js';
import { recorded } from '../helpers/database/activity.js';
import { refused } from '../helpers/http/refusals.js';
import { codeOf, startTestApp, type TestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { policyWith } from '../helpers/users/rights.js';
import { logIn, logOut, makeStale, modes, openSession } from '../helpers/users/sessions.js';
import { codeOfStep } from '../helpers/users/totp.js';
import { nextStep, refusedUntouched, wrongCode } from '../helpers/users/two-factor.js';
import {
  changeUser,
  createSignedInUser,
  createUser,
  createUserWithToken,
  type SignedInUser,
} from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, post } = service;

const prove = (body: object, { headers }: { headers: Record<string, string> }, to: TestApp = service) =>
  to.post('/auth/reauthenticate', body, headers);

/** Whether the session can perform an operation that requires a fresh session. */
async function isFresh({ headers }: { headers: Record<string, string> }, { request }: TestApp = service) {
  const response = await request({ method: 'DELETE', url: `/users/me/identities/${randomUUID()}`, headers });
  return codeOf(response) !== 'REAUTHENTICATION_REQUIRED';
}

const stale = async <Who extends SignedInUser>(person: Who): Promise<Who> => {
  await makeStale(app, person.id);
  return person;
};

t.test('presenting the password makes only the current session fresh, in every mode', async (t) => {
  for (const mode of modes) {
    const account = await createUser(app);
    const [mine, other] = [await logIn(service, mode, account), await logIn(service, mode, account)];
    await makeStale(app, account.id);
    t.notOk(await isFresh(mine));
    const response = await prove({ password: account.password }, mine);
    t.strictSame([response.statusCode, response.body, response.headers['set-cookie']], [204, '', undefined], mode);
    t.ok(await isFresh(mine));
    t.notOk(await isFresh(other));
    const [event, ...more] = await recorded(app, response.headers['x-request-id']);
    t.strictSame(more, []);
    const { id } = account;
    t.match(event, { action: 'reauthenticate', user: id, collection: 'users', item: id, outcome: 'success' });
  }
});

t.test('a failed attempt changes nothing', async (t) => {
  const ada = await stale(await createSignedInUser(service));
  const without = await stale(await createSignedInUser(service, { password: null }));
  const foreign = await stale(await createSignedInUser(service, { provider: 'github' }));
  const { password } = ada;
  const cases = [
    [ada, {}, 'INVALID_PAYLOAD', 'nothing'],
    [ada, { password: '' }, 'INVALID_PAYLOAD', 'an empty password'],
    [ada, { password: 1 }, 'INVALID_PAYLOAD', 'a number'],
    [ada, { password: null }, 'INVALID_PAYLOAD', 'null'],
    [ada, { password: { $ne: '' } }, 'INVALID_PAYLOAD', 'an object'],
    [ada, { password, otp: '' }, 'INVALID_PAYLOAD', 'an empty code'],
    [ada, { password, credential: {} }, 'INVALID_PAYLOAD', 'an unknown key'],
    [ada, { password: 'wrong' }, 'INVALID_CREDENTIALS', 'a wrong password'],
    [ada, { password: password.toUpperCase() }, 'INVALID_CREDENTIALS', 'in another letter case'],
    [ada, { otp: '123456' }, 'INVALID_OTP', 'a code, without a second factor'],
    [without, { password }, 'INVALID_CREDENTIALS', 'a user without a password'],
    [foreign, { password }, 'INVALID_CREDENTIALS', 'a password that cannot sign the user in'],
  ] as const;
  for (const [who, body, code, what] of cases) {
    await refusedUntouched(t, service, who, () => prove(body, who), code, what);
    t.notOk(await isFresh(who), what);
  }
  await refusedUntouched(
    t,
    service,
    ada,
    () => prove({ password }, { headers: {} }),
    'INVALID_CREDENTIALS',
    'anonymous',
  );
  const wrong = await prove({ password: 'wrong' }, ada);
  const [failure] = await recorded(app, wrong.headers['x-request-id']);
  const { id } = ada;
  t.match(failure, { action: 'reauthenticate', user: id, item: id, outcome: 'failure', code: 'INVALID_CREDENTIALS' });
});

t.test('a static token gets 403 with any body', async (t) => {
  const admin = await policyWith(app, [], { adminAccess: true });
  for (const policies of [[], [admin]]) {
    const { password, headers } = await createUserWithToken(app, { policies });
    for (const body of [{ password }, { password: 'wrong' }, {}]) {
      refused(t, await prove(body, { headers }), 'FORBIDDEN', JSON.stringify(body));
    }
  }
});

t.test('with two-factor authentication, a code is both required and sufficient', async (t) => {
  const ada = await stale(await createSignedInUser(service, { tfa: true }));
  const { password } = ada;
  const step = nextStep(service);
  const code = codeOfStep(step);
  const cases = [
    [{ password }, 'INVALID_OTP', 'the password alone', 0],
    [{ password: 'wrong' }, 'INVALID_CREDENTIALS', 'a wrong password alone', 0],
    [{ password: 'wrong', otp: code }, 'INVALID_CREDENTIALS', 'a wrong password with the code', 0],
    [{ password, otp: wrongCode(step) }, 'INVALID_OTP', 'a wrong code with the password', 1],
    [{ otp: wrongCode(step) }, 'INVALID_OTP', 'a wrong code', 1],
    [{ otp: codeOfStep(step + 1) }, 'INVALID_OTP', 'the code of the next step', 1],
  ] as const;
  for (const [body, error, what, attempts] of cases) {
    await refusedUntouched(t, service, ada, () => prove(body, ada), error, what, attempts);
    t.notOk(await isFresh(ada), what);
  }
  t.equal((await prove({ otp: code }, ada)).statusCode, 204);
  t.ok(await isFresh(ada));
  await stale(ada);
  await refusedUntouched(t, service, ada, () => prove({ otp: code }, ada), 'INVALID_OTP', 'a second time', 1);
  t.equal((await prove({ password, otp: codeOfStep(nextStep(service)) }, ada)).statusCode, 204, 'with the password');
  const [recovery = ''] = (await ada.renewCodes({ password })).json().data;
  await stale(ada);
  t.equal((await prove({ otp: recovery }, ada)).statusCode, 204, 'with a recovery code');
  t.equal(await ada.codesLeft(), 9);
});

t.test('a code makes only one session fresh, even if it is sent many times simultaneously', async (t) => {
  const ada = await createSignedInUser(service, { tfa: true });
  const all = await Promise.all(Array.from({ length: 4 }, async () => ({ headers: await openSession(app, ada.id) })));
  await stale(ada);
  const otp = codeOfStep(nextStep(service));
  const answers = await Promise.all(all.map((session) => prove({ otp }, session)));
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [204, 401, 401, 401]);
  const fresh = await Promise.all(all.map((session) => isFresh(session)));
  t.equal(fresh.filter(Boolean).length, 1);
});

t.test('a session that has ended cannot be made fresh, and a replaced password is rejected', async (t) => {
  const account = await createUser(app);
  const session = await logIn(service, 'json', account);
  const { verify } = app.passwords;
  const whileChecking = (work: () => Promise<unknown>) => {
    app.passwords.verify = async (...parameters) => {
      app.passwords.verify = verify;
      const isRight = await verify(...parameters);
      await work();
      return isRight;
    };
  };
  whileChecking(async () => changeUser(app, account.id, { password: await app.passwords.hash('another one') }));
  refused(t, await prove({ password: account.password }, session), 'INVALID_CREDENTIALS', 'replaced in the meantime');
  whileChecking(() => logOut(service, session));
  refused(t, await prove({ password: 'another one' }, session), 'INVALID_CREDENTIALS', 'logged out in the meantime');
  refused(t, await prove({ password: 'another one' }, session), 'INVALID_CREDENTIALS', 'logged out');
});

t.test('wrong passwords and codes are counted together with those at login', async (t) => {
  const { app: own, ...rest } = await startTestApp(t);
  const limited = { app: own, ...rest };
  await own.db.update(settings).set({ authLoginAttempts: 4 });
  const account = await createUser(own);
  const headers = await openSession(own, account.id);
  const logInAs = (password: string) => limited.post('/auth/login', { email: account.email, password });
  for (const index of [1, 2]) {
    refused(t, await prove({ password: 'wrong' }, { headers }, limited), 'INVALID_CREDENTIALS', `${index}`);
    refused(t, await logInAs('wrong'), 'INVALID_CREDENTIALS', `login ${index}`);
  }
  for (const password of ['wrong', account.password]) {
    refused(t, await prove({ password }, { headers }, limited), 'REQUESTS_EXCEEDED', password);
    refused(t, await logInAs(password), 'REQUESTS_EXCEEDED', `login: ${password}`);
  }

  const ada = await stale(await createSignedInUser(service, { tfa: true }));
  const step = nextStep(service);
  for (const index of [1, 2]) {
    refused(t, await prove({ otp: wrongCode(step) }, ada), 'INVALID_OTP', `${index}`);
    refused(t, await ada.login(wrongCode(step)), 'INVALID_OTP', `login ${index}`);
  }
  refused(t, await prove({ otp: wrongCode(step) }, ada), 'INVALID_OTP', 'the fifth');
  refused(t, await prove({ otp: codeOfStep(step) }, ada), 'REQUESTS_EXCEEDED', 'the correct code');
  refused(t, await ada.login(codeOfStep(step)), 'REQUESTS_EXCEEDED', 'at login');
});

t.test('without a limit on wrong logins, wrong passwords in a session still lock further guesses there', async (t) => {
  const unlimited = await startTestApp(t);
  await unlimited.app.db.update(settings).set({ authLoginAttempts: null });
  const ownPassword = { collection: 'users', action: 'update' as const, fields: ['password'] };
  const account = await createUser(unlimited.app, { policies: [await policyWith(unlimited.app, [ownPassword])] });
  const { headers } = await logIn(unlimited, 'json', account);
  const guesses = [
    (password: string) => prove({ password }, { headers }, unlimited),
    (password: string) => unlimited.post('/users/me/tfa/generate', { password }, headers),
    (current_password: string) => unlimited.post('/users/me/password', { password: 'x', current_password }, headers),
    (current_password: string) =>
      unlimited.request({ method: 'PATCH', url: '/users/me', payload: { password: 'x', current_password }, headers }),
  ];
  for (let count = 0; count < 25; count++) {
    const response = await guesses[count % guesses.length]?.(`guess ${count}`);
    t.equal(response && codeOf(response), 'INVALID_CREDENTIALS', `${count}`);
  }
  for (const guess of guesses) refused(t, await guess(account.password), 'REQUESTS_EXCEEDED', 'even the correct one');
  for (let count = 0; count < 5; count++)
    refused(t, await unlimited.post('/auth/login', { ...account, password: 'x' }), 'INVALID_CREDENTIALS', 'login');
  t.equal((await unlimited.post('/auth/login', account)).statusCode, 200, 'logins are not locked');
  unlimited.clock.advance(minute);
  t.equal((await prove({ password: account.password }, { headers }, unlimited)).statusCode, 204, 'the lock ends');
});

t.test('a correct password resets the count of wrong passwords', async (t) => {
  const limited = await startTestApp(t);
  await limited.app.db.update(settings).set({ authLoginAttempts: 3 });
  const account = await createUser(limited.app);
  const headers = await openSession(limited.app, account.id);
  for (const password of ['wrong', 'wrong', account.password, 'wrong', 'wrong', account.password]) {
    const { statusCode } = await prove({ password }, { headers }, limited);
    t.equal(statusCode, password === 'wrong' ? 401 : 204);
  }
});

t.test('reauthentication is available before a second factor required by a policy is set up', async (t) => {
  const strict = await policyWith(app, [], { enforceTfa: true, appAccess: true });
  const ada = await stale(await createSignedInUser(service, { policies: [strict] }));
  refused(t, await service.get('/users', ada.headers), 'FORBIDDEN', 'all other routes are forbidden');
  refused(t, await ada.enable({}), 'REAUTHENTICATION_REQUIRED', 'including the setup');
  t.equal((await prove({ password: ada.password }, ada)).statusCode, 204);
  refused(t, await ada.enable({}), 'INVALID_PAYLOAD', 'the setup is now available');
  refused(t, await post('/auth/reauthenticate', undefined, ada.headers), 'INVALID_PAYLOAD', 'without a body');
});
