import { calculateJwkThumbprint, createRemoteJWKSet, jwtVerify } from 'jose';
import t from 'tap';
import { signingKeys } from '../../db/schema.js';
import { countStatements } from '../helpers/database/statements.js';
import { listen } from '../helpers/http/raw-http.js';
import { refused } from '../helpers/http/refusals.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { decodeJwt } from '../helpers/tokens/jwt.js';
import { logIn, modes, readMe, refresh, sessionOf } from '../helpers/users/sessions.js';

/** Verification of access tokens with the published keys, and the contents of the key set. */

const path = '/.well-known/jwks.json';

for (const [algorithm, members] of [
  ['EdDSA', { kty: 'OKP', crv: 'Ed25519' }],
  ['ES256', { kty: 'EC', crv: 'P-256' }],
] as const) {
  t.test(`keys for ${algorithm}`, async (t) => {
    const service = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: algorithm });
    const { app, clock, get } = service;
    const url = new URL(path, `http://127.0.0.1:${await listen(app)}`);
    const keys = createRemoteJWKSet(url);
    const verify = (token: string) =>
      jwtVerify(token, keys, { issuer: 'gatehouse', typ: 'at+jwt', algorithms: [algorithm], currentDate: clock.now() });

    await t.test('another service can verify tokens of all modes without calling Gatehouse', async (t) => {
      for (const mode of modes) {
        const session = await logIn(service, mode);
        const { payload, protectedHeader } = await verify(session.accessToken);
        t.strictSame(Object.keys(protectedHeader).sort(), ['alg', 'kid', 'typ'], mode);
        const generation = mode === 'session' ? ['generation'] : [];
        const claims = ['id', 'role', 'app_access', 'admin_access', 'session', ...generation, 'iat', 'exp', 'iss'];
        t.strictSame(Object.keys(payload), claims, 'the usual claims');
        t.equal((await readMe(service, session)).statusCode, 200);
        const next = sessionOf(mode, await refresh(service, session));
        t.equal((await verify(next.accessToken)).payload.session, payload.session);
        t.equal((await readMe(service, next)).statusCode, 200);
      }
    });

    await t.test('another service rejects a token that was tampered with', async (t) => {
      const { accessToken } = await logIn(service, 'json');
      const [header, , signature] = accessToken.split('.');
      const { claims } = decodeJwt(accessToken);
      const body = Buffer.from(JSON.stringify({ ...claims, admin_access: false })).toString('base64url');
      await t.rejects(verify(`${header}.${body}.${signature}`), { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' });
    });

    await t.test('the key set contains only public keys', async (t) => {
      const response = await get(path);
      t.equal(response.statusCode, 200);
      t.match(response.headers, {
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'public, max-age=300',
      });
      const set = response.json();
      t.strictSame(Object.keys(set), ['keys']);
      t.equal(set.keys.length, 1);
      const [{ x, y, kid, ...rest }] = set.keys;
      t.strictSame(rest, { ...members, alg: algorithm, use: 'sig' });
      t.equal(Buffer.from(x, 'base64url').length, 32);
      t.equal(y === undefined, algorithm === 'EdDSA');
      t.equal(kid, await calculateJwkThumbprint({ ...members, x, ...(y && { y }) }), 'an id according to RFC 7638');
      const [stored] = await app.db.select().from(signingKeys);
      t.equal(stored?.kid, kid);
      t.match(stored?.privateKey, /^v1\.[\w-]{8}\.[\w-]+\.[\w-]+$/, 'the stored private key is encrypted');
    });
  });
}

t.test('the route never returns a private key, even if it is passed one', async (t) => {
  const { app, get } = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'ES256' });
  const { all } = await app.signingKeys.providerKeys();
  t.equal((await get(path)).json().keys.length, 3);
  const { keys } = app.signingKeys.published();
  for (const key of all) {
    app.signingKeys.published = () => ({ keys: [...keys, key] });
    const response = await get(path);
    t.equal(response.statusCode, 500, key.alg);
    t.notMatch(response.body, key.d);
  }
});

t.test('HS256 is the default: tokens have no key id, and the set is empty', async (t) => {
  const service = await startTestApp(t);
  const { app, get } = service;
  const { accessToken } = await logIn(service, 'json');
  t.strictSame(decodeJwt(accessToken).header, { alg: 'HS256', typ: 'at+jwt' });
  const response = await get(path);
  t.equal(response.body, '{"keys":[]}');
  t.match(response.headers, { 'cache-control': 'public, max-age=300' });
  t.strictSame(await app.db.select().from(signingKeys), [], 'no key is created unless it is needed');
});

t.test('the key set is public, but an invalid credential is rejected', async (t) => {
  const service = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  const { app, get, request } = service;
  const { headers } = await logIn(service, 'json');
  t.equal((await get(path, headers)).statusCode, 200, 'a valid credential');
  const refusal = await get(path, bearer('x'));
  refused(t, refusal, 'INVALID_CREDENTIALS', 'an invalid credential');
  t.equal(refusal.headers['cache-control'], 'no-store', 'an error is not cached');
  const head = await request({ method: 'HEAD', url: path });
  t.strictSame([head.statusCode, head.body], [200, '']);
  t.equal((await get(`${path}/`)).statusCode, 200);
  t.equal((await request({ method: 'POST', url: path })).statusCode, 404);

  const statements = countStatements(app);
  await Promise.all(Array.from({ length: 50 }, () => get(path)));
  t.equal(statements(), 0, 'the database is not queried');
  await get('/users/me', headers);
  const before = statements();
  await get('/users/me', headers);
  t.ok(statements() - before <= 1, 'the key of a token is not read either');
});

t.test('rate limits do not apply to the key set', async (t) => {
  const { get } = await startTestApp(t, { RATE_LIMITER_ENABLED: 'true', RATE_LIMITER_POINTS: '1' });
  for (let asked = 0; asked < 3; asked++) t.equal((await get(path)).statusCode, 200);
});
