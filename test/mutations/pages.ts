import type { Mutation } from './mutation.js';

/** What the account pages offer, and what they do when a session is not fresh. */
export const pages: readonly Mutation[] = [
  {
    ids: [],
    fault: 'the page does not repeat the action after the user proves their identity',
    edits: [
      {
        file: 'pages/browser/signed-in-api.ts',
        find: '      await proveIdentity(failure);\n',
        replace: '      await proveIdentity(failure);\n      throw failure;\n',
      },
    ],
    tests: ['test/browser/step-up.browser.ts'],
  },
  {
    ids: [],
    fault: 'the page asks users with two-factor authentication for their password',
    edits: [
      {
        file: 'pages/browser/signed-in-api.ts',
        find: "const ways = { password: needs('password'), otp: needs('otp'), providers };",
        replace: 'const ways = { password: true, otp: false, providers };',
      },
    ],
    tests: ['test/browser/step-up.browser.ts'],
  },
  {
    ids: [],
    fault: 'the page changes the password with an operation that members may not use',
    edits: [
      {
        file: 'pages/browser/password.ts',
        find: "callSignedIn('POST', '/users/me/password', { password })",
        replace: "callSignedIn('PATCH', '/users/me', { password })",
      },
    ],
    tests: ['test/browser/step-up.browser.ts'],
  },
  {
    ids: [],
    fault: 'the page offers account deletion when the settings do not allow it',
    edits: [
      {
        file: 'plugins/pages/service.ts',
        find: 'selfDeletion: settings.self_deletion,',
        replace: 'selfDeletion: true,',
      },
    ],
    tests: ['test/pages/pages.test.ts'],
  },
];
