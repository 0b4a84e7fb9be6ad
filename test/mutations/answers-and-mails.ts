import type { Mutation } from './mutation.js';

/** What responses reveal to anonymous callers, and where emails and their links lead. */
export const answersAndMails: readonly Mutation[] = [
  {
    ids: ['CVE-2026-26185'],
    fault: 'a URL is checked only after the user is looked up',
    edits: [
      {
        file: 'plugins/auth/password-reset/service.ts',
        find: "      requireAllowedUrl('reset_url', url, allowList);\n",
        replace:
          "      await findRecipientByEmail(db, email);\n      requireAllowedUrl('reset_url', url, allowList);\n",
      },
      {
        file: 'plugins/auth/password-reset/service.ts',
        find: '  findRecipient,\n  lockRecipient,',
        replace: '  findRecipient,\n  findRecipientByEmail,\n  lockRecipient,',
      },
    ],
    tests: ['test/auth/enumeration.test.ts'],
  },
  {
    ids: ['CVE-2026-26185'],
    fault: 'a URL is checked only after the settings are read',
    edits: [
      {
        file: 'plugins/registration/service.ts',
        find: "      requireAllowedUrl('verification_url', registration.url, allowList);\n",
        replace:
          "      await readSettings(db);\n      requireAllowedUrl('verification_url', registration.url, allowList);\n",
      },
    ],
    tests: ['test/auth/enumeration.test.ts'],
  },
  {
    ids: ['CVE-2024-39896'],
    fault: 'a login with a password reveals that the user belongs to a provider',
    edits: [
      {
        file: 'plugins/auth/sessions/service.ts',
        find: '    const passwordOf = (user: LoginCandidate) =>\n',
        replace:
          "    const passwordOf = (user: LoginCandidate) => {\n      if (user.provider !== 'default') throw new ApiError('INVALID_PROVIDER');\n      return usualPasswordOf(user);\n    };\n    const usualPasswordOf = (user: LoginCandidate) =>\n",
      },
    ],
    tests: ['test/auth/enumeration.test.ts', 'test/auth/login.test.ts'],
  },
  {
    ids: ['CVE-2024-41952'],
    fault: 'a user who is not active gets a different error than an unknown user',
    edits: [
      {
        file: 'plugins/auth/password-checks/service.ts',
        find: "if (!right) throw new ApiError('INVALID_CREDENTIALS').concerning(user?.id);",
        replace:
          "if (!right) throw new ApiError(user && passwordOf(user) === null ? 'FORBIDDEN' : 'INVALID_CREDENTIALS').concerning(user?.id);",
      },
    ],
    tests: ['test/auth/enumeration.test.ts', 'test/auth/login.test.ts'],
  },
  {
    ids: ['CVE-2024-41952'],
    fault: 'a registration reveals that the address is taken',
    edits: [
      {
        file: 'plugins/registration/service.ts',
        find: '      if (!(error instanceof Refusal)) throw error;\n',
        replace:
          "      if (!(error instanceof Refusal)) throw error;\n      if (/taken/.test(error.message)) throw invalidPayload('The address is taken');\n",
      },
    ],
    tests: ['test/auth/enumeration.test.ts', 'test/registration/register.test.ts'],
  },
  {
    ids: ['CVE-2026-23511'],
    fault: 'a request for a password reset reveals that the address is unknown',
    edits: [
      {
        file: 'plugins/auth/password-reset/service.ts',
        find: '      if (await rateLimits.mayRequestMail(client.network)) return enqueue();\n',
        replace:
          "      if (!(await findRecipientByEmail(db, email))) throw new ApiError('INVALID_CREDENTIALS');\n      if (await rateLimits.mayRequestMail(client.network)) return enqueue();\n",
      },
      {
        file: 'plugins/auth/password-reset/service.ts',
        find: '  findRecipient,\n  lockRecipient,',
        replace: '  findRecipient,\n  findRecipientByEmail,\n  lockRecipient,',
      },
    ],
    tests: ['test/auth/enumeration.test.ts', 'test/server/limits/mails.test.ts'],
  },
  {
    ids: [],
    fault: 'all kinds of email to an address and its +tag variants share one limit',
    edits: [
      {
        file: 'plugins/server/rate-limits/service.ts',
        find: "createHash('sha256').update(accountKey(email))",
        replace: "createHash('sha256').update(accountKey(email).replace(/\\+[^@]*/, ''))",
      },
      {
        file: 'plugins/server/rate-limits/service.ts',
        find: 'count(`${kind}-mails-to`',
        replace: "count('mails-to'",
      },
    ],
    tests: ['test/server/limits/mails.test.ts'],
  },
  {
    ids: [],
    fault: 'each delivery attempt of an email counts toward the limit of its mailbox',
    edits: [
      {
        file: 'plugins/mail/delivery.ts',
        find: 'if (requestedFrom === undefined || attempt > 1) return true;',
        replace: 'if (requestedFrom === undefined) return true;',
      },
    ],
    tests: ['test/server/limits/mails.test.ts'],
  },
  {
    ids: ['CVE-2022-31142'],
    fault: 'tokens of different lengths are compared without hashing them first',
    edits: [
      {
        file: 'routes/server/metrics.ts',
        find: "timingSafeEqual(digest(request.headers.authorization ?? ''), wanted)",
        replace:
          "timingSafeEqual(Buffer.from(request.headers.authorization ?? ''), Buffer.from(`Bearer ${config.METRICS_TOKEN}`))",
      },
    ],
    tests: ['test/server/metrics.test.ts'],
  },
  {
    ids: ['CVE-2022-31142'],
    fault: 'the hash of a static token is accepted as the token',
    edits: [
      {
        file: 'plugins/access/service.ts',
        find: 'findPrincipalByTokenHash(db, hashToken(token), ownFields)',
        replace: 'findPrincipalByTokenHash(db, /^[0-9a-f]{64}$/.test(token) ? token : hashToken(token), ownFields)',
      },
    ],
    tests: ['test/access/carriers.test.ts'],
  },
  {
    ids: ['CVE-2024-27295', 'GHSA-8xp8-xrh2-88vr'],
    fault: 'an email is sent to the address as typed, not as stored',
    edits: [
      {
        file: 'plugins/mail/delivery.ts',
        find: "return writeLink('reset', recipient, url, stateOf(recipient));",
        replace: "return writeLink('reset', { ...recipient, email: typed }, url, stateOf(recipient));",
      },
    ],
    tests: ['test/mail/addresses.test.ts'],
  },
  {
    ids: ['CVE-2024-27295', 'GHSA-8xp8-xrh2-88vr'],
    fault: 'email addresses are compared without their accents',
    edits: [
      {
        file: 'db/queries/mail/recipients.ts',
        find: 'const hasAddress = (email: string) => eq(inLowerCase(users.email), email.toLowerCase());',
        replace:
          "const hasAddress = (email: string) => eq(inLowerCase(users.email), email.normalize('NFKD').replace(/\\p{M}/gu, '').toLowerCase());",
      },
    ],
    tests: ['test/mail/addresses.test.ts'],
  },
  {
    ids: ['CVE-2023-27474'],
    fault: 'the URL of a link is not escaped in an HTML email',
    edits: [
      {
        file: 'plugins/mail/templates/_button.html.liquid',
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
        file: 'routes/auth/request-password-reset.ts',
        find: 'request.body.reset_url, request.client',
        replace:
          'request.body.reset_url ?? `${request.protocol}://${request.host}/account/reset-password`, request.client',
      },
      {
        file: 'plugins/auth/password-reset/service.ts',
        find: "      requireAllowedUrl('reset_url', url, allowList);\n",
        replace:
          "      if (!url?.endsWith('/account/reset-password')) requireAllowedUrl('reset_url', url, allowList);\n",
      },
    ],
    tests: ['test/mail/poisoned-links.test.ts'],
  },
  {
    ids: ['CVE-2025-64101'],
    fault: 'the redirect URI for a provider uses the host from the request',
    edits: [
      {
        file: 'plugins/providers/oauth-client.ts',
        find: '      const url = new URL(await provider.generateAuthorizationUri(request, reply));\n',
        replace:
          "      const url = new URL(await provider.generateAuthorizationUri(request, reply));\n      url.searchParams.set('redirect_uri', new URL(new URL(callbackUri).pathname, `https://${request.host}`).href);\n",
      },
    ],
    tests: ['test/mail/poisoned-links.test.ts'],
  },
  {
    ids: ['CVE-2026-1529'],
    fault: 'the signature of a link is not verified',
    edits: [
      {
        file: 'plugins/tokens/link-tokens.ts',
        find: 'const claims = verifySigned(token, isLinkToken, verifiers);',
        replace: 'const claims = jwt.decode<LinkTokenClaims>(token) as LinkTokenClaims;',
      },
    ],
    tests: ['test/auth/password-reset.test.ts', 'test/invites/invite.test.ts', 'test/registration/register.test.ts'],
  },
  {
    ids: ['CVE-2025-64708'],
    fault: 'a link does not expire',
    edits: [
      {
        file: 'plugins/tokens/link-tokens.ts',
        find: "      if (claims.exp <= seconds(clock())) throw new ApiError('TOKEN_EXPIRED');\n",
        replace: '',
      },
    ],
    tests: ['test/auth/password-reset.test.ts', 'test/invites/invite.test.ts', 'test/registration/register.test.ts'],
  },
  {
    ids: ['GHSA-fmh4-wcc4-5jm3'],
    fault: 'an invitation stays valid after the user’s address changes',
    edits: [
      {
        file: 'plugins/invites/service.ts',
        find: 'if (!user || !isDue.invite(user) || !linkTokens.isFor(claims, stateOf(user))) {',
        replace: 'if (!user || !isDue.invite(user)) {',
      },
    ],
    tests: ['test/invites/invite.test.ts'],
  },
  {
    ids: ['GHSA-fmh4-wcc4-5jm3'],
    fault: 'a registration with an invited address activates the invited account',
    edits: [
      {
        file: 'plugins/registration/service.ts',
        find: "  if (!known || !isDue.registration(known)) throw new Refusal('the address is taken');\n",
        replace:
          "  if (known && isDue.invite(known)) await activate(tx, known.id, null);\n  else if (!known || !isDue.registration(known)) throw new Refusal('the address is taken');\n",
      },
    ],
    tests: ['test/invites/invite.test.ts'],
  },
  {
    ids: ['CVE-2022-35924', 'GHSA-7rqj-j65f-68wh', 'CVE-2025-13033', 'CVE-2025-14874', 'GHSA-vvjj-xcjg-gr5g'],
    fault: 'any text with an @ is accepted as an email address',
    edits: [
      {
        file: 'schemas/common.ts',
        find: 'email: (value: string) => value.length <= 128 && emailPattern.test(value),',
        replace: "email: (value: string) => value.normalize('NFKC').includes('@'),",
      },
    ],
    tests: ['test/mail/addresses.test.ts'],
  },
  {
    ids: ['CVE-2025-13033'],
    fault: 'the local part of an email address may be quoted',
    edits: [
      {
        file: 'schemas/common.ts',
        find: 'email: (value: string) => value.length <= 128 && emailPattern.test(value),',
        replace:
          'email: (value: string) => value.length <= 128 && (emailPattern.test(value) || /^"[^"]+"@[\\w.-]+$/.test(value)),',
      },
    ],
    tests: ['test/mail/addresses.test.ts'],
  },
  {
    ids: ['GHSA-vvjj-xcjg-gr5g'],
    fault: 'an email address may be followed by a line break and more text',
    edits: [
      {
        file: 'schemas/common.ts',
        find: 'email: (value: string) => value.length <= 128 && emailPattern.test(value),',
        replace:
          "email: (value: string) => value.length <= 128 && emailPattern.test(value.split('\\r\\n', 1)[0] ?? ''),",
      },
    ],
    tests: ['test/mail/addresses.test.ts'],
  },
  {
    ids: ['CVE-2026-27946', 'CVE-2026-54693'],
    fault: 'tokens of users who have not verified their address are accepted',
    edits: [
      {
        file: 'plugins/access/service.ts',
        find: "if (found?.status !== 'active') throw",
        replace: "if (found?.status !== 'active' && found?.status !== 'unverified') throw",
      },
    ],
    tests: ['test/registration/register.test.ts'],
  },
  {
    ids: ['CVE-2026-27946', 'CVE-2026-54693'],
    fault: 'a registration request can mark its own address as verified',
    edits: [
      {
        file: 'routes/registration/register.ts',
        find: 'await app.registration.register({ email, password, ...names, url, browserHash }, request.client);',
        replace:
          'await app.registration.register({ ...request.body, email, password, ...names, url, browserHash }, request.client);',
      },
      {
        file: 'plugins/registration/service.ts',
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
        file: 'plugins/auth/password-reset/service.ts',
        find: 'lookback === 0 ? null',
        replace: 'lookback >= 0 ? null',
      },
    ],
    tests: ['test/auth/password-reset-effects.test.ts'],
  },
  {
    ids: [],
    fault: 'a password reset keeps a pending email change',
    edits: [
      {
        file: 'plugins/auth/password-reset/service.ts',
        find: 'await deleteEmailChange(tx, userId);',
        replace: 'await Promise.resolve(false);',
      },
    ],
    tests: ['test/auth/password-reset-effects.test.ts'],
  },
  {
    ids: [],
    fault: 'users can change their own address without confirming it',
    edits: [
      {
        file: 'plugins/users/write-rules.ts',
        find: '    startEmailChange !== null &&\n',
        replace: '    startEmailChange === null &&\n',
      },
    ],
    tests: ['test/users/email-change.test.ts'],
  },
  {
    ids: [],
    fault: 'a link confirms the address that was requested last, not its own',
    edits: [{ file: 'plugins/mail/recipients.ts', find: 'return [change, email,', replace: 'return [email,' }],
    tests: ['test/users/email-change.test.ts'],
  },
  {
    ids: [],
    fault: 'the owner of a taken address receives the link that confirms the change',
    edits: [
      {
        file: 'plugins/mail/delivery.ts',
        find: 'if (owner && owner.id !== user.id) return writeAccountExists(owner);',
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
        file: 'plugins/users/own-account/service.ts',
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
        file: 'plugins/users/own-account/service.ts',
        find: '    readProfile: profileOf,\n',
        replace:
          "    readProfile: async (caller) => {\n      if (!caller.admin && !caller.app) throw forbidden('Your profile is for users with app_access');\n      return profileOf(caller);\n    },\n",
      },
    ],
    tests: ['test/users/profile.test.ts'],
  },
];
