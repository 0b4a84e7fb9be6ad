// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: tries hundreds of cases

import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { exportJWK } from 'jose';
import t, { type Test } from 'tap';
import { signingKeys } from '../../db/schema.js';
import { createSecretBox } from '../../plugins/platform/encryption.js';
import { keysFor } from '../../plugins/platform/key-derivation.js';
import { rotate } from '../../plugins/tokens/signing-keys/rotation.js';
import type { accessTokenKeyAlgorithms, PublicKey } from '../../schemas/jwks.js';
import { countStatements } from '../helpers/database/statements.js';
import { bearer, codeOf, startTestApp } from '../helpers/service/app.js';
import { accessTokenKey, decodeJwt, encodePart, signJwt } from '../helpers/tokens/jwt.js';
import { storeOf } from '../helpers/tokens/signing-keys.js';
import { logIn } from '../helpers/users/sessions.js';

/** Tokens forged to look as if one of the service's key pairs had signed them. */

const service = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
const { app, clock, get, post } = service;
await rotate(app.db, storeOf(app), 'ES256', clock.now(), 0);
await app.signingKeys.reload();

type KeyPairAlgorithm = (typeof accessTokenKeyAlgorithms)[number];

/** The private keys of the service, which no client has. */
const box = createSecretBox(keysFor(app.config, 'signing-key'));
const ours = Object.fromEntries(
  (await app.db.select().from(signingKeys)).map(({ kid, algorithm, privateKey }) => [
    algorithm,
    { kid, key: createPrivateKey(box.open(privateKey, kid)) },
  ]),
) as Record<KeyPairAlgorithm, { kid: string; key: KeyObject }>;
const published = Object.fromEntries(app.signingKeys.published().keys.map((key) => [key.alg, key])) as Record<
  KeyPairAlgorithm,
  Exclude<PublicKey, { kty: 'RSA' }>
>;

const { accessToken } = await logIn(service, 'json');
const { claims } = decodeJwt(accessToken);
const typ = 'at+jwt';
const other = { EdDSA: 'ES256', ES256: 'EdDSA' } as const;

const signatureOf = (algorithm: KeyPairAlgorithm, key: KeyObject, input: string): Buffer =>
  algorithm === 'EdDSA'
    ? sign(null, Buffer.from(input), key)
    : sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });

/** A token with any header, signed with `algorithm`. */
function forge(algorithm: KeyPairAlgorithm, key: KeyObject, header: object | string, body: object = claims): string {
  const input = `${encodePart(header)}.${encodePart(body)}`;
  return `${input}.${signatureOf(algorithm, key, input).toString('base64url')}`;
}

const generate = (algorithm: KeyPairAlgorithm) =>
  algorithm === 'EdDSA' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });

const errorFor = async (token: string) => codeOf(await get('/users/me', bearer(token)));

/** Sends all tokens in parallel, so that those with an unknown key share one database query. */
async function allRefused(t: Test, tokens: Record<string, string>, code = 'INVALID_TOKEN') {
  const names = Object.keys(tokens);
  const codes = await Promise.all(Object.values(tokens).map(errorFor));
  for (const [index, name] of names.entries()) t.equal(codes[index], code, name);
}

t.test('tokens that the test signs with the correct key are accepted', async (t) => {
  for (const algorithm of ['EdDSA', 'ES256'] as const) {
    const { kid, key } = ours[algorithm];
    t.equal(await errorFor(forge(algorithm, key, { alg: algorithm, typ, kid })), undefined, algorithm);
  }
});

