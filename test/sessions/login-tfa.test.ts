import { eq } from 'drizzle-orm';
import t from 'tap';
import { sessions } from '../../db/schema.js';
import { dumpDatabase } from '../helpers/database/dump.js';
import { refused } from '../helpers/http/refusals.js';
import { codeOf, startTestApp } from '../helpers/service/app.js';
import { codeOfStep, rfcSecret, rfcVectors, stepLength, stepOf } from '../helpers/users/totp.js';
import { changeUser, createUser, lastAccessOf, storedUser } from '../helpers/users/users.js';

const { app, clock, post } = await startTestApp(t);

const moveTo = (moment: number) => clock.advance(moment - clock.now().getTime());

/**
 * Moves the clock to the beginning of the next time step, so that the step lasts for the whole test, and returns the
 * number of the step.
 */
function nextStep(): number {
  const step = stepOf(clock.now()) + 1;
  moveTo(step * stepLength);
  return step;
}

/** A user with two-factor authentication, and a function to log them in. */
async function newcomer() {
  const account = await createUser(app, { tfa: true });
  const login = (otp?: unknown, others: object = {}) =>
    post('/auth/login', { ...account, ...(otp === undefined ? {} : { otp }), ...others });
  return { ...account, login };
}

t.test('a login accepts the test vectors of RFC 6238, appendix B', async (t) => {
  const { login, id } = await newcomer();
  const { now } = clock;
  const start = now().getTime();
  for (const [seconds, digits] of rfcVectors) {
    moveTo(seconds * 1000);
    const otp = digits.slice(-6);
    t.equal(codeOfStep(stepOf(now())), otp, 'the test helper generates the correct code');
    t.equal((await login(otp)).statusCode, 200, `at ${seconds}`);
    t.equal((await storedUser(app, id)).tfaLastStep, Math.floor(seconds / 30));
  }
  moveTo(start);
});

t.test('a login requires a code in every mode (CVE-2025-64103, CVE-2024-45042)', async (t) => {
  for (const mode of ['json', 'cookie', 'session']) {
    const { login } = await newcomer();
    const step = nextStep();
    refused(t, await login(undefined, { mode }), 'INVALID_OTP', `${mode}: missing`);
    refused(t, await login('000000', { mode }), 'INVALID_OTP', `${mode}: wrong`);
    const response = await login(codeOfStep(step), { mode });
    t.equal(response.statusCode, 200, `${mode}: correct`);
  }
});

t.test('only the codes of the current and the previous step are accepted (CVE-2024-7318)', async (t) => {
  const step = nextStep();
  for (const [offset, isAccepted] of [
    [-20, false],
    [-2, false],
    [-1, true],
    [0, true],
    [1, false],
    [2, false],
    [20, false],
  ] as const) {
    const { login, id } = await newcomer();
    const response = await login(codeOfStep(step + offset));
    if (isAccepted) t.equal(response.statusCode, 200, `step ${offset}`);
    else {
      refused(t, response, 'INVALID_OTP', `step ${offset}`);
      t.equal((await storedUser(app, id)).tfaLastStep, null, 'a rejected code uses up no step');
    }
  }
});

t.test('a code expires exactly at the end of the following step', async (t) => {
  const { login } = await newcomer();
  const step = nextStep();
  moveTo((step + 2) * stepLength - 5_000);
  t.equal((await login(codeOfStep(step))).statusCode, 200, 'just before it expires');
  const other = await newcomer();
  moveTo((step + 2) * stepLength);
  refused(t, await other.login(codeOfStep(step)), 'INVALID_OTP', 'expired');
});

t.test('invalid codes are rejected', async (t) => {
  const { login, id } = await newcomer();
  const step = nextStep();
  const code = codeOfStep(step);
  const wrong = [
    code.slice(1),
    `0${code}`,
    `${code}${code}`,
    `${Number(code) + 1_000_000}`,
    `-${code.slice(1)}`,
    `+${code}`,
    code.replace(/.$/, (digit) => String((Number(digit) + 1) % 10)),
    rfcSecret.base32,
    'null',
    '1e5',
    ' ',
  ];
  for (const otp of wrong) {
    refused(t, await login(otp), 'INVALID_OTP', JSON.stringify(otp));
    await changeUser(app, id, { tfaFailures: 0, tfaLockedUntil: null });
  }
  for (const otp of ['', Number(code), null, [code], { otp: code }]) {
    refused(t, await login(otp), 'INVALID_PAYLOAD', JSON.stringify(otp));
  }
  t.equal((await login(code)).statusCode, 200, 'none of them has used up the code');
});

