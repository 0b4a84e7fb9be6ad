import type { Mutation } from './mutation.js';

/** What the account pages offer, and what they do when a session is not fresh. */
export const pages: readonly Mutation[] = [
  {
    ids: [],
    fault: 'users without a password cannot set one on the account page',
    edits: [
      {
        find: 'me.has_password || (page.offers.passwordLogin && managedBy === undefined && me.email !== null);',
        replace: 'me.has_password;',
      },
    ],
    tests: ['test/browser/providers-pages.browser.ts'],
  },
  {
    ids: [],
    fault: 'on phones, users who must set up two-factor authentication see a list without an explanation',
    edits: [{ in: 'startViews', find: "available.length > 1 ? 'home' : first", replace: "'home'" }],
    tests: ['test/browser/account.browser.ts'],
  },
  {
    ids: [],
    fault: 'the page that confirms a new address shows the old one',
    edits: [
      {
        in: 'createEmailChanges',
        find: 'const [, { email }] = await requirePendingChange(db,',
        replace: 'const [{ email }] = await requirePendingChange(db,',
      },
    ],
    tests: ['test/browser/email-change.browser.ts'],
  },
  {
    ids: [],
    fault: 'in a dialog without fields, the button that closes it has the focus',
    edits: [{ in: 'openDialog', find: " ?? visible('.primary, .button')", replace: '' }],
    tests: ['test/browser/step-up.browser.ts'],
  },
  {
    ids: [],
    fault: 'a browser without access to the mailbox gets a JSON error',
    edits: [
      { in: 'mailboxRoutes', find: 'error.status === 403 && wantsHtml', replace: 'error.status === 404 && wantsHtml' },
    ],
    tests: ['test/mail/mailbox.test.ts'],
  },
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
        find: 'selfDeletion: shared.project.self_deletion,',
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
  {
    ids: [],
    fault: 'the pages do not repeat a request that the service had no time for',
    edits: [{ in: 'call', find: 'if (wait !== undefined) {', replace: 'if (wait !== undefined && wait < 0) {' }],
    tests: ['test/browser/waiting.browser.ts'],
  },
  {
    ids: [],
    fault: 'the pages wait for as long as the service says',
    edits: [
      {
        in: 'secondsToWait',
        find: 'status === 503 && seconds <= maxWaitSeconds',
        replace: 'status === 503 && seconds >= 0',
      },
    ],
    tests: ['test/browser/waiting.browser.ts'],
  },
  {
    ids: [],
    fault: 'a message is behind the backdrop of an open dialog',
    edits: [
      {
        in: 'showNotice',
        find: "[...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body",
        replace: 'document.body',
      },
    ],
    tests: ['test/browser/waiting.browser.ts'],
  },
  {
    ids: [],
    fault: 'an action can be started again while it runs',
    edits: [{ in: 'whileBusy', find: "if (button?.hasAttribute('aria-busy')) return;", replace: '' }],
    tests: ['test/browser/waiting.browser.ts'],
  },
  {
    ids: [],
    fault: 'recovery codes can be confirmed without saving them',
    edits: [{ in: 'createCodeList', find: 'close.disabled = !isSaved;', replace: 'close.disabled = false;' }],
    tests: ['test/browser/two-factor.browser.ts'],
  },
  {
    ids: [],
    fault: 'the page remembers a way to sign in that failed',
    edits: [
      {
        in: 'startPasswordLogin',
        find: 'const code = codeOf(values);',
        replace: "const code = codeOf(values);\nrememberWay('password');",
      },
    ],
    tests: ['test/browser/login.browser.ts'],
  },
  {
    ids: [],
    fault: 'the page offers only to sign in when a reset link is not valid',
    edits: [
      {
        in: 'showDeadLink',
        find: 'if (startAgain) startAgain.hidden = canSendAgain;',
        replace: 'if (startAgain) startAgain.hidden = true;',
      },
    ],
    tests: ['test/browser/links.browser.ts'],
  },
  {
    ids: [],
    fault: 'users are not asked for their name after they accept an invitation',
    edits: [{ in: 'start', find: "if (change === 'name') askForName(account);", replace: '' }],
    tests: ['test/browser/links.browser.ts'],
  },
];
