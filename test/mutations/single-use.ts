import type { Mutation } from './mutation.js';

/** What can be used only once, and how many guesses are allowed. */
export const singleUse: readonly Mutation[] = [
  {
    ids: [],
    fault: 'unlocking an account does not clear the locks of individual networks',
    edits: [
      {
        find: "where account = ${value('account')} order by key for update",
        replace: "where key = ${value('account')} order by key for update",
      },
    ],
    tests: ['test/users/unlock.test.ts'],
  },
  {
    ids: [],
    fault: 'a link works again when the status of its user changes and changes back',
    edits: [
      {
        in: 'linkStateOf',
        find: 'String(usedLinks),',
        replace: "'',",
      },
    ],
    tests: ['test/mail/void-links.test.ts'],
  },
  {
    ids: ['CVE-2026-1035', 'GHSA-392p-2q2v-4372'],
    fault: 'any refresh token of a session can be exchanged, even a replaced one',
    edits: [
      {
        find: 'where ${isAt(value)} and least(s.expires_at',
        replace: "where s.id = ${value('id')} and least(s.expires_at",
      },
    ],
    tests: ['test/sessions/refresh.test.ts'],
  },
  {
    ids: ['CVE-2026-1035'],
    fault: 'a refresh token is checked and replaced in two separate statements',
    edits: [
      {
        find: 'where ${isAt(value)} and least(s.expires_at',
        replace: "where s.id = ${value('id')} and least(s.expires_at",
      },
      {
        find: 'const [outcome] = await advance(executor, {',
        replace:
          'const [seen] = await executor\n.select({ generation: sessions.generation, tokenHash: sessions.tokenHash })\n.from(sessions)\n.where(sql`${sessions.id} = ${presented.id}`);\nawait new Promise((resolve) => setTimeout(resolve, 20));\nif (seen?.generation !== presented.generation || seen.tokenHash !== presented.tokenHash) return { principal: undefined, wasCurrent: false };\nconst [outcome] = await advance(executor, {',
      },
    ],
    tests: ['test/sessions/refresh.test.ts'],
  },
  {
    ids: ['GHSA-hc7v-rggr-4hvx', 'GHSA-hc7v-x88r-fmh4'],
    fault: 'a password reset link is not checked again under the lock',
    edits: [
      {
        find: 'const user = requireUsable(claims, await lockRecipient(tx, claims.id));',
        replace: 'const user = (await lockRecipient(tx, claims.id)) as Recipient;',
      },
    ],
    tests: ['test/password-reset/password-reset.test.ts'],
  },
  {
    ids: ['GHSA-hc7v-rggr-4hvx', 'GHSA-hc7v-x88r-fmh4'],
    fault: 'an invitation is not checked again under the lock',
    edits: [
      {
        find: 'const user = requireOpen(claims, await lockRecipient(tx, claims.id));',
        replace: 'const user = (await lockRecipient(tx, claims.id)) as Recipient;',
      },
    ],
    tests: ['test/invites/invite.test.ts'],
  },
  {
    ids: ['GHSA-hc7v-rggr-4hvx', 'GHSA-hc7v-x88r-fmh4'],
    fault: 'a link to verify an address can be used any number of times',
    edits: [
      {
        find: 'if (!user || !isApplicable.registration(user)) throw voidLink(claims);',
        replace: 'if (!user) throw voidLink(claims);',
      },
      {
        find: 'all.find((one) => linkTokens.matchesState(claims, stateOfRegistration(user, one.id)));',
        replace: 'all[0];',
      },
      {
        find: 'await deleteRegistrations(tx, [user]);',
        replace: 'await deleteRegistrations(tx, []);',
      },
    ],
    tests: ['test/registration/register.test.ts'],
  },
  {
    ids: ['CVE-2026-31875'],
    fault: 'a recovery code can be used more than once',
    edits: [
      {
        find: 'const used = await tx\n    .delete(recoveryCodes)\n    .where(and(eq(recoveryCodes.user, id), eq(recoveryCodes.hash, hash)))\n    .returning({ hash: recoveryCodes.hash });\n  return used.length === 1;',
        replace: 'return hasRecoveryCode(tx, id, hash);',
      },
    ],
    tests: ['test/tfa/recovery-codes.test.ts'],
  },
  {
    ids: ['CVE-2026-33624'],
    fault: 'a recovery code is accepted even if a concurrent request has used it',
    edits: [
      {
        find: '.returning({ hash: recoveryCodes.hash });\n  return used.length === 1;',
        replace: '.returning({ hash: recoveryCodes.hash });\nreturn used.length <= 1;',
      },
    ],
    tests: ['test/tfa/recovery-codes.test.ts'],
  },
  {
    ids: ['CVE-2026-43930'],
    fault: 'the use of a one-time password is recorded but not checked',
    edits: [
      {
        find: 'or(isNull(users.tfaLastStep), lt(users.tfaLastStep, step)),',
        replace: '',
      },
    ],
    tests: ['test/sessions/login-tfa.test.ts'],
  },
  {
    ids: ['CVE-2026-34224'],
    fault: 'a pending login from a provider can be completed any number of times',
    edits: [
      {
        find: 'if (!(await spendState(tx, pending.id, new Date(pending.expires)))) {',
        replace: 'if (!(await spendState(tx, pending.id, new Date(pending.expires))) && pending.id === "") {',
      },
    ],
    tests: ['test/providers/second-factor.test.ts'],
  },
  {
    ids: ['CVE-2020-15222', 'CVE-2025-46815'],
    fault: 'the state of a login through a provider can be used again',
    edits: [
      {
        in: 'completeLogin',
        find: 'await spend(attempt);',
        replace: '',
      },
    ],
    tests: ['test/providers/state.test.ts'],
  },
  {
    ids: ['CVE-2020-15223'],
    fault: 'a logout that could not end the session is reported as successful',
    edits: [
      {
        find: "for (const { session } of await findUsable(credential)) await end(session.id, 'logout', client);",
        replace:
          "for (const { session } of await findUsable(credential)) await end(session.id, 'logout', client).catch(() => {});",
      },
    ],
    tests: ['test/sessions/failed-revocation.test.ts'],
  },
  {
    ids: ['CVE-2020-15223'],
    fault: 'a change is kept even if the sessions that it must end cannot be ended',
    edits: [
      {
        find: 'await executor.delete(sessions).where(and(inArray(sessions.user, [...users]), others));',
        replace:
          "await executor.execute('savepoint ending').catch(() => {});\nawait executor\n.delete(sessions)\n.where(and(inArray(sessions.user, [...users]), others))\n.catch(() => executor.execute('rollback to savepoint ending'));",
      },
    ],
    tests: ['test/sessions/failed-revocation.test.ts'],
  },
  {
    ids: ['CVE-2024-4629'],
    fault: 'an attempt is counted only after its password is checked',
    edits: [
      {
        find: 'if (limit === null) return { counted: [], locks: false };',
        replace:
          'if (limit === null) return { counted: [], locks: false };\nsetTimeout(() => void reserveAttempts(db, [keys.fromHere], keys.fromAnywhere, clock(), { limit, firstLockMs: 30_000, maxLockMs: 900_000 }, attemptsCountFor).catch(() => {}), 200);\nif (limit > 0) return { counted: [], locks: false };',
      },
    ],
    tests: ['test/rate-limits/parallel-guesses.test.ts'],
  },
  {
    ids: ['CVE-2024-32868'],
    fault: 'the lock after too many wrong codes is not enforced',
    edits: [
      {
        find: '.where(and(eq(users.id, id), or(isNull(users.tfaLockedUntil), lte(users.tfaLockedUntil, now))))',
        replace: '.where(eq(users.id, id))',
      },
    ],
    tests: ['test/tfa/attempts.test.ts'],
  },
  {
    ids: ['CVE-2025-64102'],
    fault: 'wrong codes are counted only at login',
    edits: [
      {
        find: 'const locks = await count(id);',
        replace: "const locks = takes === 'any' && (await count(id));",
      },
    ],
    tests: ['test/tfa/attempts.test.ts'],
  },
  {
    ids: ['CVE-2025-64102'],
    fault: 'wrong passwords are counted only at login',
    edits: [
      {
        find: 'passwordChecks.require(user, password, client)',
        replace: 'passwordChecks.require({ ...user, email: `${Math.random()}` }, password, client)',
      },
    ],
    tests: ['test/rate-limits/login-attempts.test.ts', 'test/step-up/reauthenticate.test.ts'],
  },
  {
    ids: ['CVE-2025-24806'],
    fault: 'each spelling of an email address has its own counter',
    edits: [
      {
        find: "(storedEmail(email) ?? email.normalize('NFKC')).trim().toLowerCase()",
        replace: 'email',
      },
    ],
    tests: ['test/rate-limits/login-attempts.test.ts'],
  },
  {
    ids: ['CVE-2025-64526'],
    fault: 'the request body influences which rate limit applies',
    edits: [
      {
        find: 'isPerUser ? request.currentUser.userId : request.client.network',
        replace: '`${request.client.network} ${(request.body as { email?: string }).email}`',
      },
    ],
    tests: ['test/rate-limits/mails.test.ts'],
  },
  {
    ids: ['CVE-2026-45364'],
    fault: 'every address of an IPv6 network has its own counter',
    edits: [
      {
        find: 'normalizeIP(address, 64)',
        replace: 'normalizeIP(address, 128)',
      },
    ],
    tests: ['test/rate-limits/requests.test.ts'],
  },
  {
    ids: ['GHSA-x732-6j76-qmhm'],
    fault: 'requests for unknown paths are not rate limited',
    edits: [
      {
        find: 'if (!isProbe(request)) await enforceRequestLimit(request);',
        replace: 'if (!isProbe(request) && !request.is404) await enforceRequestLimit(request);',
      },
    ],
    tests: ['test/rate-limits/requests.test.ts'],
  },
  {
    ids: ['GHSA-x732-6j76-qmhm'],
    fault: 'any path that starts like a health probe is exempt from the rate limit',
    edits: [
      {
        find: 'return isRead && isPlain && uncounted.has(url);',
        replace:
          "return isRead && isPlain && [...uncounted].some((path) => url.replace(/^\\/+/, '/').startsWith(path));",
      },
    ],
    tests: ['test/rate-limits/requests.test.ts'],
  },
  {
    ids: ['CVE-2024-47070'],
    fault: 'any text that a proxy forwards is accepted as an address',
    edits: [
      {
        in: 'networkOf',
        find: 'return address === null ?',
        replace: 'if (bareAddress(ip) === null) return ip;\nreturn address === null ?',
      },
    ],
    tests: ['test/rate-limits/requests.test.ts'],
  },
  {
    ids: ['GHSA-6q22-g298-grjh'],
    fault: 'each health check queries the database',
    edits: [
      {
        find: 'if (!checking || performance.now() > freshUntil) {',
        replace: 'if (!checking || freshUntil > 0) {',
      },
    ],
    tests: ['test/monitoring/server.test.ts'],
  },
];
