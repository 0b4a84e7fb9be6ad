import { randomUUID } from 'node:crypto';
import t from 'tap';
import { createAccessTokens } from '../../plugins/tokens/access-tokens.js';
import { revoke } from '../../plugins/tokens/signing-keys/rotation.js';
import { bearer, codeOf, startTestApp, type TestApp } from '../helpers/service/app.js';
import { day } from '../helpers/service/clock.js';
import { storeOf } from '../helpers/tokens/signing-keys.js';
import { administrator } from '../helpers/users/credentials.js';

/** Signatures of tokens that are presented repeatedly are verified once. Everything that can change is checked each time. */

/** Logs in and uses the access token twice. @returns the token, and a function that returns the error code for any token */
async function useToken({ app }: Pick<TestApp, 'app'>) {
  const errorFor = async (token: string) => codeOf(await app.inject({ url: '/users/me', headers: bearer(token) }));
  const login = await app.inject({ method: 'POST', url: '/auth/login', payload: administrator });
  const { access_token: token, refresh_token: refreshToken } = login.json().data;
  t.equal(await errorFor(token), undefined);
  t.equal(await errorFor(token), undefined);
  return { token, refreshToken, errorFor };
}

t.test('a used token is rejected once its key has been removed, and not when it has only been replaced', async (t) => {
  const service = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  const { app, clock } = service;
  const { token, errorFor } = await useToken(service);
  await app.signingKeys.rotate(0);
  await app.signingKeys.reload();
  t.equal(await errorFor(token), undefined);
  await revoke(app.db, storeOf(app), 'EdDSA', clock.now());
  await app.signingKeys.reload();
  t.equal(await errorFor(token), 'INVALID_TOKEN');
});

t.test('a used token expires', async (t) => {
  const service = await startTestApp(t);
  const { token, errorFor } = await useToken(service);
  service.clock.advance(day);
  t.equal(await errorFor(token), 'TOKEN_EXPIRED');
});

t.test('a used token ends with its session', async (t) => {
  const service = await startTestApp(t);
  const { token, refreshToken, errorFor } = await useToken(service);
  await service.app.inject({ method: 'POST', url: '/auth/logout', payload: { refresh_token: refreshToken } });
  t.equal(await errorFor(token), 'INVALID_CREDENTIALS');
});

t.test('changing any part of a used token makes it invalid', async (t) => {
  const { token, errorFor } = await useToken(await startTestApp(t));
  const [header = '', payload = '', signature = ''] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const extended = Buffer.from(JSON.stringify({ ...claims, exp: claims.exp + 60 })).toString('base64url');
  const first = signature.startsWith('A') ? 'B' : 'A';
  for (const other of [
    `${header}.${extended}.${signature}`,
    `${header}.${payload}.${first}${signature.slice(1)}`,
    `${header}.${payload}.${signature.slice(0, -1)}`,
    `${header}.${payload}.`,
    `${token}A`,
  ]) {
    t.equal(await errorFor(other), 'INVALID_TOKEN', other);
  }
  t.equal(await errorFor(token), undefined);
});

t.test('the signatures of the 2,000 tokens that were used last are not verified again', async (t) => {
  const { app } = await startTestApp(t);
  let verifications = 0;
  const jwt = {
    sign: app.jwt.sign,
    decode: app.jwt.decode,
    verify: ((token: string) => {
      verifications++;
      return app.jwt.verify(token);
    }) as typeof app.jwt.verify,
  };
  const { signingKeys: keys, clock } = app;
  const { issue, verify } = createAccessTokens({ jwt, keys, clock, issuer: 'gatehouse' });
  const expires = new Date(clock().getTime() + day);
  const claims = { id: randomUUID(), role: null, app_access: true, admin_access: false };
  const tokens = Array.from({ length: 2_001 }, () => issue({ ...claims, session: randomUUID() }, expires));
  for (const token of tokens) await verify(token);
  t.equal(verifications, 2_001);
  for (const token of tokens.slice(1)) await verify(token);
  t.equal(verifications, 2_001);
  t.match(await verify(tokens[0] ?? ''), claims);
  t.equal(verifications, 2_002, 'the oldest one is no longer in memory');
});
