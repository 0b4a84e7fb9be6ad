// @suite embedded-only: hardly depends on the engine

import t, { type Test } from 'tap';
import { buildApp } from '../../app.js';
import { secretIdOf } from '../../plugins/platform/secret-check.js';
import { createTestDatabase } from '../helpers/database/databases.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { testConfig } from '../helpers/service/app.js';

const [first, second, third] = ['first', 'second', 'third'].map((name) => `the ${name} secret which is long enough`);

/** Starts and stops a service on the same database. @returns why it does not start; undefined if it does */
async function starter(t: Test) {
  const database = await createTestDatabase({ hasTables: true });
  atEndOf(t, () => database.drop());
  return async (variables: Record<string, string | undefined>): Promise<string | undefined> => {
    try {
      const app = await buildApp(testConfig(variables as Record<string, string>), { database: database.location });
      await app.close();
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };
}

t.test('the service refuses to start with a SECRET that the database was not used with', async (t) => {
  const start = await starter(t);
  t.equal(await start({ SECRET: first }), undefined);
  t.equal(await start({ SECRET: first }), undefined);
  const refusal = (await start({ SECRET: second })) ?? '';
  t.match(refusal, 'SECRET: the database was used with another SECRET.');
  t.match(refusal, `LOST_SECRET_ID=${secretIdOf(first ?? '')}`);
  t.notOk(
    [first, second].some((secret) => refusal.includes(secret ?? '')),
    'no secret is repeated',
  );
  t.match(await start({ SECRET: second, PREVIOUS_SECRETS: third }), 'another SECRET');
  t.equal(await start({ SECRET: first }), undefined, 'a refused start changes nothing');
});

t.test('a change of SECRET with PREVIOUS_SECRETS is accepted, and the new one is noted', async (t) => {
  const start = await starter(t);
  t.equal(await start({ SECRET: first }), undefined);
  t.equal(await start({ SECRET: first, PREVIOUS_SECRETS: second }), undefined, 'first round');
  t.equal(await start({ SECRET: second, PREVIOUS_SECRETS: first }), undefined, 'second round');
  t.equal(
    await start({ SECRET: first, PREVIOUS_SECRETS: second }),
    undefined,
    'an instance of the first round restarts',
  );
  t.equal(await start({ SECRET: second, PREVIOUS_SECRETS: first }), undefined);
  t.equal(await start({ SECRET: second }), undefined, 'PREVIOUS_SECRETS is no longer needed');
  t.match(await start({ SECRET: first }), 'another SECRET');
});

t.test('LOST_SECRET_ID accepts a new SECRET once, and only instead of the one that it identifies', async (t) => {
  const start = await starter(t);
  t.equal(await start({ SECRET: first }), undefined);
  t.match(await start({ SECRET: second, LOST_SECRET_ID: secretIdOf(second ?? '') }), 'another SECRET');
  const override = { LOST_SECRET_ID: secretIdOf(first ?? '') };
  t.equal(await start({ SECRET: second, ...override }), undefined);
  t.equal(await start({ SECRET: second }), undefined);
  t.match(
    await start({ SECRET: third, ...override }),
    'another SECRET',
    'a variable that was forgotten allows nothing',
  );
});
