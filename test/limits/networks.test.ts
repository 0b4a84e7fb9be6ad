import { eq } from 'drizzle-orm';
import t from 'tap';
import { knownNetworks } from '../../db/schema.js';
import { createAccount, deleteAccount } from '../helpers/accounts.js';
import { startTestApp } from '../helpers/app.js';
import { day, minute } from '../helpers/clock.js';
import { loginsOf } from '../helpers/logins.js';
import { refused } from '../helpers/refusals.js';
import { newHolder } from '../helpers/two-factor.js';

t.test('from where a user has logged in', async (t) => {
  const service = await startTestApp(t);
  const { app, clock } = service;
  const { right, wrong } = loginsOf(service);
  const networksOf = async (user: string) =>
    (await app.db.select().from(knownNetworks).where(eq(knownNetworks.user, user)))
      .map(({ network }) => network)
      .sort();

  t.test('is noted once', async (t) => {
    const ada = await createAccount(app);
    await wrong(ada, '192.0.2.9');
    await Promise.all(Array.from({ length: 5 }, () => right(ada, '192.0.2.1')));
    await right(ada, '2001:db8:1:2:3:4:5:6');
    t.strictSame(await networksOf(ada.id), ['192.0.2.1', '2001:db8:1:2::']);
    await deleteAccount(app, ada.id);
    t.strictSame(await networksOf(ada.id), [], 'and goes with the user');
  });

  t.test('the password alone is not enough where there is a second factor', async (t) => {
    const holder = await newHolder(service);
    refused(t, await holder.login(), 'INVALID_OTP', 'the first step');
    t.strictSame(await networksOf(holder.id), []);
  });

  t.test('the latest twenty, of ninety days', async (t) => {
    const ada = await createAccount(app);
    for (let index = 0; index < 23; index++) {
      t.equal((await right(ada, `192.0.2.${100 + index}`)).statusCode, 200);
      clock.advance(minute);
    }
    const kept = await networksOf(ada.id);
    t.equal(kept.length, 20);
    t.notOk(kept.includes('192.0.2.102'));
    t.ok(kept.includes('192.0.2.103') && kept.includes('192.0.2.122'));
    clock.advance(89 * day);
    await right(ada, '192.0.2.110');
    clock.advance(2 * day);
    await app.passwordChecks.clear();
    t.strictSame(await networksOf(ada.id), ['192.0.2.110']);
  });
});

t.test('one address cannot try many accounts that are none of its own', async (t) => {
  const service = await startTestApp(t, { RATE_LIMITER_ENABLED: 'true', RATE_LIMITER_POINTS: '1000000' });
  const { app, clock } = service;
  const { right, wrong, logIn } = loginsOf(service);
  const office = '192.0.2.1';
  const ada = await createAccount(app);
  const bob = await createAccount(app);
  t.equal((await right(ada, office)).statusCode, 200);
  for (let index = 1; index < 300; index++) {
    const response = await logIn(`victim-${index}@example.com`, 'Password123!', office);
    if (response.statusCode !== 401) throw new Error(response.body);
  }
  refused(t, await logIn('another@example.com', 'Password123!', office), 'REQUESTS_EXCEEDED', 'an unknown account');
  refused(t, await right(bob, office), 'REQUESTS_EXCEEDED', 'a known one, new there');
  t.equal((await right(ada, office)).statusCode, 200, 'who is known there gets in');
  refused(t, await wrong(ada, office), 'INVALID_CREDENTIALS', 'and may mistype');
  t.equal((await right(bob, '192.0.2.2')).statusCode, 200, 'another address');
  clock.advance(15 * minute);
  t.equal((await right(bob, office)).statusCode, 200, 'a quarter of an hour later');
});
