import type { Mutation } from './mutation.js';

/** A rule for which one line is enough. */
const without = (fault: string, file: string, find: string, test = 'test/auth/step-up/matrix.test.ts'): Mutation => ({
  ids: [],
  fault,
  edits: [{ file, find, replace: '' }],
  tests: [test],
});

/** An operation that a session need not be fresh for. */
const stale = (fault: string, file: string, test = 'test/auth/step-up/matrix.test.ts'): Mutation => ({
  ids: [],
  fault,
  edits: [{ file, find: 'requiresFresh: true', replace: 'requiresSession: true' }],
  tests: [test],
});

/** What a stolen token must not be sufficient for. */
export const stepUp: readonly Mutation[] = [
  without(
    'a stale session changes the password, address and token of its user',
    'plugins/users/write-rules.ts',
    '        await stepUp.requireProofForOwnRow(caller, currentPassword);\n',
  ),
  without(
    'a stale session sets a new password by the operation for it',
    'plugins/users/change-password.ts',
    '    await stepUp.requireProofForOwnRow(caller, currentPassword);\n',
  ),
  without(
    'current_password replaces the code of a user with a second factor',
    'plugins/auth/step-up/service.ts',
    '      if (user.tfaSecret !== null && !isFresh(caller)) throw await refusal(db, caller.userId);\n',
  ),
  without(
    'a static token changes the credentials of its user with the password',
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
  stale('a stale session turns a second factor on', 'routes/tfa/enable-tfa.ts'),
  stale('a stale session creates recovery codes', 'routes/tfa/create-recovery-codes.ts'),
  stale('a stale session unlinks an account at a provider', 'routes/providers/unlink-identity.ts'),
  stale(
    'a stale session requests a new address',
    'routes/users/request-email-change.ts',
    'test/auth/step-up/further-operations.test.ts',
  ),
  stale('a stale session deletes the account', 'routes/users/delete-me.ts', 'test/users/profile.test.ts'),
  without(
    'a stale session gives administrator access',
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