t.test('a code works only once (CVE-2026-43930)', async (t) => {
  t.test('a used code is rejected in its own step and in the next', async (t) => {
    const { login } = await newcomer();
    const step = nextStep();
    const code = codeOfStep(step);
    t.equal((await login(code)).statusCode, 200);
    refused(t, await login(code), 'INVALID_OTP', 'a second time');
    refused(t, await login(code, { mode: 'session' }), 'INVALID_OTP', 'in another mode');
    nextStep();
    refused(t, await login(code), 'INVALID_OTP', 'one step later');
    t.equal((await login(codeOfStep(step + 1))).statusCode, 200, 'the code of the next step');
  });

  t.test('the previous code can be used before the current one, but not after it', async (t) => {
    const step = nextStep();
    const upwards = await newcomer();
    t.equal((await upwards.login(codeOfStep(step - 1))).statusCode, 200);
    t.equal((await upwards.login(codeOfStep(step))).statusCode, 200);
    const downwards = await newcomer();
    t.equal((await downwards.login(codeOfStep(step))).statusCode, 200);
    refused(t, await downwards.login(codeOfStep(step - 1)), 'INVALID_OTP', 'an older code after a newer one');
  });

  t.test('of 20 simultaneous logins with one code, only one succeeds', async (t) => {
    for (const back of [0, 1]) {
      const { login, id } = await newcomer();
      const code = codeOfStep(nextStep() - back);
      const responses = await Promise.all(Array.from({ length: 20 }, () => login(code)));
      const losers = responses.filter((response) => response.statusCode !== 200);
      t.equal(losers.length, 19);
      for (const response of losers) t.match(codeOf(response), /^(INVALID_OTP|REQUESTS_EXCEEDED)$/, 'the others');
      t.equal(await app.db.$count(sessions, eq(sessions.user, id)), 1);
    }
  });

  t.test('a login with a wrong password does not use up the code', async (t) => {
    const { login, email } = await newcomer();
    const code = codeOfStep(nextStep());
    const wrong = await login(code, { password: 'wrong' });
    refused(t, wrong, 'INVALID_CREDENTIALS', 'correct code');
    t.equal((await login('000000', { password: 'wrong' })).body, wrong.body, 'wrong code');
    t.equal((await login(undefined, { password: 'wrong' })).body, wrong.body, 'no code');
    t.equal((await post('/auth/login', { email: `x${email}`, password: 'wrong' })).body, wrong.body, 'unknown user');
    t.equal((await login(code)).statusCode, 200, 'the code still works');
  });

  t.test('a code used by one user still works for another user', async (t) => {
    const [one, two] = [await newcomer(), await newcomer()];
    const code = codeOfStep(nextStep());
    t.equal((await one.login(code)).statusCode, 200);
    t.equal((await two.login(code)).statusCode, 200);
  });
});

t.test('a rejected login leaves no trace', async (t) => {
  const { login, id } = await newcomer();
  nextStep();
  await login();
  await login('000000');
  t.equal(await app.db.$count(sessions, eq(sessions.user, id)), 0);
  t.equal(await lastAccessOf(app, id), null);
});

t.test('a user who is not allowed to log in gets the same error with any code', async (t) => {
  const { login, id } = await newcomer();
  const code = codeOfStep(nextStep());
  for (const columns of [{ status: 'suspended' }, { status: 'active', provider: 'github' }]) {
    await changeUser(app, id, columns);
    for (const otp of [undefined, '000000', code]) {
      refused(t, await login(otp), 'INVALID_CREDENTIALS', JSON.stringify({ columns, otp }));
    }
  }
});

t.test('secrets of other lengths, in upper or lower case, are accepted', async (t) => {
  const bytes = Buffer.from('0123456789abcdef0123456789abcdef', 'latin1');
  const base32 = 'GAYTEMZUGU3DOOBZMFRGGZDFMYYDCMRTGQ2TMNZYHFQWEY3EMVTA';
  for (const secret of [base32, base32.toLowerCase()]) {
    const account = await createUser(app, { tfa: secret });
    const otp = codeOfStep(nextStep(), bytes);
    t.equal((await post('/auth/login', { ...account, otp })).statusCode, 200);
  }
});

t.test('the secret is encrypted, with a different result each time', async (t) => {
  const { id } = await newcomer();
  t.not(app.tfaSecrets.seal(rfcSecret.base32, id), app.tfaSecrets.seal(rfcSecret.base32, id));
  const dump = await dumpDatabase(app);
  for (const spelling of [rfcSecret.base32, rfcSecret.bytes.toString(), rfcSecret.bytes.toString('hex')]) {
    t.notOk(dump.includes(spelling));
  }
});
