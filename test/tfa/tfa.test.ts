import {
  authentication,
  createDirectus,
  disableTwoFactor,
  enableTwoFactor,
  generateTwoFactorSecret,
  readMe,
  rest,
} from '@directus/sdk';
import { eq } from 'drizzle-orm';
import { Secret } from 'otpauth';
import t from 'tap';
import { recoveryCodes, sessions } from '../../db/schema.js';
import type { ErrorCode } from '../../schemas/errors.js';
import { refused } from '../helpers/http/refusals.js';
import { patch } from '../helpers/http/writing.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { createRole, policyWith } from '../helpers/users/rights.js';
import { makeStale } from '../helpers/users/sessions.js';
import { codeOfStep, rfcSecret, stepLength } from '../helpers/users/totp.js';
import { nextStep, ownSecretPolicy, refusedUntouched, unknownId, wrongCode } from '../helpers/users/two-factor.js';
import { changeUser, createSignedInUser, createUser, type SignedInUser, storedUser } from '../helpers/users/users.js';

const service = await startTestApp(t, { REAUTHENTICATION_PERIOD: '30d' });
const { app, clock, post, get } = service;
const own = await ownSecretPolicy(app);
// With a role, so that the public policy does not apply.
const plain = await createRole(app);
const person = (columns = {}) => createSignedInUser(service, { role: plain, policies: [own], ...columns });
const holder = (columns = {}) => createSignedInUser(service, { tfa: true, role: plain, policies: [own], ...columns });

const bytesOf = (base32: string) => Buffer.from(Secret.fromBase32(base32).bytes);
const { base32 } = rfcSecret;

t.test('generating a secret', async (t) => {
  t.test('the response has a 160-bit secret and its URL, without `data`, and nothing is stored', async (t) => {
    const ada = await person();
    await patch(service, '/settings', { project_name: 'Acme: R&D' }, await adminHeaders());
    const before = await ada.row();
    const response = await ada.generate({ password: ada.password });
    t.equal(response.statusCode, 200);
    const { secret, otpauth_url: url, ...rest } = response.json();
    t.strictSame(rest, {});
    t.match(secret, /^[A-Z2-7]{32}$/);
    t.equal(bytesOf(secret).length, 20);
    const { protocol, host, pathname, searchParams } = new URL(url);
    t.strictSame([protocol, host], ['otpauth:', 'totp']);
    t.equal(decodeURIComponent(pathname), `/Acme  R&D:${ada.email}`);
    t.strictSame(Object.fromEntries(searchParams), {
      issuer: 'Acme  R&D',
      secret,
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    });
    t.strictSame(await ada.row(), before);
    t.not((await ada.generate({ password: ada.password })).json().secret, secret, 'different each time');
  });

  t.test('a request with invalid credentials generates no secret', async (t) => {
    const ada = await person();
    const on = await holder();
    const cases = [
      [ada, {}, 'INVALID_PAYLOAD', 'no password'],
      [ada, { password: '' }, 'INVALID_PAYLOAD', 'an empty password'],
      [ada, { password: 1 }, 'INVALID_PAYLOAD', 'a number'],
      [ada, { password: null }, 'INVALID_PAYLOAD', 'null'],
      [ada, { password: 'wrong' }, 'INVALID_CREDENTIALS', 'a wrong password'],
      [on, { password: on.password }, 'INVALID_PAYLOAD', 'already enabled'],
    ] as const;
    for (const [who, body, code, what] of cases) {
      await refusedUntouched(t, service, who, () => who.generate(body), code, what);
    }
    await refusedUntouched(
      t,
      service,
      ada,
      () => ada.generate({ password: ada.password }, {}),
      'INVALID_CREDENTIALS',
      'anonymous',
    );
  });

  t.test('a user without a password needs a fresh session, and without an address, the label is the id', async (t) => {
    for (const provider of ['github', 'default']) {
      const ada = await person({ provider, email: null, password: null });
      const response = await ada.generate();
      t.equal(response.statusCode, 200);
      t.match(decodeURIComponent(response.json().otpauth_url), `:${ada.id}?`);
      t.equal((await ada.generate({ password: 'whatever' })).statusCode, 200);
      await makeStale(app, ada.id);
      await refusedUntouched(t, service, ada, () => ada.generate(), 'REAUTHENTICATION_REQUIRED', provider);
      const body = { password: 'whatever' };
      await refusedUntouched(t, service, ada, () => ada.generate(body), 'REAUTHENTICATION_REQUIRED', provider);
    }
  });

  t.test('the correct password makes only this session fresh', async (t) => {
    const ada = await person();
    const other = await ada.signIn();
    await makeStale(app, ada.id);
    const code = () => codeOfStep(nextStep(service));
    const enable = (headers = ada.headers) => ada.enable({ secret: base32, otp: code() }, headers);
    refused(t, await enable(), 'REAUTHENTICATION_REQUIRED', 'stale');
    refused(t, await ada.generate({ password: 'wrong' }), 'INVALID_CREDENTIALS', 'wrong');
    refused(t, await ada.generate(), 'INVALID_PAYLOAD', 'missing');
    refused(t, await enable(), 'REAUTHENTICATION_REQUIRED', 'still stale');
    t.equal((await ada.generate({ password: ada.password })).statusCode, 200);
    refused(t, await enable(other), 'REAUTHENTICATION_REQUIRED', 'the other session');
    t.equal((await enable()).statusCode, 204);
  });
});

