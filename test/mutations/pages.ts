import type { Mutation } from './mutation.js';

/** What the account pages offer, and what they do when a session is not fresh. */
export const pages: readonly Mutation[] = [
  {
    ids: [],
    fault: 'the page does not repeat the action after the user proves their identity',
    edits: [
      {
        in: 'callFresh',
        find: 'await proveIdentity(failure);',
        replace: 'await proveIdentity(failure);\nthrow failure;',
      },
    ],
    tests: ['test/browser/step-up.browser.ts'],
  },
  {
    ids: [],
    fault: 'the page asks users with two-factor authentication for their password',
    edits: [
      {
        find: "...{ password: needs('password'), otp: needs('otp'), email: needs('email') },",
        replace: '...{ password: true, otp: false, email: false },',
      },
    ],
    tests: ['test/browser/step-up.browser.ts'],
  },
  {
    ids: [],
    fault: 'the page changes the password with an operation that members may not use',
    edits: [
      {
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
        in: 'render',
        find: 'selfDeletion: settings.self_deletion,',
        replace: 'selfDeletion: true,',
      },
    ],
    tests: ['test/pages/pages.test.ts'],
  },
  {
    ids: [],
    fault: 'the account page asks users of an application in cookie mode to sign in',
    edits: [
      {
        in: 'sessionModesOf',
        find: 'cookies[name] !== undefined ||',
        replace: "(cookies[name] !== undefined && mode === 'session') ||",
      },
      { in: 'sessionModesOf', find: '({ name, sameSite }) =>', replace: '({ mode, name, sameSite }) =>' },
    ],
    tests: ['test/pages/pages.test.ts', 'test/browser/session-modes.browser.ts'],
  },
  {
    ids: [],
    fault: 'the account page does not use the refresh cookie if the session cookie is no longer valid',
    edits: [{ in: 'useOtherCookie', find: 'mode = next;\nreturn true;', replace: 'return false;' }],
    tests: ['test/browser/session-modes.browser.ts'],
  },
  {
    ids: [],
    fault: 'signing out on the account page leaves the session of the application',
    edits: [{ in: 'signOut', find: "['session', 'cookie'] as const", replace: "['session'] as const" }],
    tests: ['test/pages/pages.test.ts', 'test/browser/session-modes.browser.ts'],
  },
];
