// @suite not-everyday: writes hundreds of events

import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { buildApp } from '../../app.js';
import { activity, activityChain } from '../../db/schema.js';
import { beginChain } from '../../plugins/activity/chain.js';
import { createSignatures } from '../../plugins/activity/signatures.js';
import { deriveKey, keysFor } from '../../plugins/platform/key-derivation.js';
import { secretIdOf } from '../../plugins/platform/secret-check.js';
import { recorded } from '../helpers/database/activity.js';
import { createTestDatabase } from '../helpers/database/databases.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { testConfig } from '../helpers/service/app.js';
import { day } from '../helpers/service/clock.js';

/** Starts a service whose audit log has `rows` rows, all linked. */
async function started(t: Test, rows = 6, variables: Record<string, string> = {}) {
  const service = await startWithAdmin(t, variables);
  const { app, post } = service;
  const write = async (amount: number) => {
    for (let index = 0; index < amount; index++) {
      t.equal((await post('/roles', { name: `Role ${randomUUID()}` }, asAdmin)).statusCode, 200);
    }
  };
  await write(rows);
  t.equal(await app.activityChain.link(), rows);
  return { ...service, write };
}

t.test('rows are linked in the order of events, and verification succeeds', async (t) => {
  const { app, write } = await started(t, 3);
  t.match(await app.verifyActivity(), { isIntact: true, first: 1, head: { position: 3 }, linked: 3, unlinked: 0 });
  await write(2);
  t.match(await app.verifyActivity(), { isIntact: true, head: { position: 3 }, linked: 3, unlinked: 2 });
  t.equal(await app.activityChain.link(), 2);
  t.equal(await app.activityChain.link(), 0);
  t.match(await app.verifyActivity(), { isIntact: true, head: { position: 5 }, linked: 5, unlinked: 0 });
  const rows = await recorded(app);
  t.strictSame(
    rows.map(({ position }) => position),
    [1, 2, 3, 4, 5],
  );
});

t.test('an empty log is intact', async (t) => {
  const { app } = await startWithAdmin(t);
  t.match(await app.verifyActivity(), { isIntact: true, head: null, linked: 0, unlinked: 0 });
  t.equal(await app.activityChain.link(), 0);
});

t.test('concurrent runs link more rows than fit into a batch, each row once', async (t) => {
  const service = await startWithAdmin(t);
  const { app, post } = service;
  const list = Array.from({ length: 300 }, (_, index) => ({ name: `Role ${index}` }));
  t.equal((await post('/roles?fields=id', list, asAdmin)).statusCode, 200);
  const counts = await Promise.all([1, 2, 3].map(() => app.activityChain.link()));
  t.equal(counts.reduce((sum, count) => sum + count, 0) + (await app.activityChain.link()), 300);
  t.match(await app.verifyActivity(), { isIntact: true, head: { position: 300 }, linked: 300, unlinked: 0 });
});

/** Empties the log, and signs a new beginning with SECRET. */
async function beginAgain({ db, config }: FastifyInstance) {
  await db.delete(activity);
  await db.delete(activityChain);
  t.ok(await beginChain(db, createSignatures(keysFor(config, 'activity'))));
}

