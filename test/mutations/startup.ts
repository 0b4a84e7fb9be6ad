import type { Mutation } from './mutation.js';

/** How the process starts and ends, and how it uses the settings of its database. */
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
    fault: 'the default isolation level of the database applies to single statements',
    edits: [{ find: 'if (isReadCommitted ||', replace: 'if (isReadCommitted !== undefined ||' }],
    tests: ['test/db/postgres-pool.test.ts'],
    engine: 'postgres',
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
  {
    ids: [],
    fault: 'a fault of the process itself repeats forever, because a handler for its signal returns',
    edits: [
      { find: "'SIGFPE', 'SIGSEGV', 'SIGUSR2'", replace: "'SIGFPE', 'SIGUSR2'" },
      { find: 'for (const descriptor of terminals) closeSync(descriptor);', replace: 'void closeSync;' },
    ],
    tests: ['test/process/lost-output.test.ts'],
  },
  {
    ids: [],
    fault: 'the service ends when the reader of its log does',
    edits: [{ find: "stream.on('error', () => {})", replace: "stream.on('end', () => {})" }],
    tests: ['test/process/lost-output.test.ts'],
  },
  {
    ids: [],
    fault: 'the second SIGHUP of a closed terminal ends the service before it has stopped gracefully',
    edits: [
      {
        find: 'void (isStopping || stopper.close())',
        replace: 'void (isStopping ? process.exit(1) : stopper.close())',
      },
    ],
    tests: ['test/process/lost-output.test.ts'],
  },
  {
    ids: [],
    fault: 'dates are read in the form that the database prefers',
    edits: [{ find: "DateStyle: 'ISO, MDY', TimeZone: 'UTC',", replace: '' }],
    tests: ['test/process/database-settings.test.ts'],
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'a misspelled parameter of DATABASE_URL, such as sslmod, has no effect',
    edits: [
      { find: 'else if (!harmless && !supported.has(name))', replace: 'else if (!harmless && name.length === 0)' },
    ],
    tests: ['test/platform/config/config.test.ts'],
  },
  {
    ids: [],
    fault: 'the error for an invalid DATABASE_URL contains a part of the password',
    edits: [{ find: '/^\\w+$/.test(name)', replace: 'name.length > 0' }],
    tests: ['test/db/database-url.test.ts'],
  },
  {
    ids: [],
    fault: 'foreign keys refer to the schema public, whichever schema the tables are in',
    edits: [{ find: `statement.replaceAll('"public".', () => tables)`, replace: 'statement' }],
    tests: ['test/process/database-schema.test.ts'],
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'the service starts on a database that cannot store every character',
    edits: [{ find: "if (encoding !== 'UTF8') {", replace: "if (encoding === 'SQL_ASCII') {" }],
    tests: ['test/process/database-schema.test.ts'],
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'an instance warns that another one is migrating, although there is nothing to migrate',
    edits: [{ find: 'if (await isPending()) await pause(', replace: 'if (isPending) await pause(' }],
    tests: ['test/process/database-schema.test.ts'],
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'a variable that Kubernetes adds for another service is read as a setting',
    edits: [{ find: "serviceLinkValue.test(value?.trim() ?? '')", replace: "serviceLinkValue.test('')" }],
    tests: ['test/platform/config/misspelled-variables.test.ts'],
  },
  {
    ids: [],
    fault: 'the service begins a new audit log when the old one was emptied',
    edits: [
      {
        find: "if (found === undefined) throw new BrokenChainError('The row that marks the ends of the audit log is missing');",
        replace:
          'if (found === undefined) return (await beginChain(tx, signatures)) ? await lockChainEnds(tx) as ChainEnds : undefined;',
      },
    ],
    tests: ['test/activity/chain.test.ts'],
  },
  {
    ids: [],
    fault: 'a start begins a new audit log when the old one was emptied',
    edits: [
      {
        find: '    await ensureSettings(tx);',
        replace:
          "    await ensureSettings(tx);\n    await beginChain(tx, createSignatures(keysFor(services.config, 'activity')));",
      },
    ],
    tests: ['test/activity/chain.test.ts'],
  },
];
