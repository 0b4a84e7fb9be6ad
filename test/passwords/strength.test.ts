import { monitorEventLoopDelay } from 'node:perf_hooks';
import t from 'tap';
import { createStrength } from '../../plugins/passwords/rules/strength.js';
import { slowness } from '../helpers/measurements/slowness.js';
import { atEndOf } from '../helpers/runner/teardown.js';

const task = (passwords: string[], policy: string | null = null, maxLength = 128) => ({
  candidates: passwords.map((password) => ({ password, ownWords: [] })),
  policy,
  rejectWeak: true,
  maxLength,
});

t.test('no password delays other requests, however long its evaluation takes', async (t) => {
  const strength = createStrength(64);
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
  const strength = createStrength(64);
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

/** Texts for which zxcvbn needs most time: many letters can be read in several ways, or many parts match several patterns. */
const slow = [
  'p4$$w0rd',
  'P4$5w0rD!|',
  '4@8({[<369&#!|1/0$5+7%2',
  'a4@s5$o0i1!',
  '1234567890',
  '0123456789876543210',
  '19/12/1990',
  '1.1.11',
  '11121990',
  'zxcvbnm,./',
  'abcdef',
];

t.test('the time for any password is bounded, also with words that belong to the user', async (t) => {
  const strength = createStrength(64);
  atEndOf(t, () => strength.close());
  await strength.evaluate(task(['warm up']), undefined);
  // At most as many words as `personalWordsOf` returns, and as long.
  const ownWords = Array.from({ length: 20 }, (_, index) => `word${index}4a$e`.repeat(8).slice(0, 64));
  for (const length of [64, 128]) {
    for (const text of slow) {
      const password = text.repeat(64).slice(0, length);
      let time = Number.POSITIVE_INFINITY;
      // Processor time, because the thread has to wait on a busy machine. The main thread does nothing in the meantime.
      for (let attempt = 1; attempt <= 5 && time > 200; attempt++) {
        const start = process.cpuUsage();
        await strength.evaluate({ ...task([password], null, length), candidates: [{ password, ownWords }] }, undefined);
        const { user, system } = process.cpuUsage(start);
        time = Math.min(time, (user + system) / 1_000);
      }
      t.ok(time < 400 * slowness(), `${text}, ${length} characters: ${time} ms`);
    }
  }
});

t.test('common substitutions are still recognized', async (t) => {
  const strength = createStrength(64);
  atEndOf(t, () => strength.close());
  const weak = ['p4$$w0rd', 'P@ssw0rd1', 'l3tm31n!', '1l0v3y0u', 'dr4g0n123', 'p4$$w0rd'.repeat(4), '@dm1n1str@t0r'];
  const evaluations = await strength.evaluate(task(weak), undefined);
  for (const [index, { weakness }] of evaluations.entries()) t.equal(weakness, 'too_common', `${weak[index]}`);
});

t.test('only the given number of characters is evaluated', async (t) => {
  const strength = createStrength(64);
  atEndOf(t, () => strength.close());
  const password = `${'a'.repeat(64)}dGhp8c7Qz2`;
  const weaknessWithin = async (maxLength: number) =>
    (await strength.evaluate(task([password], null, maxLength), undefined))[0]?.weakness;
  t.equal(await weaknessWithin(64), 'too_common');
  t.equal(await weaknessWithin(128), null);
});

t.test('callers take turns, and tasks that exceed the queue are rejected', async (t) => {
  const strength = createStrength(8);
  atEndOf(t, () => strength.close());
  const from = (userId: string, abandoned = new AbortController().signal) => ({
    userId,
    client: { ip: null, userAgent: null, network: 'a network', requestId: 'a request', abandoned },
  });
  const evaluate = (password: string, caller = from('attacker')) => strength.evaluate(task([password]), caller);
  const order: string[] = [];
  const flood = Array.from({ length: 9 }, (_, index) =>
    evaluate(`flood ${index}`).then(
      () => order.push('attacker'),
      () => order.push('refused'),
    ),
  );
  await t.rejects(evaluate('one more'), { code: 'SERVICE_UNAVAILABLE' });
  const disconnected = new AbortController();
  const dropped = evaluate('never evaluated', from('a user'));
  const gone = evaluate('abandoned', from('somebody else', disconnected.signal));
  disconnected.abort(new Error('disconnected'));
  await t.rejects(gone, { message: 'disconnected' }, 'the task of a client that disconnects is dropped');
  await dropped.then(() => order.push('user'));
  await Promise.all(flood);
  t.ok(order.indexOf('user') <= 4, `another user does not wait for the flood: ${order}`);
  t.equal(order.filter((outcome) => outcome === 'refused').length, 2, 'the flood loses slots that other callers need');
});

t.test('unfinished evaluations fail on close', async (t) => {
  const strength = createStrength(64);
  const open = strength.evaluate(task(['a']), undefined);
  await Promise.all([t.rejects(open), strength.close()]);
  await t.rejects(strength.evaluate(task(['a']), undefined));
});