t.test('enabling two-factor authentication', async (t) => {
  t.test('after enabling, a login requires a code other than the one used to enable it', async (t) => {
    const ada = await person();
    const [mine, other] = [await ada.signIn(), await ada.signIn()];
    const { secret } = (await ada.generate({ password: ada.password })).json();
    const step = nextStep(service);
    const otp = codeOfStep(step, bytesOf(secret));
    const response = await ada.enable({ secret, otp }, mine);
    t.strictSame([response.statusCode, response.body], [204, '']);
    t.match(await ada.row(), { tfaLastStep: step, tfaFailures: 0, tfaLockedUntil: null });
    t.equal((await get('/users/me', mine)).statusCode, 200, 'the caller’s session continues');
    t.equal((await get('/users/me', other)).statusCode, 401, 'other sessions end');
    t.equal((await get('/users/me?fields=tfa_secret', mine)).json().data.tfa_secret, '**********');
    refused(t, await ada.login(), 'INVALID_OTP', 'without a code');
    refused(t, await ada.login(otp), 'INVALID_OTP', 'with the code that was used');
    const next = codeOfStep(nextStep(service), bytesOf(secret));
    t.equal((await ada.login(next)).statusCode, 200);
  });

  t.test('the codes of the current and the previous step are accepted, to the millisecond', async (t) => {
    const step = nextStep(service);
    const to = (moment: number) => clock.advance(moment - clock.now().getTime());
    for (const [offset, isAccepted] of [
      [-2, false],
      [-1, true],
      [0, true],
      [1, false],
    ] as const) {
      const ada = await person();
      const send = () => ada.enable({ secret: base32, otp: codeOfStep(step + offset) });
      if (!isAccepted) await refusedUntouched(t, service, ada, send, 'INVALID_PAYLOAD', `step ${offset}`);
      else {
        t.equal((await send()).statusCode, 204, `step ${offset}`);
        t.equal((await ada.row()).tfaLastStep, step + offset);
      }
    }
    const [late, early] = [await person(), await person()];
    to((step + 2) * stepLength);
    refused(t, await late.enable({ secret: base32, otp: codeOfStep(step) }), 'INVALID_PAYLOAD', 'two steps later');
    refused(
      t,
      await early.enable({ secret: base32, otp: codeOfStep(step + 3) }),
      'INVALID_PAYLOAD',
      'a step too early',
    );
  });

  t.test('secrets of 128 bits or more are accepted, in any letter case, padded or not', async (t) => {
    for (const secret of [
      'GEZDGNBVGY3TQOJQGEZDGNBVGY',
      'gezdgnbvgy3tqojqgezdgnbvgy',
      'GEZDGNBVGY3TQOJQGEZDGNBVGY======',
      base32.repeat(32),
    ]) {
      const ada = await person();
      const otp = codeOfStep(nextStep(service), bytesOf(secret.replaceAll('=', '')));
      t.equal((await ada.enable({ secret, otp })).statusCode, 204, secret.slice(0, 40));
      const next = codeOfStep(nextStep(service), bytesOf(secret.replaceAll('=', '')));
      t.equal((await ada.login(next)).statusCode, 200);
    }
  });

  t.test('a request with an invalid secret or code does not enable it', async (t) => {
    const ada = await person();
    const on = await holder();
    const step = nextStep(service);
    const otp = codeOfStep(step);
    const short = 'GEZDGNBVGY3TQOJQGEZDGNBV';
    const bodies: [object, string][] = [
      [{}, 'nothing'],
      [{ otp }, 'no secret'],
      [{ secret: base32 }, 'no otp'],
      [{ secret: '', otp }, 'an empty secret'],
      [{ secret: base32, otp: '' }, 'an empty otp'],
      [{ secret: 1, otp }, 'a number for a secret'],
      [{ secret: [base32], otp }, 'a list'],
      [{ secret: base32, otp: Number(otp) }, 'a number for an otp'],
      [{ secret: base32, otp: wrongCode(step) }, 'a wrong code'],
      [{ secret: base32, otp: `${otp}x` }, 'a code with a letter'],
      [{ secret: `${base32.slice(0, -1)}1`, otp }, 'a digit that is not in base32'],
      [{ secret: base32.replace('G', 'Ｇ'), otp }, 'a full-width letter'],
      [{ secret: base32.replace('E', ' '), otp }, 'a space'],
      [{ secret: `=${base32}`, otp }, 'leading padding'],
      [{ secret: `${base32}=`, otp }, 'unnecessary padding'],
      [{ secret: `${base32}AAA`, otp }, 'an incomplete byte'],
      [{ secret: '========', otp }, 'padding alone'],
      [{ secret: short, otp: codeOfStep(step, bytesOf(short)) }, '120 bits'],
      [{ secret: base32.repeat(33), otp: codeOfStep(step, bytesOf(base32.repeat(33))) }, 'over 1024 characters'],
    ];
    for (const [body, what] of bodies) {
      await refusedUntouched(t, service, ada, () => ada.enable(body), 'INVALID_PAYLOAD', what);
    }
    await refusedUntouched(
      t,
      service,
      on,
      () => on.enable({ secret: base32, otp }),
      'INVALID_PAYLOAD',
      'already enabled',
    );
    await refusedUntouched(
      t,
      service,
      ada,
      () => ada.enable({ secret: base32, otp }, {}),
      'INVALID_CREDENTIALS',
      'anonymous',
    );
    t.equal((await ada.enable({ secret: base32, otp })).statusCode, 204, 'the correct request is accepted');
  });

  t.test('of two simultaneous requests to enable it, only one succeeds', async (t) => {
    const ada = await person();
    const secrets = await Promise.all(
      [0, 1].map(async () => (await ada.generate({ password: ada.password })).json().secret as string),
    );
    const step = nextStep(service);
    const responses = await Promise.all(
      secrets.map((secret) => ada.enable({ secret, otp: codeOfStep(step, bytesOf(secret)) })),
    );
    t.strictSame(responses.map(({ statusCode }) => statusCode).sort(), [204, 400]);
    const winner = secrets[responses.findIndex(({ statusCode }) => statusCode === 204)] ?? '';
    t.equal((await ada.login(codeOfStep(nextStep(service), bytesOf(winner)))).statusCode, 200);
  });

  t.test('a request fails if another one enables it between the check and the write', async (t) => {
    const ada = await person();
    const db = app.databaseConnection.dbOf(ada.id);
    const { transaction } = db;
    const slow = 'GEZDGNBVGY3TQOJQGEZDGNBVGY';
    const step = nextStep(service);
    db.transaction = (async (...parameters: Parameters<typeof transaction>) => {
      db.transaction = transaction;
      t.equal((await ada.enable({ secret: base32, otp: codeOfStep(step) })).statusCode, 204, 'the faster request');
      return transaction.apply(db, parameters);
    }) as typeof transaction;
    refused(
      t,
      await ada.enable({ secret: slow, otp: codeOfStep(step, bytesOf(slow)) }),
      'INVALID_PAYLOAD',
      'the slower request',
    );
    t.equal(app.tfaSecrets.open((await ada.row()).tfaSecret ?? '', ada.id), base32);
  });

  t.test('the secret is stored encrypted', async (t) => {
    const ada = await person();
    await ada.enable({ secret: base32, otp: codeOfStep(nextStep(service)) });
    const { tfaSecret } = await ada.row();
    t.match(tfaSecret, /^v1\.[\w-]{8}\.[\w-]{16}\.[\w-]+$/);
    t.equal(app.tfaSecrets.open(tfaSecret ?? '', ada.id), base32);
    const eve = await person();
    await changeUser(app, eve.id, { tfaSecret });
    const response = await eve.login(codeOfStep(nextStep(service)));
    t.equal(response.statusCode, 500, 'moved to another row, it cannot be decrypted');
    t.equal(await app.db.$count(sessions, eq(sessions.user, eve.id)), 1, 'only the existing session');
  });
});

