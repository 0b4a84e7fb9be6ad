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
    tests: ['test/auth/passwords/rules.test.ts', 'test/auth/passwords/strength.test.ts'],
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
    tests: ['test/auth/passwords/rules.test.ts'],
  },
  {
    ids: [],
    fault: 'the full length of a long password is evaluated',
    edits: [
      {
        find: 'const maxLength = 128;',
        replace: 'const maxLength = 1_024;',
      },
    ],
    tests: ['test/auth/passwords/strength.test.ts'],
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
    tests: ['test/auth/passwords/rules.test.ts'],
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
    tests: ['test/auth/passwords/breaches.test.ts'],
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
        find: '.inspect(token, app.registrationBrowser.hashesIn(request))',
        replace: ".verify(token, request.client).then(() => ({ email: '', proof: 'none' as const }))",
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
    tests: ['test/auth/check-password.test.ts'],
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
        find: "await mail.enqueue(tx, { kind: 'registration', email, requestedFrom: client.network });",
        replace: '',
      },
    ],
    tests: ['test/registration/independent.test.ts'],
  },
];
