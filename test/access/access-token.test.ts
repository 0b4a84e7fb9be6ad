import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { policies, rolePolicies, roles, userPolicies } from '../../db/schema.js';
import { deriveKey } from '../../plugins/platform/key-derivation.js';
import { createAccessTokens } from '../../plugins/tokens/access-tokens.js';
import type { ErrorCode } from '../../schemas/errors.js';
import { setCookies } from '../helpers/http/cookies.js';
import { refused } from '../helpers/http/refusals.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { accessTokenHeader, accessTokenKey, decodeJwt, encodePart, signJwt } from '../helpers/tokens/jwt.js';
import { administrator } from '../helpers/users/credentials.js';
import { rfcSecret } from '../helpers/users/totp.js';
import { changeUser, createUser } from '../helpers/users/users.js';

const { app, clock, post, get } = await startTestApp(t);
const key = accessTokenKey(app);

/** Logs in and returns the access token, which the mode puts either in the body or in a cookie. */
async function accessTokenOf(account: { email: string; password: string }, mode = 'json'): Promise<string> {
  const response = await post('/auth/login', { ...account, mode });
  return response.json().data.access_token ?? setCookies(response).gatehouse_session_token?.value ?? '';
}

const account = await createUser(app);
const token = await accessTokenOf(account);
const { claims } = decodeJwt(token);
const me = (presented: string) => get('/users/me', bearer(presented));

async function accepted(t: Test, presented: string, what: string) {
  const response = await me(presented);
  t.equal(response.statusCode, 200, what);
  t.equal(response.json().data?.id, account.id, what);
}

const fails = async (t: Test, presented: string, code: ErrorCode, what: string) =>
  refused(t, await me(presented), code, what);