t.test('disabling two-factor authentication', async (t) => {
  t.test('the current code disables it', async (t) => {
    const ada = await holder();
    const step = nextStep(service);
    const [other, mine] = [await ada.signIn(codeOfStep(step - 1)), await ada.signIn(codeOfStep(step))];
    const codes = (await ada.renewCodes({ password: ada.password }, mine)).json().data;
    t.equal(codes.length, 10);
    await ada.login('000000');
    const response = await ada.disable({ otp: codeOfStep(nextStep(service)) }, mine);
    t.strictSame([response.statusCode, response.body], [204, '']);
    t.match(await ada.row(), { tfaSecret: null, tfaLastStep: null, tfaFailures: 0, tfaLockedUntil: null });
    t.equal(await ada.codesLeft(), 0);
    t.equal((await get('/users/me', mine)).statusCode, 200, 'the caller’s session continues');
    t.equal((await get('/users/me', other)).statusCode, 401, 'other sessions end');
    t.equal((await ada.login()).statusCode, 200);
  });

  t.test('an invalid code does not disable it', async (t) => {
    const ada = await holder();
    const off = await person();
    const step = nextStep(service);
    await ada.signIn(codeOfStep(step));
    const otp = codeOfStep(step);
    const cases: [SignedInUser, object, string, number][] = [
      [ada, {}, 'missing', 0],
      [ada, { otp: '' }, 'empty', 0],
      [ada, { otp: 1 }, 'a number', 0],
      [ada, { otp: wrongCode(step) }, 'wrong', 1],
      [ada, { otp }, 'used', 1],
      [ada, { otp: codeOfStep(step - 1) }, 'older than a used one', 1],
      [ada, { otp: codeOfStep(step + 1) }, 'of the next step', 1],
      [ada, { otp: 'aaaa-aaaa-aaaa-aaaa' }, 'an invalid recovery code', 1],
      [off, { otp }, 'not enabled', 0],
    ];
    for (const [who, body, what, attempts] of cases) {
      await refusedUntouched(t, service, who, () => who.disable(body), 'INVALID_PAYLOAD', what, attempts);
    }
    await refusedUntouched(t, service, ada, () => ada.disable({ otp }, {}), 'INVALID_CREDENTIALS', 'anonymous');
  });

  t.test('of several simultaneous requests with one code, only one succeeds', async (t) => {
    const ada = await holder();
    const otp = codeOfStep(nextStep(service));
    const responses = await Promise.all(Array.from({ length: 4 }, () => ada.disable({ otp })));
    t.strictSame(responses.map(({ statusCode }) => statusCode).sort(), [204, 400, 400, 400]);
  });
});

