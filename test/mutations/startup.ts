import type { Mutation } from './mutation.js';

/** A start that should be refused. */
export const startup: readonly Mutation[] = [
  {
    ids: [],
    fault: 'the service starts with a SECRET that the database was not used with',
    edits: [
      {
        find: '  if (!isAccepted) {',
        replace: '  if (!isAccepted && secrets.SECRET === undefined) {',
      },
    ],
    tests: ['test/platform/secret-check.test.ts'],
  },
  {
    ids: [],
    fault: 'an older build starts on tables that a newer one has changed incompatibly',
    edits: [
      {
        find: '(worksWith === null || !knownTags.has(worksWith))',
        replace: '(worksWith !== null && !knownTags.has(worksWith))',
      },
    ],
    tests: ['test/process/upgrades.test.ts'],
  },
  {
    ids: [],
    fault: 'the certificate of the database is not verified with the authority that sslrootcert names',
    edits: [
      {
        find: "(ssl === 'require' && ca === undefined)",
        replace: "ssl === 'require'",
      },
    ],
    tests: ['test/db/postgres-pool.test.ts'],
    engine: 'postgres',
  },
];
