import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { identities, users } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, patch, remove, startWithAdmin, stateOf } from '../helpers/http/writing.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { codeOf } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import {
  type ClientSession,
  claimsOf,
  logIn,
  logOut,
  modes,
  readMe,
  refresh,
  sessionOf,
} from '../helpers/users/sessions.js';
import { codeOfStep, rfcSecret } from '../helpers/users/totp.js';
import { nextStep, ownSecretPolicy } from '../helpers/users/two-factor.js';
import { createSignedInUser, createUser } from '../helpers/users/users.js';

/** An operation that ends sessions reports success only if they have ended. If it fails, it changes nothing. */

const service = await startWithAdmin(t);
const { app, clock, post } = service;
const own = await ownSecretPolicy(app);
const password = 'another password, long enough';

/** A request that ends a session, and that session. */
interface Ending {
  session: ClientSession;
  send(): Promise<LightMyRequestResponse>;
}

const idOf = ({ accessToken }: ClientSession) => String(claimsOf(accessToken).session);

async function signedIn() {
  const user = await createUser(app);
  const [session, other] = [await logIn(service, 'json', user), await logIn(service, 'session', user)];
  return { user, session, other };
}

const endings: Record<string, () => Promise<Ending>> = {
  ...Object.fromEntries(
    modes.map((mode) => [
      `logout in mode ${mode}`,
      async () => {
        const session = await logIn(service, mode, await createUser(app));
        return { session, send: () => logOut(service, session) };
      },
    ]),
  ),
  'a reused refresh token': async () => {
    const old = await logIn(service, 'json', await createUser(app));
    const session = sessionOf('json', await refresh(service, old));
    clock.advance(minute);
    return { session, send: () => refresh(service, old) };
  },
  'one session, ended by its user': async () => {
    const { session, other } = await signedIn();
    return { session, send: () => remove(service, `/users/me/sessions/${idOf(session)}`, undefined, other.headers) };
  },
  'all other sessions, ended by their user': async () => {
    const { session, other } = await signedIn();
    return { session, send: () => remove(service, '/users/me/sessions', undefined, other.headers) };
  },
  'one session, ended by an administrator': async () => {
    const { session, user } = await signedIn();
    return { session, send: () => remove(service, `/users/${user.id}/sessions/${idOf(session)}`) };
  },
  'all sessions, ended by an administrator': async () => {
    const { session, user } = await signedIn();
    return { session, send: () => remove(service, `/users/${user.id}/sessions`) };
  },
  ...Object.fromEntries(
    [{ status: 'suspended' }, { password }, { email: () => `${randomUUID()}@example.com` }].map((change) => [
      `an update of ${Object.keys(change)}`,
      async () => {
        const { session, user } = await signedIn();
        const data = Object.fromEntries(
          Object.entries(change).map(([name, value]) => [name, typeof value === 'function' ? value() : value]),
        );
        return { session, send: () => patch(service, `/users/${user.id}`, data) };
      },
    ]),
  ),
  'a deletion of the user': async () => {
    const { session, user } = await signedIn();
    return { session, send: () => remove(service, `/users/${user.id}`) };
  },
  'a password reset by email': async () => {
    const { session, user } = await signedIn();
    await post('/auth/password/request', { email: user.email });
    const token = await tokenFor(app, user.email);
    return { session, send: () => post('/auth/password/reset', { token, password }) };
  },
  'setting up a second factor': async () => {
    const person = await createSignedInUser(service, { policies: [own] });
    const session = await logIn(service, 'json', person);
    return { session, send: () => person.enable({ secret: rfcSecret.base32, otp: codeOfStep(nextStep(service)) }) };
  },
  'turning off a second factor': async () => {
    const holder = await createSignedInUser(service, { tfa: true, policies: [own] });
    const session = sessionOf('json', await holder.login(codeOfStep(nextStep(service))));
    const otp = codeOfStep(nextStep(service));
    return { session, send: () => holder.disable({ otp }) };
  },
  'turning off a second factor as an administrator': async () => {
    const holder = await createSignedInUser(service, { tfa: true });
    const session = sessionOf('json', await holder.login(codeOfStep(nextStep(service))));
    return { session, send: () => post(`/users/${holder.id}/tfa/disable`, undefined, asAdmin) };
  },
  'unlinking an identity': async () => {
    const { session, other, user } = await signedIn();
    const id = randomUUID();
    const [provider, identifier] = ['elsewhere', id];
    await app.db
      .insert(identities)
      .values({ id, user: user.id, provider, identifier, isPrimary: false, createdAt: clock.now() });
    return { session, send: () => remove(service, `/users/me/identities/${id}`, undefined, other.headers) };
  },
};

t.test('an operation that cannot end a session does not report success (CVE-2020-15223)', async (t) => {
  await app.db.execute(sql`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$`);
  await app.db.execute(sql`create trigger refuse before delete on sessions for each row execute function refuse()`);
  for (const [what, make] of Object.entries(endings)) {
    const { send, session } = await make();
    const before = await stateOf(app);
    refused(t, await send(), 'INTERNAL_SERVER_ERROR', what);
    // Attempts to verify a code are counted even if the request fails.
    await app.db.update(users).set({ tfaFailures: 0 });
    t.equal(await stateOf(app), before, `${what}: nothing is changed`);
    t.equal((await readMe(service, session)).statusCode, 200, `${what}: the session has not ended`);
  }
  await app.db.execute(sql`drop trigger refuse on sessions`);
  await app.db.execute(sql`drop function refuse`);
});

t.test('a session reported as ended has ended (CVE-2020-15223)', async (t) => {
  for (const [what, make] of Object.entries(endings)) {
    const { send, session } = await make();
    t.equal((await readMe(service, session)).statusCode, 200, `${what}: before`);
    const response = await send();
    const isDone = response.statusCode < 300 || codeOf(response) === 'INVALID_CREDENTIALS';
    t.ok(isDone, `${what}: ${response.statusCode} ${response.body}`);
    refused(t, await readMe(service, session), 'INVALID_CREDENTIALS', what);
    t.equal((await refresh(service, session)).statusCode, 401, `${what}: it cannot be refreshed`);
  }
});