/** What a person with write access to the database can do, and the fault that verification reports. */
const tamperings: [what: string, sql: string, fault: RegExp][] = [
  ...[
    `timestamp = timestamp + interval '1 second'`,
    `action = 'delete'`,
    `outcome = 'failure'`,
    `code = 'FORBIDDEN'`,
    `reason = 'suspended'`,
    `"user" = '00000000-0000-4000-8000-000000000000'`,
    `"user" = null`,
    `collection = 'users'`,
    `item = null`,
    `ip = '192.0.2.1'`,
    `user_agent = 'x'`,
    `request_id = 'x'`,
    `changed = '["role"]'`,
    `changed = null`,
  ].map((change): [string, string, RegExp] => [
    `altered: ${change}`,
    `update activity set ${change} where position = 3`,
    /^Position 3 \(row .*\) was altered/,
  ]),
  [
    'the id of a row replaced',
    `update activity set id = '00000000-0000-7000-8000-000000000000' where position = 3`,
    /^Position 3 .* was altered/,
  ],
  ['a row removed in the middle', 'delete from activity where position = 3', /^Position 3 is missing.* at position 4/],
  ['a row removed at the beginning', 'delete from activity where position = 1', /^Position 1 is missing/],
  ['a row removed at the end', 'delete from activity where position = 6', /^Position 6 is missing at the end/],
  [
    'several rows removed at the end',
    'delete from activity where position > 3',
    /^Positions 4 to 6 are missing at the end/,
  ],
  [
    'the whole log removed',
    'delete from activity; delete from activity_chain',
    /row that marks the ends of the chain is missing, and there are no linked rows: the log was emptied/,
  ],
  ['all rows removed', 'delete from activity', /^Positions 1 to 6 are missing at the end/],
  [
    'a row removed, and the gap closed',
    'delete from activity where position = 3; update activity set position = -position where position > 3; update activity set position = -position - 1 where position < 0',
    /^Position 3 .* does not follow/,
  ],
  [
    'a row removed at the end, and the end moved',
    'delete from activity where position = 6; update activity_chain set head_position = 5, head_hash = (select hash from activity where position = 5)',
    /marks the ends of the chain was altered/,
  ],
  [
    'a row removed at the beginning, and the beginning moved',
    'update activity_chain set first_position = 2, anchor_hash = (select hash from activity where position = 1); delete from activity where position = 1',
    /marks the ends of the chain was altered/,
  ],
  [
    'the row with the ends removed',
    'delete from activity_chain',
    /row that marks the ends of the chain is missing.* position 6/,
  ],
  [
    'rows reordered',
    'update activity set position = -position where position in (3, 4); update activity set position = 7 + position where position < 0',
    /^Position 3 .* does not follow/,
  ],
  [
    'rows reordered with their hashes',
    `update activity a set position = -b.position, hash = b.hash from activity b where a.position in (3, 4) and b.position = 7 - a.position;
     update activity set position = -position where position < 0`,
    /^Position 3 .* does not follow/,
  ],
  [
    'a copy inserted',
    `update activity set position = -position where position > 3; update activity set position = 1 - position where position < 0;
     insert into activity select '00000000-0000-7000-8000-000000000000', timestamp, action, outcome, code, reason, "user", collection, item, ip, user_agent, request_id, changed, seal, 4, hash from activity where position = 3`,
    /^Position 4 .* was altered/,
  ],
  [
    'a copy appended',
    `insert into activity select '00000000-0000-7000-8000-000000000000', timestamp, action, outcome, code, reason, "user", collection, item, ip, user_agent, request_id, changed, seal, 7, hash from activity where position = 6`,
    /^Position 7 is after the end of the chain, position 6/,
  ],
  [
    'a position before the beginning',
    'insert into activity select \'00000000-0000-7000-8000-000000000000\', timestamp, action, outcome, code, reason, "user", collection, item, ip, user_agent, request_id, changed, seal, 0, hash from activity where position = 6',
    /^Position 0 is before the beginning/,
  ],
  ['a hash removed', 'update activity set hash = null where position = 3', /^The link of position 3/],
  [
    'a seal with an unknown key',
    `update activity set seal = 'x' where position = 3`,
    /^Position 3 .* signed with an unknown SECRET/,
  ],
  [
    'the seal of another row',
    'update activity set seal = (select seal from activity where position = 4) where position = 3',
    /^Position 3 .* was altered/,
  ],
  [
    'a row marked as not linked',
    'update activity set position = null, hash = null where position = 6',
    /^Position 6 is missing at the end/,
  ],
];

t.test('verification detects every change made directly in the database', async (t) => {
  const { app } = await started(t, 6);
  const rows = await app.db.select().from(activity);
  const [ends] = await app.db.select().from(activityChain);
  for (const [what, text, fault] of tamperings) {
    for (const statement of text.split(';')) await app.db.execute(sql.raw(statement));
    const verdict = await app.verifyActivity();
    t.equal(verdict.isIntact, false, what);
    t.match('fault' in verdict ? verdict.fault : '', fault, what);
    await app.db.delete(activity);
    await app.db.insert(activity).values(rows);
    await app.db.delete(activityChain);
    if (ends) await app.db.insert(activityChain).values(ends);
    const restored = await app.verifyActivity();
    if (!restored.isIntact) t.fail(`${what}: not restored: ${restored.fault}`);
  }
});

