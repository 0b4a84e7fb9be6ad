import { createHash } from 'node:crypto';
import { eq } from 'drizzle-orm';
import t from 'tap';
import { recoveryCodes, sessions } from '../../db/schema.js';
import { dumpDatabase } from '../helpers/database/dump.js';
import { refused } from '../helpers/http/refusals.js';
import { codeOf, startTestApp } from '../helpers/service/app.js';
import { createRole } from '../helpers/users/rights.js';
import { codeOfStep } from '../helpers/users/totp.js';
import { nextStep, ownSecretPolicy, refusedUntouched, wrongCode } from '../helpers/users/two-factor.js';
import { createSignedInUser, type SignedInUser } from '../helpers/users/users.js';

const service = await startTestApp(t, { REAUTHENTICATION_PERIOD: '30d' });
const { app, get } = service;
const own = await ownSecretPolicy(app);
const plain = await createRole(app);
const holder = (columns = {}) => createSignedInUser(service, { tfa: true, role: plain, policies: [own], ...columns });

const codesOf = async (ada: SignedInUser): Promise<string[]> =>
  (await ada.renewCodes({ password: ada.password })).json().data;

t.test('a user gets ten codes of 80 bits, which are returned once and stored as hashes', async (t) => {
  const ada = await holder();
  const response = await ada.renewCodes({ password: ada.password });
  t.equal(response.statusCode, 200);
  t.strictSame(Object.keys(response.json()), ['data']);
  const codes: string[] = response.json().data;
  t.equal(new Set(codes).size, 10);
  for (const code of codes) t.match(code, /^([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/);
  const stored = await app.db.select().from(recoveryCodes).where(eq(recoveryCodes.user, ada.id));
  const hashes = codes.map((code) => createHash('sha256').update(code.replaceAll('-', '')).digest('hex'));
  t.strictSame(stored.map(({ hash }) => hash).sort(), hashes.sort());
  const dump = (await dumpDatabase(app)).toLowerCase();
  for (const code of codes) t.notOk(dump.includes(code) || dump.includes(code.replaceAll('-', '')));
});

t.test('all characters are equally likely', async (t) => {
  const ada = await holder();
  const seen = new Map<string, number>();
  for (let times = 0; times < 20; times++) {
    for (const character of (await codesOf(ada)).join('').replaceAll('-', '')) {
      seen.set(character, (seen.get(character) ?? 0) + 1);
    }
  }
  t.equal(seen.size, 32);
  // 3200 characters, 100 of each expected: 50 is five standard deviations away.
  for (const [character, times] of seen) t.ok(times > 50 && times < 150, `${character}: ${times}`);
});

t.test('new codes replace all earlier ones', async (t) => {
  const ada = await holder();
  const [first = ''] = await codesOf(ada);
  const [second = ''] = await codesOf(ada);
  t.equal(await ada.codesLeft(), 10);
  refused(t, await ada.login(first), 'INVALID_OTP', 'an earlier code');
  t.equal((await ada.login(second)).statusCode, 200);

  await Promise.all(Array.from({ length: 5 }, () => codesOf(ada)));
  t.equal(await ada.codesLeft(), 10, 'also with simultaneous requests');
});

t.test('each code is accepted only once (CVE-2026-31875, CVE-2026-33624)', async (t) => {
  t.test('a login accepts a code once, in any spelling', async (t) => {
    const ada = await holder();
    const codes = await codesOf(ada);
    const spellings: ((code: string) => string)[] = [
      (code) => code,
      (code) => code.toUpperCase(),
      (code) => code.replaceAll('-', ''),
      (code) => code.replaceAll('-', ' '),
      (code) => ` ${code}\n`,
      (code) => code.replaceAll('-', '').split('').join(' '),
      (code) => code.replaceAll('0', 'O').replaceAll('1', 'l'),
      (code) => code.replaceAll('0', 'o').replaceAll('1', 'I'),
    ];
    for (const [index, spell] of spellings.entries()) {
      const code = codes[index] ?? '';
      t.equal((await ada.login(spell(code))).statusCode, 200, spell(code));
      refused(t, await ada.login(code), 'INVALID_OTP', 'a second time');
      t.equal(await ada.codesLeft(), 9 - index);
    }
    const step = nextStep(service);
    t.equal((await ada.login(codeOfStep(step))).statusCode, 200, 'codes of the app still work');
  });

  t.test('a code is accepted once even if another request uses it between the check and the write', async (t) => {
    const { secondFactor } = app;
    const { require } = secondFactor;
    const [ada, bob] = [await holder(), await holder()];
    for (const [who, code] of [
      [ada, (await codesOf(ada))[0] ?? ''],
      [bob, codeOfStep(nextStep(service))],
    ] as const) {
      secondFactor.require = async (...parameters) => {
        const accepted = await require(...parameters);
        secondFactor.require = require;
        t.equal((await who.login(code)).statusCode, 200, 'the login in between');
        return accepted;
      };
      refused(t, await who.login(code), 'INVALID_OTP', 'the slower login');
      t.equal(await app.db.$count(sessions, eq(sessions.user, who.id)), 2, 'one more session than before');
    }
  });

  t.test('a code can disable two-factor authentication', async (t) => {
    const ada = await holder();
    const [mine, other] = [await ada.signIn(codeOfStep(nextStep(service))), await ada.signIn((await codesOf(ada))[0])];
    const [code = ''] = await codesOf(ada);
    t.equal((await ada.disable({ otp: code.toUpperCase() }, mine)).statusCode, 204);
    t.match(await ada.row(), { tfaSecret: null, tfaLastStep: null });
    t.equal(await ada.codesLeft(), 0, 'the other codes are deleted');
    t.equal((await get('/users/me', mine)).statusCode, 200);
    t.equal((await get('/users/me', other)).statusCode, 401);
  });

  t.test('of 20 simultaneous logins with one code, only one succeeds', async (t) => {
    const ada = await holder();
    const [code = ''] = await codesOf(ada);
    const responses = await Promise.all(Array.from({ length: 20 }, () => ada.login(code)));
    const losers = responses.filter(({ statusCode }) => statusCode !== 200);
    t.equal(losers.length, 19);
    for (const response of losers) t.match(codeOf(response), /^(INVALID_OTP|REQUESTS_EXCEEDED)$/);
    t.equal(await ada.codesLeft(), 9);
    t.equal(await app.db.$count(sessions, eq(sessions.user, ada.id)), 2, 'one more session than before');
  });

  t.test('of several simultaneous requests to disable two-factor authentication, only one succeeds', async (t) => {
    const ada = await holder();
    const [code = ''] = await codesOf(ada);
    const answers = await Promise.all(Array.from({ length: 4 }, () => ada.disable({ otp: code })));
    t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [204, 400, 400, 400]);
  });
});

t.test('an invalid code uses up nothing', async (t) => {
  const [ada, bob] = [await holder(), await holder()];
  const [code = ''] = await codesOf(ada);
  await codesOf(bob);
  const wrong = [
    code.slice(1),
    `${code}0`,
    `${code}-${code}`,
    code.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
    code.replaceAll('-', '_'),
    `${code}${' '.repeat(64)}`,
    createHash('sha256').update(code.replaceAll('-', '')).digest('hex'),
  ];
  for (const otp of wrong) {
    await refusedUntouched(t, service, ada, () => ada.login(otp), 'INVALID_OTP', otp, 1);
  }
  await refusedUntouched(t, service, bob, () => bob.login(code), 'INVALID_OTP', 'of another user', 1);
  const off = await createSignedInUser(service, { role: plain, policies: [own] });
  t.equal((await off.login(code)).statusCode, 200, 'a user without a second factor needs no code');
  t.equal((await ada.login(code)).statusCode, 200);
});

t.test('a wrong password does not use up a code', async (t) => {
  const ada = await holder();
  const [code = ''] = await codesOf(ada);
  const send = () => ada.login(code, { password: 'wrong' });
  await refusedUntouched(t, service, ada, send, 'INVALID_CREDENTIALS', 'wrong');
  t.equal((await ada.login(code)).statusCode, 200);
});

t.test('new codes require a proof of identity', async (t) => {
  const ada = await holder();
  const off = await createSignedInUser(service, { role: plain, policies: [own] });
  const [recovery = ''] = await codesOf(ada);
  const step = nextStep(service);
  const used = codeOfStep(step - 1);
  t.equal((await ada.login(used)).statusCode, 200);
  const { password } = ada;
  const cases: [SignedInUser, object, 'INVALID_PAYLOAD' | 'INVALID_CREDENTIALS' | 'INVALID_OTP', string, number][] = [
    [ada, {}, 'INVALID_PAYLOAD', 'none', 0],
    [ada, { password: '' }, 'INVALID_PAYLOAD', 'an empty password', 0],
    [ada, { password: 1 }, 'INVALID_PAYLOAD', 'a number', 0],
    [ada, { otp: '' }, 'INVALID_PAYLOAD', 'an empty code', 0],
    [ada, { otp: [codeOfStep(step)] }, 'INVALID_PAYLOAD', 'a list', 0],
    [ada, { password: 'wrong' }, 'INVALID_CREDENTIALS', 'a wrong password', 0],
    [ada, { password: 'wrong', otp: codeOfStep(step) }, 'INVALID_CREDENTIALS', 'a wrong password with the code', 0],
    [ada, { password, otp: wrongCode(step) }, 'INVALID_OTP', 'a correct password with a wrong code', 1],
    [ada, { otp: wrongCode(step) }, 'INVALID_OTP', 'a wrong code', 1],
    [ada, { otp: used }, 'INVALID_OTP', 'a used code', 1],
    [ada, { otp: recovery }, 'INVALID_OTP', 'a recovery code', 1],
    [off, { password }, 'INVALID_PAYLOAD', 'not enabled', 0],
  ];
  for (const [who, body, code, what, attempts] of cases) {
    await refusedUntouched(t, service, who, () => who.renewCodes(body), code, what, attempts);
  }
  const anonymous = () => ada.renewCodes({ password }, {});
  await refusedUntouched(t, service, ada, anonymous, 'INVALID_CREDENTIALS', 'anonymous');

  const otp = codeOfStep(step);
  t.equal((await ada.renewCodes({ otp })).statusCode, 200);
  t.equal((await ada.row()).tfaLastStep, step);
  refused(t, await ada.renewCodes({ otp }), 'INVALID_OTP', 'a code used for new recovery codes is used up');
  refused(t, await ada.login(otp), 'INVALID_OTP', 'for login too');
  t.equal((await ada.renewCodes({ password, otp: codeOfStep(nextStep(service)) })).statusCode, 200, 'both');

  const open = await holder({ password: null });
  refused(t, await open.renewCodes({ password: 'any' }), 'INVALID_CREDENTIALS', 'a user without a password');
  const bob = await holder();
  const twice = codeOfStep(nextStep(service));
  const answers = await Promise.all([bob.renewCodes({ otp: twice }), bob.renewCodes({ otp: twice })]);
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [200, 401], 'one code creates recovery codes once');
});
