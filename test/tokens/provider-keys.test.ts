import { createPrivateKey, createPublicKey } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { createLocalJWKSet, importJWK, type JSONWebKeySet, jwtVerify, SignJWT } from 'jose';
import t, { type Test } from 'tap';
import { signingKeys } from '../../db/schema.js';
import type { PrivateKey } from '../../plugins/tokens/signing-keys/key-pair.js';
import { addProviderKeys, leadTime } from '../../plugins/tokens/signing-keys/rotation.js';
import { type KeyPairAlgorithm, type KeySet, keyPairAlgorithms, keySetMaxAge } from '../../schemas/jwks.js';
import { recorded } from '../helpers/database/activity.js';
import { countStatements } from '../helpers/database/statements.js';
import { quietly } from '../helpers/providers/openid-provider.js';
import { bearer, codeOf, startTestApp, type TestApp } from '../helpers/service/app.js';
import { day, hour, minute, second } from '../helpers/service/clock.js';
import { instancesBeside } from '../helpers/service/instances.js';
import { decodeJwt } from '../helpers/tokens/jwt.js';
import { kidsOf, storeOf } from '../helpers/tokens/signing-keys.js';
import { logIn, sessionCookie } from '../helpers/users/sessions.js';

/** The keys of the OpenID Connect provider: RS256, ES256, and EdDSA side by side, together with those of access tokens. */

const clientId = 'a-client';
const resource = 'https://api.example.com/';
const path = '/.well-known/jwks.json';

type Claims = Record<string, unknown>;

/** Signs as the provider does: with the key that signs now, or with the one that is passed. */
async function sign(key: PrivateKey, claims: Claims, typ?: string): Promise<string> {
  const header = { alg: key.alg, kid: key.kid, ...(typ === undefined ? {} : { typ }) };
  return new SignJWT(claims).setProtectedHeader(header).sign(await importJWK(key));
}

const kidsIn = (keys: readonly { kid: string }[]) => keys.map(({ kid }) => kid);

const signerOf = async (app: FastifyInstance, algorithm: KeyPairAlgorithm): Promise<PrivateKey> => {
  const { signing } = await app.signingKeys.providerKeys();
  const key = signing.find(({ alg }) => alg === algorithm);
  if (!key) throw new Error(`There is no key for ${algorithm}.`);
  return key;
};

const keySetOf = async ({ get }: Pick<TestApp, 'get'>): Promise<KeySet> => (await get(path)).json();

const idTokenClaims = (app: FastifyInstance, now: Date): Claims => {
  const iat = Math.floor(now.getTime() / 1000);
  return { iss: app.config.PUBLIC_URL, sub: 'a user', aud: clientId, iat, exp: iat + 3600 };
};

/** Verifies a token with a key set. Expiry is ignored, as it is for `id_token_hint`. */
const verifies = async (token: string, keys: KeySet): Promise<boolean> => {
  const { iat } = decodeJwt(token).claims;
  const currentDate = new Date(Number(iat) * 1000);
  return jwtVerify(token, createLocalJWKSet(keys as JSONWebKeySet), { currentDate }).then(
    () => true,
    () => false,
  );
};

t.test('the first use creates a key of each algorithm, which signs immediately', async (t) => {
  const service = await startTestApp(t);
  const { app, clock } = service;
  t.strictSame(await keySetOf(service), { keys: [] }, 'no key is created unless it is needed');
  const { signing, verifying, all, version } = await app.signingKeys.providerKeys();
  t.strictSame(
    signing.map(({ alg }) => alg),
    ['EdDSA', 'ES256', 'RS256'],
  );
  t.strictSame(all, signing);
  const { keys } = await keySetOf(service);
  t.strictSame(keys, verifying);
  t.strictSame(kidsIn(keys).sort(), kidsIn(signing).sort());
  const members = {
    EdDSA: ['alg', 'crv', 'kid', 'kty', 'use', 'x'],
    ES256: ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'],
    RS256: ['alg', 'e', 'kid', 'kty', 'n', 'use'],
  };
  for (const key of keys) t.strictSame(Object.keys(key).sort(), members[key.alg], 'only the public members');
  for (const key of signing) {
    t.strictSame({ use: key.use, isPrivate: 'd' in key }, { use: 'sig', isPrivate: true });
    const token = await sign(key, idTokenClaims(app, clock.now()));
    t.ok(await verifies(token, { keys }), key.alg);
  }
  const [rsa] = signing.filter(({ alg }) => alg === 'RS256');
  const { asymmetricKeyDetails } = createPublicKey(createPrivateKey({ key: rsa as never, format: 'jwk' }));
  t.equal(asymmetricKeyDetails?.modulusLength, 2048);

  const statements = countStatements(app);
  const again = await Promise.all([0, 1, 2].map(() => app.signingKeys.providerKeys()));
  for (const keys of again) t.equal(keys.version, version);
  t.equal(statements(), 0, 'further calls do not query the database');
  t.match(
    decodeJwt((await logIn(service, 'json')).accessToken).header,
    { alg: 'HS256' },
    'access tokens do not change',
  );

  const stored = await app.db.select().from(signingKeys);
  t.equal(stored.length, 3);
  for (const { privateKey } of stored) t.match(privateKey, /^v1\.[\w-]{8}\.[\w-]+\.[\w-]+$/, 'encrypted');
  const rows = (await recorded(app)).filter(({ collection }) => collection === 'signing_keys');
  t.strictSame(
    rows.map(({ action }) => action),
    ['create', 'create', 'create'],
  );
});

