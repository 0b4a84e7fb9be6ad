import type { Mutation } from './mutation.js';

const tests = ['test/email-login/email-login.test.ts'];

/** Signing in with a code or a link from an email. */
export const emailLogin: readonly Mutation[] = [
  {
    ids: [],
    fault: 'a code from an email works in any browser',
    edits: [
      {
        find: "isAmong(emailCodes.bindingHash, bindingHashes, 'text'),",
        replace: '',
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'wrong codes from an email do not void the request',
    edits: [
      {
        find: '- case when ${isRight} then 0 else 1 end',
        replace: '- case when ${isRight} then 0 else 0 end',
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'a code or link from an email can be used several times',
    edits: [
      {
        in: 'useEmailCode',
        find: 'return used.length === 1;',
        replace: 'return used.length >= 0;',
      },
      {
        in: 'useEmailCode',
        find: '.delete(emailCodes)',
        replace: '.update(emailCodes).set({ user })',
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'a code from an email does not expire',
    edits: [{ in: 'isUsable', find: 'gt(emailCodes.expiresAt, now),', replace: '' }],
    tests,
  },
  {
    ids: [],
    fault: 'a code from an email works after the account has changed',
    edits: [{ find: 'and u.used_links = ${emailCodes.usedLinks})', replace: ')' }],
    tests,
  },
  {
    ids: [],
    fault: 'signing in by email skips the second factor',
    edits: [
      {
        under: 'plugins/email-login',
        find: 'const code = await secondFactor.require(user, otp, client);',
        replace: 'const code = await secondFactor.require({ ...user, tfaSecret: null }, otp, client);',
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'the setting does not turn off signing in by email',
    edits: [{ find: 'if (!settings.email_login) throw', replace: 'if (settings.email_login === undefined) throw' }],
    tests,
  },
  {
    ids: [],
    fault: 'users of a provider can sign in by email',
    edits: [
      {
        find: "email_login: ({ status, provider }: Recipient) => status === 'active' && provider === 'default',",
        replace: "email_login: ({ status }: Recipient) => status === 'active',",
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'a code from an email makes any session of the user fresh',
    edits: [
      {
        find: "emailProofs.check(user.id, 'reauthentication', code, [['session', sessionId]])",
        replace: "emailProofs.check(user.id, 'reauthentication', code, [['session', '']])",
      },
      {
        find: "emailCodes.bindingHashes(['session', sessionId])",
        replace: "emailCodes.bindingHashes(['session', ''])",
      },
    ],
    tests: ['test/step-up/email-code.test.ts'],
  },
  {
    ids: [],
    fault: 'wrong codes void the link',
    edits: [
      {
        in: 'isUsable',
        find: 'gt(emailCodes.expiresAt, now),',
        replace: 'gt(emailCodes.expiresAt, now), gt(emailCodes.attemptsLeft, 0),',
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'a request from another browser replaces a request',
    edits: [
      {
        find: 'const [bindingHash] = emailCodes.bindingHashes(binding);\n      const requestedAt',
        replace: "const [bindingHash] = emailCodes.bindingHashes(['app', '']);\n      const requestedAt",
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'the number of requests that are pending is not limited',
    edits: [{ find: "if (pending >= limit) return 'too many';", replace: '' }],
    tests,
  },
  {
    ids: [],
    fault: 'the redirect of a request can have a query',
    edits: [{ find: '&& !/[?#]/.test(redirect)', replace: '' }],
    tests,
  },
  {
    ids: [],
    fault: 'the redirect is in the email',
    edits: [
      {
        find: 'email, url: linkPage }',
        replace: 'email, url: redirect === undefined ? linkPage : `${linkPage}?redirect=${redirect}` }',
      },
    ],
    tests,
  },
];