t.test('users need no permission for their own second factor', async (t) => {
  const policies: [string, string[]][] = [
    ['no policy', []],
    ['another field', [await ownSecretPolicy(app, { fields: ['email', 'password'] })]],
    ['for other addresses', [await ownSecretPolicy(app, {}, { ipAccess: ['192.0.2.1'] })]],
    ['a validation', [await ownSecretPolicy(app, { validation: { tfa_secret: { _nnull: true } } })]],
    ['admin access', [await policyWith(app, [], { adminAccess: true })]],
  ];
  for (const [what, held] of policies) {
    const ada = await person({ policies: held });
    t.equal((await ada.generate({ password: ada.password })).statusCode, 200, `generate: ${what}`);
    const otp = codeOfStep(nextStep(service));
    t.equal((await ada.enable({ secret: base32, otp })).statusCode, 204, `enable: ${what}`);
    t.equal((await ada.renewCodes({ password: ada.password })).statusCode, 200, `recovery codes: ${what}`);
    t.equal((await ada.disable({ otp: codeOfStep(nextStep(service)) })).statusCode, 204, `disable: ${what}`);
  }
});

t.test('a static token cannot change the second factor, whatever rights its user has', async (t) => {
  for (const held of [[], [own], [await policyWith(app, [], { adminAccess: true })]]) {
    const off = await person({ policies: held });
    const on = await holder({ policies: held });
    const { password } = off;
    const otp = codeOfStep(nextStep(service));
    const refusedTo = (who: SignedInUser, send: () => ReturnType<SignedInUser['enable']>, what: string) =>
      refusedUntouched(t, service, who, send, 'FORBIDDEN', what);
    await refusedTo(off, () => off.generate({ password }, off.tokenHeaders), 'generate');
    await refusedTo(off, () => off.generate({}, off.tokenHeaders), 'generate, before the body is read');
    await refusedTo(off, () => off.enable({ secret: base32, otp }, off.tokenHeaders), 'enable');
    await refusedTo(on, () => on.disable({ otp }, on.tokenHeaders), 'disable');
    await refusedTo(on, () => on.renewCodes({ password }, on.tokenHeaders), 'recovery codes');
  }
});

