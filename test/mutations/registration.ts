import type { Mutation } from './mutation.js';

export const registration: readonly Mutation[] = [
  {
    ids: [],
    fault: 'passwords that are easy to guess are accepted',
    edits: [
      {
        find: 'const lowestScore = 2;',
        replace: 'const lowestScore = 0;',
      },
    ],
    tests: ['test/passwords/rules.test.ts', 'test/passwords/strength.test.ts'],
  },
  {
    ids: [],
    fault: 'a password may consist of words from the user’s own data',
    edits: [
      {
        find: 'zxcvbn.check(password, [...ownWords])',
        replace: 'zxcvbn.check(password, ownWords.slice(0, 0))',
      },
    ],
    tests: ['test/passwords/rules.test.ts'],
  },
  {
    ids: [],
    fault: 'the full length of a long password is evaluated',
    edits: [
      {
        find: 'const password = whole.slice(0, maxLength);',
        replace: 'const password = whole.slice(0, maxLength * 8);',
      },
    ],
    tests: ['test/passwords/strength.test.ts'],
  },
  {
    ids: [],
    fault: 'a hash is accepted as a password',
    edits: [
      {
        find: 'if (passwords.some(({ password }) => hashPattern.test(password))) {',
        replace: 'if (passwords.some(({ password }) => password === hashPattern.source)) {',
      },
    ],
    tests: ['test/passwords/rules.test.ts'],
  },
  {
    ids: [],
    fault: 'a breached password is accepted',
    edits: [
      {
        find: 'url}/${hash.slice(0, 5)}`, {',
        replace: 'url}/${hash.slice(5, 10)}`, {',
      },
    ],
    tests: ['test/passwords/breaches.test.ts'],
  },
  {
    ids: [],
    fault: 'a registration can be confirmed without a password in any browser',
    edits: [
      {
        find: 'browserHash !== null && hashes.includes(browserHash);',
        replace: "browserHash !== '' || hashes.includes(browserHash);",
      },
    ],
    tests: ['test/registration/independent.test.ts'],
  },
  {
    ids: [],
    fault: 'opening the confirmation page activates the registration',
    edits: [
      {
        find: 'await inspect(token, registrationBrowser.hashesIn(request))',
        replace: `await (name === 'verify-email'
          ? registration.verify(token, request.client).then(() => ({ email: '' }))
          : inspect(token, []))`,
      },
    ],
    tests: ['test/registration/register.test.ts', 'test/registration/independent.test.ts'],
  },
  {
    ids: [],
    fault: 'a registration link works again when the status of its account changes back',
    edits: [
      {
        find: 'await deleteSettledRegistrations(tx, settled);',
        replace: 'await deleteSettledRegistrations(tx, []);',
      },
    ],
    tests: ['test/registration/independent.test.ts'],
  },
  {
    ids: [],
    fault: 'emails to unconfirmed addresses contain names that someone entered',
    edits: [
      {
        find: 'const named = isConfirmed && kindsWithNames.has(kind) ? recipient : undefined;',
        replace: 'const named = isConfirmed ? recipient : recipient;',
      },
    ],
    tests: ['test/registration/independent.test.ts'],
  },
  {
    ids: [],
    fault: 'the names of a registration are kept when another browser sets a new password',
    edits: [
      {
        find: ': { password: hash, firstName: null, lastName: null },',
        replace: ': { ...own, password: hash },',
      },
    ],
    tests: ['test/registration/independent.test.ts'],
  },
  {
    ids: [],
    fault: 'the password check reports any password as acceptable',
    edits: [
      {
        find: 'acceptable: reasons.length === 0, reasons',
        replace: 'acceptable: reasons.length < 9, reasons',
      },
    ],
    tests: ['test/passwords/check-password.test.ts'],
  },
  {
    ids: [],
    fault: 'the owner of an account is not notified of a registration with their address',
    edits: [
      {
        find: "await mail.enqueue(tx, { kind: 'account_exists', user: known.id, requestedFrom });",
        replace: '',
      },
    ],
    tests: ['test/registration/independent.test.ts'],
  },
  {
    ids: [],
    fault: 'the verification email cannot be requested again',
    edits: [
      {
        find: "await mail.enqueue(tx, { ...origin, kind: 'registration', email });",
        replace: '',
      },
    ],
    tests: ['test/registration/independent.test.ts'],
  },
  {
    ids: [],
    fault: 'an unverified registration prevents the creation of a user',
    edits: [
      {
        find: 'return emails.length === 0 ? [] : deleteUnclaimedUsers(tx, emails, keys.map(String));',
        replace: 'return emails.length >= 0 ? [] : deleteUnclaimedUsers(tx, emails, keys.map(String));',
      },
    ],
    tests: ['test/registration/unclaimed.test.ts'],
  },
  {
    ids: [],
    fault: 'an unverified registration prevents an invitation',
    edits: [{ find: 'await endUnclaimedUsers(tx, activity, caller, remaining);', replace: '' }],
    tests: ['test/registration/unclaimed.test.ts'],
  },
  {
    ids: [],
    fault: 'an unverified registration prevents a confirmed change of address',
    edits: [
      { find: 'await endUnclaimedUsers(tx, activity, { userId: user.id, client }, [email], user.id);', replace: '' },
    ],
    tests: ['test/registration/unclaimed.test.ts'],
  },
  {
    ids: [],
    fault: 'an unverified registration prevents the first login through a provider',
    edits: [
      {
        find: 'if (email !== null) await endUnclaimedUsers(tx, activity, { userId: id, client }, [email]);',
        replace: '',
      },
    ],
    tests: ['test/registration/unclaimed.test.ts'],
  },
  {
    ids: [],
    fault: 'SYNC_USER_INFO does not take over an address that is only registered',
    edits: [
      {
        find: 'await endUnclaimedUsers(tx, activity, { userId: holder.id, client }, [email], holder.id);',
        replace: '',
      },
    ],
    tests: ['test/registration/unclaimed.test.ts'],
  },
  {
    ids: [],
    fault: 'the new address of a confirmed change gets no link if someone has registered it',
    edits: [
      {
        find: 'if (owner && owner.id !== user.id && !owner.isUnclaimed) return',
        replace: 'if (owner && owner.id !== user.id) return',
      },
    ],
    tests: ['test/registration/unclaimed.test.ts'],
  },
  {
    ids: [],
    fault: 'users whom an administrator set to unverified lose their address',
    edits: [{ find: 'users.isFromRegistration,\n  eq(users.status', replace: 'eq(users.status' }],
    tests: ['test/registration/unclaimed.test.ts'],
  },
  {
    ids: [],
    fault: 'users who were registered and have been active lose their address',
    edits: [
      {
        find: "eq(users.status, 'unverified'),\n  eq(users.usedLinks, 0),",
        replace: "eq(users.status, 'unverified'),",
      },
    ],
    tests: ['test/registration/unclaimed.test.ts'],
  },
  {
    ids: [],
    fault: 'any change of the row makes a registration reserve its address',
    edits: [
      {
        find: 'writeTimes(payload.columns, action, clock());',
        replace:
          "writeTimes(payload.columns, action, clock()); if (action === 'update') for (const { payload } of changes) payload.columns.from_registration = false;",
      },
    ],
    tests: ['test/registration/unclaimed.test.ts'],
  },
  {
    ids: [],
    fault: 'a request fails because someone registers the address at the same time',
    edits: [{ find: 'const maxUniqueAttempts = 3;', replace: 'const maxUniqueAttempts = 1;' }],
    tests: ['test/registration/unclaimed.test.ts'],
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'a filter by a part of an address does not find Unicode domains',
    edits: [{ find: 'partial(field, only)', replace: 'only' }],
    tests: ['test/http/one-grammar.test.ts'],
  },
  {
    ids: [],
    fault: 'a search for an address does not find Unicode domains',
    edits: [{ find: '(storedEmail(term) ?? term)', replace: 'term' }],
    tests: ['test/http/one-grammar.test.ts'],
  },
  {
    ids: [],
    fault: 'a change of address keeps a Unicode domain',
    edits: [{ find: 'const email = storedEmail(given) ?? given;', replace: 'const email = given;' }],
    tests: ['test/users/email-change.test.ts'],
  },
  {
    ids: [],
    fault: 'some users are invited again although the request fails',
    edits: [{ find: 'if (role === undefined && distinct.length > size)', replace: 'if (false)' }],
    tests: ['test/invites/bulk.test.ts'],
  },
  {
    ids: [],
    fault: 'registrations are sent again although registration is turned off',
    edits: [
      {
        find: 'return isOn && matchesRegistrationFilter(db, id, filter);',
        replace: 'return matchesRegistrationFilter(db, id, isOn ? filter : null);',
      },
    ],
    tests: ['test/registration/unclaimed.test.ts'],
  },
  {
    ids: [],
    fault: 'registrations are sent again although the filter does not match the address',
    edits: [
      {
        find: 'return isOn && matchesRegistrationFilter(db, id, filter);',
        replace: 'return isOn && (await matchesRegistrationFilter(db, id, isOn ? null : filter));',
      },
    ],
    tests: ['test/registration/unclaimed.test.ts'],
  },
  {
    ids: [],
    fault: 'an unverified user remains after the last registration has expired',
    edits: [
      {
        find: 'const deletedUsers = await deleteUsersWithoutRegistrations(tx, ids, now);',
        replace: 'const deletedUsers = await deleteUsersWithoutRegistrations(tx, ids.slice(0, 0), now);',
      },
    ],
    tests: ['test/registration/unclaimed.test.ts'],
  },
  {
    ids: [],
    fault: 'a password with many substitutions takes a second to evaluate',
    edits: [{ find: 'const l33tMaxSubstitutions = 10;', replace: 'const l33tMaxSubstitutions = 1_000;' }],
    tests: ['test/passwords/strength.test.ts'],
  },
  {
    ids: [],
    fault: 'anonymous checks of passwords delay callers who set one',
    edits: [{ find: 'evaluate(checking, [password], from)', replace: 'evaluate(setting, [password], from)' }],
    tests: ['test/rate-limits/shared-cost.test.ts'],
  },
  {
    ids: [],
    fault: 'all exports run at the same time',
    edits: [{ find: 'atOnce: 1, capacity: maxWaiting, reason', replace: 'atOnce: 100, capacity: maxWaiting, reason' }],
    tests: ['test/rate-limits/shared-cost.test.ts'],
  },
  {
    ids: [],
    fault: 'exports have no limit of their own',
    edits: [{ find: "rateClass: 'export',", replace: '' }],
    tests: ['test/rate-limits/shared-cost.test.ts'],
  },
  {
    ids: [],
    fault: 'exports are counted by address',
    edits: [{ find: "route.config?.access === 'authenticated'", replace: "route.config?.access === 'open'" }],
    tests: ['test/rate-limits/shared-cost.test.ts'],
  },
  {
    ids: [],
    fault: 'a client gets a compressed file that it does not accept',
    edits: [{ find: 'return named !== undefined && !named.isRefused;', replace: 'return named !== undefined;' }],
    tests: ['test/rate-limits/shared-cost.test.ts'],
  },
  {
    ids: [],
    fault: 'the registration page offers providers that do not create accounts',
    edits: [{ find: '.filter(({ registers }) => registers)', replace: '' }],
    tests: ['test/pages/register-providers.test.ts'],
  },
  {
    ids: [],
    fault: 'an export shows the addresses of other users who acted on the account',
    edits: [
      {
        find: '`case when ${activity.user} is null or ${activity.user} = ${id} then ${activity.ip} end`',
        replace: '`case when ${id}::uuid is not null then ${activity.ip} end`',
      },
    ],
    tests: ['test/users/profile.test.ts'],
  },
];