for (const algorithm of ['EdDSA', 'ES256'] as const) {
  const { kid, key } = ours[algorithm];
  const header = { alg: algorithm, typ, kid };
  const real = forge(algorithm, key, header);
  const [head = '', body = '', signature = ''] = real.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const signedBy = (header: object, body?: object) => forge(algorithm, key, header, body);
  const withSignature = (changed: Buffer) => `${head}.${body}.${changed.toString('base64url')}`;

  t.test(
    `${algorithm}: the public key as an HMAC secret is rejected (CVE-2023-48223, CVE-2026-34950, GHSA-g3jj-5cmm-3hxx)`,
    async (t) => {
      const jwk = published[algorithm];
      const pem = String(createPublicKey(key).export({ type: 'spki', format: 'pem' }));
      const secrets: Record<string, string | Buffer> = {
        PEM: pem,
        'PEM without its last line break': pem.trimEnd(),
        'PEM after a space': ` ${pem}`,
        DER: createPublicKey(key).export({ type: 'spki', format: 'der' }),
        JWK: JSON.stringify(jwk),
        'JWK with only the key': JSON.stringify(await exportJWK(createPublicKey(key))),
        'the key set': JSON.stringify({ keys: [jwk] }),
        'the response': (await get('/.well-known/jwks.json')).body,
        x: jwk.x,
        'the bytes of x': Buffer.from(jwk.x, 'base64url'),
        'the bytes of both coordinates': Buffer.from(jwk.x + (jwk.kty === 'EC' ? jwk.y : ''), 'base64url'),
        kid,
        'an empty text': '',
      };
      const headers = [
        { alg: 'HS256', typ, kid },
        { alg: 'HS256', typ },
        { alg: algorithm, typ, kid },
        { alg: algorithm, typ },
      ];
      const tokens = Object.entries(secrets).flatMap(([what, secret]) =>
        headers.map((header) => [`${what}, ${JSON.stringify(header)}`, signJwt(secret, claims, header)]),
      );
      for (const hash of ['sha384', 'sha512'] as const) {
        const alg = hash.replace('sha', 'HS');
        tokens.push([alg, signJwt(pem, claims, { alg, typ, kid }, hash)]);
      }
      await allRefused(t, Object.fromEntries(tokens));
    },
  );

  t.test(`${algorithm}: the key derived from SECRET is rejected with the id of a key pair`, async (t) => {
    const secret = accessTokenKey(app);
    t.equal(await errorFor(signJwt(secret, claims)), undefined, 'it is valid for tokens without a key id');
    await allRefused(t, {
      'our id': signJwt(secret, claims, { alg: 'HS256', typ, kid }),
      'our id and algorithm': signJwt(secret, claims, header),
      'an unknown id': signJwt(secret, claims, { alg: 'HS256', typ, kid: 'x'.repeat(43) }),
      'null as the id': signJwt(secret, claims, { alg: 'HS256', typ, kid: null }),
    });
  });

  t.test(`${algorithm}: another algorithm, or none, is rejected`, async (t) => {
    const algs = ['none', 'None', 'NONE', 'nOnE', '', null, true, 0, [algorithm], [], {}, ` ${algorithm}`];
    const others = [
      'HS256',
      'HS384',
      'RS256',
      'PS256',
      'ES384',
      'ES512',
      'ES256K',
      'Ed25519',
      'Ed448',
      'eddsa',
      'es256',
    ];
    const tokens: Record<string, string> = {};
    for (const alg of [...algs, ...others, other[algorithm]]) {
      tokens[`${JSON.stringify(alg)}, unsigned`] = `${encodePart({ alg, typ, kid })}.${body}.`;
      tokens[`${JSON.stringify(alg)}, signed with our key`] = signedBy({ alg, typ, kid });
      tokens[`${JSON.stringify(alg)}, without a key id, signed with our key`] = signedBy({ alg, typ });
    }
    tokens['no algorithm'] = signedBy({ typ, kid });
    tokens['ours, unsigned'] = `${head}.${body}.`;
    await allRefused(t, tokens);
  });

  t.test(`${algorithm}: the id of our other key is rejected`, async (t) => {
    const theirs = ours[other[algorithm]];
    await allRefused(t, {
      'its id, our algorithm': signedBy({ alg: algorithm, typ, kid: theirs.kid }),
      'its id and algorithm': signedBy({ alg: other[algorithm], typ, kid: theirs.kid }),
      'its algorithm and signature, our id': forge(other[algorithm], theirs.key, { alg: other[algorithm], typ, kid }),
      'its signature, our id and algorithm': forge(other[algorithm], theirs.key, header),
    });
  });

  t.test(`${algorithm}: a key of an attacker is rejected`, async (t) => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end('{"keys":[]}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => server.close());
    const place = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const attacker = generate(algorithm);
    const jwk = await exportJWK(attacker.publicKey);
    const forged = (more: object) => forge(algorithm, attacker.privateKey, { ...header, ...more });
    const kids = {
      unknown: 'x'.repeat(43),
      missing: undefined,
      null: null,
      number: 1,
      true: true,
      list: [kid],
      object: { kid },
      empty: '',
      path: '../../../../dev/null',
      'longer path': `../../../../../../../../../../../../etc/shadow`.slice(0, 43),
      SQL: "' or '1'='1",
      'SQL, as long as an id': `${"' union select private_key from signing_keys--"}`.slice(0, 43),
      'with a space': `${kid} `,
      'with a line break': `${kid}\n`,
      'with a zero': `${kid}\u0000`,
      'in another letter case': kid.toLowerCase() === kid ? kid.toUpperCase() : kid.toLowerCase(),
      prototype: '__proto__',
      constructor: 'constructor',
      'very long': 'x'.repeat(5000),
    };
    await allRefused(t, {
      'our id': forged({}),
      'jwk, our id': forged({ jwk }),
      'jwk, its own id': forged({ jwk, kid: 'y'.repeat(43) }),
      'jwk, no id': forged({ jwk, kid: undefined }),
      'jku, our id': forged({ jku: `${place}/jku` }),
      'jku, its own id': forged({ jku: `${place}/jku`, kid: 'z'.repeat(43) }),
      x5u: forged({ x5u: `${place}/x5u` }),
      x5c: forged({ x5c: ['MIIB'] }),
      ...Object.fromEntries(Object.entries(kids).map(([what, kid]) => [`kid: ${what}`, forged({ kid })])),
    });
    t.strictSame(asked, [], 'no URL in a token is fetched');
    // The same ids, with our own signature. An id that does not have the form of ours is not looked up.
    const { missing: _, ...named } = kids;
    const signed = Object.entries(named).map(([what, kid]) => [what, signedBy({ ...header, kid })]);
    await allRefused(t, Object.fromEntries(signed));
  });

  t.test(`${algorithm}: a header with an extension or another type is rejected, even with our signature`, async (t) => {
    const tokens: Record<string, string> = {};
    for (const crit of [['exp'], ['b64'], ['kid'], ['unknown'], [], 'exp', [1], {}, true]) {
      tokens[`crit ${JSON.stringify(crit)}`] = signedBy({ ...header, crit, b64: false, unknown: 1 });
    }
    for (const typ of ['JWT', 'link+jwt', 'rt+jwt', '', 'at+jwt;x', null, 1, ['at+jwt'], undefined]) {
      tokens[`typ ${JSON.stringify(typ)}`] = signedBy({ ...header, typ });
    }
    await allRefused(t, tokens);
    await allRefused(t, { 'a header that is not an object': forge(algorithm, key, '[]') }, 'INVALID_CREDENTIALS');
  });

  t.test(`${algorithm}: another signature is rejected (CVE-2022-21449)`, async (t) => {
    const order = Buffer.from(
      algorithm === 'ES256'
        ? 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'
        : 'edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010',
      'hex',
    );
    const half = Buffer.alloc(32);
    const tokens: Record<string, string> = {
      'all zero': withSignature(Buffer.alloc(64)),
      'zero as the first half': withSignature(Buffer.concat([half, bytes.subarray(32)])),
      'zero as the second half': withSignature(Buffer.concat([bytes.subarray(0, 32), half])),
      'the group order as both halves': withSignature(Buffer.concat([order, order])),
      'the group order as the second half': withSignature(Buffer.concat([bytes.subarray(0, 32), order])),
      'all ones': withSignature(Buffer.alloc(64, 255)),
      'one byte': withSignature(Buffer.alloc(1)),
      twice: withSignature(Buffer.concat([bytes, bytes])),
      'an additional byte at the end': withSignature(Buffer.concat([bytes, Buffer.alloc(1)])),
      'an additional byte at the start': withSignature(Buffer.concat([Buffer.alloc(1), bytes])),
      'halves swapped': withSignature(Buffer.concat([bytes.subarray(32), bytes.subarray(0, 32)])),
      'of another text': withSignature(signatureOf(algorithm, key, `${head}.${encodePart({ ...claims, iat: 1 })}`)),
      'that of our other key': withSignature(
        signatureOf(other[algorithm], ours[other[algorithm]].key, `${head}.${body}`),
      ),
    };
    if (algorithm === 'ES256') {
      tokens['as DER'] = withSignature(sign('sha256', Buffer.from(`${head}.${body}`), key));
      tokens['with another hash'] = withSignature(
        sign('sha512', Buffer.from(`${head}.${body}`), { key, dsaEncoding: 'ieee-p1363' }),
      );
    } else {
      const s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`);
      const l = BigInt(`0x${Buffer.from(order).reverse().toString('hex')}`);
      const twin = Buffer.from((s + l).toString(16).padStart(64, '0'), 'hex').reverse();
      tokens['an equivalent signature (RFC 8032, 5.1.7)'] = withSignature(Buffer.concat([bytes.subarray(0, 32), twin]));
    }
    for (let length = 0; length < 64; length += 7) tokens[`${length} bytes`] = withSignature(bytes.subarray(0, length));
    // The last character contains two bits of the signature and four unused bits.
    tokens['in another encoding'] = `${real.slice(0, -1)}${String.fromCharCode(real.charCodeAt(real.length - 1) + 1)}`;
    await allRefused(t, tokens);
    await allRefused(t, { padded: `${real}==` }, 'INVALID_CREDENTIALS');
  });

  t.test(`${algorithm}: a token is rejected if any character has changed`, async (t) => {
    const accepted: number[] = [];
    for (let index = 0; index < real.length; index++) {
      if (real[index] === '.') continue;
      const changed = real.slice(0, index) + (real[index] === 'A' ? 'B' : 'A') + real.slice(index + 1);
      // A changed id may have the form of a valid one, and is then looked up once a second.
      const named = nameIn(changed);
      if (named?.length === 43 && named !== kid) continue;
      const isRefused = await app.accessTokens.verify(changed).then(
        (claims) => claims === undefined,
        (error) => error.code === 'INVALID_TOKEN',
      );
      if (!isRefused) accepted.push(index);
    }
    t.strictSame(accepted, []);
  });

  t.test(`${algorithm}: invalid claims are rejected, even with our signature`, async (t) => {
    const { session: _, ...incomplete } = claims;
    await allRefused(t, {
      'a claim missing': signedBy(header, incomplete),
      'a claim of another type': signedBy(header, { ...claims, admin_access: 'true' }),
      'exp as a text': signedBy(header, { ...claims, exp: String(claims.exp) }),
    });
    const strange = [['gatehouse'], ['gatehouse', 'x'], 'other', '', null, { iss: 'gatehouse' }, undefined];
    const tokens = strange.map((iss) => [`iss ${JSON.stringify(iss)}`, signedBy(header, { ...claims, iss })]);
    await allRefused(t, Object.fromEntries(tokens), 'INVALID_CREDENTIALS');
    await allRefused(t, { expired: signedBy(header, { ...claims, exp: 1 }) }, 'TOKEN_EXPIRED');
  });

  t.test(`${algorithm}: an access token is rejected where another kind is expected`, async (t) => {
    const password = 'a password that is long enough';
    const places = {
      invitation: await post('/users/invite/accept', { token: real, password }),
      reset: await post('/auth/password/reset', { token: real, password }),
      verification: await get(`/users/register/verify-email?token=${real}`),
    };
    for (const [what, response] of Object.entries(places)) t.equal(codeOf(response), 'INVALID_TOKEN', what);
    const refreshed = await post('/auth/refresh', { refresh_token: real });
    t.equal(codeOf(refreshed), 'INVALID_CREDENTIALS', 'refresh');
    const cookie = await post('/auth/refresh', { mode: 'session' }, { cookie: `gatehouse_session_token=${real}` });
    t.equal(
      codeOf(cookie),
      'INVALID_CREDENTIALS',
      'a token of mode json cannot be exchanged for one with a longer lifetime',
    );
  });
}

function nameIn(token: string): string | undefined {
  try {
    return String(decodeJwt(token).header.kid);
  } catch {
    return undefined;
  }
}

t.test('unknown keys cause one database query a second, however many there are', async (t) => {
  const { privateKey } = generate('EdDSA');
  const statements = countStatements(app);
  const codes = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      await sleep(index * 10);
      const kid = createHmac('sha256', String(index)).digest('base64url');
      return errorFor(forge('EdDSA', privateKey, { alg: 'EdDSA', typ, kid }));
    }),
  );
  t.strictSame([...new Set(codes)], ['INVALID_TOKEN']);
  t.ok(statements() <= 4, `${statements()} statements`);
});