t.test('an access token contains the expected claims and no others', async (t) => {
  const makeRole = async (policy: typeof policies.$inferInsert) => {
    const [[role], [made]] = await Promise.all([
      app.db.insert(roles).values({ name: policy.name }).returning(),
      app.db.insert(policies).values(policy).returning(),
    ]);
    if (!role || !made) throw new Error('The role or the policy was not created.');
    await app.db.insert(rolePolicies).values({ role: role.id, policy: made.id });
    return { role: role.id, policy: made.id };
  };
  const appUsers = await makeRole({ name: 'App', appAccess: true });
  const strict = await makeRole({ name: 'Strict', enforceTfa: true, adminAccess: true });
  const elsewhere = await makeRole({
    name: 'Elsewhere',
    enforceTfa: true,
    adminAccess: true,
    ipAccess: ['192.0.2.0/24'],
  });

  const plain = { role: null, app_access: false, admin_access: false };
  const cases = [
    { what: 'no role', columns: {}, expected: plain },
    { what: 'app', columns: { role: appUsers.role }, expected: { ...plain, role: appUsers.role, app_access: true } },
    {
      what: 'TFA required',
      columns: { role: strict.role },
      expected: { ...plain, role: strict.role, admin_access: true, enforce_tfa: true },
    },
    {
      what: 'TFA required by a policy of the user',
      columns: {},
      own: strict.policy,
      expected: { ...plain, admin_access: true, enforce_tfa: true },
    },
    {
      what: 'a policy for other addresses',
      columns: { role: elsewhere.role },
      expected: { ...plain, role: elsewhere.role },
    },
  ];
  for (const { what, columns, own, expected } of cases) {
    const user = await createUser(app, columns);
    if (own) await app.db.insert(userPolicies).values({ user: user.id, policy: own });
    for (const [mode, lifetime] of [
      ['json', 900],
      ['cookie', 900],
      ['session', 86_400],
    ] as const) {
      const before = Math.floor(clock.now().getTime() / 1000);
      const { header, claims } = decodeJwt(await accessTokenOf(user, mode));
      const after = Math.floor(clock.now().getTime() / 1000);
      const { session, iat, exp, ...rest } = claims;
      t.strictSame(header, { alg: 'HS256', typ: 'at+jwt' });
      const generation = mode === 'session' ? { generation: 0 } : {};
      t.strictSame(rest, { ...expected, ...generation, id: user.id, iss: 'gatehouse' }, `${what}, ${mode}`);
      t.match(session, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      t.ok(Number(iat) >= before && Number(iat) <= after, 'issued now');
      t.ok(Math.abs(Number(exp) - Number(iat) - lifetime) <= 1, `${mode}: valid for ${lifetime} s`);
    }
  }

  const withTfa = await createUser(app, { role: strict.role });
  const demanded = decodeJwt(await accessTokenOf(withTfa));
  t.equal(demanded.claims.enforce_tfa, true);
  const { refresh_token } = (await post('/auth/login', withTfa)).json().data;
  await changeUser(app, withTfa.id, { tfaSecret: app.tfaSecrets.seal(rfcSecret.base32, withTfa.id) });
  const refreshed = (await post('/auth/refresh', { refresh_token })).json().data;
  t.notOk('enforce_tfa' in decodeJwt(refreshed.access_token).claims, 'no enforce_tfa claim once TFA is set up');
});

t.test('rights come from the database, never from the token', async (t) => {
  t.equal(claims.admin_access, false);
  const boastful = signJwt(key, { ...claims, admin_access: true, app_access: true, role: randomUUID() });
  t.strictSame((await me(boastful)).json(), { data: { id: account.id } }, 'only the id is readable');
  t.strictSame(
    (await get('/server/health', bearer(boastful))).json(),
    { status: 'ok' },
    'no details for administrators',
  );
  const details = await get('/server/health', bearer(await accessTokenOf(administrator)));
  t.ok(details.json().checks, 'a real administrator gets the details');
});

t.test('a token that the test signs with the correct key is accepted', async (t) => {
  await accepted(t, token, 'the issued token');
  await accepted(t, signJwt(key, claims), 'the same claims, signed by the test');
  await accepted(t, signJwt(key, { ...claims, extra: 'ignored' }), 'an additional claim');
  t.equal(signJwt(key, JSON.stringify(claims)).split('.')[1], encodePart(claims));
});

t.test('a token is rejected if any character has changed', async (t) => {
  const signature = token.lastIndexOf('.') + 1;
  for (let index = 0; index < token.length; index++) {
    for (const other of [token[index] === 'A' ? 'B' : 'A', '.']) {
      if (token[index] === other || (other === '.' && index % 10 !== 0)) continue;
      const changed = token.slice(0, index) + other + token.slice(index + 1);
      const response = await me(changed);
      const code = response.json().errors?.[0]?.extensions.code;
      const isJwt = other !== '.' && token[index] !== '.';
      const expected = !isJwt ? ['INVALID_CREDENTIALS'] : index >= signature ? ['INVALID_TOKEN'] : null;
      // Changing the header or the claims can result in something that is not one of our JWTs.
      if (!(expected ?? ['INVALID_TOKEN', 'INVALID_CREDENTIALS']).includes(code))
        t.fail(`${index} as ${other}: ${code}`);
    }
  }
  t.pass('all rejected');
});

t.test('a token is rejected in any other encoding of the same bytes', async (t) => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = token.at(-1) ?? '';
  const bytesOf = (text: string) => Buffer.from(text, 'base64url').toString('hex');
  const twins = [...alphabet]
    .map((character) => token.slice(0, -1) + character)
    .filter((twin) => bytesOf(twin.split('.')[2] ?? '') === bytesOf(token.split('.')[2] ?? ''));
  t.equal(twins.length, 4);
  t.ok(twins.includes(token));
  for (const twin of twins) {
    if (twin === token) await accepted(t, twin, 'as issued');
    else await fails(t, twin, 'INVALID_TOKEN', `${last} as ${twin.at(-1)}`);
  }
  const [header, body, signature] = token.split('.');
  for (const spelling of [
    `${token}=`,
    `${header}=.${body}.${signature}`,
    `${header}.${body}==.${signature}`,
    `${token}%3D`,
    token.replaceAll('-', '+').replaceAll('_', '/').replace(/$/, '='),
  ]) {
    await fails(t, spelling, 'INVALID_CREDENTIALS', 'not base64url, so not a JWT');
  }
});

