import type { Mutation } from './mutation.js';

/** When credentials become invalid, and who owns a session. */
export const sessions: readonly Mutation[] = [
  {
    ids: ['CVE-2024-34709', 'CVE-2024-31999'],
    fault: 'a logout clears the cookie but does not end the session',
    edits: [
      {
        find: "for (const { session } of await findUsable(credential)) await end(session.id, 'logout', client);",
        replace: 'void findUsable;',
      },
    ],
    tests: ['test/access/revocation.test.ts'],
  },
  {
    ids: ['GHSA-56p6-qw3c-fq2g', 'CVE-2024-47000'],
    fault: 'tokens of users who are not active are accepted',
    edits: [
      {
        find: "if (holder?.user.status !== 'active') throw",
        replace: 'if (!holder) throw',
      },
    ],
    tests: ['test/access/revocation.test.ts'],
  },
  {
    ids: ['CVE-2024-47000'],
    fault: 'a static token stays valid after its user is deactivated',
    edits: [
      {
        find: "if (holder?.user.status !== 'active') throw",
        replace: "if (!holder || (holder.credential.kind === 'session' && holder.user.status !== 'active')) throw",
      },
    ],
    tests: ['test/access/revocation.test.ts', 'test/access/revocation-by-requests.test.ts'],
  },
  {
    ids: ['CVE-2026-43983'],
    fault: 'a refresh does not check that the user is active',
    edits: [
      {
        find: 'on holder.id = s."user" and holder.status = \'active\'',
        replace: 'on holder.id = s."user"',
      },
    ],
    tests: ['test/sessions/refresh.test.ts', 'test/access/revocation.test.ts'],
  },
  {
    ids: ['CVE-2026-22706', 'CVE-2024-21635'],
    fault: 'sessions continue after a password reset',
    edits: [
      {
        find: 'await deleteSessionsOf(tx, [user.id], null);',
        replace: '',
      },
    ],
    tests: ['test/password-reset/password-reset.test.ts', 'test/access/revocation-by-requests.test.ts'],
  },
  {
    ids: ['CVE-2026-22706', 'CVE-2024-21635'],
    fault: 'sessions continue after a password change',
    edits: [
      {
        find: '({ payload }) => payload.columns.password !== undefined || payload.columns.email !== undefined,',
        replace: '({ payload }) => payload.columns.email !== undefined,',
      },
    ],
    tests: ['test/access/revocation-by-requests.test.ts'],
  },
  {
    ids: ['GHSA-2vg6-77g8-24mp', 'CVE-2025-29928', 'GHSA-56p6-qw3c-fq2g', 'CVE-2024-34709'],
    fault: 'an instance caches the caller that a token has authenticated',
    edits: [
      {
        find: 'const lookUp = await resolver.recognize(token);',
        replace:
          "const recognized = await resolver.recognize(token);\nconst lookUp =\nrecognized &&\n(async (presented: PresentedIn) => {\nconst holder = remembered.get(token) ?? (await recognized(presented));\nif (holder?.user.status === 'active') remembered.set(token, holder);\nreturn holder;\n});",
      },
      {
        find: 'const recognize = async (token: string)',
        replace: 'const remembered = new Map<string, any>();\nconst recognize = async (token: string)',
      },
    ],
    tests: ['test/access/revocation.test.ts', 'test/access/revocation-by-requests.test.ts'],
  },
  {
    ids: ['CVE-2024-35220', 'CVE-2025-64708'],
    fault: 'a session is valid until its row is deleted',
    edits: [
      {
        find: 'if (found?.id !== claims.id || found.session.expires_at <= clock().getTime()) return undefined;',
        replace: 'if (found?.id !== claims.id) return undefined;',
      },
    ],
    tests: ['test/access/revocation.test.ts'],
  },
  {
    ids: ['CVE-2025-53942'],
    fault: 'users who are not active can log in through a provider',
    edits: [
      {
        find: "and status = 'active' and tfa_secret",
        replace: 'and tfa_secret',
      },
      {
        find: ".where(and(eq(users.id, id), eq(users.status, 'active')))",
        replace: '.where(eq(users.id, id))',
      },
    ],
    tests: ['test/providers/openid.test.ts'],
  },
  {
    ids: ['CVE-2023-29019'],
    fault: 'a login reuses an existing session',
    edits: [
      {
        find: 'positionAt(randomUUID(), 0, mode)',
        replace: 'positionAt(user.id, 0, mode)',
      },
    ],
    tests: ['test/sessions/login.test.ts'],
  },
  {
    ids: ['CVE-2024-28197'],
    fault: 'cookies are sent to all subdomains of the service’s host',
    edits: [
      {
        find: '...(domain === undefined ? {} : { domain }),',
        replace: 'domain: domain ?? new URL(config.PUBLIC_URL).hostname,',
      },
    ],
    tests: ['test/sessions/login-cookies.test.ts'],
  },
  {
    ids: ['CVE-2024-45596', 'GHSA-c6w9-5g5j-jh2p'],
    fault: 'responses are cacheable unless each one is marked no-store',
    edits: [
      {
        find: "if (request.routeOptions.config.access !== 'open') reply.header('cache-control', 'no-store');",
        replace: "if (request.method === 'POST') reply.header('cache-control', 'no-store');",
      },
    ],
    tests: ['test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['GHSA-c6w9-5g5j-jh2p'],
    fault: 'a response is cached by its path and returned to the next caller',
    edits: [
      {
        find: 'if (caller.ownRow) return { data: caller.ownRow };',
        replace:
          'if (caller.ownRow) {\nconst kept = (globalThis as any).kept ?? { data: caller.ownRow };\n(globalThis as any).kept = kept;\nreturn kept;\n}',
      },
    ],
    tests: ['test/openapi/every-operation.test.ts'],
  },
  {
    ids: ['GHSA-6w4q-23cf-j9jp'],
    fault: 'users can end another user’s session by its id',
    edits: [
      {
        find: 'and(eq(sessions.id, id), eq(sessions.user, user), gt(sessions.expiresAt, now), conditionsOf(rules).any)',
        replace: 'and(eq(sessions.id, id), gt(sessions.expiresAt, now), conditionsOf(rules).any)',
      },
    ],
    tests: ['test/sessions/own-sessions.test.ts'],
  },
  {
    ids: ['CVE-2025-61928'],
    fault: 'the request body can name the user whose last page is stored',
    edits: [
      {
        find: 'await app.users.trackPage(request.currentUser, request.body.last_page);',
        replace:
          'const { userId = request.currentUser.userId, last_page } = request.body as { userId?: string; last_page: string };\nawait app.users.trackPage({ ...request.currentUser, userId }, last_page);',
      },
    ],
    tests: ['test/users/oneself.test.ts'],
  },
  {
    ids: ['CVE-2025-61928'],
    fault: 'the query can name the user whose sessions are ended',
    edits: [
      {
        find: 'endOthers: (caller) => endAll(caller, caller.userId, sessionIdOf(caller)),',
        replace: 'endOthers: (caller) => endAll(caller, (caller as any).named ?? caller.userId, sessionIdOf(caller)),',
      },
      {
        in: 'endMyOtherSessions',
        find: 'request.currentUser',
        replace: '{ ...request.currentUser, named: (request.query as any).userId } as any',
      },
    ],
    tests: ['test/users/oneself.test.ts'],
  },
  {
    ids: [],
    fault: 'a session that ends during a request still changes credentials',
    edits: [
      {
        find: "if (!session) throw new ApiError('INVALID_CREDENTIALS').concerning(caller.userId);",
        replace: 'if (!session) return;',
      },
    ],
    tests: ['test/sessions/ended-meanwhile.test.ts'],
  },
];
