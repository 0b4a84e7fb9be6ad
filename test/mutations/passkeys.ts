import type { Mutation } from './mutation.js';

/** Signing in with a passkey. */
export const passkeys: readonly Mutation[] = [
  {
    ids: [],
    fault: 'a challenge of a passkey can be used several times',
    edits: [
      {
        find: 'if (!(await spendState(tx, challenge.id, challenge.expiresAt))) return false;',
        replace: 'await spendState(tx, challenge.id, challenge.expiresAt);',
      },
    ],
    tests: ['test/passkeys/login.test.ts'],
  },
  {
    ids: [],
    fault: 'a challenge of a passkey does not expire',
    edits: [
      {
        find: 'if (Math.abs(clock().getTime() - issuedAt) >= challengeLifetime) return undefined;',
        replace: '',
      },
    ],
    tests: ['test/passkeys/login.test.ts'],
  },
  {
    ids: [],
    fault: 'a passkey is accepted with a challenge that the service did not issue',
    edits: [
      {
        find: 'if (!keys.some((key) => timingSafeEqual(macOf(key, content, user), mac))) return undefined;',
        replace: '',
      },
    ],
    tests: ['test/passkeys/hostile.test.ts'],
  },
  {
    ids: [],
    fault: 'a challenge for adding a passkey works for every user',
    edits: [
      {
        find: ".update(user === null ? 'login' : `registration ${user}`)",
        replace: ".update(user === null ? 'login' : 'registration')",
      },
    ],
    tests: ['test/passkeys/hostile.test.ts'],
  },
  {
    ids: [],
    fault: 'a page in a frame of another site can use passkeys',
    edits: [{ find: ' || (crossOrigin !== undefined && crossOrigin !== false)', replace: '' }],
    tests: ['test/passkeys/hostile.test.ts'],
  },
  {
    ids: [],
    fault: 'a passkey signs in the user of the user handle, even if another user owns it',
    edits: [
      {
        find: "const isSameUser = passkey !== undefined && bytesOf(userHandle ?? '').equals(bytesOf(handleOf(user)));",
        replace: 'const isSameUser = passkey !== undefined;',
      },
    ],
    tests: ['test/passkeys/hostile.test.ts'],
  },
  {
    ids: [],
    fault: 'a passkey that has become synchronized is refused forever',
    edits: [{ find: ' || (isSynchronized && info.userVerified)', replace: '' }],
    tests: ['test/passkeys/login.test.ts'],
  },
  {
    ids: [],
    fault: 'a passkey can become synchronized without user verification',
    edits: [{ find: ' || (isSynchronized && info.userVerified)', replace: ' || isSynchronized' }],
    tests: ['test/passkeys/login.test.ts'],
  },
  {
    ids: [],
    fault: 'the certificates in a new passkey make the service send requests',
    edits: [
      {
        find: "if (format === 'none' || isSelfSigned) return attestationObject;",
        replace: 'return attestationObject;',
      },
    ],
    tests: ['test/passkeys/hostile.test.ts'],
  },
  {
    ids: [],
    fault: 'a passkey that does not verify its user needs no code',
    edits: [
      {
        find: 'const code = proof.isUserVerified ? null : await secondFactor.require(holder, otp, client);',
        replace: 'const code = null;',
      },
    ],
    tests: ['test/passkeys/login.test.ts'],
  },
  {
    ids: [],
    fault: 'every passkey satisfies enforce_tfa',
    edits: [
      {
        find: 'isVerifiedByPasskey: isVerifiedByPasskey(proved), amr: authenticationMethodsOf(proved),',
        replace: 'isVerifiedByPasskey: proved.passkey !== undefined, amr: authenticationMethodsOf(proved),',
      },
    ],
    tests: ['test/passkeys/login.test.ts'],
  },
  {
    ids: [],
    fault: 'a refreshed session forgets that a passkey began it',
    edits: [{ find: 'sql`moved.verified_by_passkey`,', replace: 'sql`false`,' }],
    tests: ['test/passkeys/login.test.ts'],
  },
  {
    ids: [],
    fault: 'concurrent uses of a copied passkey both succeed',
    edits: [{ find: '.where(and(eq(passkeys.id, id), isNext))', replace: '.where(eq(passkeys.id, id))' }],
    tests: ['test/passkeys/login.test.ts'],
  },
  {
    ids: [],
    fault: 'a passkey of another user makes a session fresh',
    edits: [{ find: 'return holder?.id === user.id ? proof : undefined;', replace: 'return proof;' }],
    tests: ['test/passkeys/manage.test.ts'],
  },
  {
    ids: [],
    fault: 'a user can remove the only way to sign in',
    edits: [{ find: '!mayUseProvider && !mayUsePasskey) {', replace: '!mayUseProvider && false) {' }],
    tests: ['test/passkeys/manage.test.ts'],
  },
  {
    ids: [],
    fault: 'a password reset keeps the passkeys of an attacker',
    edits: [{ find: '(await deletePasskeysSince(tx, userId, since, keepsFactor))', replace: 'false' }],
    tests: ['test/password-reset/effects.test.ts'],
  },
];