t.test('instances that need the keys simultaneously create one of each algorithm', async (t) => {
  const service = await startTestApp(t);
  const start = instancesBeside(t, service);
  const others = [await start(), await start({ ACCESS_TOKEN_ALGORITHM: 'ES256' }), await start()];
  const instances = [service.app, ...others];
  const found = await Promise.all([...instances, ...instances].map((app) => app.signingKeys.providerKeys()));
  t.equal((await service.app.db.select().from(signingKeys)).length, 3);
  t.equal(new Set(found.map(({ version }) => version)).size, 1, 'all of them have the same keys');
  const late = await start();
  t.equal((await late.signingKeys.providerKeys()).version, found[0]?.version, 'and so does one that starts later');

  // Without RSA, all instances are ready to store their keys at almost the same moment.
  for (let round = 0; round < 5; round++) {
    await service.app.db.delete(signingKeys);
    const now = service.clock.now();
    const made = await Promise.all(
      instances.map((app) => addProviderKeys(app.db, storeOf(app), ['EdDSA', 'ES256'], now)),
    );
    t.equal(made.flat().length, 2);
    t.equal((await service.app.db.select().from(signingKeys)).length, 2);
  }
});

t.test('a rotation replaces the keys of all algorithms, and no token is invalid in between', async (t) => {
  const service = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  const { app: one, clock } = service;
  const two = await instancesBeside(t, service)({ ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  const instances = { one, two };
  const issued: { token: string; alg: string; kid: unknown; at: number }[] = [];
  const sets: { keys: KeySet; at: number }[] = [];
  const accessTokens: string[] = [];
  const wrong: string[] = [];

  /** Every instance signs with every algorithm, and every verifier verifies everything, whenever it last read the keys. */
  const work = async () => {
    const at = clock.now().getTime();
    const fresh: typeof issued = [];
    for (const app of Object.values(instances)) {
      for (const key of (await app.signingKeys.providerKeys()).signing) {
        const token = await sign(key, idTokenClaims(app, clock.now()));
        fresh.push({ token, alg: key.alg, kid: key.kid, at });
      }
      const keys: KeySet = (await app.inject(path)).json();
      sets.push({ keys, at });
    }
    const cached = sets.filter((set) => set.at >= at - keySetMaxAge * second);
    for (const { token, alg } of fresh) {
      for (const set of cached) if (!(await verifies(token, set.keys))) wrong.push(`a new ${alg} token at ${at}`);
    }
    for (const { token, alg } of issued) {
      for (const { keys } of sets.slice(-2)) if (!(await verifies(token, keys))) wrong.push(`an old ${alg} token`);
    }
    issued.push(...fresh);
    accessTokens.push((await logIn(service, 'session')).accessToken);
    for (const [at, app] of Object.entries(instances)) {
      for (const token of accessTokens) {
        const code = codeOf(await app.inject({ url: '/users/me', headers: bearer(token) }));
        if (code !== undefined) wrong.push(`an access token at ${at}: ${code}`);
      }
    }
  };
  /** Lets time pass. Both instances read the keys regularly. */
  const pass = async (ms: number) => {
    clock.advance(ms);
    for (const app of Object.values(instances)) await app.signingKeys.reload();
  };

  await one.signingKeys.providerKeys();
  await two.signingKeys.reload();
  await work();
  const made = await one.signingKeys.rotate(leadTime);
  t.strictSame(
    made.map(({ algorithm, isAlreadyScheduled }) => ({ algorithm, isAlreadyScheduled })),
    keyPairAlgorithms.map((algorithm) => ({ algorithm, isAlreadyScheduled: false })),
  );
  const again = await two.signingKeys.rotate(leadTime);
  t.strictSame(
    again,
    made.map((key) => ({ ...key, isAlreadyScheduled: true })),
    'a second rotation waits for the first',
  );
  await pass(5 * second);
  t.equal((await keySetOf(service)).keys.length, 6);
  for (let minutes = 0; minutes < 80; minutes += 4) {
    await work();
    await pass(4 * minute);
  }
  await work();
  t.strictSame([...new Set(wrong)], []);

  for (const { algorithm, kid, signsFrom } of made) {
    const used = issued.filter(({ alg }) => alg === algorithm);
    t.equal(new Set(used.map((token) => token.kid)).size, 2, `${algorithm}: the old key, and then the new one`);
    for (const token of used)
      t.equal(token.kid === kid, token.at >= signsFrom.getTime(), `${algorithm} at ${token.at}`);
  }
  const headers = accessTokens.map((token) => decodeJwt(token).header);
  t.strictSame([...new Set(headers.map(({ alg }) => alg))], ['EdDSA']);
  t.equal(new Set(headers.map(({ kid }) => kid)).size, 2, 'access tokens change their key at the same time');
});

t.test('the version changes exactly when the keys do', async (t) => {
  const service = await startTestApp(t);
  const { app, clock } = service;
  const versions: string[] = [];
  const changed = async (what: string, is: boolean) => {
    const before = await app.signingKeys.providerKeys();
    versions.push(before.version);
    return async (change: () => unknown) => {
      await change();
      const now = await app.signingKeys.providerKeys();
      t.equal(now.version !== before.version, is, what);
      t.equal(now === before, !is, `${what}: the same object if nothing changed`);
      return now;
    };
  };
  const first = await app.signingKeys.providerKeys();
  await (await changed('a reload', false))(() => app.signingKeys.reload());
  await (await changed('an hour', false))(() => clock.advance(hour));
  const published = await (await changed('successors are published', true))(async () => {
    await app.signingKeys.rotate(leadTime);
    await app.signingKeys.reload();
  });
  t.strictSame(kidsIn(published.signing), kidsIn(first.signing), 'the old keys still sign');
  t.strictSame(kidsIn(published.all).slice(0, 3), kidsIn(first.signing), 'they come first');
  t.strictSame(kidsIn(published.all).sort(), kidsIn(published.verifying).sort());
  await (await changed('shortly before the new keys sign', false))(() => clock.advance(leadTime - minute));
  const due = await (await changed('the new keys sign, without a reload', true))(() => clock.advance(2 * minute));
  t.strictSame(kidsIn(due.verifying), kidsIn(published.verifying));
  t.ok(due.signing.every(({ kid }) => !kidsIn(first.signing).includes(kid)));
  t.strictSame(kidsIn(due.all).slice(0, 3), kidsIn(due.signing), 'the new keys come first');
  const later = await (await changed('the old keys are removed', true))(async () => {
    await app.signingKeys.tidy();
    clock.advance(7 * day + 3 * hour);
    await app.signingKeys.tidy();
  });
  t.strictSame(kidsIn(later.signing), kidsIn(due.signing));
  t.strictSame(kidsIn(later.verifying).sort(), kidsIn(due.signing).sort());
  t.equal(new Set([...versions, later.version]).size, 4, 'no version is used twice');
});

t.test('keys are kept for as long as their tokens are presented, and the keys that sign always are', async (t) => {
  const service = await startTestApp(t);
  const { app, clock } = service;
  const start = instancesBeside(t, service);
  const first = await app.signingKeys.providerKeys();
  await app.signingKeys.rotate(0);
  await app.signingKeys.tidy();
  const second = await app.signingKeys.providerKeys();
  t.equal(second.verifying.length, 6);
  clock.advance(7 * day);
  await app.signingKeys.tidy();
  t.equal((await kidsOf(app)).length, 6, 'ID tokens identify sessions until these end without use');
  clock.advance(3 * hour);
  await app.signingKeys.tidy();
  t.strictSame((await kidsOf(app)).sort(), kidsIn(second.signing).sort());
  t.notOk((await kidsOf(app)).some((kid) => kidsIn(first.signing).includes(kid)));
  for (let months = 0; months < 3; months++) {
    clock.advance(30 * day);
    // An instance that has not used the provider since it started.
    await (await start()).signingKeys.tidy();
  }
  await app.signingKeys.reload();
  t.strictSame((await kidsOf(app)).sort(), kidsIn(second.signing).sort(), 'even if the provider is not used');

  const ttl = { ACCESS_TOKEN_TTL: '5m', REFRESH_TOKEN_TTL: '1h', SESSION_COOKIE_TTL: '1h' };
  const brief = await startTestApp(t, ttl);
  await brief.app.signingKeys.providerKeys();
  await brief.app.signingKeys.rotate(0);
  await brief.app.signingKeys.tidy();
  brief.clock.advance(day);
  await brief.app.signingKeys.tidy();
  t.equal((await kidsOf(brief.app)).length, 6, 'tokens for APIs can be valid for a day, even if sessions are shorter');
  brief.clock.advance(3 * hour);
  await brief.app.signingKeys.tidy();
  t.equal((await kidsOf(brief.app)).length, 3);
});

t.test('a revocation replaces the keys of all algorithms immediately', async (t) => {
  const service = await startTestApp(t);
  const { app, clock } = service;
  t.strictSame(await app.signingKeys.rotate(leadTime), [], 'without key pairs, there is nothing to rotate');
  t.strictSame(await app.signingKeys.revoke(), { removed: [], made: [] }, 'and none are created');
  const before = await app.signingKeys.providerKeys();
  const tokens = await Promise.all(before.signing.map((key) => sign(key, idTokenClaims(app, clock.now()))));
  const { removed, made } = await app.signingKeys.revoke();
  t.strictSame(removed.sort(), kidsIn(before.signing).sort());
  t.strictSame(
    made.map(({ algorithm }) => algorithm),
    [...keyPairAlgorithms],
  );
  await app.signingKeys.reload();
  const keys = await app.signingKeys.providerKeys();
  t.not(keys.version, before.version);
  t.strictSame(kidsIn(keys.signing), kidsIn(made), 'the new keys sign');
  for (const token of tokens) t.notOk(await verifies(token, await keySetOf(service)));
});

t.test('access tokens and the provider can share keys, whichever needs them first', async (t) => {
  const service = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  const { app, clock } = service;
  const start = instancesBeside(t, service);
  const headerAt = async (app: FastifyInstance) => {
    await app.ready();
    const claims = { id: 'x', role: null, app_access: false, admin_access: false, session: 'x' };
    return decodeJwt(app.accessTokens.issue(claims, new Date(clock.now().getTime() + hour))).header;
  };
  const eddsa = await headerAt(app);
  const es256 = await start({ ACCESS_TOKEN_ALGORITHM: 'ES256' });
  t.strictSame(await headerAt(es256), eddsa, 'the first key of another algorithm waits');
  const scheduled = await signerOf(es256, 'ES256');
  t.strictSame(await headerAt(es256), eddsa);
  t.equal((await signerOf(es256, 'EdDSA')).kid, eddsa.kid, 'the provider uses the existing key');
  t.equal((await kidsOf(es256)).length, 3);
  t.equal(
    (await signerOf(app, 'ES256')).kid,
    scheduled.kid,
    'the provider has no other key for ES256, and uses it early',
  );
  clock.advance(leadTime);
  t.equal((await headerAt(es256)).kid, scheduled.kid);

  // Only the key for RS256 is left, which never signs access tokens.
  const rsa = await signerOf(app, 'RS256');
  for (const { kid, algorithm } of await app.db.select().from(signingKeys)) {
    if (algorithm !== 'RS256') await app.db.execute(`delete from signing_keys where kid = '${kid}'`);
  }
  const alone = await start({ ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  t.match(
    await headerAt(alone),
    { alg: 'EdDSA' },
    'without a key that could sign until then, the first key signs immediately',
  );
  t.strictSame((await kidsOf(alone)).length, 2);
  t.equal((await signerOf(alone, 'RS256')).kid, rsa.kid);
  t.equal((await kidsOf(alone)).length, 3, 'what is missing is created');
});

t.test('an attacker who can write to the table cannot change the algorithm of a key', async (t) => {
  const service = await startTestApp(t);
  const { app } = service;
  const { kid } = await signerOf(app, 'RS256');
  for (const algorithm of ['EdDSA', 'ES256']) {
    await app.db.execute(`update signing_keys set algorithm = '${algorithm}' where kid = '${kid}'`);
    const other = await instancesBeside(t, service)();
    t.notOk((await kidsOf(other)).includes(kid), algorithm);
  }
});

t.test('a token of the provider is not accepted as an access token of Gatehouse', async (t) => {
  const service = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'ES256' });
  const { app, clock, get } = service;
  const { signing } = await app.signingKeys.providerKeys();
  const { accessToken } = await logIn(service, 'session');
  const { claims: own } = decodeJwt(accessToken);
  const ofUser = { ...idTokenClaims(app, clock.now()), sub: own.id };
  const errorsFor = async (t: Test, token: string, code: string, what: string) => {
    t.equal(codeOf(await get('/users/me', bearer(token))), code, `${what}, in the header`);
    t.equal(codeOf(await get(`/users/me?access_token=${token}`)), code, `${what}, in the query`);
    t.equal(codeOf(await get('/users/me', { cookie: `${sessionCookie}=${token}` })), code, `${what}, in the cookie`);
  };
  for (const key of signing) {
    const { alg } = key;
    const forResource = { ...ofUser, aud: resource, client_id: clientId, scope: 'read', jti: 'x', sid: own.session };
    await t.test(alg, async (t) => {
      const foreign = {
        'an ID token': await sign(key, ofUser),
        'an ID token with the type JWT': await sign(key, ofUser, 'JWT'),
        'a token for an API': await sign(key, forResource, 'at+jwt'),
        'a token for an API with the claims of an access token': await sign(key, { ...own, ...forResource }, 'at+jwt'),
        'a logout token': await sign(key, ofUser, 'logout+jwt'),
      };
      for (const [what, token] of Object.entries(foreign)) await errorsFor(t, token, 'INVALID_CREDENTIALS', what);
      // The provider always sets the issuer. If it did not, the type would still show what the token is.
      const asOurs = { ...ofUser, ...own };
      for (const typ of [undefined, 'JWT', 'logout+jwt']) {
        await errorsFor(t, await sign(key, asOurs, typ), 'INVALID_TOKEN', `our issuer and claims, type ${typ}`);
      }
      await errorsFor(t, await sign(key, { ...ofUser, iss: 'gatehouse' }, 'at+jwt'), 'INVALID_TOKEN', 'our issuer');
    });
  }
  const rsa = await signerOf(app, 'RS256');
  await errorsFor(t, await sign(rsa, own, 'at+jwt'), 'INVALID_TOKEN', 'RS256 never signs access tokens');
  const es256 = await signerOf(app, 'ES256');
  t.equal(codeOf(await get('/users/me', bearer(await sign(es256, own, 'at+jwt')))), undefined, 'ES256 does');
});

t.test(
  'an OpenID Connect provider can use the keys, and accepts no access token of Gatehouse as an ID token',
  async (t) => {
    const service = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'ES256', ACCESS_TOKEN_AUDIENCE: clientId });
    const { app, clock } = service;
    const old = (await app.signingKeys.providerKeys()).signing;
    await app.signingKeys.rotate(0);
    await app.signingKeys.reload();
    const { all, signing } = await app.signingKeys.providerKeys();
    const { default: Provider } = await quietly(() => import('oidc-provider'));
    for (const alg of keyPairAlgorithms) {
      const client = {
        client_id: clientId,
        redirect_uris: ['https://app.example.com/'],
        client_secret: 'x'.repeat(32),
      };
      const provider = await quietly(
        async () =>
          new Provider(app.config.PUBLIC_URL, {
            jwks: { keys: structuredClone(all) as never },
            enabledJWA: { idTokenSigningAlgValues: [...keyPairAlgorithms] },
            clients: [{ ...client, id_token_signed_response_alg: alg }],
          }),
      );
      const found = await provider.Client.find(clientId);
      if (!found) throw new Error('There is no client.');
      const idToken = new provider.IdToken({ sub: 'a user' }, { client: found, ctx: undefined as never });
      Object.assign(idToken, { scope: 'openid' });
      const issued = await idToken.issue({ use: 'idtoken' });
      t.equal(
        decodeJwt(issued).header.kid,
        signing.find((key) => key.alg === alg)?.kid,
        `${alg}: the newest key signs`,
      );
      t.ok(await provider.IdToken.validate(issued, found), `${alg}: a hint`);
      const oldKey = old.find((key) => key.alg === alg);
      if (!oldKey) throw new Error(`There is no key for ${alg}.`);
      const hint = await sign(oldKey, idTokenClaims(app, clock.now()));
      t.ok(await provider.IdToken.validate(hint, found), `${alg}: a hint that an old key has signed`);
      await t.rejects(
        provider.IdToken.validate((await logIn(service, 'session')).accessToken, found),
        `${alg}: an access token`,
      );
    }
  },
);