t.test('enforce_tfa restricts access until a second factor is set up', async (t) => {
  const strict = await policyWith(app, [{ collection: 'users', action: 'read', fields: ['*'] }], { enforceTfa: true });
  const ada = await person({ policies: [strict] });
  const headers = await ada.signIn();
  t.equal((await get('/users', headers)).statusCode, 403);
  t.equal((await get('/users/me', headers)).statusCode, 200);
  refused(t, await ada.renewCodes({ password: ada.password }, headers), 'INVALID_PAYLOAD', 'not yet enabled');
  const { secret } = (await ada.generate({ password: ada.password }, headers)).json();
  const otp = codeOfStep(nextStep(service), bytesOf(secret));
  refused(t, await ada.enable({ secret, otp: '000000' }, headers), 'INVALID_PAYLOAD', 'a wrong code');
  t.equal((await get('/users', headers)).statusCode, 403, 'still restricted');
  t.equal((await ada.enable({ secret, otp }, headers)).statusCode, 204);
  t.equal((await get('/users', headers)).statusCode, 200, 'immediately, in the same session');
  t.equal((await ada.renewCodes({ password: ada.password }, headers)).json().data.length, 10);
  const last = codeOfStep(nextStep(service), bytesOf(secret));
  t.equal((await ada.disable({ otp: last }, headers)).statusCode, 204);
  t.equal((await get('/users', headers)).statusCode, 403, 'restricted again');
});

