import type { Mutation } from './mutation.js';

const statistics = ['test/activity/statistics.test.ts'];
const exports = ['test/items/export.test.ts'];

/** Statistics, and lists as files. */
export const reports: readonly Mutation[] = [
  {
    ids: [],
    fault: 'a user is counted as active several times in the same interval',
    edits: [
      {
        find: 'sql`series is not null and (previous is null or date_trunc(${unit}, previous) < date_trunc(${unit}, hour))`',
        replace: 'sql`series is not null`',
      },
    ],
    tests: statistics,
  },
  {
    ids: [],
    fault: 'the first step of a login with a code is counted as a failure',
    edits: [
      {
        find: "when action = 'login' and reason is distinct from 'missing_code' then",
        replace: "when action = 'login' then",
      },
    ],
    tests: statistics,
  },
  {
    ids: [],
    fault: 'events are counted again after they have been added to the counts',
    edits: [
      {
        find: 'set counted_position = last.position',
        replace: 'set counted_position = activity_chain.counted_position',
      },
    ],
    tests: statistics,
  },
  {
    ids: [],
    fault: 'events are missing from the statistics until they are linked',
    edits: [
      {
        find: 'from ${activity} where position is null order by id',
        replace: 'from ${activity} where false order by id',
      },
    ],
    tests: statistics,
  },
  {
    ids: [],
    fault: 'a permission for some entries of the audit log is enough for statistics about all of them',
    edits: [{ find: "action: 'read', unconditional: true };", replace: "action: 'read' };" }],
    tests: statistics,
  },
  {
    ids: [],
    fault: 'a period may have any number of intervals',
    edits: [{ find: 'if (starts.length > maxIntervals)', replace: 'if (starts.length > 1_000_000)' }],
    tests: statistics,
  },
  {
    ids: [],
    fault: 'weeks begin on Sunday',
    edits: [{ find: 'const [monday, weekdays] = [1, 7];', replace: 'const [monday, weekdays] = [0, 7];' }],
    tests: statistics,
  },
  {
    ids: [],
    fault: 'an invitation that was sent again counts as expired',
    edits: [
      {
        find: 'u set invite_expires_at = ${expiresAt.toISOString()}::timestamptz',
        replace: 'u set invite_expires_at = invite_expires_at',
      },
    ],
    tests: statistics,
  },
  {
    ids: [],
    fault: 'suspended administrators need attention',
    edits: [{ find: "select u.status = 'active' and u.tfa_secret is null", replace: 'select u.tfa_secret is null' }],
    tests: statistics,
  },
  {
    ids: [],
    fault: 'an export goes on after the session has ended',
    edits: [{ find: 'caller = await checkCallerAgain();', replace: '' }],
    tests: exports,
  },
  {
    ids: [],
    fault: 'a caller can run several exports',
    edits: [{ find: 'current >= maxPerCaller', replace: 'current >= maxAtOnce' }],
    tests: exports,
  },
  {
    ids: [],
    fault: 'a client that disconnects keeps its place among the exports',
    edits: [
      { find: 'finally {\n      release();\n    }', replace: 'finally {\n    }' },
      { find: "abandoned.addEventListener('abort', release, { once: true });", replace: '' },
    ],
    tests: exports,
  },
  {
    ids: [],
    fault: 'a spreadsheet evaluates the formulas in an export',
    edits: [{ find: "formula.test(value) ? `'${value}` : value", replace: 'value' }],
    tests: exports,
  },
  {
    ids: [],
    fault: 'an empty text looks like a missing value in CSV',
    edits: [{ find: "text === '' || /", replace: '/' }],
    tests: exports,
  },
  {
    ids: [],
    fault: 'an export is not recorded in the audit log',
    edits: [
      {
        find: "await activity.record(dbOf(caller), caller, [{ action: 'export', collection: name, changed: fields }]);",
        replace: '',
      },
    ],
    tests: exports,
  },
  {
    ids: [],
    fault: 'exports have no rate limit',
    edits: [{ find: "await rateLimits.enforceRateLimit('list export', owner);", replace: '' }],
    tests: exports,
  },
  {
    ids: [],
    fault: 'an export does not split parts that are too large',
    edits: [
      {
        find: "error.code === 'INVALID_QUERY' && keys.length > 1;",
        replace: "error.code === 'INVALID_QUERY' && keys.length > 1_000;",
      },
    ],
    tests: exports,
  },
];
