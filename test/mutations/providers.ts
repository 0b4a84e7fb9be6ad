import type { Mutation } from './mutation.js';

/** Logins by provider. */
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
    fault: 'the state need not be that of the browser that comes back',
    edits: [
      {
        file: 'plugins/providers/flow.ts',
        find: "      const state = request.cookies[cookieNames.state] ?? '';",
        replace: "      const state = String((request.query as Query).state ?? '');",
      },
      {
        file: 'plugins/providers/provider.ts',
        find: '    (query as { state?: unknown }).state === cookies[options.cookieNames.state];',
        replace: '    (query as { state?: unknown }).state !== undefined || cookies === undefined;',
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
    fault: 'a state is good for every provider',
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
    fault: 'where a login leads is not looked at',
    edits: [
      {
        file: 'plugins/providers/redirects.ts',
        find: '  const target = wanted.length > longest ? undefined : targetOf(wanted, publicUrl, allowList);',
        replace: '  const target = targetOf(wanted, publicUrl, allowList) ?? wanted;',
      },
    ],
    tests: ['test/providers/redirects.test.ts'],
  },
  {
    ids: ['CVE-2024-28239'],
    fault: 'a place of our own is whatever begins with our address',
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
    fault: 'the callback leads where it is told to, unlooked',
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
    fault: 'the list of URLs is one of patterns',
    edits: [
      {
        file: 'plugins/urls.ts',
        find: '  if (allowList.includes(url)) return true;',
        replace: '  if (allowList.some((allowed) => new RegExp(`^${allowed}`).test(url))) return true;',
      },
    ],
    tests: ['test/mail/links.test.ts', 'test/providers/redirects.test.ts'],
  },
  {
    ids: ['CVE-2024-38351', 'GHSA-g38m-r43w-p2q7', 'CVE-2026-55075'],
    fault: 'an account at a provider is linked to whoever has its address',
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
    ids: ['CVE-2026-44166'],
    fault: 'the browser may say which address the new user has',
    edits: [
      {
        file: 'plugins/providers/flow.ts',
        find: '    const profile = await entry.provider.profile(request, reply, state);\n',
        replace:
          '    const told = await entry.provider.profile(request, reply, state);\n    const profile = { ...told, ...JSON.parse((request.query as any).createData ?? "{}") };\n',
      },
    ],
    tests: ['test/providers/oauth2.test.ts'],
  },
  {
    ids: ['CVE-2026-55076'],
    fault: 'an address is verified when anything is said of it',
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
    fault: 'whoever signs with the keys of a provider is the provider',
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
    fault: 'a login that was under way goes on at a provider that is gone',
    edits: [
      {
        file: 'plugins/providers/flow.ts',
        find: '    const entry = providers.get((request.params as { provider: string }).provider);',
        replace:
          '    const entry = providers.get((request.params as { provider: string }).provider) ?? [...providers.values()][0];',
      },
    ],
    tests: ['test/providers/settings.test.ts'],
  },
];
