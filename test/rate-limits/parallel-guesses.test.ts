// @suite not-everyday: sends a thousand requests

import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { buildApp } from '../../app.js';
import { ApiError } from '../../schemas/errors.js';
import { engine } from '../helpers/database/databases.js';
import { startTestApp, testConfig } from '../helpers/service/app.js';
import { countChecks, loginsOf } from '../helpers/users/logins.js';
import { createUser, storedUser, type TestUser } from '../helpers/users/users.js';

/** The clock is stopped, because on a slow machine, a lock might end before all guesses have been made. */
const clock = () => new Date('2030-01-01T00:00:00Z');
// All guesses fit into the queue, so that none is rejected before it is counted.
const service = await startTestApp(t, { PASSWORD_HASH_QUEUE: '1000' }, { clock });
const { app, database } = service;
const { right } = loginsOf(service);

const home = '192.0.2.1';

/** Makes guesses in parallel. It does not use HTTP, because a slow machine might exceed the request timeout. */
async function guess(
  t: Test,
  { id, email }: TestUser,
  amount: number,
  instanceOf: (index: number) => FastifyInstance,
  from: (index: number) => string,
) {
  const { password } = await storedUser(app, id);
  const outcomes = await Promise.allSettled(
    Array.from({ length: amount }, (_, index) =>
      instanceOf(index).passwordChecks.require({ id, email, password }, 'a wrong guess', {
        ip: from(index),
        network: from(index),
        userAgent: null,
        requestId: `guess-${index}`,
        abandoned: new AbortController().signal,
      }),
    ),
  );
  const told = outcomes.map((outcome) =>
    outcome.status === 'rejected' && outcome.reason instanceof ApiError ? outcome.reason.code : outcome,
  );
  t.equal(told.filter((answer) => answer === 'INVALID_CREDENTIALS').length, 25, '25 guesses are rejected as wrong');
  t.equal(told.filter((answer) => answer === 'REQUESTS_EXCEEDED').length, amount - 25, 'the others are not verified');
}

t.test('of a thousand parallel guesses, only 25 are verified (CVE-2024-4629)', async (t) => {
  const checks = countChecks(app);
  const ada = await createUser(app);
  t.equal((await right(ada, home)).statusCode, 200);
  const before = checks();
  await guess(
    t,
    ada,
    1000,
    () => app,
    () => '198.51.100.1',
  );
  t.equal(checks() - before, 25, 'from one address');
  t.equal((await right(ada, home)).statusCode, 200, 'the owner can still log in');

  const bob = await createUser(app);
  const early = checks();
  await guess(
    t,
    bob,
    400,
    () => app,
    (index) => `198.18.${index >> 8}.${index & 255}`,
  );
  t.equal(checks() - early, 25, 'from hundreds of addresses');
});

t.test(
  'two instances that share a database verify only 25 guesses together',
  { skip: engine !== 'postgres' && 'requires a database server' },
  async (t) => {
    const twin = await buildApp(testConfig(), { clock, database: database.location });
    t.teardown(() => twin.close());
    const ada = await createUser(app);
    await guess(
      t,
      ada,
      300,
      (index) => (index % 2 ? app : twin),
      (index) => `198.51.100.${index % 200}`,
    );
  },
);
