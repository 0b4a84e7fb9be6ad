import { monitorEventLoopDelay } from 'node:perf_hooks';
import t from 'tap';
import { createStrength } from '../../../plugins/auth/password-rules/strength.js';
import { atEndOf } from '../../helpers/teardown.js';

const task = (passwords: string[], policy: string | null = null) => ({
  candidates: passwords.map((password) => ({ password, ownWords: [] })),
  policy,
  rejectWeak: true,
});

t.test('no password delays other requests, however long its evaluation takes', async (t) => {
  const strength = createStrength();
  atEndOf(t, () => strength.close());
  const costly = ['12', 'p4$$w0rd!', '|]}){{[(>/|{|()(]<|}\\/(', '4@8({[<369&#!|1/0$5+7%2'].map((text) =>
    text.repeat(64),
  );
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const slowPolicy = '^(.+)+$|^(a+)+!$';
  await Promise.all(
    [...costly, `${'a'.repeat(60)}?`].map((password) => strength.evaluate(task([password], slowPolicy), undefined)),
  );
  delay.disable();
  t.ok(delay.percentile(99) / 1e6 < 50, `${delay.percentile(99) / 1e6} ms`);
});

t.test('evaluating a password of 1024 characters takes no longer than one of 128', async (t) => {
  const strength = createStrength();
  atEndOf(t, () => strength.close());
  const time = async (length: number) => {
    const start = performance.now();
    await strength.evaluate(task(['12'.repeat(length / 2)]), undefined);
    return performance.now() - start;
  };
  await time(128);
  const [short, long] = [await time(128), await time(1_024)];
  t.ok(long < 5 * short + 100, `${short} ms, ${long} ms`);
  const [evaluation] = await strength.evaluate(task([`${'12'.repeat(64)}dGhp8c7Qz2`]), undefined);
  t.equal(evaluation?.weakness, 'too_common', 'the characters after the first 128 do not improve the rating');
});

t.test('callers take turns, and tasks that exceed the queue are rejected', async (t) => {
  const strength = createStrength(8);
  atEndOf(t, () => strength.close());
  const from = (userId: string, abandoned = new AbortController().signal) => ({
    userId,
    client: { ip: null, userAgent: null, network: 'a network', requestId: 'a request', abandoned },
  });
  const evaluate = (password: string, caller = from('attacker'), maxWaiting?: number) =>
    strength.evaluate(task([password]), caller, maxWaiting);
  const order: string[] = [];
  const flood = Array.from({ length: 9 }, (_, index) =>
    evaluate(`flood ${index}`).then(
      () => order.push('attacker'),
      () => order.push('refused'),
    ),
  );
  await t.rejects(evaluate('one more'), { code: 'SERVICE_UNAVAILABLE' });
  await t.rejects(evaluate('a check', from('a user'), 4), { code: 'SERVICE_UNAVAILABLE' }, 'a lower limit');
  const disconnected = new AbortController();
  const dropped = evaluate('never evaluated', from('a user'), undefined);
  const gone = evaluate('abandoned', from('somebody else', disconnected.signal));
  disconnected.abort(new Error('disconnected'));
  await t.rejects(gone, { message: 'disconnected' }, 'the task of a client that disconnects is dropped');
  await dropped.then(() => order.push('user'));
  await Promise.all(flood);
  t.ok(order.indexOf('user') <= 4, `another user does not wait for the flood: ${order}`);
  t.equal(order.filter((outcome) => outcome === 'refused').length, 2, 'the flood loses slots that other callers need');
});

t.test('unfinished evaluations fail on close', async (t) => {
  const strength = createStrength();
  const open = strength.evaluate(task(['a']), undefined);
  await Promise.all([t.rejects(open), strength.close()]);
  await t.rejects(strength.evaluate(task(['a']), undefined));
});
