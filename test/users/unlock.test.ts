import { randomUUID } from 'node:crypto';
import t from 'tap';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { codeOf } from '../helpers/service/app.js';
import { loginsOf } from '../helpers/users/logins.js';
import { createPolicy, policyWith } from '../helpers/users/rights.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

const service = await startWithAdmin(t);
const { app, post } = service;
const { right, wrong, allow } = loginsOf(service);
const networks = ['192.0.2.1', '198.51.100.1', '203.0.113.5'];

const unlock = (id: string, headers: Record<string, string> = asAdmin) =>
  post(`/users/${id}/unlock`, undefined, headers);

/** A user whose account is locked for logins from a known network and from all others. */
async function lockedAccount() {
  await allow(3);
  const account = await createUser(app);
  const [known = '', ...others] = networks;
  if ((await right(account, known)).statusCode !== 200) throw new Error('The user cannot log in.');
  for (const from of [known, ...others]) for (let guess = 0; guess < 3; guess++) await wrong(account, from);
  for (const from of networks) {
    const code = codeOf(await right(account, from));
    if (code !== 'REQUESTS_EXCEEDED') throw new Error(`Not locked from ${from}: ${code}`);
  }
  return account;
}

const mayUpdate = (field: string, more: object = {}) =>
  policyWith(app, [{ collection: 'users', action: 'update', fields: [field], permissions: {}, ...more }]);

t.test('an administrator unlocks an account for all networks', async (t) => {
  const [ada, bob] = [await lockedAccount(), await lockedAccount()];
  const response = await unlock(ada.id.toUpperCase());
  t.equal(response.statusCode, 204, response.body);
  t.equal(response.body, '');
  for (const from of networks) t.equal((await right(ada, from)).statusCode, 200, from);
  for (const from of networks) refused(t, await right(bob, from), 'REQUESTS_EXCEEDED', `others are locked: ${from}`);
  t.equal((await unlock(ada.id)).statusCode, 204, 'nothing is locked');
  for (let guess = 0; guess < 2; guess++) {
    refused(t, await wrong(ada, '203.0.113.9'), 'INVALID_CREDENTIALS', 'the count starts at zero');
  }
});

t.test('callers who can update `status` can unlock users without additional rights', async (t) => {
  const admins = await createPolicy(app, { adminAccess: true });
  const status = await mayUpdate('status');
  const caller = await createUserWithToken(app, { policies: [status] });
  const ada = await lockedAccount();
  t.equal((await unlock(ada.id, caller.headers)).statusCode, 204);
  t.equal((await right(ada, '198.51.100.1')).statusCode, 200);

  const administrator = await createUserWithToken(app, { policies: [admins] });
  const stronger = await createUserWithToken(app, { policies: [await mayUpdate('title')] });
  for (const [what, id] of [
    ['an administrator', administrator.id],
    ['a user with other rights', stronger.id],
    ['their own account', caller.id],
    ['an unknown ID', randomUUID()],
    ['a malformed ID', 'x'],
    ['me', 'null'],
  ] as const) {
    refused(t, await unlock(id, caller.headers), 'FORBIDDEN', what);
  }

  const bob = await lockedAccount();
  const others = {
    'no rights': await createUserWithToken(app),
    'another field': await createUserWithToken(app, { policies: [await mayUpdate('tfa_secret')] }),
    'other rows': await createUserWithToken(app, {
      policies: [await mayUpdate('status', { permissions: { email: { _eq: 'nobody@example.com' } } })],
    }),
  };
  for (const [what, { headers }] of Object.entries(others)) {
    refused(t, await unlock(bob.id, headers), 'FORBIDDEN', what);
    refused(t, await unlock(randomUUID(), headers), 'FORBIDDEN', `${what}: an unknown ID`);
  }
  refused(t, await unlock(bob.id, {}), 'INVALID_CREDENTIALS', 'anonymous');
  refused(t, await right(bob, '198.51.100.1'), 'REQUESTS_EXCEEDED', 'still locked');
});

t.test('an administrator cannot unlock their own account, or unknown and malformed IDs', async (t) => {
  const own = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  for (const id of [own.id, own.id.toUpperCase(), randomUUID(), 'x', '%00', 'null']) {
    refused(t, await unlock(id, own.headers), 'FORBIDDEN', id);
  }
});

t.test('the validation of the permission applies to the user', async (t) => {
  const policies = [await mayUpdate('status', { validation: { status: { _eq: 'suspended' } } })];
  const caller = await createUserWithToken(app, { policies });
  const ada = await lockedAccount();
  refused(t, await unlock(ada.id, caller.headers), 'FAILED_VALIDATION', 'validation');
  refused(t, await right(ada, '198.51.100.1'), 'REQUESTS_EXCEEDED', 'still locked');
});
