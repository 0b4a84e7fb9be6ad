// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: tries hundreds of cases

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import t from 'tap';
import { deriveKey } from '../../plugins/platform/key-derivation.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { sampleOf } from '../helpers/runner/long.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { accessTokenHeader, accessTokenKey, decodeJwt, signJwt } from '../helpers/tokens/jwt.js';
import { assertUnchanged } from '../helpers/users/rights.js';
import { carry, logIn, sessionCookie } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

/** Invalid JWTs of every kind, sent to every place that accepts JWTs. */

const service = await startTestApp(t);
const { app, get, post } = service;
const account = await createUser(app);
const session = await logIn(service, 'session', account);
const { claims: ours } = decodeJwt(session.token);
await post('/auth/password/request', { email: account.email });
const { claims: ofLink } = decodeJwt(await tokenFor(app, account.email));

const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
const jwk = JSON.stringify(publicKey.export({ format: 'jwk' }));
const keys = {
  ours: accessTokenKey(app),
  'the key of links': deriveKey(app.config.SECRET, 'link-token'),
  'the key of refresh tokens': deriveKey(app.config.SECRET, 'refresh-token'),
  'the secret itself': app.config.SECRET,
  none: '',
  ones: Buffer.alloc(32, 1),
  'a public key': pem,
  'a public key after a space': ` \n${pem}`,
  'a public key after a comment': `# key\n${pem}`,
  'a public key as a JWK': jwk,
};
const algorithms = ['HS256', 'HS384', 'HS512', 'RS256', 'PS256', 'ES256', 'EdDSA', 'none', 'None', '', null, undefined];
const hashes = { HS384: 'sha384', HS512: 'sha512' } as const;
const types = ['at+jwt', 'link+jwt', 'JWT', undefined];
const special = [
  { crit: ['exp'] },
  { crit: ['b64'], b64: false },
  { crit: [] },
  { kid: '../../../../dev/null' },
  { jku: 'https://evil.example/keys.json' },
  { x5u: 'https://evil.example/chain.pem' },
  { jwk: JSON.parse(jwk) },
  { zip: 'DEF' },
];

/** The tokens by description, without duplicates. */
const corpus = new Map<string, string>();
const add = (what: string, token: string) => {
  if (![...corpus.values()].includes(token)) corpus.set(what, token);
};
for (const [key, secret] of Object.entries(keys)) {
  for (const alg of algorithms) {
    for (const typ of types) {
      const what = `key: ${key}, alg ${alg}, typ ${typ}`;
      const header = { ...(alg === undefined ? {} : { alg }), ...(typ === undefined ? {} : { typ }) };
      const isOfLink = typ === 'link+jwt';
      // If everything else is valid, the claims belong to the other kind of token.
      const isRight =
        alg === 'HS256' && ((key === 'ours' && typ === 'at+jwt') || (key === 'the key of links' && isOfLink));
      const claims = isOfLink === isRight ? ours : ofLink;
      add(what, signJwt(secret, claims, header, hashes[alg as keyof typeof hashes]));
      if (alg !== 'HS256') add(`${what}, unsigned`, `${signJwt(secret, claims, header).split('.', 2).join('.')}.`);
    }
  }
}
for (const more of special) {
  for (const [key, secret] of Object.entries(keys)) {
    // A token signed with the correct key is valid, because its additional headers are ignored.
    if (key === 'ours' && !('crit' in more)) continue;
    add(
      `${JSON.stringify(more).slice(0, 40)}, with key: ${key}`,
      signJwt(secret, ours, { ...accessTokenHeader, ...more }),
    );
  }
}

const places: ((token: string) => ReturnType<typeof get>)[] = [
  (token) => get(`/users/me?access_token=${token}`),
  (token) => get('/users/me', { cookie: `${sessionCookie}=${token}` }),
  (token) => post('/auth/refresh', { mode: 'session' }, carry('session', token).headers),
  (token) => post('/auth/password/reset', { token, password: 'a password that is long enough' }),
  (token) => post('/users/invite/accept', { token, password: 'a password that is long enough' }),
  (token) => get(`/users/register/verify-email?token=${token}`),
];

t.test('more than five hundred invalid JWTs are rejected', async (t) => {
  t.ok(corpus.size >= 500, `${corpus.size} JWTs`);
  t.equal((await get('/users/me', bearer(signJwt(keys.ours, ours)))).statusCode, 200, 'a valid JWT is accepted');
  await assertUnchanged(t, app, 'hostile JWTs', async () => {
    for (const [index, [what, token]] of sampleOf([...corpus], 3).entries()) {
      const elsewhere = places[index % places.length] as (typeof places)[number];
      for (const { statusCode, body } of [await get('/users/me', bearer(token)), await elsewhere(token)]) {
        if (![401, 403].includes(statusCode)) t.fail(`${what}: ${statusCode} ${body}`);
      }
    }
  });
});

t.test('no token is mistaken for an earlier one (CVE-2026-35039)', async (t) => {
  // One after the other: on a busy machine, the hash queue rejects so many at the same time.
  const people: Awaited<ReturnType<typeof createUser>>[] = [];
  while (people.length < 12) people.push(await createUser(app));
  const held: Awaited<ReturnType<typeof logIn>>[] = [];
  for (const person of people) held.push(await logIn(service, 'session', person));
  for (const round of [1, 5, 7]) {
    for (let index = 0; index < people.length; index++) {
      const at = (index * round) % people.length;
      const { data } = (await get('/users/me?fields=id', bearer(held[at]?.token ?? ''))).json();
      t.equal(data.id, people[at]?.id);
      const { claims } = decodeJwt(held[at]?.token ?? '');
      const forged = signJwt('x', { ...claims, id: people[0]?.id, session: randomUUID() });
      t.equal((await get('/users/me', bearer(forged))).statusCode, 403, 'a forged token is rejected');
    }
  }
});
