import { monitorEventLoopDelay } from 'node:perf_hooks';
import t from 'tap';
import { createStrength } from '../../../plugins/auth/password-rules/strength.js';
import { atEndOf } from '../../helpers/teardown.js';

const task = (passwords: string[], policy: string | null = null) => ({
  candidates: passwords.map((password) => ({ password, ownWords: [] })),
  policy,
  rejectWeak: true,
});

t.test('no password keeps requests waiting, however long its evaluation takes', async (t) => {
  const strength = createStrength();
  atEndOf(t, () => strength.close());
  const costly = ['12', 'p4$$w0rd!', '|]}){{[(>/|{|()(]<|}\\/(', '4@8({[<369&#!|1/0$5+7%2'].map((text) =>
    text.repeat(64),
  );
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const slowPolicy = '^(.+)+$|^(a+)+!$';
  await Promise.all(
    [...costly, `${'a'.repeat(60)}?`].map((password) => strength.evaluate(task([password], slowPolicy))),
  );
  delay.disable();
  t.ok(delay.percentile(99) / 1e6 < 50, `${delay.percentile(99) / 1e6} ms`);
});

t.test('a password of 1024 characters takes no longer than one of 128', async (t) => {
  const strength = createStrength();
  atEndOf(t, () => strength.close());
  const time = async (length: number) => {
    const start = performance.now();
    await strength.evaluate(task(['12'.repeat(length / 2)]));
    return performance.now() - start;
  };
  await time(128);
  const [short, long] = [await time(128), await time(1_024)];
  t.ok(long < 5 * short + 100, `${short} ms, ${long} ms`);
  const [evaluation] = await strength.evaluate(task([`${'12'.repeat(64)}dGhp8c7Qz2`]));
  t.equal(evaluation?.weakness, 'too_common', 'nor does what follows make it better');
});

t.test('more than may wait are sent away', async (t) => {
  const strength = createStrength(3);
  atEndOf(t, () => strength.close());
  const taken = ['a', 'b', 'c'].map((password) => strength.evaluate(task([password])));
  t.throws(() => strength.evaluate(task(['d'])), { code: 'SERVICE_UNAVAILABLE' });
  await Promise.all(taken);
  t.equal((await strength.evaluate(task(['d']))).length, 1);
  const [one] = [strength.evaluate(task(['e']), 1)];
  t.throws(() => strength.evaluate(task(['f']), 1), { code: 'SERVICE_UNAVAILABLE' }, 'fewer for some');
  await one;
});

t.test('what is not answered when it is closed fails', async (t) => {
  const strength = createStrength();
  const open = strength.evaluate(task(['a']));
  await Promise.all([t.rejects(open), strength.close()]);
  await t.rejects(strength.evaluate(task(['a'])));
});
