import { eq } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { signingKeys } from '../../db/schema.js';
import { secretIdOf } from '../../plugins/platform/secret-check.js';
import { leadTime, revoke, rotate } from '../../plugins/tokens/signing-keys/rotation.js';
import { recorded } from '../helpers/database/activity.js';
import { bearer, codeOf, startTestApp, type TestApp } from '../helpers/service/app.js';
import { day, hour, minute } from '../helpers/service/clock.js';
import { instancesBeside } from '../helpers/service/instances.js';
import { decodeJwt } from '../helpers/tokens/jwt.js';
import { kidsOf, storeOf } from '../helpers/tokens/signing-keys.js';
import { administrator } from '../helpers/users/credentials.js';

/**
 * The lifecycle of the keys for access tokens: creation, rotation, change of algorithm, removal. All instances share
 * one database.
 */

const session = { id: '0198c3a0-0000-7000-8000-000000000001' };

/** Logs in at an instance. The cookie of mode session has the longer lifetime. */
async function tokenOf(app: FastifyInstance, mode: 'json' | 'session' = 'session'): Promise<string> {
  const response = await app.inject({ method: 'POST', url: '/auth/login', payload: { ...administrator, mode } });
  const cookie = response.cookies.find(({ name }) => name === 'gatehouse_session_token');
  return cookie?.value ?? response.json().data.access_token;
}

const headerOf = (token: string) => decodeJwt(token).header;
const kidOf = (token: string) => headerOf(token).kid;

/** The response of an instance to a token: undefined, or an error code. */
const errorFor = async (app: FastifyInstance, token: string) =>
  codeOf(await app.inject({ url: '/users/me', headers: bearer(token) }));

/** Checks that each instance accepts each token. */
async function allLive(t: Test, instances: Record<string, FastifyInstance>, tokens: Record<string, string>) {
  for (const [at, app] of Object.entries(instances)) {
    for (const [what, token] of Object.entries(tokens))
      t.equal(await errorFor(app, token), undefined, `${what} at ${at}`);
  }
}

const rotateBy = async ({ app, clock }: Pick<TestApp, 'app' | 'clock'>, lead = leadTime) => {
  const [made, ...others] = await rotate(app.db, storeOf(app), 'EdDSA', clock.now(), lead);
  if (!made || others.length > 0) throw new Error('There is not exactly one new key.');
  return made;
};

