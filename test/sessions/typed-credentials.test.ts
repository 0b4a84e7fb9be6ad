import { hash } from '@node-rs/argon2';
import t from 'tap';
import { settings } from '../../db/schema.js';
import { readCode } from '../../plugins/tokens/typed-codes.js';
import { mailsTo } from '../helpers/mail/mails.js';
import { bearer, codeOf, startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { createPolicy } from '../helpers/users/rights.js';
import { openSession } from '../helpers/users/sessions.js';
import { codeOfStep, currentCode } from '../helpers/users/totp.js';
import { nextStep, ownSecretPolicy } from '../helpers/users/two-factor.js';
import { createSignedInUser, createUser, createUserWithToken } from '../helpers/users/users.js';

// The same password and the same code can be typed as different characters, depending on the keyboard and the system.

const composed = 'Crème brûlée à la carte';
const decomposed = composed.normalize('NFD');

const service = await startTestApp(t, { ADMIN_PASSWORD: decomposed, REGISTRATION_ANSWER_TIME: '1ms' });
const { app, post } = service;
await app.db.update(settings).set({ emailLogin: true, publicRegistration: true, publicRegistrationVerifyEmail: false });
const admin = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });

t.test('a password is the same, whether its accents are separate characters or not', async (t) => {
  const logIn = (email: string, password: string) => post('/auth/login', { email, password });
  const works = async (email: string, what: string) => {
    for (const password of [composed, decomposed]) t.equal((await logIn(email, password)).statusCode, 200, what);
    t.equal(codeOf(await logIn(email, composed.replace('è', 'e'))), 'INVALID_CREDENTIALS', `${what}: another letter`);
  };
  await works(administrator.email, 'ADMIN_PASSWORD');
  for (const [index, password] of [composed, decomposed].entries()) {
    const email = `user-${index}@example.com`;
    const form = index === 0 ? 'composed' : 'decomposed';
    await post('/users', { email, password }, await openSession(app, admin.id));
    await works(email, `created by an administrator, ${form}`);
    const registered = `registered-${index}@example.com`;
    t.equal((await post('/users/register', { email: registered, password })).statusCode, 204);
    await works(registered, `registered, ${form}`);
    const person = await createUser(app);
    const headers = await openSession(app, person.id);
    const change = (body: object) => post('/users/me/password', body, headers);
    t.equal((await change({ password })).statusCode, 204);
    await works(person.email, `changed by the user, ${form}`);
    for (const current_password of [composed, decomposed]) {
      t.equal((await change({ password, current_password })).statusCode, 204, 'current_password');
      const own = bearer((await logIn(person.email, password)).json().data.access_token);
      const proof = { password: current_password };
      t.equal((await post('/auth/reauthenticate', proof, own)).statusCode, 204, 'a step-up');
      t.equal((await post('/users/me/tfa/generate', proof, own)).statusCode, 200, 'a new secret');
    }
  }

  const short = { password: 'é'.repeat(4).normalize('NFD') };
  t.match(
    (await post('/auth/password/check', short)).json().data.reasons,
    ['too_short'],
    'an accent is not a character',
  );
});

t.test('a password that was hashed before hashes were normalized still works as it was typed', async (t) => {
  const account = await createUser(app, { password: await hash(decomposed, { memoryCost: 8192, timeCost: 1 }) });
  t.equal((await post('/auth/login', { email: account.email, password: decomposed })).statusCode, 200);
});

const inDigits = (code: string, zero: number) =>
  code.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));

/** Ways to write a code. */
const written: Record<string, (code: string) => string> = {
  'with a space': (code) => `${code.slice(0, 3)} ${code.slice(3)}`,
  'with spaces around it': (code) => ` \t${code}\n`,
  'with a no-break space': (code) => `${code.slice(0, 3)}\u00a0${code.slice(3)}`,
  'with right-to-left marks': (code) => `\u200f\u202b${code}\u202c`,
  'in full-width digits': (code) => inDigits(code, 0xff10),
  'in Arabic-Indic digits': (code) => inDigits(code, 0x660),
  'in Persian digits, with a space': (code) => inDigits(`${code.slice(0, 3)} ${code.slice(3)}`, 0x6f0),
  'in Devanagari digits': (code) => inDigits(code, 0x966),
  'in mathematical digits': (code) => inDigits(code, 0x1d7f6),
};

t.test('a code can contain spaces and any decimal digits', async (t) => {
  for (const [how, write] of Object.entries(written)) {
    const holder = await createSignedInUser(service, { tfa: true });
    t.equal((await holder.login(write(codeOfStep(nextStep(service))))).statusCode, 200, `a login ${how}`);
    const headers = await openSession(app, holder.id);
    const proof = { otp: write(codeOfStep(nextStep(service))) };
    t.equal((await post('/auth/reauthenticate', proof, headers)).statusCode, 204, `a step-up ${how}`);
    const codes = await holder.renewCodes({ otp: write(codeOfStep(nextStep(service))) }, headers);
    t.equal(codes.statusCode, 200, `new recovery codes ${how}`);
    const [recovery = ''] = codes.json().data;
    const typed = recovery.toUpperCase().replaceAll('-', ' – ');
    t.equal((await holder.login(typed)).statusCode, 200, 'a recovery code with other dashes');
    const disabled = await holder.disable({ otp: write(codeOfStep(nextStep(service))) }, headers);
    t.equal(disabled.statusCode, 204, `turning it off ${how}`);

    const { email } = await createUser(app);
    const binding = 'b'.repeat(32);
    await post('/auth/email/request', { email, binding });
    const [mail] = await mailsTo(app, email);
    const code = write(/\b\d{6}\b/.exec(mail?.text ?? '')?.[0] ?? '');
    t.equal((await post('/auth/email', { email, code, binding })).statusCode, 200, `a code from an email ${how}`);
  }
  const person = await createSignedInUser(service, { policies: [await ownSecretPolicy(app)] });
  const { secret } = (await person.generate({ password: person.password })).json();
  nextStep(service);
  const code = currentCode(secret, service.clock.now());
  const enabled = await person.enable({ secret, otp: inDigits(code, 0x660) });
  t.equal(enabled.statusCode, 204, 'turning it on');
});

t.test('other characters are not removed from a code', async (t) => {
  const code = codeOfStep(nextStep(service));
  const wrong = [
    `${code}0`,
    `${code}x`,
    `-${code}`,
    code.replace(/^./, '①'),
    ' '.repeat(70),
    `${code}${' '.repeat(90)}`,
  ];
  for (const otp of wrong) {
    const holder = await createSignedInUser(service, { tfa: true });
    t.equal(codeOf(await holder.login(otp)), 'INVALID_OTP', JSON.stringify(otp));
  }
  for (let codePoint = 0; codePoint < 0x20000; codePoint++) {
    const character = String.fromCodePoint(codePoint);
    if (!/\p{Nd}/u.test(character)) continue;
    if (!/^\d$/.test(readCode(character))) t.fail(character);
  }
  t.equal(readCode(inDigits('0123456789', 0x1d7d8)), '0123456789');
  t.equal(readCode(inDigits('0123456789', 0xe50)), '0123456789');
});