t.test('a token that is truncated, extended, or has the wrong number of segments is rejected', async (t) => {
  const [header, body, signature = ''] = token.split('.');
  for (const length of [0, 1, 16, 21, 22, 42]) {
    await fails(
      t,
      `${header}.${body}.${signature.slice(0, length)}`,
      'INVALID_TOKEN',
      `${length} characters of the signature`,
    );
  }
  await fails(t, `${token}${signature}`, 'INVALID_TOKEN', 'the signature twice');
  await fails(t, `${token}AAAA`, 'INVALID_TOKEN', 'a longer signature');
  for (const other of [
    `${header}.${body}`,
    `${header}`,
    `${token}.`,
    `.${token}`,
    `${token}.${signature}`,
    `${token}..`,
    `${header}..${body}.${signature}`,
    `${header}.${body}.${signature}.${header}.${body}`,
    `.${body}.${signature}`,
    `${header}..${signature}`,
    `${body}.${header}.${signature}`,
  ]) {
    await fails(t, other, 'INVALID_CREDENTIALS', `${other.split('.').length} segments`);
  }
});

t.test(
  'tokens with other algorithms are rejected (CVE-2023-48223, CVE-2026-34950, GHSA-ww5h-9m49-7xx4, GHSA-g3jj-5cmm-3hxx, CVE-2022-23540)',
  async (t) => {
    const { alg: _, ...noAlg } = accessTokenHeader;
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const rs256 = `${encodePart({ ...accessTokenHeader, alg: 'RS256' })}.${encodePart(claims)}`;
    const withAlg = (alg: unknown) => ({ ...accessTokenHeader, alg });
    for (const alg of ['none', 'None', 'NONE', 'nOnE', '', null, 'HS256 ', 'hs256', ['HS256'], 0, true]) {
      const unsigned = `${encodePart(withAlg(alg))}.${encodePart(claims)}.`;
      await fails(t, unsigned, 'INVALID_TOKEN', `alg ${alg}, unsigned`);
      await fails(t, signJwt(key, claims, withAlg(alg)), 'INVALID_TOKEN', `alg ${alg}, signed with our key`);
    }
    const cases = {
      'no alg, unsigned': `${encodePart(noAlg)}.${encodePart(claims)}.`,
      'no alg, signed': signJwt(key, claims, noAlg),
      HS384: signJwt(key, claims, withAlg('HS384'), 'sha384'),
      HS512: signJwt(key, claims, withAlg('HS512'), 'sha512'),
      'HS512 declared as HS256': signJwt(key, claims, accessTokenHeader, 'sha512'),
      'HS256 declared as HS512': signJwt(key, claims, withAlg('HS512')),
      'RS256, correctly signed': `${rs256}.${createSign('sha256').update(rs256).sign(privateKey, 'base64url')}`,
      'RS256 header, our HMAC': signJwt(key, claims, withAlg('RS256')),
      'RS256 header, HMAC with a public key': signJwt(publicPem, claims, withAlg('RS256')),
      'HMAC with a public key': signJwt(publicPem, claims),
      ES256: signJwt(key, claims, withAlg('ES256')),
      EdDSA: signJwt(key, claims, withAlg('EdDSA')),
    };
    for (const [what, presented] of Object.entries(cases)) await fails(t, presented, 'INVALID_TOKEN', what);
  },
);

t.test('tokens signed with other keys are rejected (GHSA-gmvf-9v4p-v8jc)', async (t) => {
  const keys = {
    empty: '',
    'the secret itself': app.config.SECRET,
    'the key in hex': key.toString('hex'),
    'the key with additional zeros': Buffer.concat([key, Buffer.alloc(64)]),
    'the key of refresh tokens': deriveKey(app.config.SECRET, 'refresh-token'),
    'the key of TFA secrets': deriveKey(app.config.SECRET, 'tfa-secret'),
    'the key of another secret': deriveKey(`${app.config.SECRET}!`, 'access-token'),
    'a guess': 'secret',
  };
  for (const [what, other] of Object.entries(keys)) await fails(t, signJwt(other, claims), 'INVALID_TOKEN', what);
});

