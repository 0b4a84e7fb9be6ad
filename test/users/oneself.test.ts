import { eq } from 'drizzle-orm';
import t from 'tap';
import { identities, recoveryCodes, sessions, users } from '../../db/schema.js';
import { allOperations } from '../helpers/openapi/operations.js';
import { startTestApp } from '../helpers/service/app.js';
import { policyWith } from '../helpers/users/rights.js';
import { codeOfStep, rfcSecret, stepOf } from '../helpers/users/totp.js';
import { nextStep, ownSecretPolicy } from '../helpers/users/two-factor.js';
import { createSignedInUser } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, clock, request } = service;
const policies = [
  await ownSecretPolicy(app),
  await policyWith(app, [
    { collection: 'users', action: 'update', fields: ['*'], permissions: { id: { _eq: '$CURRENT_USER' } } },
  ]),
];

t.test(
  'a route under /me always acts on the authenticated user, whatever user a request names (CVE-2025-61928)',
  async (t) => {
    const victim = await createSignedInUser(service, { tfa: true, policies });
    t.equal((await victim.login(codeOfStep(nextStep(service)))).statusCode, 200, 'there is a session to end');
    await app.db.insert(identities).values({
      user: victim.id,
      provider: 'elsewhere',
      identifier: 'the victim',
      isPrimary: false,
      createdAt: clock.now(),
    });
    const theirs = async () =>
      JSON.stringify(
        await Promise.all([
          app.db.select().from(users).where(eq(users.id, victim.id)),
          app.db.select().from(sessions).where(eq(sessions.user, victim.id)),
          app.db.select().from(identities).where(eq(identities.user, victim.id)),
          app.db.select().from(recoveryCodes).where(eq(recoveryCodes.user, victim.id)),
        ]),
      );
    const before = await theirs();
    const names = ['id', 'user', 'userId', 'user_id', 'sub', 'email', 'principal', 'session', 'sessionId'];
    const claims = Object.fromEntries(names.map((name) => [name, name === 'email' ? victim.email : victim.id]));
    const query = new URLSearchParams(claims).toString();
    const headers = { 'x-user-id': victim.id, 'x-user': victim.email, 'x-forwarded-user': victim.email };

    const own = allOperations({ id: victim.id }).filter(({ url }) => /\/me(\/|$)/.test(url));
    t.ok(own.length >= 15, `${own.length} operations`);
    const statuses = new Set<number>();
    const callers = [
      await createSignedInUser(service, { policies }),
      await createSignedInUser(service, { tfa: true, policies }),
    ];
    for (const { operationId, method, url, fields } of own) {
      for (const caller of callers) {
        const values: Record<string, unknown> = {
          last_page: '/a',
          first_name: 'Mallory',
          password: caller.password,
          secret: rfcSecret.base32,
          otp: codeOfStep(stepOf(clock.now())),
        };
        const fitting = Object.fromEntries(Object.entries(values).filter(([name]) => fields.has(name)));
        for (const payload of [fitting, { ...fitting, ...claims }]) {
          for (const address of [`${url}?${query}`, url]) {
            const body = method === 'GET' ? {} : { payload };
            const answer = await request({ method, url: address, ...body, headers: { ...caller.headers, ...headers } });
            statuses.add(answer.statusCode);
            t.notOk(answer.body.includes(victim.email) || answer.body.includes('the victim'), operationId);
          }
        }
      }
      t.equal(await theirs(), before, `${operationId}: nothing of the victim has changed`);
    }
    for (const status of [200, 204, 400, 403]) t.ok(statuses.has(status), `some responses are ${status}`);
  },
);