t.test('a rotation publishes the new key, signs with it, and later removes the old key', async (t) => {
  const service = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  const { app: one, clock } = service;
  const two = await instancesBeside(t, service)({ ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  const [first = ''] = await kidsOf(one);
  t.strictSame(await kidsOf(two), [first], 'the instances share the key that the first of them has created');
  const before = await tokenOf(one);
  t.equal(kidOf(before), first);

  const made = await rotateBy(service);
  t.match(made, { algorithm: 'EdDSA', isAlreadyScheduled: false });
  t.equal(made.signsFrom.getTime() - clock.now().getTime() > leadTime - minute, true);
  t.match(
    await rotateBy(service),
    { kid: made.kid, isAlreadyScheduled: true },
    'a second rotation waits for the first',
  );

  // Published, but not yet in use.
  await one.signingKeys.reload();
  t.strictSame(await kidsOf(one), [made.kid, first]);
  clock.advance(leadTime - minute);
  const during = await tokenOf(one);
  t.equal(kidOf(during), first, 'the old key signs until others know the new one');

  // Now the new one signs, even on an instance that has not read the keys again.
  clock.advance(2 * minute);
  const after = await tokenOf(one);
  t.equal(kidOf(after), made.kid);
  t.equal(kidOf(await tokenOf(two)), first, 'an instance that missed this still signs with the old key');
  await allLive(t, { one, two }, { before, during, after });
  t.equal(kidOf(await tokenOf(two)), made.kid, 'it learns of the new key from the first token that it does not know');

  // The old key is removed when all tokens signed with it have become useless.
  clock.advance(day + minute);
  await two.signingKeys.tidy();
  t.equal(await errorFor(two, during), 'TOKEN_EXPIRED', 'an expired token is reported as such');
  t.strictSame((await kidsOf(two)).sort(), [made.kid, first].sort());
  clock.advance(6 * day + 3 * hour);
  await two.signingKeys.tidy();
  t.strictSame(await kidsOf(two), [made.kid]);
  await one.signingKeys.reload();
  t.strictSame(await kidsOf(one), [made.kid], 'removed on every instance');
  t.equal(await errorFor(one, during), 'INVALID_TOKEN');
  clock.advance(30 * day);
  await one.signingKeys.tidy();
  t.strictSame(await kidsOf(one), [made.kid], 'the key that signs is never removed');

  const rows = (await recorded(one)).filter(({ collection }) => collection === 'signing_keys');
  const bySystem = { outcome: 'success', user: null, ip: null, userAgent: null, requestId: null };
  t.match(rows, [
    { ...bySystem, action: 'create', item: first },
    { ...bySystem, action: 'create', item: made.kid },
    { ...bySystem, action: 'delete', item: first },
  ]);
  await one.activityChain.link();
  t.match(await one.verifyActivity(), { isIntact: true });
});

t.test('the algorithm can be changed, and changed back', async (t) => {
  const service = await startTestApp(t);
  const { app: hs256, clock } = service;
  const start = instancesBeside(t, service);
  const tokens: Record<string, string> = { HS256: await tokenOf(hs256) };

  const eddsa = await start({ ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  tokens.EdDSA = await tokenOf(eddsa);
  t.match(headerOf(tokens.EdDSA), { alg: 'EdDSA', typ: 'at+jwt' }, 'the first key signs immediately');
  await allLive(t, { eddsa, 'the instance that has not restarted': hs256 }, tokens);
  t.strictSame(await kidsOf(hs256), [kidOf(tokens.EdDSA)], 'that instance publishes the key, too');
  t.match(headerOf(await tokenOf(hs256)), { alg: 'HS256' });

  const es256 = await start({ ACCESS_TOKEN_ALGORITHM: 'ES256' });
  t.equal(kidOf(await tokenOf(es256)), kidOf(tokens.EdDSA), 'where others verify tokens, a new key is published first');
  t.equal((await kidsOf(es256)).length, 2);
  clock.advance(leadTime);
  tokens.ES256 = await tokenOf(es256);
  t.match(headerOf(tokens.ES256), { alg: 'ES256', typ: 'at+jwt' });
  await allLive(t, { es256, eddsa, hs256 }, tokens);

  const again = await start({ ACCESS_TOKEN_ALGORITHM: 'HS256' });
  tokens.again = await tokenOf(again);
  t.match(headerOf(tokens.again), { alg: 'HS256' });
  await allLive(t, { again, es256, eddsa, hs256 }, tokens);
  t.equal((await kidsOf(again)).length, 2, 'keys are published for as long as their tokens may be valid');
  clock.advance(7 * day + 3 * hour);
  await again.signingKeys.tidy();
  t.strictSame(await kidsOf(again), []);

  await eddsa.signingKeys.reload();
  t.equal((await kidsOf(eddsa)).length, 1, 'an instance that needs a key creates one');
});

t.test('of several simultaneous rotations, only one takes place', async (t) => {
  const service = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  const made = await Promise.all([0, 1, 2, 3].map(() => rotateBy(service)));
  t.equal(new Set(made.map(({ kid }) => kid)).size, 1);
  t.equal(made.filter(({ isAlreadyScheduled }) => !isAlreadyScheduled).length, 1);
});

t.test('several instances that start simultaneously create one key', async (t) => {
  const service = await startTestApp(t);
  const start = instancesBeside(t, service);
  const instances = await Promise.all([0, 1, 2, 3].map(() => start({ ACCESS_TOKEN_ALGORITHM: 'ES256' })));
  const sets = await Promise.all(instances.map(kidsOf));
  t.equal(sets[0]?.length, 1);
  for (const set of sets) t.strictSame(set, sets[0]);
});

t.test('a revocation takes effect immediately on running instances', async (t) => {
  const service = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  const { app, clock } = service;
  await rotateBy(service, 0);
  await app.signingKeys.reload();
  const token = await tokenOf(app);
  const login = await app.inject({ method: 'POST', url: '/auth/login', payload: administrator });
  const old = await kidsOf(app);
  t.equal(old.length, 2);
  const {
    removed,
    made: [made],
  } = await revoke(app.db, storeOf(app), 'EdDSA', clock.now());
  t.strictSame(removed.sort(), old.sort());
  await app.signingKeys.reload();
  t.strictSame(await kidsOf(app), [made?.kid]);
  t.equal(await errorFor(app, token), 'INVALID_TOKEN');
  t.equal(kidOf(await tokenOf(app)), made?.kid);
  const { refresh_token } = login.json().data;
  const refreshed = await app.inject({ method: 'POST', url: '/auth/refresh', payload: { refresh_token } });
  t.equal(refreshed.statusCode, 200, 'sessions with a refresh token continue');
  t.match(await revoke(app.db, storeOf(app), 'HS256', clock.now()), { removed: [made?.kid], made: [] });
  await app.signingKeys.reload();
  t.equal((await kidsOf(app)).length, 1, 'an instance that needs a key creates one');
});

t.test('stored keys survive a change of SECRET if the previous one is configured', async (t) => {
  const before = 'the secret of before which is long enough';
  const after = 'the secret from now on which is long enough';
  const variables = { ACCESS_TOKEN_ALGORITHM: 'ES256' };
  const service = await startTestApp(t, { ...variables, SECRET: before });
  const start = instancesBeside(t, service);
  const token = await tokenOf(service.app);
  const [kid] = await kidsOf(service.app);

  // SECRET changes in two rounds, as with several instances.
  const known = await start({ ...variables, SECRET: before, PREVIOUS_SECRETS: after });
  const changed = await start({ ...variables, SECRET: after, PREVIOUS_SECRETS: before });
  await allLive(t, { known, changed }, { token, another: await tokenOf(changed) });
  await known.signingKeys.tidy();
  t.strictSame(await kidsOf(known), [kid], 'each instance can decrypt what the other has encrypted');
  await changed.signingKeys.tidy();
  const later = await start({ ...variables, SECRET: after });
  t.strictSame(await kidsOf(later), [kid], 'the key is encrypted again, so the old SECRET can be dropped');
  t.equal(await errorFor(later, token), undefined, 'its tokens are accepted');
  t.equal(kidOf(await tokenOf(later)), kid);

  const other = { SECRET: 'a secret that has nothing to do with it', LOST_SECRET_ID: secretIdOf(after) };
  const stranger = await start({ ...variables, ...other });
  const [own, ...others] = await kidsOf(stranger);
  t.not(own, kid, 'a key that cannot be decrypted is replaced');
  t.strictSame(others, []);
  t.equal(await errorFor(stranger, token), 'INVALID_TOKEN');
  t.match(headerOf(await tokenOf(stranger)), { kid: own });
});

t.test('an attacker who can write to the table cannot insert a key of their own', async (t) => {
  const service = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  const { app } = service;
  const [key] = await app.db.select().from(signingKeys);
  const foreign = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'EdDSA', SECRET: 'x'.repeat(32) });
  const [other] = await foreign.app.db.select().from(signingKeys);
  if (!key || !other) throw new Error('There are no keys.');
  await app.db.insert(signingKeys).values([other, { ...key, kid: 'x'.repeat(43) }]);
  await app.signingKeys.reload();
  t.strictSame(await kidsOf(app), [key.kid], 'neither a key encrypted by another service, nor ours under another id');
  const forged = foreign.app.accessTokens.issue(
    { ...session, role: null, app_access: true, admin_access: true, session: session.id },
    new Date(Date.now() + day),
  );
  t.equal(await errorFor(app, forged), 'INVALID_TOKEN');
  await app.db.update(signingKeys).set({ algorithm: 'ES256' }).where(eq(signingKeys.kid, key.kid));
  const later = await instancesBeside(t, service)({ ACCESS_TOKEN_ALGORITHM: 'ES256' });
  const kids = await kidsOf(later);
  t.notOk(kids.includes(key.kid), 'a key with the wrong algorithm is not used');
  t.equal(kids.length, 1, 'a new key is created');
});

t.test('an unavailable database does not invalidate tokens', async (t) => {
  const { app } = await startTestApp(t, { ACCESS_TOKEN_ALGORITHM: 'EdDSA' });
  const kids = await kidsOf(app);
  await app.db.execute('alter table signing_keys rename to put_away');
  await t.rejects(app.signingKeys.reload());
  t.strictSame(await kidsOf(app), kids, 'the keys are still known');
  t.equal(await errorFor(app, await tokenOf(app)), undefined);
  await app.db.execute('alter table put_away rename to signing_keys');
});
