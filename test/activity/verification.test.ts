// @suite not-everyday: writes thousands of events

import { eq, sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { activity } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { policyWith } from '../helpers/users/rights.js';
import { createUserWithToken } from '../helpers/users/users.js';

interface Verification {
  intact: boolean;
  fault: string | null;
  complete: boolean;
  verified: number;
  head: string | null;
}

/** A service with `amount` linked events. */
async function started(t: Test, amount: number) {
  const service = await startWithAdmin(t);
  const { app, post, get } = service;
  for (let written = 0; written < amount; written += 100) {
    const list = Array.from({ length: Math.min(100, amount - written) }, (_, n) => ({ name: `Role ${written + n}` }));
    t.equal((await post('/roles?fields=id', list, asAdmin)).statusCode, 200);
  }
  while ((await app.activityChain.link()) > 0);
  const verify = async (after?: string | null) => {
    const response = await get(`/activity/verification${after ? `?after=${after}` : ''}`, asAdmin);
    t.equal(response.statusCode, 200, response.body);
    return response.json().data as Verification;
  };
  return { ...service, verify };
}

t.test('verifies a long log in several requests', async (t) => {
  const { verify, app, post } = await started(t, 2_100);
  const first = await verify();
  t.match(first, { intact: true, fault: null, complete: false, verified: 2_000, head: /^2000:/ });
  const second = await verify(first.head);
  t.match(second, { intact: true, fault: null, complete: true, verified: 100, head: /^2100:/ });
  t.match(await verify(second.head), { intact: true, complete: true, verified: 0, head: second.head });

  t.equal((await post('/roles', { name: 'Another' }, asAdmin)).statusCode, 200);
  t.match(await verify(second.head), { complete: true, verified: 1, head: second.head }, 'not linked yet');
  await app.activityChain.link();
  t.match(await verify(second.head), { complete: true, verified: 1, head: /^2101:/ });

  await app.db.update(activity).set({ ip: '192.0.2.9' }).where(eq(activity.position, 2_050));
  t.match(await verify(), { intact: true, complete: false }, 'the altered entry is in the second part');
  const altered = await verify(first.head);
  t.match(altered, { intact: false, complete: false, verified: 0, head: null, fault: /^Position 2050 .* was altered/ });
});

t.test('finds entries that were removed, and a log that was replaced', async (t) => {
  const { verify, app } = await started(t, 5);
  const { head } = await verify();
  const other = head?.replace(/.$/, (last) => (last === 'A' ? 'E' : 'A'));
  t.match(await verify(`3:${other?.split(':')[1]}`), { intact: false, fault: /^Position 4 .* does not follow/ });
  t.match(await verify(`9:${other?.split(':')[1]}`), { intact: false, fault: /should extend at least to 9/ });
  await app.db.delete(activity).where(eq(activity.position, 5));
  t.match(await verify(), { intact: false, fault: /Position 5 is missing at the end/ });
  await app.db
    .update(activity)
    .set({ position: sql`${activity.position} + 10` })
    .where(eq(activity.position, 4));
  t.match(await verify(), { intact: false, fault: /^Position 4 is missing/ });
});

t.test('continues after entries that are no longer kept', async (t) => {
  const { verify, app, clock } = await started(t, 6);
  const { head } = await verify();
  await app.activityChain.removeOlderThan(new Date(clock.now().getTime() + 1_000));
  t.match(await verify(`2:${head?.split(':')[1]}`), { intact: true, complete: true, head });
});

t.test('is only for administrators, and refuses what is not a head', async (t) => {
  const { app, get } = await started(t, 1);
  const policy = await policyWith(app, [{ collection: 'activity', action: 'read', fields: ['*'] }]);
  const { headers } = await createUserWithToken(app, { policies: [policy] });
  refused(t, await get('/activity/verification', headers), 'FORBIDDEN', 'a permission is not enough');
  refused(t, await get('/activity/verification'), 'INVALID_CREDENTIALS', 'anonymous');
  for (const after of ['', '3', '3:short', `1e3:${'a'.repeat(52)}`, '-1:x']) {
    refused(t, await get(`/activity/verification?after=${after}`, asAdmin), 'INVALID_QUERY', after);
  }
});
