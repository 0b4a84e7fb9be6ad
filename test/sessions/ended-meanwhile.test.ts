import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eq, sql } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { emailChanges, identities, sessions, users } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { engine } from '../helpers/database/databases.js';
import { refused } from '../helpers/http/refusals.js';
import { startWithAdmin } from '../helpers/http/writing.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { identitiesOf } from '../helpers/providers/provider-records.js';
import { createVisitor, followRedirect } from '../helpers/providers/visitor.js';
import { everyPermission, policyWith } from '../helpers/users/rights.js';
import { codeOfStep, rfcSecret } from '../helpers/users/totp.js';
import { nextStep } from '../helpers/users/two-factor.js';
import { createSignedInUser, type SignedInUser } from '../helpers/users/users.js';

/**
 * If a session ends during a request, for example because of a password reset, the request must not change the account.
 */

const publicUrl = 'http://gatehouse.example.com';
const server = await startOauth2Server(t, { publicUrl, keys: ['alpha'] });
const service = await startWithAdmin(t, {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: 'alpha',
  ...server.variables('alpha'),
});
const { app, request, post, get } = service;
const everything = await policyWith(app, everyPermission);

type Send = () => Promise<LightMyRequestResponse>;

/**
 * Ends the sessions of a user in another transaction, after the request has been authenticated and before it reaches
 * the row of the user.
 */
async function endMeanwhile(user: string, send: Send): Promise<LightMyRequestResponse> {
  const endSessions = () => app.db.delete(sessions).where(eq(sessions.user, user));
  if (engine === 'postgres') {
    const { response } = await app.db.transaction(async (tx) => {
      await tx.select({ id: users.id }).from(users).where(eq(users.id, user)).for('update');
      await tx.delete(sessions).where(eq(sessions.user, user));
      const sent = { response: send() };
      for (;;) {
        const waiting = await rows(
          app.db,
          sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        if (waiting.length > 0) return sent;
        await sleep(20);
      }
    });
    return response;
  }
  // With a single connection, the transaction of the request starts after the other one has ended.
  const client = (app.db as unknown as { $client: { transaction: (...work: unknown[]) => Promise<unknown> } }).$client;
  const { transaction } = client;
  client.transaction = async (...work) => {
    client.transaction = transaction;
    await endSessions();
    return transaction.apply(client, work);
  };
  return send();
}

const newPassword = () => `a password nobody has guessed ${randomUUID()}`;
const person = () => createSignedInUser(service, { policies: [everything] });

/** Everything that an attacker might change. */
async function stateOf({ id, codesLeft, row }: SignedInUser) {
  const { email, password, tokenHash, tfaSecret } = await row();
  const changes = await app.db.$count(emailChanges, eq(emailChanges.user, id));
  return {
    email,
    password,
    tokenHash,
    tfaSecret,
    changes,
    codes: await codesLeft(),
    identities: await identitiesOf(app, id),
  };
}

let count = 0;

/** Prepares the callback of a link request. */
async function linking({ headers }: SignedInUser): Promise<Send> {
  server.profile = { id: ++count, name: 'Ada', email: `ada-${count}@example.com` };
  const visitor = createVisitor(service, publicUrl);
  const started = await visitor.send({ method: 'POST', url: '/users/me/identities/alpha', payload: {}, headers });
  const callback = await followRedirect(started.json().data.url);
  const cookie = await visitor.cookies(callback);
  return () => get(callback.slice(publicUrl.length), { ...headers, cookie });
}

const operations: Record<string, { make(): Promise<SignedInUser>; prepare(person: SignedInUser): Promise<Send> }> = {
  'linking an identity': { make: person, prepare: linking },
  'unlinking an identity': {
    make: person,
    prepare: async ({ id: user, headers }) => {
      const [made] = await app.db
        .insert(identities)
        .values({ user, provider: 'alpha', identifier: user, isPrimary: false, createdAt: app.clock() })
        .returning({ id: identities.id });
      return () => request({ method: 'DELETE', url: `/users/me/identities/${made?.id}`, headers });
    },
  },
  'changing the password': {
    make: person,
    prepare:
      async ({ headers }) =>
      () =>
        post('/users/me/password', { password: newPassword() }, headers),
  },
  'changing the static token': {
    make: person,
    prepare:
      async ({ headers }) =>
      () =>
        request({ method: 'PATCH', url: '/users/me', payload: { token: `token-${randomUUID()}` }, headers }),
  },
  'changing the email address': {
    make: person,
    prepare:
      async ({ headers }) =>
      () =>
        post('/users/me/email', { email: `${randomUUID()}@example.com` }, headers),
  },
  'enabling the second factor': {
    make: person,
    prepare:
      async ({ enable }) =>
      () =>
        enable({ secret: rfcSecret.base32, otp: codeOfStep(nextStep(service)) }),
  },
  'disabling the second factor': {
    make: () => createSignedInUser(service, { tfa: true }),
    prepare:
      async ({ disable }) =>
      () =>
        disable({ otp: codeOfStep(nextStep(service)) }),
  },
  'renewing the recovery codes': {
    make: () => createSignedInUser(service, { tfa: true }),
    prepare:
      async ({ renewCodes }) =>
      () =>
        renewCodes({ otp: codeOfStep(nextStep(service)) }),
  },
};

for (const [what, { make, prepare }] of Object.entries(operations)) {
  t.test(`${what} is rejected if the session ends during the request`, async (t) => {
    const owner = await make();
    const send = await prepare(owner);
    const before = await stateOf(owner);
    refused(t, await endMeanwhile(owner.id, send), 'INVALID_CREDENTIALS', what);
    t.strictSame(await stateOf(owner), before, 'nothing has changed');
  });
}
