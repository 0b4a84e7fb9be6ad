import type { Mutation } from './mutation.js';

/** What responses reveal to anonymous callers, and where emails and their links lead. */
export const answersAndMails: readonly Mutation[] = [
  {
    ids: ['CVE-2026-26185'],
    fault: 'a URL is checked only after the user is looked up',
    edits: [
      {
        find: "requireAllowedUrl('reset_url', url, allowList);",
        replace: "await findRecipientByEmail(db, email);\nrequireAllowedUrl('reset_url', url, allowList);",
      },
      {
        under: 'plugins/password-reset/service.ts',
        find: 'findRecipient,\n  lockRecipient,',
        replace: 'findRecipient,\nfindRecipientByEmail,\nlockRecipient,',
      },
    ],
    tests: ['test/sessions/enumeration.test.ts'],
  },
  {
    ids: ['CVE-2026-26185'],
    fault: 'a URL is checked only after the settings are read',
    edits: [
      {
        find: "requireAllowedUrl('verification_url', registration.url, allowList);",
        replace: "await readSettings(db);\nrequireAllowedUrl('verification_url', registration.url, allowList);",
      },
    ],
    tests: ['test/sessions/enumeration.test.ts'],
  },
  {
    ids: ['CVE-2024-39896'],
    fault: 'a login with a password reveals that the user belongs to a provider',
    edits: [
      {
        find: "const canUsePassword = user?.status === 'active' && user.provider === 'default';",
        replace:
          "if (user && user.provider !== 'default') throw new ApiError('INVALID_PROVIDER');\nconst canUsePassword = user?.status === 'active';",
      },
    ],
    tests: ['test/sessions/enumeration.test.ts', 'test/sessions/login.test.ts'],
  },
  {
    ids: ['CVE-2024-41952'],
    fault: 'a user who is not active gets a different error than an unknown user',
    edits: [
      {
        under: 'plugins/sessions/login.ts',
        find: 'throw invalidCredentials(user?.id, reasonOf(user));',
        replace:
          "throw user && !canUsePassword ? new ApiError('FORBIDDEN').concerning(user.id).because(reasonOf(user)) : invalidCredentials(user?.id, reasonOf(user));",
      },
    ],
    tests: ['test/sessions/enumeration.test.ts', 'test/sessions/login.test.ts'],
  },
  {
    ids: ['CVE-2024-41952'],
    fault: 'a registration reveals that the address is taken',
    edits: [
      {
        find: 'if (!(error instanceof Refusal)) throw error;',
        replace:
          "if (!(error instanceof Refusal)) throw error;\nif (/taken/.test(error.message)) throw invalidPayload('The address is taken');",
      },
    ],
    tests: ['test/sessions/enumeration.test.ts', 'test/registration/register.test.ts'],
  },
  {
    ids: ['CVE-2026-23511'],
    fault: 'a request for a password reset reveals that the address is unknown',
    edits: [
      {
        under: 'plugins/password-reset/service.ts',
        find: 'await requestMail(email, from.client, (origin) =>',
        replace:
          "if (!(await findRecipientByEmail(db, email))) throw new ApiError('INVALID_CREDENTIALS');\nawait requestMail(email, from.client, (origin) =>",
      },
      {
        under: 'plugins/password-reset/service.ts',
        find: 'findRecipient,\n  lockRecipient,',
        replace: 'findRecipient,\nfindRecipientByEmail,\nlockRecipient,',
      },
    ],
    tests: ['test/sessions/enumeration.test.ts', 'test/rate-limits/mails.test.ts'],
  },
  {
    ids: [],
    fault: 'all kinds of email to an address and its +tag variants share one limit',
    edits: [
      {
        find: "createHash('sha256').update(normalizeEmail(email))",
        replace: "createHash('sha256').update(normalizeEmail(email).replace(/\\+[^@]*/, ''))",
      },
      {
        find: '`${kind}-mails-to`',
        replace: "'mails-to'",
      },
    ],
    tests: ['test/rate-limits/mails.test.ts'],
  },
  {
    ids: [],
    fault: 'each delivery attempt of an email counts toward the limit of its mailbox',
    edits: [
      {
        find: 'if (attempt > 1) return null;',
        replace: '',
      },
    ],
    tests: ['test/rate-limits/mails.test.ts'],
  },
  {
    ids: ['CVE-2022-31142'],
    fault: 'tokens of different lengths are compared without hashing them first',
    edits: [
      {
        find: 'timingSafeEqual(digest(token), wanted)',
        replace: 'timingSafeEqual(Buffer.from(token), Buffer.from(String(config.METRICS_TOKEN)))',
      },
    ],
    tests: ['test/monitoring/metrics.test.ts'],
  },
  {
    ids: ['CVE-2022-31142'],
    fault: 'the hash of a static token is accepted as the token',
    edits: [
      {
        find: 'principals.ofTokenHash(hashToken(token), ownFields)',
        replace: 'principals.ofTokenHash(/^[0-9a-f]{64}$/.test(token) ? token : hashToken(token), ownFields)',
      },
    ],
    tests: ['test/access/carriers.test.ts'],
  },
  {
    ids: ['CVE-2024-27295', 'GHSA-8xp8-xrh2-88vr'],
    fault: 'an email is sent to the address as typed, not as stored',
    edits: [
      {
        find: "return writeLink('reset', recipient, url, linkStateOf(recipient));",
        replace: "return writeLink('reset', { ...recipient, email: typed }, url, linkStateOf(recipient));",
      },
    ],
    tests: ['test/mail/addresses.test.ts'],
  },
  {
    ids: ['CVE-2024-27295', 'GHSA-8xp8-xrh2-88vr'],
    fault: 'email addresses are compared without their accents',
    edits: [
      {
        find: '[...new Set([email, storedEmail(email) ?? email])].map(foldCase)',
        replace: "[email.normalize('NFKD').replace(/\\p{M}/gu, '')].map(foldCase)",
      },
    ],
    tests: ['test/mail/addresses.test.ts'],
  },
  {
    ids: ['CVE-2023-27474'],
    fault: 'the URL of a link is not escaped in an HTML email',
    edits: [
      {
        find: '<a href="{{ url }}"',
        replace: '<a href="{{ url | raw }}"',
      },
    ],
    tests: ['test/mail/templates.test.ts'],
  },
  {
    ids: ['GHSA-3529-5m8x-rpv3', 'CVE-2025-64101', 'GHSA-93m4-mfpg-c3xf'],
    fault: 'a link in an email uses the host from the request',
    edits: [
      {
        find: 'body.email, body.reset_url,',
        replace: 'body.email, body.reset_url ?? `${request.protocol}://${request.host}/account/reset-password`,',
      },
      {
        find: "requireAllowedUrl('reset_url', url, allowList);",
        replace: "if (!url?.endsWith('/account/reset-password')) requireAllowedUrl('reset_url', url, allowList);",
      },
    ],
    tests: ['test/mail/poisoned-links.test.ts'],
  },
  {
    ids: ['CVE-2025-64101'],
    fault: 'the redirect URI for a provider uses the host from the request',
    edits: [
      {
        find: 'const url = await provider.authorizationUrl({ state, verifier });',
        replace:
          "const given = new URL(await provider.authorizationUrl({ state, verifier }));\nconst { pathname } = new URL(given.searchParams.get('redirect_uri') ?? '');\ngiven.searchParams.set('redirect_uri', `https://${reply.request.host}${pathname}`);\nconst url = given.href;",
      },
    ],
    tests: ['test/mail/poisoned-links.test.ts'],
  },
  {
    ids: ['CVE-2026-1529'],
    fault: 'the signature of a link is not verified',
    edits: [
      {
        find: 'const claims = verifySigned(token, linkTokenForm, verifiers);',
        replace: 'const claims = jwt.decode<LinkTokenClaims>(token) as LinkTokenClaims;',
      },
    ],
    tests: [
      'test/password-reset/password-reset.test.ts',
      'test/invites/invite.test.ts',
      'test/registration/register.test.ts',
    ],
  },
  {
    ids: ['CVE-2025-64708'],
    fault: 'a link does not expire',
    edits: [
      {
        in: 'read',
        find: "if (claims.expiresAt <= clock()) throw new ApiError('TOKEN_EXPIRED');",
        replace: '',
      },
    ],
    tests: [
      'test/password-reset/password-reset.test.ts',
      'test/invites/invite.test.ts',
      'test/registration/register.test.ts',
    ],
  },
  {
    ids: ['GHSA-fmh4-wcc4-5jm3'],
    fault: 'an invitation stays valid after the user’s address changes',
    edits: [
      {
        find: 'if (!user || !isApplicable.invite(user) || !linkTokens.matchesState(claims, linkStateOf(user))) {',
        replace: 'if (!user || !isApplicable.invite(user)) {',
      },
    ],
    tests: ['test/invites/invite.test.ts'],
  },
  {
    ids: ['GHSA-fmh4-wcc4-5jm3'],
    fault: 'a registration with an invited address activates the invited account',
    edits: [
      {
        find: "if (!known || !isApplicable.registration(known)) throw new Refusal('the address is taken');",
        replace:
          "if (known && isApplicable.invite(known))\nawait activateRegistered(tx, { user: known.id, password, firstName, lastName, verifiedAt: clock() });\nelse if (!known || !isApplicable.registration(known)) throw new Refusal('the address is taken');",
      },
    ],
    tests: ['test/invites/invite.test.ts'],
  },
  {
    ids: ['CVE-2022-35924', 'GHSA-7rqj-j65f-68wh', 'CVE-2025-13033', 'CVE-2025-14874', 'GHSA-vvjj-xcjg-gr5g'],
    fault: 'any text with an @ is accepted as an email address',
    edits: [
      {
        find: 'if (!localPattern.test(local)) return { fault: emailFaults.local };',
        replace: 'return { email: text };',
      },
    ],
    tests: ['test/mail/addresses.test.ts'],
  },
  {
    ids: ['CVE-2025-13033'],
    fault: 'the local part of an email address may be quoted',
    edits: [
      {
        find: 'if (!localPattern.test(local)) return { fault: emailFaults.local };',
        replace: 'if (!localPattern.test(local) && !/^"[^"]+"$/.test(local)) return { fault: emailFaults.local };',
      },
    ],
    tests: ['test/mail/addresses.test.ts'],
  },
  {
    ids: ['GHSA-vvjj-xcjg-gr5g'],
    fault: 'an email address may be followed by a line break and more text',
    edits: [
      {
        find: 'if (domainPattern.test(domain)) return { email: text };',
        replace: "if (domainPattern.test(domain.split('\\r\\n', 1)[0] ?? '')) return { email: text };",
      },
    ],
    tests: ['test/mail/addresses.test.ts'],
  },
  {
    ids: [],
    fault: 'the formats of a package replace those of the service',
    edits: [
      {
        find: 'ajv: { customOptions: ajvOptions, onCreate: useOwnFormats },',
        replace: 'ajv: { customOptions: ajvOptions },',
      },
    ],
    tests: ['test/http/one-grammar.test.ts'],
  },
  {
    ids: [],
    fault: 'an address can contain dots in a row',
    edits: [
      {
        find: "/^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i",
        replace: "/^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+$/i",
      },
    ],
    tests: ['test/http/one-grammar.test.ts'],
  },
  {
    ids: [],
    fault: 'an address that was stored before the rule cannot sign in',
    edits: [{ find: 'if (stored !== undefined) return stored;', replace: '' }],
    tests: ['test/http/one-grammar.test.ts'],
  },
  {
    ids: [],
    fault: 'a Unicode domain that only looks like an ASCII domain is accepted',
    edits: [{ find: ' || !/(?:^|\\.)xn--/.test(ascii)', replace: '' }],
    tests: ['test/http/one-grammar.test.ts'],
  },
  {
    ids: [],
    fault: 'a password is another one if its accents are separate characters',
    edits: [
      {
        find: "const normalized = (password: string): string => password.normalize('NFC');",
        replace: 'const normalized = (password: string): string => password;',
      },
    ],
    tests: ['test/sessions/typed-credentials.test.ts'],
  },
  {
    ids: [],
    fault: 'a code in the digits of another script is wrong',
    edits: [{ find: '.replace(/\\p{Nd}/gu, (digit) => String(digitValue(digit)))', replace: '' }],
    tests: ['test/sessions/typed-credentials.test.ts'],
  },
  {
    ids: ['CVE-2026-27946', 'CVE-2026-54693'],
    fault: 'tokens of users who have not verified their address are accepted',
    edits: [
      {
        find: "if (holder?.user.status !== 'active') throw",
        replace: "if (!holder || (holder.user.status !== 'active' && holder.user.status !== 'unverified')) throw",
      },
    ],
    tests: ['test/registration/register.test.ts'],
  },
  {
    ids: ['CVE-2026-27946', 'CVE-2026-54693'],
    fault: 'a registration request can mark its own address as verified',
    edits: [
      {
        find: 'await app.registration.register({ email, password, ...names, url, browserHash }, request.client);',
        replace:
          'await app.registration.register({ ...request.body, email, password, ...names, url, browserHash }, request.client);',
      },
      {
        in: 'createOrJoin',
        find: 'const mustVerify = settings.public_registration_verify_email;',
        replace: "const mustVerify = settings.public_registration_verify_email && registration.status !== 'active';",
      },
    ],
    tests: ['test/registration/register.test.ts'],
  },
  {
    ids: [],
    fault: 'a password reset keeps credentials that were recently added to the account',
    edits: [
      {
        in: 'removeRecent',
        find: 'lookback === 0 ? null',
        replace: 'lookback >= 0 ? null',
      },
    ],
    tests: ['test/password-reset/effects.test.ts'],
  },
  {
    ids: [],
    fault: 'recovery codes that an attacker has created survive a password reset',
    edits: [{ find: 'gte(recoveryCodes.createdAt, since)', replace: 'lt(recoveryCodes.createdAt, since)' }],
    tests: ['test/password-reset/effects.test.ts'],
  },
  {
    ids: [],
    fault: 'a password reset keeps a pending email change',
    edits: [
      {
        find: 'await deleteEmailChange(tx, userId);',
        replace: 'await Promise.resolve(false);',
      },
    ],
    tests: ['test/password-reset/effects.test.ts'],
  },
  {
    ids: [],
    fault: 'users can change their own address without confirming it',
    edits: [
      {
        in: 'isConfirmed',
        find: 'emailChanges !== null &&',
        replace: 'emailChanges === null &&',
      },
    ],
    tests: ['test/users/email-change.test.ts'],
  },
  {
    ids: [],
    fault: 'a link confirms the address that was requested last, not its own',
    edits: [{ in: 'changeStateOf', find: 'return [change, email,', replace: 'return [email,' }],
    tests: ['test/users/email-change.test.ts'],
  },
  {
    ids: [],
    fault: 'the owner of a taken address receives the link that confirms the change',
    edits: [
      {
        find: 'if (owner && owner.id !== user.id && !owner.isUnclaimed) return writeAccountExists(owner);',
        replace: '',
      },
    ],
    tests: ['test/users/email-change.test.ts'],
  },
  {
    ids: [],
    fault: 'users who are not administrators can use operations that self_service turns off',
    edits: [
      {
        in: 'requireSelfService',
        find: 'if (!isOn) throw',
        replace: 'if (false as boolean) throw',
      },
    ],
    tests: ['test/users/profile.test.ts'],
  },
  {
    ids: [],
    fault: 'users without permissions cannot read their own profile',
    edits: [
      {
        in: 'createOwnAccount',
        find: 'readProfile: profileOf,',
        replace:
          "readProfile: async (caller) => {\nif (!caller.admin && !caller.app) throw forbidden('Your profile is for users with app_access');\nreturn profileOf(caller);\n},",
      },
    ],
    tests: ['test/users/profile.test.ts'],
  },
  {
    ids: [],
    fault: 'a sign-in with a new kind of device sends no notice',
    edits: [
      {
        find: 'or exists (select from ${userUses} k where',
        replace: 'or false and exists (select from ${userUses} k where',
      },
    ],
    tests: ['test/mail/sign-in-notices.test.ts'],
  },
  {
    ids: [],
    fault: 'the first kind of device of a user that is known counts as new',
    edits: [{ find: '::text <> all (k.devices)', replace: "::text <> all (coalesce(k.devices, '{}'))" }],
    tests: ['test/mail/sign-in-notices.test.ts'],
  },
  {
    ids: [],
    fault: 'the link in a security notice can be used again',
    edits: [
      {
        find: 'if (!(await spendState(tx, id, claims.expiresAt))) {',
        replace: 'if (!(await spendState(tx, id, claims.expiresAt)) && claims.expiresAt < clock()) {',
      },
    ],
    tests: ['test/mail/sign-in-notices.test.ts'],
  },
  {
    ids: [],
    fault: 'two notices of the same second have the same link',
    edits: [{ find: 'issueDistinct(subject, notMeLifetime)', replace: 'issue(subject, notMeLifetime)' }],
    tests: ['test/mail/sign-in-notices.test.ts'],
  },
  {
    ids: [],
    fault: 'the name of a device in an email is what the client sends',
    edits: [
      {
        find: 'const name = [browser.name, programIn(userAgent)].find((known) => deviceNames.has(known));',
        replace: 'const name = [browser.name, programIn(userAgent)].find((known) => known);',
      },
    ],
    tests: ['test/mail/hostile-words.test.ts'],
  },
  {
    ids: [],
    fault: 'an HTML email displays a custom URL',
    edits: [{ find: 'url_text: isOwnPage ? url : null,', replace: 'url_text: url,' }],
    tests: ['test/mail/hostile-words.test.ts'],
  },
  {
    ids: [],
    fault: 'the query of a custom URL can have any length',
    edits: [
      {
        find: 'if (query.length + fragment.length > maxUrlRestLength) {',
        replace: 'if (fragment.length > maxUrlRestLength) {',
      },
    ],
    tests: ['test/mail/hostile-words.test.ts'],
  },
  {
    ids: [],
    fault: 'emails requested by others use up the limit of a user in a known browser or network',
    edits: [
      {
        find: 'const counted = network === null ? `${kind}-mails-to-familiar` : `${kind}-mails-to`;',
        replace: 'const counted = `${kind}-mails-to`;',
      },
    ],
    tests: ['test/rate-limits/mails.test.ts'],
  },
  {
    ids: [],
    fault: 'any value of the cookie makes a browser known',
    edits: [
      {
        find: 'return found !== undefined && keys.some((key) => found.marks.includes(markOf(key, found.browser, userId)));',
        replace: "return found !== undefined && userId !== '';",
      },
    ],
    tests: ['test/rate-limits/mails.test.ts'],
  },
  {
    ids: [],
    fault: 'an email that a limit dropped is listed as sent',
    edits: [{ find: "state = 'completed' and output ->> 'reason' is null", replace: "state = 'completed'" }],
    tests: ['test/rate-limits/mails.test.ts'],
  },
  {
    ids: [],
    fault: 'the first recovery codes send a second notice',
    edits: [{ find: "return previous === 'tfa_enable';", replace: "return previous === 'tfa_disable';" }],
    tests: ['test/mail/security-notices.test.ts'],
  },
  {
    ids: [],
    fault: 'the name for EHLO is that of the machine',
    edits: [
      {
        find: "return candidates.find((name) => fullName.test(name)) ?? 'localhost.localdomain';",
        replace: "return candidates.includes(machine) ? '[127.0.0.1]' : machine;",
      },
    ],
    tests: ['test/mail/delivery.test.ts'],
  },
  {
    ids: [],
    fault: 'the response to EHLO is not logged',
    edits: [
      {
        find: 'throw isRejection(error) ? new MailRejectedError(error) : withResponse(error, refusals.since(earlier));',
        replace: 'throw isRejection(error) ? new MailRejectedError(error) : error;',
      },
    ],
    tests: ['test/mail/delivery.test.ts'],
  },
  {
    ids: [],
    fault: 'an invitation does not say who invites',
    edits: [{ find: 'inviter: inviter === undefined ? null : inviterOf(inviter),', replace: 'inviter: null,' }],
    tests: ['test/invites/invite.test.ts'],
  },
  {
    ids: [],
    fault: 'an invitation without a role invites new users',
    edits: [
      { find: 'if (role === undefined && pending.length < remaining.length) throw roleRequired();', replace: '' },
    ],
    tests: ['test/invites/invite.test.ts'],
  },
];