t.test('rows that are not linked yet are already sealed', async (t) => {
  const { app, write } = await started(t, 2);
  await write(2);
  const [, , third] = await recorded(app);
  await app.db
    .update(activity)
    .set({ item: randomUUID() })
    .where(eq(activity.id, third?.id ?? ''));
  t.match(await app.verifyActivity(), {
    isIntact: false,
    fault: new RegExp(`^Row ${third?.id}, which is not linked yet, was`),
  });
  t.equal(await app.activityChain.link(), 2, 'the altered row is linked nevertheless');
  t.match(
    await app.verifyActivity(),
    { isIntact: false, fault: /^Position 3 .* was altered/ },
    'and verification reports it',
  );
});

t.test('no row is linked if the row with the ends was altered or removed', async (t) => {
  const { app, write } = await started(t, 2);
  const [ends] = await app.db.select().from(activityChain);
  await write(1);
  await app.db.update(activityChain).set({ headPosition: 1 });
  await t.rejects(app.activityChain.link(), /row that marks the ends of the audit log was altered/);
  await t.rejects(app.activityChain.removeOlderThan(new Date(Date.now() + day)), /ends of the audit log was altered/);
  await app.db.delete(activityChain);
  await t.rejects(app.activityChain.link(), /row that marks the ends of the audit log is missing/);
  if (ends) await app.db.insert(activityChain).values(ends);
  t.equal(await app.activityChain.link(), 1);
  t.match(await app.verifyActivity(), { isIntact: true, linked: 3 });
});

t.test('if the whole log is removed, the service does not begin a new one, not even after a restart', async (t) => {
  const database = await createTestDatabase({ hasTables: true });
  atEndOf(t, () => database.drop());
  const config = testConfig({ ADMIN_TOKEN: 'the-static-token-of-the-administrator' });
  const run = async (work: (app: FastifyInstance) => Promise<unknown>) => {
    const app = await buildApp(config, { database: database.location });
    await app.inject({ method: 'POST', url: '/roles', headers: asAdmin, payload: { name: 'A role' } });
    await work(app).finally(() => app.close());
  };
  await run(async (app) => {
    t.equal(await app.activityChain.link(), 1);
    await app.db.delete(activity);
    await app.db.delete(activityChain);
  });
  await run(async (app) => {
    await t.rejects(app.activityChain.link(), /row that marks the ends of the audit log is missing/);
    t.match(await app.verifyActivity(), { isIntact: false, fault: /the log was emptied/ });
  });
});

t.test('a head noted elsewhere reveals that the chain was rebuilt', async (t) => {
  const { app, write } = await started(t, 4);
  const verdict = await app.verifyActivity();
  const head = verdict.isIntact && verdict.head;
  if (!head) throw new Error('There is no head.');
  await write(1);
  await app.activityChain.link();
  t.match(await app.verifyActivity({ noted: head }), { isIntact: true });
  t.match(await app.verifyActivity({ noted: { ...head, position: 3 } }), {
    isIntact: false,
    fault: /Position 3 does not have the noted hash/,
  });
  t.match(await app.verifyActivity({ noted: { ...head, position: 9 } }), {
    isIntact: false,
    fault: /ends at position 5.* to 9/,
  });
  // With SECRET or a backup, an attacker can rebuild the whole chain.
  await beginAgain(app);
  t.match(await app.verifyActivity(), { isIntact: true, head: null });
  t.match(await app.verifyActivity({ noted: head }), { isIntact: false, fault: /ends at position 0.* to 4/ });
  await write(5);
  await app.activityChain.link();
  t.match(await app.verifyActivity(), { isIntact: true, linked: 5 });
  t.match(await app.verifyActivity({ noted: head }), {
    isIntact: false,
    fault: /Position 4 does not have the noted hash/,
  });
});

t.test(
  'a row from another chain is detected, even if it was sealed and linked with the same key at the same position',
  async (t) => {
    const { app, write } = await started(t, 4);
    const [, , other] = await recorded(app);
    if (!other) throw new Error('There is no third row.');
    await beginAgain(app);
    await write(4);
    await app.activityChain.link();
    await app.db.delete(activity).where(eq(activity.position, 3));
    await app.db.insert(activity).values(other);
    t.match(await app.verifyActivity(), { isIntact: false, fault: /^Position 3 .* does not follow/ });
  },
);

