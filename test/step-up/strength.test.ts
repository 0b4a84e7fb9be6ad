// @suite not-everyday: tries hundreds of cases

import { randomInt, randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { identities, settings } from '../../db/schema.js';
import { startWithAdmin, stateOf } from '../helpers/http/writing.js';
import { codeIn, findCode, linkIn, mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { completeLogin, createVisitor, followRedirect } from '../helpers/providers/visitor.js';
import { bearer, codeOf } from '../helpers/service/app.js';
import { createAuthenticator } from '../helpers/users/authenticator.js';
import { addPasskeyTo, assertion, creationOptions, signIn } from '../helpers/users/passkeys.js';
import { everyPermission, policyWith } from '../helpers/users/rights.js';
import { makeStale } from '../helpers/users/sessions.js';
import { codeOfStep, rfcSecret } from '../helpers/users/totp.js';
import { nextStep } from '../helpers/users/two-factor.js';
import { createSignedInUser } from '../helpers/users/users.js';

/**
 * Which session can change the factors of its user, and which proof makes a session fresh: for every second factor, every way of
 * signing in, and every way of confirming an identity, without and with `enforce_tfa`.
 */

const publicUrl = 'http://gatehouse.example.com';
const server = await startOauth2Server(t, { publicUrl, keys: ['alpha'] });
const service = await startWithAdmin(t, {
  PUBLIC_URL: publicUrl,
  REAUTHENTICATION_PERIOD: '1d',
  AUTH_PROVIDERS: 'alpha',
  ...server.variables('alpha', { MODE: 'json' }),
});
const { app, get, post, request } = service;
await app.db.update(settings).set({ emailLogin: true, selfDeletion: true });
const elsewhere = { enforceTfa: true, ipAccess: ['192.0.2.0/24'] };
const everything = await policyWith(app, everyPermission);
const policies = {
  'not required': [everything],
  required: [everything, await policyWith(app, [], { enforceTfa: true })],
  'required at another address': [everything, await policyWith(app, [], elsewhere)],
};

type Headers = Record<string, string>;
type Factor = 'none' | 'app' | 'passkey' | 'both';
type Requirement = keyof typeof policies;

const hasApp = (factor: Factor) => factor === 'app' || factor === 'both';
const hasPasskey = (factor: Factor) => factor === 'passkey' || factor === 'both';

/** A user with a password, an address, an account at a provider, and this second factor. */
async function personWith(factor: Factor, requirement: Requirement) {
  const columns = { policies: policies[requirement] };
  const person = await createSignedInUser(service, hasApp(factor) ? { ...columns, tfa: true } : columns);
  const passkey = hasPasskey(factor) ? await addPasskeyTo(service, person.id) : undefined;
  const identifier = String(randomInt(2 ** 47));
  const [identity] = await app.db
    .insert(identities)
    .values({ user: person.id, provider: 'alpha', identifier, createdAt: app.clock() })
    .returning({ id: identities.id });
  return { ...person, factor, requirement, passkey, identifier, identity: identity?.id ?? '' };
}
type Someone = Awaited<ReturnType<typeof personWith>>;

const codeFor = ({ factor }: Someone) => (hasApp(factor) ? { otp: codeOfStep(nextStep(service)) } : {});

const receivedBy = async ({ email }: Someone) => {
  const mail = (await mailsTo(app, email)).findLast(findCode);
  if (!mail) throw new Error(`There is no email with a code to ${email}.`);
  return mail;
};
const browser = () => createVisitor(service, publicUrl);
const requestEmail = async ({ email }: Someone) => {
  const visitor = browser();
  await visitor.send({ method: 'POST', url: '/auth/email/request', payload: { email } });
  return visitor;
};

/** Every way of signing in, followed by a code if the user has an app. Undefined: the user cannot sign in this way. */
const ways: Record<string, (someone: Someone, code: object) => Promise<LightMyRequestResponse> | undefined> = {
  password: ({ email, password }, code) => post('/auth/login', { email, password, ...code }),
  'email code': async (someone, code) => {
    const visitor = await requestEmail(someone);
    const payload = { email: someone.email, code: codeIn(await receivedBy(someone)), ...code };
    return visitor.send({ method: 'POST', url: '/auth/email', payload });
  },
  'email link': async (someone, code) => {
    await requestEmail(someone);
    const token = linkIn(await receivedBy(someone)).searchParams.get('token');
    return post('/auth/email', { token, ...code });
  },
  provider: async ({ identifier }, code) => {
    server.profile = { id: Number(identifier), name: 'Ada', email: null };
    const visitor = browser();
    const first = await completeLogin(visitor, 'alpha', { family: 'oauth' }, followRedirect);
    if (Object.keys(code).length === 0) return first;
    return visitor.send({ method: 'POST', url: '/auth/login/alpha', payload: code });
  },
  'reset, then password': async ({ email }, code) => {
    await post('/auth/password/request', { email });
    const password = `a new password ${randomUUID()}`;
    const reset = await post('/auth/password/reset', { token: await tokenFor(app, email), password });
    t.equal(reset.statusCode, 204, 'reset');
    return post('/auth/login', { email, password, ...code });
  },
  passkey: ({ passkey }) => passkey && signIn(service, passkey),
  'passkey without verification': ({ passkey }, code) =>
    passkey && signIn(service, passkey, { userVerified: false }, code),
};

const patch = (url: string, payload: object, headers: Headers) => request({ method: 'PATCH', url, payload, headers });
const newEmail = () => ({ email: `${randomUUID()}@example.com` });
const newPassword = () => ({ password: `a password nobody has guessed ${randomUUID()}` });

/** Everything that could let another person take over the account, or replace its second factor. */
async function attacks(victim: Someone): Promise<[string, (headers: Headers) => Promise<LightMyRequestResponse>][]> {
  const { id, password: current, passkey } = victim;
  // An attacker may have options that were requested in another session of the user.
  const options = await creationOptions(service, bearer((await ways.passkey?.(victim, {}))?.json().data.access_token));
  const credential = createAuthenticator({ origin: publicUrl, rpId: 'gatehouse.example.com' }).create(options);
  const otp = codeOfStep(nextStep(service));
  const rows = { newEmail, newPassword, token: () => ({ token: `a-static-token-of-32-characters-${randomUUID()}` }) };
  const withPassword = { current_password: current };
  return [
    ['options', (headers) => post('/users/me/passkeys/options', {}, headers)],
    ['a passkey', (headers) => post('/users/me/passkeys', { credential }, headers)],
    ['no passkey', (headers) => request({ method: 'DELETE', url: `/users/me/passkeys/${passkey?.id}`, headers })],
    [
      'no passkey, as another user',
      (headers) => request({ method: 'DELETE', url: `/users/${id}/passkeys/${passkey?.id}`, headers }),
    ],
    ['a secret', (headers) => post('/users/me/tfa/generate', { password: current }, headers)],
    ['an app', (headers) => post('/users/me/tfa/enable', { secret: rfcSecret.base32, otp }, headers)],
    ['recovery codes', (headers) => post('/users/me/tfa/recovery-codes', { password: current }, headers)],
    ['a new address', (headers) => post('/users/me/email', newEmail(), headers)],
    ['a new password', (headers) => post('/users/me/password', newPassword(), headers)],
    [
      'a new password, with the current one',
      (headers) => post('/users/me/password', { ...newPassword(), ...withPassword }, headers),
    ],
    ['a linked account', (headers) => post('/users/me/identities/alpha', {}, headers)],
    [
      'no linked account',
      (headers) => request({ method: 'DELETE', url: `/users/me/identities/${victim.identity}`, headers }),
    ],
    ['no account', (headers) => request({ method: 'DELETE', url: '/users/me', headers })],
    ['the password as proof', (headers) => post('/auth/reauthenticate', { password: current }, headers)],
    ...Object.entries(rows).flatMap(([what, data]) => [
      [`me: ${what}`, (headers: Headers) => patch('/users/me', data(), headers)] as const,
      [
        `me: ${what}, with the password`,
        (headers: Headers) => patch('/users/me', { ...data(), ...withPassword }, headers),
      ] as const,
      [`id: ${what}`, (headers: Headers) => patch(`/users/${id}`, data(), headers)] as const,
      [
        `id: ${what}, with the password`,
        (headers: Headers) => patch(`/users/${id.toUpperCase()}`, { ...data(), ...withPassword }, headers),
      ] as const,
      [`keys: ${what}`, (headers: Headers) => patch('/users', { keys: [id], data: data() }, headers)] as const,
      [`list: ${what}`, (headers: Headers) => patch('/users', [{ id, ...data() }], headers)] as const,
      [
        `query: ${what}`,
        (headers: Headers) => patch('/users', { query: { filter: { id: { _eq: id } } }, data: data() }, headers),
      ] as const,
    ]),
  ] as [string, (headers: Headers) => Promise<LightMyRequestResponse>][];
}

const isFresh = async (headers: Headers) => {
  const response = await post('/users/me/passkeys/options', {}, headers);
  const { errors } = response.json();
  return { fresh: response.statusCode === 200, methods: errors?.[0].extensions.methods };
};

for (const requirement of Object.keys(policies) as Requirement[]) {
  for (const factor of ['none', 'app', 'passkey', 'both'] as const) {
    t.test(`second factor ${requirement}, ${factor}: what a login allows`, async (t) => {
      for (const [way, begin] of Object.entries(ways)) {
        const someone = await personWith(factor, requirement);
        if (!someone.passkey && way.startsWith('passkey')) continue;
        const isTwoFactors = way === 'passkey' || hasApp(factor);
        if (hasApp(factor) && way !== 'passkey' && way !== 'reset, then password') {
          t.equal(codeOf((await begin(someone, {})) as LightMyRequestResponse), 'INVALID_OTP', `${way}: no code`);
        }
        const response = await begin(someone, codeFor(someone));
        const headers = bearer(response?.json().data?.access_token);
        const what = `${way}: ${response?.statusCode === 200 ? '' : response?.body}`;
        const isRestricted = requirement === 'required' && !isTwoFactors;
        t.equal((await get('/users/me/sessions', headers)).statusCode, isRestricted ? 403 : 200, `${what}restricted`);
        const isProved = requirement === 'not required' || factor === 'none' || isTwoFactors;
        t.strictSame(
          await isFresh(headers),
          { fresh: isProved, methods: isProved ? undefined : ['passkey'] },
          `${what}fresh`,
        );
        if (isProved) continue;
        for (const [attack, send] of await attacks(someone)) {
          const before = await stateOf(app);
          const refused = await send(headers);
          t.ok([400, 401, 403].includes(refused.statusCode), `${what}${attack}: ${refused.body}`);
          if (refused.statusCode === 400) t.equal(attack, 'recovery codes');
          t.equal(await stateOf(app), before, `${what}${attack}: nothing changed`);
        }
        const credential = await assertion(service, someone.passkey as NonNullable<typeof someone.passkey>);
        t.equal((await post('/auth/reauthenticate', { credential }, headers)).statusCode, 204, `${what}proof`);
        t.ok((await isFresh(headers)).fresh, `${what}fresh with the passkey`);
        t.equal((await get('/users/me/sessions', headers)).statusCode, 200, `${what}unrestricted with the passkey`);
      }
    });

    t.test(`second factor ${requirement}, ${factor}: what makes a stale session fresh`, async (t) => {
      const needsPasskey = requirement !== 'not required' && factor === 'passkey';
      const isPasswordEnough = !hasApp(factor) && !needsPasskey;
      const expected: Record<string, boolean> = {
        password: isPasswordEnough,
        // A restricted session cannot change the password.
        current_password: isPasswordEnough && requirement !== 'required',
        generate: isPasswordEnough,
        code: false,
        otp: hasApp(factor),
        'password and otp': isPasswordEnough || hasApp(factor),
        'recovery code': hasApp(factor),
        passkey: hasPasskey(factor),
        'passkey and password': hasPasskey(factor),
        'passkey without verification': factor === 'passkey' && !needsPasskey,
        'passkey without verification, and password': factor === 'passkey' && !needsPasskey,
        'passkey without verification, and otp': factor === 'both' || (factor === 'passkey' && !needsPasskey),
      };
      for (const [proof, isEnough] of Object.entries(expected)) {
        const someone = await personWith(factor, requirement);
        const { password, passkey } = someone;
        if (!passkey && proof.startsWith('passkey')) continue;
        const begun = await (passkey ? ways.passkey : ways.password)?.(someone, codeFor(someone));
        const headers = bearer(begun?.json().data.access_token);
        const codes = hasApp(factor)
          ? (await post('/users/me/tfa/recovery-codes', { password }, headers)).json().data
          : ['0000-0000-0000-0000'];
        await makeStale(app, someone.id);
        const methods = [
          ...(hasApp(factor) ? ['otp'] : isPasswordEnough ? ['password'] : []),
          ...(passkey ? ['passkey'] : []),
          ...(needsPasskey ? [] : ['provider']),
        ];
        t.strictSame(await isFresh(headers), { fresh: false, methods }, `${proof}: methods`);
        const prove = (body: object) => post('/auth/reauthenticate', body, headers);
        const signed = async (userVerified: boolean) => ({
          credential: await assertion(service, passkey as NonNullable<typeof passkey>, { userVerified }),
        });
        const otp = codeOfStep(nextStep(service));
        const send: Record<string, () => Promise<LightMyRequestResponse>> = {
          password: () => prove({ password }),
          current_password: () => post('/users/me/password', { ...newPassword(), current_password: password }, headers),
          generate: () => post('/users/me/tfa/generate', { password }, headers),
          code: async () => {
            await post('/auth/email/request', {}, headers);
            return prove({ code: '000000' });
          },
          otp: () => prove({ otp }),
          'password and otp': () => prove({ password, otp }),
          'recovery code': () => prove({ otp: codes[0] }),
          passkey: async () => prove(await signed(true)),
          'passkey and password': async () => prove({ ...(await signed(true)), password }),
          'passkey without verification': async () => prove(await signed(false)),
          'passkey without verification, and password': async () => prove({ ...(await signed(false)), password }),
          'passkey without verification, and otp': async () => prove({ ...(await signed(false)), otp }),
        };
        const response = await send[proof]?.();
        const isDone = response !== undefined && response.statusCode < 300;
        t.equal(isDone, isEnough, `${proof}: ${response?.statusCode} ${response?.body}`);
        // The current password replaces a fresh session only for the request that contains it.
        t.equal((await isFresh(headers)).fresh, isEnough && proof !== 'current_password', `${proof}: fresh`);
        if (proof === 'code') t.equal(findCode((await mailsTo(app, someone.email)).at(-1) ?? { text: '' }), undefined);
      }
      await app.db.delete(identities).where(eq(identities.provider, 'alpha'));
    });
  }
}
