import type { Mutation } from './mutation.js';

/** Repeated refreshes, session limits, and cookies that a neighboring host has set. */
export const refresh: readonly Mutation[] = [
  {
    ids: ['CVE-2026-1035'],
    fault: 'repeating a refresh with the same token returns a different successor',
    edits: [
      {
        find: "createHmac('sha256', key).update('secret of a refresh token')",
        replace: "createHmac('sha256', key).update(String(Math.random()))",
      },
    ],
    tests: ['test/sessions/refresh.test.ts', 'test/access/revocation-by-requests.test.ts'],
  },
  {
    ids: [],
    fault: 'a reused session cookie does not end the session',
    edits: [
      {
        find: "if (outcome !== 'reused') continue;",
        replace: "if (outcome !== 'reused' || mode === 'session') continue;",
      },
    ],
    tests: ['test/sessions/refresh.test.ts'],
  },
  {
    ids: [],
    fault: 'within the grace period, a token older than the previous one still returns the successor',
    edits: [
      {
        find: "return generation === session.generation - 1 ? 'replaced' : 'older';",
        replace: "return 'replaced';",
      },
    ],
    tests: ['test/sessions/refresh.test.ts'],
  },
  {
    ids: [],
    fault: 'a retried refresh is evaluated at the time of its last request, not its first',
    edits: [
      {
        find: 'return known && arrived <= known.until ? Math.min(known.arrived, arrived) : arrived;',
        replace: 'void known;\nreturn arrived;',
      },
    ],
    tests: ['test/sessions/refresh.test.ts'],
  },
  {
    ids: [],
    fault: 'refreshes extend a session beyond its maximum age',
    edits: [
      {
        in: 'exchange',
        find: 'maxAge: lifetimes.session };',
        replace: 'maxAge: null };',
      },
    ],
    tests: ['test/sessions/limits.test.ts'],
  },
  {
    ids: [],
    fault: 'concurrent logins do not count each other’s sessions',
    edits: [
      {
        find: "sql`, (select end_unused_sessions(\"user\", id, ${value('limit')}::integer, ${value('now')}::timestamptz) from begun) as ended,",
        replace:
          'sql`, (select end_unused_sessions("user", id, ${value(\'limit\')}::integer, ${value(\'now\')}::timestamptz) from begun where (select count(*) from ${sessions} s where s."user" = begun."user") >= ${value(\'limit\')}::integer) as ended,',
      },
    ],
    tests: ['test/sessions/limits.test.ts'],
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'only the first of several cookies with the same name is tried',
    edits: [
      {
        find: 'return [...new Set(values as string[])].slice(0, maxValues);',
        replace: 'return [...new Set(values as string[])].slice(0, Math.min(maxValues, 1));',
      },
    ],
    tests: ['test/access/carriers.test.ts'],
  },
  {
    ids: [],
    fault: 'the database is queried for every one of many cookies',
    edits: [
      {
        find: 'for (const { lookUp } of candidates.slice(0, maxCandidates)) {',
        replace: 'void maxCandidates;\nfor (const { lookUp } of candidates) {',
      },
    ],
    tests: ['test/access/carriers.test.ts'],
  },
  {
    ids: [],
    fault: 'a neighboring host sets cookies that displace the signed one',
    edits: [{ find: 'candidates.sort((one, other) => one.rank - other.rank);', replace: '' }],
    tests: ['test/access/carriers.test.ts'],
  },
  {
    ids: [],
    fault: 'a browser with an invalid cookie cannot use public routes',
    edits: [
      {
        find: "if (!isCookie || rule !== 'anonymous') throw error;",
        replace: 'throw error;',
      },
    ],
    tests: ['test/access/carriers.test.ts', 'test/http/hostile.test.ts'],
  },
  {
    ids: [],
    fault: 'a neighboring host can set cookies with the service’s cookie names',
    edits: [
      {
        find: 'return String(given ?? (isHostOnly ? `__Host-${name}` : name));',
        replace: 'return String(given ?? (isHostOnly ? name : name));',
      },
    ],
    tests: ['test/platform/config/config.test.ts', 'test/sessions/login-cookies.test.ts'],
  },
];
