import type { Mutation } from './mutation.js';

/** A fault that removes a single line. */
const without = (fault: string, file: string, find: string, test = 'test/auth/step-up/matrix.test.ts'): Mutation => ({
  ids: [],
  fault,
  edits: [{ file, find, replace: '' }],
  tests: [test],
});

/** A fault that lets stale sessions call an operation that requires a fresh one. */
const stale = (fault: string, file: string, test = 'test/auth/step-up/matrix.test.ts'): Mutation => ({
  ids: [],
  fault,
  edits: [{ file, find: 'requiresFresh: true', replace: 'requiresSession: true' }],
  tests: [test],
});

/** What a stolen token must not be enough to do. */
export const stepUp: readonly Mutation[] = [
  without(
    'a stale session changes the password, address, and token of its user',
    'plugins/users/write-rules.ts',
    '        await stepUp.requireProofForOwnRow(caller, currentPassword);\n',
  ),
  without(
    'a stale session sets a new password with the change-password operation',
    'plugins/users/change-password.ts',
    '    await stepUp.requireProofForOwnRow(caller, currentPassword);\n',
  ),
  without(
    'current_password replaces the one-time password of a user with a second factor',
    'plugins/auth/step-up/service.ts',
    '      if (user.tfaSecret !== null && !isFresh(caller)) throw await refusal(db, caller.userId);\n',
  ),
  without(
    'a static token changes the credentials of its user if the password is given',
    'plugins/auth/step-up/service.ts',
    '      if (period > 0) requireSession(caller);\n',
  ),
  {
    ids: [],
    fault: 'the password alone makes the session of a user with a second factor fresh',
    edits: [
      {
        file: 'plugins/auth/step-up/reauthentication.ts',
        find: 'const code = await secondFactor.require(user, otp, caller.client);',
        replace: 'const code = otp === undefined ? null : await secondFactor.require(user, otp, caller.client);',
      },
    ],
    tests: ['test/auth/step-up/reauthenticate.test.ts'],
  },
  stale('a stale session turns on a second factor', 'routes/tfa/enable-tfa.ts'),
  stale('a stale session creates recovery codes', 'routes/tfa/create-recovery-codes.ts'),
  stale('a stale session unlinks a provider account', 'routes/providers/unlink-identity.ts'),
  stale(
    'a stale session requests an email change',
    'routes/users/request-email-change.ts',
    'test/auth/step-up/further-operations.test.ts',
  ),
  stale('a stale session deletes the account', 'routes/users/delete-me.ts', 'test/users/profile.test.ts'),
  without(
    'a stale session grants administrator access',
    'plugins/items/write-engine.ts',
    '      if (isGained) await stepUp.requireFreshOfAdministrator(caller, tx);\n',
  ),
  without(
    'a stale session invites an administrator',
    'plugins/invites/service.ts',
    '      if (isAdministrator) await stepUp.requireFreshOfAdministrator(caller);\n',
  ),
  without(
    'a stale session changes the credentials of another administrator',
    'plugins/users/write-rules.ts',
    '      if (administrators.size > 0) await stepUp.requireFreshOfAdministrator(caller);\n',
  ),
  without(
    'a stale session turns off the second factor of another administrator',
    'plugins/users/disable-two-factor.ts',
    '      if (isAdministrator) await stepUp.requireFreshOfAdministrator(caller, tx);\n',
  ),
];