t.test('after SECRET changes, rows signed with a previous secret are still verified', async (t) => {
  const database = await createTestDatabase({ hasTables: true });
  atEndOf(t, () => database.drop());
  const [first, second] = ['the secret of before which is long enough', 'the secret from now on, long enough'];
  const run = async (
    variables: Record<string, string>,
    work: (app: Awaited<ReturnType<typeof buildApp>>) => Promise<void>,
  ) => {
    const config = testConfig({ ADMIN_TOKEN: 'the-static-token-of-the-administrator', ...variables });
    const app = await buildApp(config, { database: database.location });
    await app.inject({ method: 'POST', url: '/roles', headers: asAdmin, payload: { name: 'A role' } });
    await work(app).finally(() => app.close());
  };
  await run({ SECRET: first }, async (app) => {
    t.equal(await app.activityChain.link(), 1);
    t.match(await app.verifyActivity(), { isIntact: true, linked: 1 });
  });
  await run({ SECRET: second, LOST_SECRET_ID: secretIdOf(first) }, async (app) => {
    await t.rejects(app.activityChain.link(), /SECRET that is not in PREVIOUS_SECRETS/);
    t.match(await app.verifyActivity(), { isIntact: false, fault: /signed with an unknown SECRET/ });
  });
  await run({ SECRET: second, PREVIOUS_SECRETS: first }, async (app) => {
    t.equal(await app.activityChain.link(), 2);
    t.match(await app.verifyActivity(), { isIntact: true });
  });
  await run({ SECRET: second }, async (app) => {
    t.equal(await app.activityChain.link(), 1, 'new rows are linked without the previous secret');
    t.match(await app.verifyActivity(), { isIntact: false, fault: /^Position 1 .* signed with an unknown SECRET/ });
  });
});

t.test('after old rows are removed, the remaining rows are still verified', async (t) => {
  const { app, clock, write } = await started(t, 3, { AUDIT_RETENTION: '30d' });
  clock.advance(20 * day);
  await write(2);
  await app.activityChain.link();
  const before = () => new Date(clock.now().getTime() - (app.config.AUDIT_RETENTION ?? 0));
  t.equal(await app.activityChain.removeOlderThan(before()), 0, 'no row is old enough');
  clock.advance(20 * day);
  t.equal(await app.activityChain.removeOlderThan(before()), 3);
  t.match(await app.verifyActivity(), { isIntact: true, first: 4, linked: 2, head: { position: 5 } });
  await write(1);
  t.equal(await app.activityChain.link(), 1);
  t.match(await app.verifyActivity(), { isIntact: true, first: 4, linked: 3, head: { position: 6 } });
  await app.db.delete(activity).where(eq(activity.position, 4));
  t.match(
    await app.verifyActivity(),
    { isIntact: false, fault: /^Position 4 is missing/ },
    'removal by any other means is detected',
  );
});

t.test('if all rows are too old, the chain continues from its last position', async (t) => {
  const { app, clock, write } = await started(t, 120);
  clock.advance(day);
  t.equal(await app.activityChain.removeOlderThan(clock.now()), 120, 'in more than one batch');
  t.strictSame(await recorded(app), []);
  t.match(await app.verifyActivity(), { isIntact: true, first: 121, linked: 0, head: { position: 120 } });
  await write(1);
  await app.activityChain.link();
  t.match(await app.verifyActivity(), { isIntact: true, first: 121, linked: 1, head: { position: 121 } });
});

t.test('a seal is valid only for its text and its key', async (t) => {
  const [one, other] = [deriveKey('a', 'activity'), deriveKey('b', 'activity')];
  const signatures = createSignatures([one]);
  const seal = signatures.sign('text');
  t.match(seal, /^[\w-]{8}\.[\w-]{43}$/);
  t.equal(signatures.verify('text', seal), 'valid');
  t.equal(signatures.verify('texts', seal), 'invalid');
  t.equal(createSignatures([other]).verify('text', seal), 'unknown key');
  t.equal(createSignatures([other, one]).verify('text', seal), 'valid');
  t.equal(signatures.verify('text', seal.slice(0, -1)), 'invalid', 'truncated');
  for (const bad of ['', '.', seal.slice(9), seal.split('.')[0] ?? ''])
    t.not(signatures.verify('text', bad), 'valid', bad);
});