t.test('users of another provider can use two-factor authentication with codes alone', async (t) => {
  const ada = await person({ provider: 'github', password: null });
  const { secret } = (await ada.generate()).json();
  const code = () => codeOfStep(nextStep(service), bytesOf(secret));
  t.equal((await ada.enable({ secret, otp: code() })).statusCode, 204);
  refused(t, await ada.renewCodes(), 'INVALID_PAYLOAD', 'no proof of identity');
  refused(t, await ada.renewCodes({ password: 'whatever' }), 'INVALID_PAYLOAD', 'a password that they do not have');
  t.equal((await ada.renewCodes({ otp: code() })).statusCode, 200);
  t.equal((await ada.disable({ otp: code() })).statusCode, 204);
});

t.test('a password reset by email does not bypass the second factor (CVE-2025-64103)', async (t) => {
  const ada = await holder();
  await post('/auth/password/request', { email: ada.email });
  const reset = { token: await tokenFor(app, ada.email), password: 'another password' };
  t.equal((await post('/auth/password/reset', reset)).statusCode, 204);
  refused(t, await ada.login(undefined, { password: 'another password' }), 'INVALID_OTP', 'no code');
  refused(
    t,
    await patch(service, '/users/me', { tfa_secret: null }, ada.tokenHeaders),
    'INVALID_PAYLOAD',
    'by an update',
  );
});

t.test('administrators can disable the second factor of other users', async (t) => {
  const headers = await adminHeaders();
  const disableOf = (id: string, who: Record<string, string> = headers) =>
    post(`/users/${id}/tfa/disable`, undefined, who);
  const ada = await holder();
  const step = nextStep(service);
  const session = await ada.signIn(codeOfStep(step));
  await ada.renewCodes({ password: ada.password });
  for (let tries = 0; tries < 5; tries++) await ada.login('000000');
  const forced = await person({ policies: [await policyWith(app, [], { adminAccess: true, enforceTfa: true })] });
  const { id: adminId } = (await get('/users/me?fields=id', headers)).json().data;

  await t.test('callers cannot disable it for themselves, or without the right', async (t) => {
    const reader = await person();
    for (const id of [ada.id, reader.id, unknownId(), 'nonsense', '1', "'"]) {
      await refusedUntouched(t, service, reader, () => disableOf(id, reader.headers), 'FORBIDDEN', `reader: ${id}`);
      await refusedUntouched(t, service, reader, () => disableOf(id, forced.headers), 'FORBIDDEN', `forced: ${id}`);
      await refusedUntouched(t, service, reader, () => disableOf(id, {}), 'INVALID_CREDENTIALS', `anonymous: ${id}`);
    }
    await refusedUntouched(
      t,
      service,
      reader,
      () => disableOf(adminId),
      'FORBIDDEN',
      'an administrator, for themselves',
    );
    const upper = adminId.toUpperCase();
    await refusedUntouched(t, service, reader, () => disableOf(upper), 'FORBIDDEN', 'in upper case');
  });

  await t.test('an unknown id is rejected', async (t) => {
    for (const id of [unknownId(), 'nonsense', '1', 'ME', encodeURIComponent('../me')]) {
      await refusedUntouched(t, service, ada, () => disableOf(id), 'FORBIDDEN', id);
    }
  });

  const response = await disableOf(ada.id.toUpperCase());
  t.strictSame([response.statusCode, response.body], [204, '']);
  t.match(await ada.row(), { tfaSecret: null, tfaLastStep: null, tfaFailures: 0, tfaLockedUntil: null });
  t.equal(await ada.codesLeft(), 0);
  t.equal((await get('/users/me', session)).statusCode, 401, 'all sessions end');
  t.equal((await ada.login()).statusCode, 200);
  t.equal((await disableOf(ada.id)).statusCode, 204, 'also if it is not enabled');
  const gone = await createUser(app, { status: 'suspended', tfaSecret: 'cannot be opened' });
  t.equal(
    (await disableOf(gone.id)).statusCode,
    204,
    'also for an inactive user, and for a secret that cannot be decrypted',
  );
  t.equal((await storedUser(app, gone.id)).tfaSecret, null);
});

