import type { Code } from '../helpers/project/code-search.js';
import type { Mutation } from './mutation.js';

/** A fault that removes a statement. */
const without = (fault: string, code: Code): Mutation => ({
  ids: [],
  fault,
  edits: [{ ...code, replace: '' }],
  tests: ['test/step-up/matrix.test.ts'],
});

/** A fault in the strength of a proof. */
const replaced = (fault: string, find: string, replace: string, test = 'second-factor'): Mutation => ({
  ids: [],
  fault,
  edits: [{ find, replace }],
  tests: [`test/step-up/${test}.test.ts`],
});

/** A fault that lets stale sessions call an operation that requires a fresh one. */
const stale = (fault: string, route: string, test = 'test/step-up/matrix.test.ts'): Mutation => ({
  ids: [],
  fault,
  edits: [{ in: route, find: 'requiresFresh: true', replace: "credentials: ['session']" }],
  tests: [test],
});

/** What a stolen token must not be enough to do. */
export const stepUp: readonly Mutation[] = [
  without('a stale session changes the password, address, and token of its user', {
    in: 'createUserWriteRules',
    find: 'await stepUp.requireProofForOwnRow(caller, currentPassword);',
  }),
  without('a stale session sets a new password with the change-password operation', {
    in: 'createChangePassword',
    find: 'await stepUp.requireProofForOwnRow(caller, currentPassword);',
  }),
  replaced(
    'current_password replaces the second factor of a user',
    'if (!(await needsSecondFactor(caller))) return;',
    'return;',
    'strength',
  ),
  replaced(
    'the password alone makes the session of a user whose passkey is required fresh',
    "if (!hasSecondFactor && (await stepUp.needsSecondFactor(caller, tx)))\n        throw invalidCredentials(user.id, 'one_factor');",
    '',
  ),
  replaced(
    'a login with one factor lets its session replace a required passkey',
    'isRecent(caller) && (await isProved(caller, executor));',
    'isRecent(caller);',
  ),
  replaced(
    'a required second factor protects itself only at the addresses of the policy',
    'requiresTfa: principal.policies.some((policy) => policy.enforce_tfa),',
    'requiresTfa: policies.some((policy) => policy.enforce_tfa),',
  ),
  replaced(
    'two sessions set up the first second factor simultaneously',
    'if (!(await isProved({ ...caller, ...session }, tx))) throw await refusal(caller, tx);',
    '',
  ),
  replaced(
    'the secret of an app, generated with the password alone, makes a session fresh that needs the passkey',
    'const isPasswordEnough = hasPassword && !(await stepUp.needsSecondFactor(caller));',
    'const isPasswordEnough = hasPassword;',
    'strength',
  ),
  replaced(
    'a passkey confirms the identity, but the session stays restricted',
    '.set({ amr, ...(authenticatedAt && { authenticatedAt }), ...(isVerifiedByPasskey ? { isVerifiedByPasskey } : {}) })',
    '.set({ amr, ...(authenticatedAt && { authenticatedAt }) })',
  ),
  replaced(
    'a restricted session adds a passkey that cannot lift the restriction',
    'if (caller.requiresTfa && !caller.satisfiesTfa && !isUserVerified) throw notUserVerified();',
    '',
  ),
  replaced(
    'a reset by email removes the only second factor',
    'if (keepsLast && (await tx.$count(passkeys, older)) === 0) return false;',
    '',
  ),
  replaced(
    'a password confirms the identity although passwords are turned off',
    "allowsPassword: ({ provider }) => !config.AUTH_DISABLE_DEFAULT && provider === 'default',",
    "allowsPassword: ({ provider }) => provider === 'default',",
    'configured-methods',
  ),
  replaced(
    'a managed user confirms their identity with a code from an email',
    'allowsEmail: (user) => !isManaged(user),',
    'allowsEmail: () => true,',
    'configured-methods',
  ),
  without('a static token changes the credentials of its user if the password is given', {
    find: 'if (period > 0 || isOfApplication(caller)) requireSession(caller);',
  }),
  {
    ids: [],
    fault: 'the password alone makes the session of a user with a second factor fresh',
    edits: [
      {
        find: 'const needsCode = otp !== undefined || !isVerifiedByPasskey;',
        replace: 'const needsCode = otp !== undefined;',
      },
    ],
    tests: ['test/step-up/reauthenticate.test.ts'],
  },
  without('a static token sets a new password', { find: 'if (principal) requireKind(principal, acceptedBy(route));' }),
  {
    ids: [],
    fault: 'operations accept kinds of credentials that they do not name',
    edits: [
      {
        find: 'if (credential === null || accepted.includes(credential.kind)) return;',
        replace: 'if (credential === null || accepted.length > 1 || accepted.includes(credential.kind)) return;',
      },
    ],
    tests: ['test/access/credentials.test.ts'],
  },
  stale('a stale session turns on a second factor', 'enableTfa'),
  stale('a stale session creates recovery codes', 'createRecoveryCodes'),
  stale('a stale session unlinks a provider account', 'unlinkIdentity'),
  stale('a stale session adds a passkey', 'addPasskey'),
  stale('a stale session removes a passkey', 'removePasskey'),
  stale('a stale session requests an email change', 'requestEmailChange', 'test/step-up/further-operations.test.ts'),
  stale('a stale session deletes the account', 'deleteMe', 'test/users/profile.test.ts'),
  without('a stale session grants administrator access', {
    find: 'if (isGained) await stepUp.requireFreshAdministrator(caller, tx);',
  }),
  without('a stale session invites an administrator again', {
    find: 'if (opensAdministrator) await stepUp.requireFreshAdministrator(caller, tx);',
  }),
  {
    ids: [],
    fault: 'a stale session gives a suspended administrator the status invited',
    edits: [
      {
        find: 'status === null || closedStatuses.has(status) ? [access] : [access, `${access} ${status}`]',
        replace: "status === 'active' ? [access, `${access} ${status}`] : [access]",
      },
    ],
    tests: ['test/step-up/matrix.test.ts'],
  },
  {
    ids: [],
    fault: 'a stale session gives a role that a provider assigns administrator access',
    edits: [
      {
        find: 'const assignable = config.PROVIDERS.flatMap(assignableRoles)',
        replace: 'const assignable: string[] = []',
      },
    ],
    tests: ['test/step-up/matrix.test.ts'],
  },
  without('a stale session changes the settings that control access', {
    find: 'if (!names.every((name) => delegableSettings.has(name))) await stepUp.requireFreshAdministrator(caller);',
  }),
  {
    ids: [],
    fault: 'a stale session reads the development mailbox',
    edits: [
      {
        find: 'if (key === undefined && request.principal?.admin) return app.stepUp.requireFreshAdministrator(request.principal);',
        replace: 'if (key === undefined && request.principal?.admin) return;',
      },
    ],
    tests: ['test/step-up/matrix.test.ts'],
  },
  {
    ids: [],
    fault: 'without a limit on wrong logins, a session can guess the password without limit',
    edits: [
      {
        under: 'plugins/passwords',
        find: 'limit: state.limit ?? maxGuessesInSession,',
        replace: 'limit: state.limit,',
      },
    ],
    tests: ['test/step-up/reauthenticate.test.ts'],
  },
  without('a stale session invites an administrator', {
    find: 'if (isAdministrator) await stepUp.requireFreshAdministrator(caller);',
  }),
  without('a stale session changes the credentials of another administrator', {
    find: 'if (administrators.size > 0) await stepUp.requireFreshAdministrator(caller);',
  }),
  without('a stale session turns off the second factor of another administrator', {
    find: 'if (isAdministrator) await stepUp.requireFreshAdministrator(caller, tx);',
  }),
];