t.test('headers that name another key or an extension are rejected (CVE-2026-35042)', async (t) => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const attackersKey = Buffer.alloc(32, 7);
  const inHeader = [
    { jku: 'https://attacker.example/keys.json' },
    { jwk: publicKey.export({ format: 'jwk' }) },
    { jwk: { kty: 'oct', k: attackersKey.toString('base64url') } },
    { x5u: 'https://attacker.example/chain.pem' },
    { x5c: ['MIIB'] },
    { kid: '../../../../dev/null' },
    { kid: "' union select 'x" },
  ];
  for (const more of inHeader) {
    const header = { ...accessTokenHeader, ...more };
    await fails(t, signJwt(attackersKey, claims, header), 'INVALID_TOKEN', `${Object.keys(more)}: another key`);
    await fails(t, signJwt('', claims, header), 'INVALID_TOKEN', `${Object.keys(more)}: an empty key`);
  }
  for (const crit of [['exp'], ['b64'], ['unknown'], ['alg'], [], 'exp', [1], {}]) {
    const header = { ...accessTokenHeader, crit, b64: false, unknown: 1 };
    await fails(t, signJwt(key, claims, header), 'INVALID_TOKEN', `crit ${JSON.stringify(crit)}, with our key`);
  }
  const { typ: _, ...noTyp } = accessTokenHeader;
  for (const header of [
    noTyp,
    ...['JWT', 'jwt', 'rt+jwt', '', 'at+jwt;x', null, 1, ['at+jwt']].map((typ) => ({ ...accessTokenHeader, typ })),
  ]) {
    await fails(t, signJwt(key, claims, header), 'INVALID_TOKEN', `typ of ${JSON.stringify(header)}, with our key`);
  }
  for (const header of ['', '{', 'null', '[]', '1', '"HS256"', '{"alg":"HS256","typ":"at+jwt"']) {
    await fails(t, signJwt(key, claims, header), 'INVALID_CREDENTIALS', `header ${header}: not a JWT`);
  }
});

t.test('a token with a missing claim, or with a claim of the wrong type, is rejected', async (t) => {
  const required = ['id', 'role', 'app_access', 'admin_access', 'session', 'iat', 'exp'];
  for (const name of required) {
    const { [name]: _, ...others } = claims;
    await fails(t, signJwt(key, others), 'INVALID_TOKEN', `no ${name}`);
  }
  const exp = Number(claims.exp);
  const wrong = {
    id: [null, '', 'x', 1, {}, [account.id], `${account.id}\n`, `${account.id}' or '1'='1`],
    role: ['', 'x', 1, {}, false, [randomUUID()]],
    app_access: [null, 1, 'true', {}, []],
    admin_access: [null, 1, 'true', {}, []],
    session: [null, '', 'x', 1, {}, [claims.session], `${claims.session}' or '1'='1`],
    enforce_tfa: [false, 'true', 1, null],
    generation: [-1, 0.5, '0', null, {}],
    iat: [null, '', String(claims.iat), {}, 1.5],
    exp: [null, '', String(exp), new Date(exp * 1000).toISOString(), {}, [exp], true, exp + 0.5],
  };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const what = `${name} ${JSON.stringify(value)}`;
      await fails(t, signJwt(key, { ...claims, [name]: value }), 'INVALID_TOKEN', what);
    }
  }
  const endless = JSON.stringify(claims).replace(`"exp":${exp}`, '"exp":1e999');
  t.match(endless, '1e999');
  await fails(t, signJwt(key, endless), 'INVALID_TOKEN', 'exp too large for a number');
  await accepted(t, signJwt(key, { ...claims, exp: 99_999_999_999 }), 'exp in the year 5138');
});

t.test('a JWT from another issuer is treated as an unknown static token (CVE-2025-30144)', async (t) => {
  const { iss: _, ...none } = claims;
  const others = ['directus', 'Gatehouse', 'gatehouse ', '', null, 1, true, ['gatehouse'], ['gatehouse', 'x'], {}];
  for (const [what, presented] of [
    ['none', none] as const,
    ...others.map((iss) => [JSON.stringify(iss), { ...claims, iss }] as const),
  ]) {
    await fails(t, signJwt(key, presented), 'INVALID_CREDENTIALS', `issuer ${what}, with our key`);
    await fails(t, signJwt('other', presented), 'INVALID_CREDENTIALS', `issuer ${what}, with another key`);
  }
  for (const payload of ['', 'null', '[]', '"gatehouse"', '{', '{"iss":"gatehouse"', '[{"iss":"gatehouse"}]']) {
    await fails(t, signJwt(key, payload), 'INVALID_CREDENTIALS', `payload ${payload}`);
  }
});

