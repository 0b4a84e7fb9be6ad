import type { Mutation } from './mutation.js';

/** Logins through a provider. */
export const providers: readonly Mutation[] = [
  {
    ids: ['CVE-2023-31999'],
    fault: 'all logins have the same state',
    edits: [
      {
        find: 'begin: (provider, attempt) => seal(`login by ${provider}`, attempt),',
        replace:
          'begin: (provider, attempt) => {\nconst state = states.get(provider) ?? seal(`login by ${provider}`, attempt);\nstates.set(provider, state);\nreturn state;\n},',
      },
      {
        find: 'const seal = (purpose: string, content: object) => {',
        replace: 'const states = new Map<string, string>();\nconst seal = (purpose: string, content: object) => {',
      },
    ],
    tests: ['test/providers/state.test.ts'],
  },
  {
    ids: ['CVE-2023-31999'],
    fault: 'the state does not have to match the browser that returns',
    edits: [
      {
        find: "?? states[0] ?? '';",
        replace: "?? String(returned.state ?? '');",
      },
      {
        find: "const verifier = randomBytes(32).toString('base64url');",
        replace: "const verifier = 'v'.repeat(43);",
      },
      {
        find: '.find((value) => challengeOf(value) === attempt.challenge);',
        replace: ".find(() => true) ?? 'v'.repeat(43);",
      },
    ],
    tests: ['test/providers/state.test.ts'],
  },
  {
    ids: ['GHSA-x445-f3h2-j279'],
    fault: 'a state is valid for every provider',
    edits: [
      {
        find: 'begin: (provider, attempt) => seal(`login by ${provider}`, attempt),\n    read: (provider, state) => open(Attempt, `login by ${provider}`, state),',
        replace:
          "begin: (_provider, attempt) => seal('login by', attempt),\nread: (_provider, state) => open(Attempt, 'login by', state),",
      },
    ],
    tests: ['test/providers/state.test.ts'],
  },
  {
    ids: ['CVE-2024-28239', 'CVE-2024-52289'],
    fault: 'the redirect after a login is not checked',
    edits: [
      {
        find: 'const target = wanted.length > maxLength ? undefined : targetOf(wanted, publicUrl, allowList);',
        replace: 'const target = targetOf(wanted, publicUrl, allowList) ?? wanted;',
      },
    ],
    tests: ['test/providers/redirects.test.ts'],
  },
  {
    ids: ['CVE-2024-28239'],
    fault: 'any URL that starts with PUBLIC_URL is accepted as a redirect',
    edits: [
      {
        find: 'const isOwn = url?.origin === new URL(publicUrl).origin;',
        replace: 'const isOwn = wanted.startsWith(publicUrl);',
      },
    ],
    tests: ['test/providers/redirects.test.ts'],
  },
  {
    ids: ['CVE-2026-22032'],
    fault: 'the callback redirects to an unchecked URL from its query',
    edits: [
      {
        find: 'const to = attempt.redirect ?? home;',
        replace: 'const to = String((request.query as { redirect?: unknown }).redirect ?? attempt.redirect ?? home);',
      },
    ],
    tests: ['test/providers/redirects.test.ts'],
  },
  {
    ids: ['CVE-2024-52289'],
    fault: 'the URLs in the allow list are used as patterns',
    edits: [
      {
        find: 'if (allowList.includes(url)) return true;',
        replace: 'if (allowList.some((allowed) => new RegExp(`^${allowed}`).test(url))) return true;',
      },
    ],
    tests: ['test/mail/links.test.ts', 'test/providers/redirects.test.ts'],
  },
  {
    ids: [],
    fault: 'Node 20 rejects URLs with umlauts once the code is optimized',
    edits: [
      {
        find: 'const url = parseUrl(text);',
        in: 'webUrl',
        under: 'plugins/platform',
        replace: 'const url = URL.canParse(text) ? new URL(text) : undefined;',
      },
    ],
    tests: ['test/mail/links.test.ts'],
  },
  {
    ids: ['CVE-2024-38351', 'GHSA-g38m-r43w-p2q7', 'CVE-2026-55075'],
    fault: 'a provider account is linked to the user with the same address',
    edits: [
      {
        find: 'const isMade = (await insertUser()) || (!(await find()) && (await insertUser()));',
        replace:
          'const isMade = await insertUser();\nconst owner = !isMade && email !== null ? await findRecipientByEmail(tx, email) : undefined;\nif (owner) await insertIdentity(tx, { ...identity, user: owner.id, isPrimary: false });',
      },
    ],
    tests: ['test/providers/oauth2.test.ts'],
  },
  {
    ids: [],
    fault: 'a link on another site can start linking a provider account',
    edits: [
      {
        find: 'return await start(reply, entry, { form, redirect: to, link: null });',
        replace:
          "const { principal } = request;\nconst isLink = (request.query as { link?: unknown }).link === 'true';\nconst link =\nisLink && principal?.credential.kind === 'session' ? { user: principal.userId, session: principal.credential.id } : null;\nreturn await start(reply, entry, { form, redirect: to, link });",
      },
    ],
    tests: ['test/providers/identities.test.ts'],
  },
  {
    ids: [],
    fault: 'a stale session can link a provider account',
    edits: [
      {
        in: 'linkIdentity',
        find: 'requiresFresh: true,',
        replace: '',
      },
    ],
    tests: ['test/step-up/matrix.test.ts'],
  },
  {
    ids: [],
    fault: 'the login page redirects to any path of the service',
    edits: [
      {
        find: 'if (path === undefined || !path.startsWith(`${base}/`)) return undefined;',
        replace: 'return path;',
        in: 'pagePath',
      },
    ],
    tests: ['test/pages/pages.test.ts'],
  },
  {
    ids: ['CVE-2026-44166'],
    fault: 'the browser can choose the address of the new user',
    edits: [
      {
        find: 'const profile = await entry.provider.profile({ code, iss, user }, { state, verifier }, warn);',
        replace:
          'const told = await entry.provider.profile({ code, iss, user }, { state, verifier }, warn);\nconst profile = { ...told, ...JSON.parse((request.query as any).createData ?? "{}") };',
      },
    ],
    tests: ['test/providers/oauth2.test.ts'],
  },
  {
    ids: ['CVE-2026-55076'],
    fault: 'any truthy email_verified marks an address as verified',
    edits: [
      {
        find: "isEmailVerified: (given.email_verified === true || given.email_verified === 'true') && email === given.email,",
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
        find: 'if (!issuer.matches(payload.iss, payload.tid)) throw',
        replace: 'if (payload.iss === undefined) throw',
      },
    ],
    tests: ['test/providers/hostile.test.ts'],
  },
  {
    ids: ['CVE-2025-64717'],
    fault: 'a login in progress continues after its provider is removed',
    edits: [
      {
        find: "const entry = providers.get(id ?? '');",
        replace: "const entry = providers.get(id ?? '') ?? [...providers.values()][0];",
      },
    ],
    tests: ['test/providers/settings.test.ts'],
  },
  {
    ids: [],
    fault: 'an address that the provider does not report as verified is stored',
    edits: [
      {
        find: 'isEmailVerified || provider.TRUST_EMAIL ? email : null;',
        replace: 'isEmailVerified || !provider.REQUIRE_VERIFIED_EMAIL ? email : null;',
      },
    ],
    tests: ['test/providers/unverified-addresses.test.ts'],
  },
  {
    ids: [],
    fault: 'a verified address is required only at the first login',
    edits: [
      {
        find: 'requireVerifiedEmail(profile);\n      await requireSafeDefaultRole();\n      try {\n        return await transact(db, async (tx) => {\n          const known = await findIdentityHolder(tx, provider.key, identifier, ignoresCase);',
        replace:
          'await requireSafeDefaultRole();\ntry {\nreturn await transact(db, async (tx) => {\nconst known = await findIdentityHolder(tx, provider.key, identifier, ignoresCase);\nif (!known) requireVerifiedEmail(profile);',
      },
    ],
    tests: ['test/providers/unverified-addresses.test.ts'],
  },
  {
    ids: [],
    fault: 'identifiers are compared case-insensitively',
    edits: [
      {
        find: ': eq(identities.identifier, identifier),',
        replace: ': eq(inLowerCase(identities.identifier), inLowerCase(sql`${identifier}::text`)),',
      },
    ],
    tests: ['test/providers/identifiers.test.ts'],
  },
  {
    ids: [],
    fault: 'the first of several verifier cookies is used for every login',
    edits: [
      {
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
        find: 'await deleteEmailChange(tx, holder.id);',
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
        find: 'if (left >= 0) kept.add(name);',
        replace: 'kept.add(name);',
      },
    ],
    tests: ['test/providers/hostile.test.ts'],
  },
  {
    ids: [],
    fault: 'linking continues after its session has ended',
    edits: [
      {
        find: "if (!stands) throw refused('The session that started the linking has ended.');",
        replace: '',
      },
    ],
    tests: ['test/sessions/ended-meanwhile.test.ts'],
  },
  {
    ids: [],
    fault: 'a passkey outlives the decision of the provider that manages the user',
    edits: [
      {
        find: 'if (!found || !assertion || !signInMethods.allowsPasskey(found.holder))',
        replace: 'if (!found || !assertion)',
      },
    ],
    tests: ['test/providers/managed-users.test.ts'],
  },
  {
    ids: [],
    fault: 'managed users add passkeys, set passwords, and link or unlink accounts',
    edits: [
      {
        find: 'if (refusesManagedUsers) signInMethods.requireUnmanaged(await ownPassword.read(request.currentUser));',
        replace: '',
      },
    ],
    tests: ['test/providers/managed-users.test.ts'],
  },
  {
    ids: [],
    fault: 'managed users set a static token or password with an update',
    edits: [
      {
        find: 'if (own.some(setsPasswordOrToken)) signInMethods.requireUnmanaged(await ownPassword.read(caller));',
        replace: '',
      },
    ],
    tests: ['test/providers/managed-users.test.ts'],
  },
  {
    ids: [],
    fault: 'another linked account signs in a managed user',
    edits: [{ find: '(isPrimary || !isManaged(user))', replace: "(isPrimary || provider !== '')" }],
    tests: ['test/providers/managed-users.test.ts'],
  },
  {
    ids: [],
    fault: 'users of a provider set a password that does not sign them in',
    edits: [{ find: 'const left = await leaveProvider(tx, userId);', replace: 'const left: string[] = [];' }],
    tests: ['test/providers/managed-users.test.ts'],
  },
  {
    ids: [],
    fault: 'unlinking an account makes the user a managed one',
    edits: [
      {
        find: 'const next = left.find((identity) => !signInMethods.isManaged(identity)) ?? null;',
        replace: 'const next = left[0] ?? null;',
      },
    ],
    tests: ['test/providers/managed-users.test.ts'],
  },
  {
    ids: [],
    fault: 'with several tenants, a token can be from any tenant of the provider',
    edits: [
      {
        find: 'issuer === template.replace(placeholder, tenant) &&',
        replace: '',
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'a discovery document with a placeholder opens a provider for one tenant to all tenants',
    edits: [
      {
        find: 'if (tenant === placeholder && uuid.test(alias)) return exactly(named.replace(placeholder, alias));',
        replace: 'if (tenant === placeholder) return ofTenants(named, alias);',
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'the secret is always sent as the discovery document says',
    edits: [
      {
        find: 'TOKEN_AUTH_METHOD ?? (takesBasic',
        replace: '(takesBasic',
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'the code verifier is sent to providers that reject it',
    edits: [{ find: '...(usesPkce && { code_verifier: verifier })', replace: 'code_verifier: verifier' }],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'tokens are read only as JSON',
    edits: [
      {
        find: 'Object.fromEntries(new URLSearchParams(text))',
        replace: '{}',
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'any nonce is accepted if the nonce is optional',
    edits: [
      {
        find: "(given === undefined && nonceRule === 'optional');",
        replace: "nonceRule === 'optional';",
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'groups that are only announced count as none',
    edits: [
      {
        find: 'if (value === undefined && isAnnounced(given, name)) return null;',
        replace: '',
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'the keys of an object are not groups',
    edits: [
      {
        find: 'if (isObject(value)) return Object.keys(value);',
        replace: '',
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'a denied list of addresses fails the login',
    edits: [
      {
        find: 'if (mayBeDenied && isDenied(response)) return undefined;',
        replace: '',
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'an account that no organization manages is admitted with an address of an allowed domain',
    edits: [
      {
        find: "if (hostedDomain === undefined && (domain === 'gmail.com' || !isGoogle(provider))) return;",
        replace: 'if (hostedDomain === undefined) return;',
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'ALLOWED_DOMAINS admits addresses that are not verified',
    edits: [
      {
        find: 'if (email === null || !isEmailVerified) {\n      throw refused(',
        replace: 'if (email === null) {\nthrow refused(',
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'browsers do not send the cookies of a login with the form of a provider',
    edits: [
      {
        find: "mode === 'form_post' ? ({ ...cookie, sameSite: 'none', secure: true } as const) : cookie;",
        replace: 'mode === undefined ? cookie : cookie;',
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'every provider can return the browser with a form',
    edits: [
      {
        find: "return providers.get(provider ?? '')?.provider.config.RESPONSE_MODE === 'form_post';",
        replace: "return providers.has(provider ?? '');",
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'a signed profile is not verified for this client',
    edits: [
      {
        find: "verifyProfile: (token, endpoints) => read(token, endpoints, { requiredClaims: ['iss', 'sub', 'aud'] }),",
        replace:
          "verifyProfile: async (token) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()),",
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'what a provider says about an error is logged with the secrets that it repeats',
    edits: [
      {
        find: 'const details = [reason, description].map((text) => quoted(text, secrets)).filter(Boolean);',
        replace: 'const details = secrets.concat(String(reason), String(description));',
      },
    ],
    tests: ['test/providers/peculiarities.test.ts'],
  },
  {
    ids: [],
    fault: 'with SameSite=Strict, users who return from a provider are asked to sign in',
    edits: [
      {
        find: "(sameSite === 'strict' && site === 'cross-site')",
        replace: "(sameSite === 'strict' && site === 'none')",
      },
    ],
    tests: ['test/pages/strict-cookies.test.ts'],
  },
];
