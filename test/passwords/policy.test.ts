import t from 'tap';
import { isPolicy, meetPolicy } from '../../plugins/password-rules/policy.js';

t.test('a policy is a regular expression, with or without slashes around it', async (t) => {
  for (const policy of ['^.{8,}$', '/^.{8,}$/']) {
    t.ok(isPolicy(policy));
    t.ok(meetPolicy(policy, ['long enough', 'as long as that']), policy);
    t.notOk(meetPolicy(policy, ['long enough', 'short']), policy);
  }
  t.notOk(isPolicy('(unfinished'));
});

t.test('a password that would keep a policy busy for ever is refused before long', async (t) => {
  const start = performance.now();
  t.notOk(meetPolicy('^(a+)+$', [`${'a'.repeat(60)}!`]));
  t.ok(performance.now() - start < 5_000);
  t.ok(meetPolicy('^(a+)+$', ['aaa']), 'and the next one is judged as ever');
});

t.test('2,000 passwords are judged at once', async (t) => {
  const passwords = Array.from({ length: 2_000 }, (_, index) => `password number ${index}`);
  t.ok(meetPolicy('^(?=.*\\d).{8,}$', passwords));
});