t.test('callers who can update tfa_secret can disable it for users without additional rights', async (t) => {
  const everyone = { collection: 'users', action: 'update' as const, fields: ['tfa_secret'], permissions: {} };
  const more = await policyWith(app, [{ collection: 'roles', action: 'read', fields: ['*'] }]);
  const administration = await policyWith(app, [], { adminAccess: true });
  const inactive = { ...everyone, permissions: { status: { _eq: 'suspended' } } };
  const desk = await person({ policies: [await policyWith(app, [everyone])] });
  const deskForInactive = await person({ policies: [await policyWith(app, [inactive])] });
  const deskForOthers = await person({ policies: [await policyWith(app, [{ ...everyone, fields: ['status'] }])] });
  const careful = { ...everyone, validation: { tfa_secret: { _nnull: true } } };
  const deskWithRule = await person({ policies: [await policyWith(app, [careful])] });
  const disableOf = (id: string, { headers }: { headers: Record<string, string> }) =>
    post(`/users/${id}/tfa/disable`, undefined, headers);

  const ada = await holder({ policies: [] });
  const cases: [string, string, { headers: Record<string, string> }, ErrorCode][] = [
    ['with another field', ada.id, deskForOthers, 'FORBIDDEN'],
    ['outside the rule', ada.id, deskForInactive, 'FORBIDDEN'],
    ['against the validation', ada.id, deskWithRule, 'FAILED_VALIDATION'],
    ['of a user with more rights', (await holder({ policies: [more] })).id, desk, 'FORBIDDEN'],
    ['of an administrator', (await holder({ policies: [administration] })).id, desk, 'FORBIDDEN'],
    ['their own', desk.id, desk, 'FORBIDDEN'],
    ['of an unknown user', unknownId(), desk, 'FORBIDDEN'],
    ['an invalid id', 'nonsense', desk, 'FORBIDDEN'],
  ];
  for (const [what, id, who, code] of cases) {
    await refusedUntouched(t, service, ada, () => disableOf(id, who), code, what);
  }
  await makeStale(app, desk.id);
  t.equal((await disableOf(ada.id, desk)).statusCode, 204, 'everyday management needs no fresh session');
  t.equal((await ada.row()).tfaSecret, null);
  const bob = await holder({ policies: [] });
  t.equal((await disableOf(bob.id, { headers: desk.tokenHeaders })).statusCode, 204, 'a static token is sufficient');
});

t.test('disabling another administrator’s second factor requires a fresh session or a static token', async (t) => {
  const administration = await policyWith(app, [], { adminAccess: true });
  const [ada, bob] = [await holder({ policies: [administration] }), await person({ policies: [administration] })];
  const disable = (headers: Record<string, string>) => post(`/users/${ada.id}/tfa/disable`, undefined, headers);
  await makeStale(app, bob.id);
  await refusedUntouched(t, service, ada, () => disable(bob.headers), 'REAUTHENTICATION_REQUIRED', 'stale');
  const plainUser = await holder();
  const ofPlain = await post(`/users/${plainUser.id}/tfa/disable`, undefined, bob.headers);
  t.equal(ofPlain.statusCode, 204, 'for any other user, it requires neither');
  t.equal((await disable(bob.tokenHeaders)).statusCode, 204);
  t.equal((await post('/auth/reauthenticate', { password: bob.password }, bob.headers)).statusCode, 204);
  t.equal((await disable(bob.headers)).statusCode, 204);
});

