import { sql } from 'drizzle-orm';
import t from 'tap';
import type { Executor } from '../../db/client.js';
import { clearAttempts, forgetAttempts, reserveAttempts } from '../../db/queries/passwords/login-attempts.js';
import { rows } from '../../db/statements.js';
import { startTestApp } from '../helpers/service/app.js';

const { app } = await startTestApp(t);
const rules = { limit: 5, firstLockMs: 1_000, maxLockMs: 10_000 };

/** Whether a transaction that does this work waits for the disk when it commits. */
const waits = (work: (tx: Executor) => Promise<unknown>) =>
  app.db.transaction(async (tx) => {
    await work(tx);
    const [found] = await rows<{ value: string }>(tx, sql`select current_setting('synchronous_commit') as value`);
    return found?.value !== 'off';
  });

t.test('attempts are counted and cleared without waiting for the disk', async (t) => {
  t.equal(await waits((tx) => reserveAttempts(tx, ['a'], 'a', new Date(), rules, 1_000)), false);
  t.equal(await waits((tx) => clearAttempts(tx, ['a'])), false);
  t.equal(await waits(async () => {}), true, 'other transactions still wait');
});

t.test('a transaction that also clears login attempts still waits for the disk', async (t) => {
  t.equal(await waits((tx) => forgetAttempts(tx, ['a'])), true);
});