t.test('if a claim is duplicated, the last value applies, also when the service selects the key', async (t) => {
  const other = await createUser(app);
  const text = JSON.stringify(claims).slice(1);
  await accepted(t, signJwt(key, `{"id":"${other.id}","iss":"other","exp":1,${text}`), 'other values before ours');
  const after = (more: string) => `{${text.slice(0, -1)},${more}}`;
  await fails(t, signJwt(key, after(`"id":"${other.id}"`)), 'INVALID_CREDENTIALS', 'another user after ours');
  await fails(t, signJwt(key, after('"exp":1')), 'TOKEN_EXPIRED', 'another exp after ours');
  await fails(t, signJwt(key, after('"iss":"other"')), 'INVALID_CREDENTIALS', 'another issuer after ours');
  await fails(t, signJwt('x', `{"iss":"other",${text}`), 'INVALID_TOKEN', 'another key');
});

t.test('claims are not read from the prototype', async (t) => {
  const { id: _, ...others } = claims;
  const nested = JSON.stringify({ ...others, nested: { id: account.id } }).replace('"nested"', '"__proto__"');
  await fails(t, signJwt(key, nested), 'INVALID_TOKEN', 'id set through __proto__');
});

t.test('a token is rejected if its user and its session do not match', async (t) => {
  const other = await createUser(app);
  const theirs = decodeJwt(await accessTokenOf(other)).claims;
  const cases = {
    'another user’s id': { ...claims, id: theirs.id },
    'another user’s session': { ...claims, session: theirs.session },
    'a session that does not exist': { ...claims, session: randomUUID() },
    'a user who does not exist': { ...claims, id: randomUUID() },
    'a future generation': { ...claims, generation: 1 },
  };
  for (const [what, changed] of Object.entries(cases)) {
    await fails(t, signJwt(key, changed), 'INVALID_CREDENTIALS', what);
  }
});

t.test('an invalid token is rejected as invalid even if it has expired', async (t) => {
  const old = { ...claims, exp: 1 };
  await fails(t, signJwt(key, old), 'TOKEN_EXPIRED', 'old');
  await fails(t, signJwt(key, { ...old, session: randomUUID() }), 'TOKEN_EXPIRED', 'expired, without a session');
  await fails(t, signJwt('other', old), 'INVALID_TOKEN', 'expired and forged');
  await fails(t, signJwt(key, { ...old, role: undefined }), 'INVALID_TOKEN', 'expired and incomplete');
});

t.test('a token expires exactly at the time in its exp claim', async (t) => {
  const exp = 2_000_000_000;
  const signing = { jwt: app.jwt, keys: app.signingKeys, issuer: 'gatehouse' };
  const at = (ms: number) => createAccessTokens({ ...signing, clock: () => new Date(ms) });
  const issued = at((exp - 900) * 1000).issue(
    { id: account.id, role: null, app_access: false, admin_access: false, session: randomUUID() },
    new Date(exp * 1000),
  );
  t.match(decodeJwt(issued).claims, { iat: exp - 900, exp });
  t.equal((await at((exp - 1) * 1000).verify(issued))?.exp, exp, 'one second before');
  t.equal((await at(exp * 1000 - 1).verify(issued))?.exp, exp, 'one millisecond before');
  await t.rejects(at(exp * 1000).verify(issued), { code: 'TOKEN_EXPIRED' }, 'at exactly that time');
  await t.rejects(at((exp + 1) * 1000).verify(issued), { code: 'TOKEN_EXPIRED' }, 'one second after');

  const now = Math.floor(clock.now().getTime() / 1000);
  await accepted(t, signJwt(key, { ...claims, exp: now + 30 }), '30 seconds before it expires');
  await fails(t, signJwt(key, { ...claims, exp: now }), 'TOKEN_EXPIRED', 'now');
  await fails(t, signJwt(key, { ...claims, exp: now - 1 }), 'TOKEN_EXPIRED', 'expired one second ago');
  await fails(t, signJwt(key, { ...claims, exp: 0 }), 'TOKEN_EXPIRED', 'expired in 1970');
  await fails(t, signJwt(key, { ...claims, exp: -1 }), 'TOKEN_EXPIRED', 'expired before 1970');
});

t.test('a token is never valid for longer than its session', async (t) => {
  const late = signJwt(key, { ...claims, exp: 99_999_999_999 });
  await accepted(t, late, 'while the session exists');
  clock.advance(7 * 24 * 3_600_000 + 1000);
  await fails(t, late, 'INVALID_CREDENTIALS', 'after the session has expired');
});