t.test('the Directus SDK can enable and disable two-factor authentication', async (t) => {
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const ada = await person();
  const client = createDirectus(url)
    .with(authentication('json', { autoRefresh: false }))
    .with(rest());
  await client.login(ada.email, ada.password);
  const made = (await client.request(generateTwoFactorSecret(ada.password))) as { secret: string; otpauth_url: string };
  t.match(made, { secret: /^[A-Z2-7]{32}$/, otpauth_url: /^otpauth:\/\/totp\// });
  const code = () => codeOfStep(nextStep(service), bytesOf(made.secret));
  await client.request(enableTwoFactor(made.secret, code()));
  t.match(await client.request(readMe({ fields: ['tfa_secret'] })), { tfa_secret: '**********' });
  await t.rejects(client.login(ada.email, ada.password), { errors: [{ extensions: { code: 'INVALID_OTP' } }] });
  await client.login(ada.email, ada.password, { otp: code() });
  await t.rejects(client.request(disableTwoFactor('000000')), {
    errors: [{ extensions: { code: 'INVALID_PAYLOAD' } }],
  });
  await client.request(disableTwoFactor(code()));
  t.match(await client.request(readMe({ fields: ['tfa_secret'] })), { tfa_secret: null });
});

t.test('deleting a user deletes their recovery codes', async (t) => {
  const ada = await holder();
  await ada.renewCodes({ password: ada.password });
  const response = await service.request({ method: 'DELETE', url: `/users/${ada.id}`, headers: await adminHeaders() });
  t.equal(response.statusCode, 204);
  t.equal(await app.db.$count(recoveryCodes, eq(recoveryCodes.user, ada.id)), 0);
});

t.test('no secret is logged', async (t) => {
  const lines: string[] = [];
  const logged = await startTestApp(
    t,
    {},
    { logger: { level: 'trace', stream: { write: (line) => lines.push(line) } } },
  );
  const policy = await ownSecretPolicy(logged.app);
  const ada = await createSignedInUser(logged, { policies: [policy] });
  const { secret, otpauth_url: otpauthUrl } = (await ada.generate({ password: ada.password })).json();
  const secrets = new Set([secret, otpauthUrl, ada.password, 'a wrong password', 'aaaa-bbbb-cccc-dddd']);
  const code = (offset = 0) => {
    const otp = codeOfStep(nextStep(logged) + offset, bytesOf(secret));
    secrets.add(otp);
    return otp;
  };
  await ada.generate({ password: 'a wrong password' });
  await ada.enable({ secret, otp: code(7) });
  await ada.enable({ secret, otp: code() });
  const codes: string[] = (await ada.renewCodes({ password: ada.password })).json().data;
  for (const one of codes) secrets.add(one).add(one.replaceAll('-', ''));
  await ada.renewCodes({ password: 'a wrong password', otp: code() });
  await ada.renewCodes({ otp: code(7) });
  await ada.login(code());
  await ada.login(code(7));
  await ada.login(codes[0]);
  await ada.login(codes[0]);
  await ada.disable({ otp: 'aaaa-bbbb-cccc-dddd' });
  // The same applies if the database fails, because its errors repeat the parameters.
  // On PostgreSQL, signed-in callers have a database of their own.
  const databases = [...new Set([logged.app.db, logged.app.databaseConnection.dbOf(ada.id)])];
  const restore = databases.map((db) => {
    const { transaction } = db;
    db.transaction = (async (work: (tx: unknown) => Promise<unknown>) =>
      transaction.call(db, async (tx) => {
        await work(tx);
        await tx.execute('select broken');
      })) as typeof transaction;
    return () => {
      db.transaction = transaction;
    };
  });
  t.equal((await ada.login(codes[1])).statusCode, 500);
  t.equal((await ada.renewCodes({ password: ada.password })).statusCode, 500);
  t.equal((await ada.disable({ otp: codes[2] })).statusCode, 500);
  for (const back of restore) back();
  await changeUser(logged.app, ada.id, { tfaFailures: 0, tfaLockedUntil: null });
  t.equal((await ada.login(codes[1])).statusCode, 200, 'a failed request uses up no code');
  t.ok(lines.length > 15);
  const log = lines.join('\n').toLowerCase();
  for (const one of secrets) t.notOk(log.includes(one.toLowerCase()), one);
  t.match(log, 'broken');
});

async function adminHeaders() {
  const response = await post('/auth/login', administrator);
  return { authorization: `Bearer ${response.json().data.access_token}` };
}
