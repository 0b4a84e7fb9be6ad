import type { Mutation } from './mutation.js';

/** Ways around the second factor. */
export const secondFactor: readonly Mutation[] = [
  {
    ids: ['CVE-2025-64103', 'CVE-2024-45042'],
    fault: 'a login without a one-time password skips the second factor',
    edits: [
      {
        find: 'const code = user.tfaSecret === null ? null : await secondFactor.require(user, otp, client);',
        replace:
          'const code = user.tfaSecret === null || otp === undefined ? null : await secondFactor.require(user, otp, client);',
      },
    ],
    tests: ['test/sessions/login-tfa.test.ts', 'test/tfa/tfa.test.ts'],
  },
  {
    ids: ['CVE-2025-64103', 'CVE-2024-45042'],
    fault: 'a login through a provider skips the second factor',
    edits: [
      {
        find: 'if (holder.tfaSecret !== null) return wait(profile, holder);',
        replace: '',
      },
    ],
    tests: ['test/providers/openid.test.ts'],
  },
  {
    ids: ['CVE-2025-64103'],
    fault: 'a password reset turns off the second factor',
    edits: [
      {
        find: 'await tx.update(users).set({ password, emailVerifiedAt: now }).where(eq(users.id, id));',
        replace:
          'await tx.update(users).set({ password, emailVerifiedAt: now, tfaSecret: null }).where(eq(users.id, id));',
      },
    ],
    tests: ['test/tfa/tfa.test.ts'],
  },
  {
    ids: ['CVE-2024-7318'],
    fault: 'a code is valid for one time step too long',
    edits: [
      {
        find: 'for (const step of [currentStep, currentStep - 1]) {',
        replace: 'for (const step of [currentStep, currentStep - 1, currentStep - 2]) {',
      },
    ],
    tests: ['test/sessions/login-tfa.test.ts'],
  },
  {
    ids: [],
    fault: 'a stale session unlocks the account of an administrator',
    edits: [
      {
        under: 'plugins/users/unlock-user.ts',
        find: 'if ((await administratorsAmong(tx, [user])).size > 0)',
        replace: 'if ((await administratorsAmong(tx, [user])).size > 1)',
      },
    ],
    tests: ['test/step-up/matrix.test.ts'],
  },
];
