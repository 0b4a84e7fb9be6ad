import t from 'tap';
import { isPolicy, meetsPolicy } from '../../plugins/passwords/rules/policy.js';

t.test('a policy is a regular expression, with or without slashes around it', async (t) => {
  for (const policy of ['^.{8,}$', '/^.{8,}$/']) {
    t.ok(isPolicy(policy));
    t.ok(meetsPolicy(policy, 'long enough'), policy);
    t.notOk(meetsPolicy(policy, 'short'), policy);
  }
  t.notOk(isPolicy('(unfinished'));
});

t.test('a password for which a policy never finishes is rejected after a short time', async (t) => {
  const start = performance.now();
  t.notOk(meetsPolicy('^(a+)+$', `${'a'.repeat(60)}!`));
  t.ok(performance.now() - start < 5_000);
  t.ok(meetsPolicy('^(a+)+$', 'aaa'), 'the next password is evaluated normally');
});
