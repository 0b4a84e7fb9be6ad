import type { Mutation } from './mutation.js';

/** Logins through a provider. */
export const providers: readonly Mutation[] = [
  {
    ids: ['CVE-2023-31999'],
    fault: 'all logins have the same state',
    edits: [
      {
        file: 'plugins/providers/attempts.ts',
        find: '    begin: (provider, attempt) => seal(`login by ${provider}`, attempt),',
        replace:
          '    begin: (provider, attempt) => {\n      const state = states.get(provider) ?? seal(`login by ${provider}`, attempt);\n      states.set(provider, state);\n      return state;\n    },',
      },
      {
        file: 'plugins/providers/attempts.ts',
        find: '  const seal = (purpose: string, content: object) => {',
        replace: '  const states = new Map<string, string>();\n  const seal = (purpose: string, content: object) => {',
      },
    ],
    tests: ['test/providers/state.test.ts'],
  },
  {
    ids: ['CVE-2023-31999'],
    fault: 'the state does not have to match the browser that returns',
    edits: [
      {
        file: 'plugins/providers/flow.ts',
        find: "?? states[0] ?? '';",
        replace: "?? String((request.query as Query).state ?? '');",
      },
      {
        file: 'plugins/providers/provider.ts',
        find: '      .some((value) => value === (request.query as { state?: unknown }).state);',
        replace: '      .concat(String((request.query as { state?: unknown }).state)).length > 0;',
      },
      {
        file: 'plugins/providers/oauth-client.ts',
        find: "    pkce: 'S256',\n",
        replace: '',
      },
    ],
    tests: ['test/providers/state.test.ts'],
  },
  {
    ids: ['GHSA-x445-f3h2-j279'],
    fault: 'a state is valid for every provider',
    edits: [
      {
        file: 'plugins/providers/attempts.ts',
        find: '    begin: (provider, attempt) => seal(`login by ${provider}`, attempt),\n    read: (provider, state) => open(Attempt, `login by ${provider}`, state),',
        replace:
          "    begin: (_provider, attempt) => seal('login by', attempt),\n    read: (_provider, state) => open(Attempt, 'login by', state),",
      },
    ],
    tests: ['test/providers/state.test.ts'],
  },
  {
    ids: ['CVE-2024-28239', 'CVE-2024-52289'],
    fault: 'the redirect after a login is not checked',
    edits: [
      {
        file: 'plugins/providers/redirects.ts',
        find: '  const target = wanted.length > maxLength ? undefined : targetOf(wanted, publicUrl, allowList);',
        replace: '  const target = targetOf(wanted, publicUrl, allowList) ?? wanted;',
      },
    ],
    tests: ['test/providers/redirects.test.ts'],
  },
  {
    ids: ['CVE-2024-28239'],
    fault: 'any URL that starts with PUBLIC_URL is accepted as a redirect',
    edits: [
      {
        file: 'plugins/providers/redirects.ts',
        find: '  const isOwn = url?.origin === new URL(publicUrl).origin;',
        replace: '  const isOwn = wanted.startsWith(publicUrl);',
      },
    ],
    tests: ['test/providers/redirects.test.ts'],
  },
  {
    ids: ['CVE-2026-22032'],
    fault: 'the callback redirects to an unchecked URL from its query',
    edits: [
      {
        file: 'plugins/providers/flow.ts',
        find: '    const to = attempt.redirect ?? home;',
        replace: '    const to = String((request.query as Query).redirect ?? attempt.redirect ?? home);',
      },
    ],
    tests: ['test/providers/redirects.test.ts'],
  },
  {
    ids: ['CVE-2024-52289'],
    fault: 'the URLs in the allow list are used as patterns',
    edits: [
      {
        file: 'plugins/platform/urls.ts',
        find: '  if (allowList.includes(url)) return true;',
        replace: '  if (allowList.some((allowed) => new RegExp(`^${allowed}`).test(url))) return true;',
      },
    ],
    tests: ['test/mail/links.test.ts', 'test/providers/redirects.test.ts'],
  },
  {
    ids: ['CVE-2024-38351', 'GHSA-g38m-r43w-p2q7', 'CVE-2026-55075'],
    fault: 'a provider account is linked to the user with the same address',
    edits: [
      {
        file: 'plugins/providers/accounts.ts',
        find: '    const isMade = await insertProviderUser(tx, user);\n',
        replace:
          '    const isMade = await insertProviderUser(tx, user);\n    const owner = !isMade && email !== null ? await findRecipientByEmail(tx, email) : undefined;\n    if (owner) await insertIdentity(tx, { ...identity, user: owner.id, isPrimary: false });\n',
      },
    ],
    tests: ['test/providers/oauth2.test.ts'],
  },
  {
    ids: [],
    fault: 'a link on another site can start linking a provider account',
    edits: [
      {
        file: 'plugins/providers/flow.ts',
        find: '        return await start(request, reply, entry, { form, redirect: to, link: null });\n',
        replace:
          "        const { principal } = request;\n        const isLink = (request.query as { link?: unknown }).link === 'true';\n        const link =\n          isLink && principal?.sessionId ? { user: principal.userId, session: principal.sessionId } : null;\n        return await start(request, reply, entry, { form, redirect: to, link });\n",
      },
    ],
    tests: ['test/providers/identities.test.ts'],
  },
  {
    ids: [],
    fault: 'a stale session can link a provider account',
    edits: [
      {
        file: 'routes/providers/link-identity.ts',
        find: '        requiresFresh: true,\n',
        replace: '',
      },
    ],
    tests: ['test/auth/step-up/matrix.test.ts'],
  },
  {
    ids: [],
    fault: 'the login page redirects to any path of the service',
    edits: [
      {
        file: 'plugins/pages/service.ts',
        find: 'const redirect = accountPath(query.redirect);',
        replace: 'const redirect = pathHere(query.redirect);',
      },
    ],
    tests: ['test/pages/pages.test.ts'],
  },
  {
    ids: ['CVE-2026-44166'],
    fault: 'the browser can choose the address of the new user',
    edits: [
      {
        file: 'plugins/providers/flow.ts',
        find: '    const profile = await entry.provider.profile(request, reply, { state, verifier });\n',
        replace:
          '    const told = await entry.provider.profile(request, reply, { state, verifier });\n    const profile = { ...told, ...JSON.parse((request.query as any).createData ?? "{}") };\n',
      },
    ],
    tests: ['test/providers/oauth2.test.ts'],
  },
  {
    ids: ['CVE-2026-55076'],
    fault: 'any truthy email_verified marks an address as verified',
    edits: [
      {
        file: 'plugins/providers/profile.ts',
        find: 'isEmailVerified: given.email_verified === true && email === given.email,',
        replace: 'isEmailVerified: Boolean(given.email_verified) && email === given.email,',
      },
    ],
    tests: ['test/providers/hostile.test.ts'],
  },
  {
    ids: ['CVE-2026-31813'],
    fault: 'an ID token from any issuer is accepted if the provider’s keys verify it',
    edits: [
      {
        file: 'plugins/providers/id-token.ts',
        find: "const isIssuer = typeof payload.iss === 'string' && issuerOf(payload, issuer).test(payload.iss);",
        replace: "const isIssuer = typeof payload.iss === 'string' && issuerOf(payload, issuer) !== null;",
      },
    ],
    tests: ['test/providers/hostile.test.ts'],
  },
  {
    ids: ['CVE-2025-64717'],
    fault: 'a login in progress continues after its provider is removed',
    edits: [
      {
        file: 'plugins/providers/flow.ts',
        find: "    const entry = providers.get(id ?? '');",
        replace: "    const entry = providers.get(id ?? '') ?? [...providers.values()][0];",
      },
    ],
    tests: ['test/providers/settings.test.ts'],
  },
  {
    ids: [],
    fault: 'an address that the provider does not report as verified is stored',
    edits: [
      {
        file: 'plugins/providers/accounts.ts',
        find: '    isEmailVerified || provider.TRUST_EMAIL ? email : null;',
        replace: '    isEmailVerified || !provider.REQUIRE_VERIFIED_EMAIL ? email : null;',
      },
    ],
    tests: ['test/providers/unverified-addresses.test.ts'],
  },
  {
    ids: [],
    fault: 'a verified address is required only at the first login',
    edits: [
      {
        file: 'plugins/providers/accounts.ts',
        find: '      requireVerifiedEmail(profile);\n      try {\n        return await transact(db, async (tx) => {\n          const known = await findIdentityHolder(tx, provider.key, identifier, ignoresCase);\n',
        replace:
          '      try {\n        return await transact(db, async (tx) => {\n          const known = await findIdentityHolder(tx, provider.key, identifier, ignoresCase);\n          if (!known) requireVerifiedEmail(profile);\n',
      },
    ],
    tests: ['test/providers/unverified-addresses.test.ts'],
  },
  {
    ids: [],
    fault: 'identifiers are compared case-insensitively',
    edits: [
      {
        file: 'db/queries/providers/identities.ts',
        find: '      : eq(identities.identifier, identifier),',
        replace: '      : eq(inLowerCase(identities.identifier), inLowerCase(sql`${identifier}::text`)),',
      },
    ],
    tests: ['test/providers/identifiers.test.ts'],
  },
  {
    ids: [],
    fault: 'the first of several verifier cookies is used for every login',
    edits: [
      {
        file: 'plugins/providers/flow.ts',
        find: '.find((value) => challengeOf(value) === attempt.challenge);',
        replace: ".find((value) => challengeOf(value) !== '');",
      },
    ],
    tests: ['test/providers/state.test.ts'],
  },
  {
    ids: [],
    fault: 'an address change by a provider leaves a requested email change pending',
    edits: [
      {
        file: 'plugins/providers/accounts.ts',
        find: '      await deleteEmailChange(tx, holder.id);\n',
        replace: '',
      },
    ],
    tests: ['test/providers/unverified-addresses.test.ts'],
  },
  {
    ids: [],
    fault: 'a profile of any size is stored',
    edits: [
      {
        file: 'plugins/providers/profile.ts',
        find: '    if (left >= 0) kept.add(name);',
        replace: '    kept.add(name);',
      },
    ],
    tests: ['test/providers/hostile.test.ts'],
  },
  {
    ids: [],
    fault: 'linking continues after its session has ended',
    edits: [
      {
        file: 'plugins/providers/accounts.ts',
        find: "        if (!stands) throw new ApiError('INVALID_CREDENTIALS');\n",
        replace: '',
      },
    ],
    tests: ['test/auth/sessions/ended-meanwhile.test.ts'],
  },
];
