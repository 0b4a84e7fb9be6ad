import type { Mutation } from './mutation.js';

/** The cost of writes, and the checks that precede them. */
export const writes: readonly Mutation[] = [
  {
    ids: [],
    fault: 'a caller without rights is rejected only after the body is read',
    edits: [
      {
        find: 'if (needs !== undefined && !(caller && meetsNeed(caller, needs)))',
        replace: "if (needs !== undefined && request.method === 'GET' && !(caller && meetsNeed(caller, needs)))",
      },
    ],
    tests: ['test/access/order.test.ts'],
  },
  {
    ids: [],
    fault: 'an operation without a body accepts one',
    edits: [
      {
        find: 'if (key !== undefined || Array.isArray(body))',
        replace: 'if (key === undefined && Array.isArray(body))',
      },
    ],
    tests: ['test/access/order.test.ts', 'test/architecture/route-rules.test.ts'],
  },
  {
    ids: [],
    fault: 'an error does not mention that the body was ignored',
    edits: [
      {
        find: "if (!hasIgnoredBody || error.code !== 'INVALID_PAYLOAD') return error;",
        replace: "if (!hasIgnoredBody || error.code !== 'INVALID_QUERY') return error;",
      },
    ],
    tests: ['test/access/order.test.ts'],
  },
  {
    ids: [],
    fault: 'the public policy can be given app_access after it is selected',
    edits: [
      {
        find: "affectsRights: new Set(['admin_access', 'app_access'])",
        replace: "affectsRights: new Set(['admin_access'])",
      },
    ],
    tests: ['test/access/public-rights.test.ts'],
  },
  {
    ids: [],
    fault: 'the role for registrations can be given a parent with admin_access',
    edits: [
      {
        find: 'select r.id, r.parent from ${roles} r join chain on r.id = chain.parent\n      )',
        replace: 'select r.id, r.parent from ${roles} r join chain on r.id = chain.parent where false\n)',
      },
    ],
    tests: ['test/access/public-rights.test.ts'],
  },
  {
    ids: [],
    fault: 'users who may update settings can change who may register',
    edits: [
      {
        find: 'if (!caller.admin && !delegableSettings.has(name))',
        replace: "if (!caller.admin && name === 'public_policy')",
      },
    ],
    tests: ['test/access/public-rights.test.ts'],
  },
  {
    ids: [],
    fault: 'users can write auth_data',
    edits: [
      {
        find: "new Set(['role', 'policies', 'auth_data', 'last_access'])",
        replace: "new Set(['role', 'policies', 'last_access'])",
      },
    ],
    tests: ['test/users/update.test.ts'],
  },
  {
    ids: [],
    fault: 'users can write last_access',
    edits: [
      {
        find: "new Set(['role', 'policies', 'auth_data', 'last_access'])",
        replace: "new Set(['role', 'policies', 'auth_data'])",
      },
    ],
    tests: ['test/users/update.test.ts'],
  },
  {
    ids: [],
    fault: 'a static token may be shorter than 32 characters',
    edits: [
      {
        find: 'const minTokenLength = 32;',
        replace: 'const minTokenLength = 31;',
      },
    ],
    tests: ['test/users/create.test.ts'],
  },
  {
    ids: [],
    fault: 'JSON in a row may have any size',
    edits: [
      {
        find: 'JSON.stringify(value)) > field.maxBytes) throw tooLong(',
        replace: 'JSON.stringify(value)) > 1e6 * field.maxBytes) throw tooLong(',
      },
    ],
    tests: ['test/users/create.test.ts'],
  },
  {
    ids: [],
    fault: 'a list of texts in a row may have any length',
    edits: [
      {
        find: 'if (value.length > items) throw',
        replace: 'if (value.length > 1e6 * items) throw',
      },
    ],
    tests: ['test/users/create.test.ts'],
  },
  {
    ids: [],
    fault: 'passwords are hashed before the service checks whether the write is allowed',
    edits: [
      {
        find: 'await attempt(dryRun, true);',
        replace: '',
      },
    ],
    tests: ['test/access/costs.test.ts'],
  },
  {
    ids: [],
    fault: 'a current password is checked for a row that the caller may not write',
    edits: [
      {
        find: 'if (currentPassword !== undefined) await requireGrants(',
        replace: "if (currentPassword === '') await requireGrants(",
      },
    ],
    tests: ['test/access/costs.test.ts'],
  },
  {
    ids: [],
    fault: 'a rehearsal is not rolled back',
    edits: [
      {
        in: 'dryRun',
        find: 'throw end;',
        replace: '',
      },
    ],
    tests: ['test/access/costs.test.ts'],
  },
  {
    ids: [],
    fault: 'callers who are not administrators can set any number of passwords in one request',
    edits: [
      {
        find: 'const maxPasswordsForNonAdmins = 10;',
        replace: 'const maxPasswordsForNonAdmins = 1_000;',
      },
    ],
    tests: ['test/access/costs.test.ts'],
  },
  {
    ids: [],
    fault: 'the embedded engine writes as many items per request as PostgreSQL',
    edits: [
      {
        find: 'const maxBatchEmbedded = 300;',
        replace: 'const maxBatchEmbedded = 30_000;',
      },
    ],
    tests: ['test/rate-limits/bulk-writes.test.ts'],
  },
  {
    ids: [],
    fault: 'items with different columns are updated one at a time',
    edits: [
      {
        find: 'await updateRecords(tx, collection, rowsOf(changes));',
        replace: 'for (const row of rowsOf(changes)) await updateRecords(tx, collection, [row]);',
      },
    ],
    tests: ['test/rate-limits/bulk-writes.test.ts'],
  },
  {
    ids: [],
    fault: 'an update of several items clears fields that some of them omit',
    edits: [
      {
        find: 'then r.${name} else t.${name} end',
        replace: 'then r.${name} else null end',
      },
    ],
    tests: ['test/rate-limits/bulk-writes.test.ts'],
  },
  {
    ids: [],
    fault: 'one caller can fill the hash queue while others wait',
    edits: [
      {
        find: 'if (own < waiting && own >= limit) throw full();',
        replace: '',
      },
    ],
    tests: ['test/passwords/service.test.ts'],
  },
  {
    ids: [],
    fault: 'callers do not take turns at hashing',
    edits: [
      {
        find: 'queues.delete(owner);\n      queues.set(owner, others);',
        replace: '',
      },
    ],
    tests: ['test/passwords/service.test.ts'],
  },
  {
    ids: [],
    fault: 'passwords are still hashed after the client disconnects',
    edits: [
      {
        find: "abandoned?.addEventListener('abort', leave);",
        replace: '',
      },
    ],
    tests: ['test/passwords/service.test.ts'],
  },
  {
    ids: [],
    fault: 'the hash queue accepts passwords that would wait too long',
    edits: [
      {
        find: 'Math.min(capacity, Math.floor(maxWaitMs / pace.interval()))',
        replace: 'Math.min(capacity, Math.max(capacity, maxWaitMs))',
      },
    ],
    tests: ['test/passwords/service.test.ts'],
  },
  {
    ids: [],
    fault: 'a caller keeps more than their share of the hash queue when others arrive',
    edits: [
      {
        find: 'return tasks.length > limit && !tasks.at(-1)?.isPatient ? owner : undefined;',
        replace: 'return undefined;',
      },
    ],
    tests: ['test/passwords/service.test.ts', 'test/passwords/strength.test.ts'],
  },
  {
    ids: [],
    fault: 'callers do not take turns when passwords are evaluated',
    edits: [
      {
        find: 'queue.push(from, () => thread.run(task))',
        replace: 'queue.push(undefined, () => thread.run(task))',
      },
    ],
    tests: ['test/passwords/strength.test.ts'],
  },
  {
    ids: [],
    fault: 'a registration hashes the password even when registration is turned off',
    edits: [
      {
        find: "if (!settings.public_registration) throw new Refusal('registration is turned off');",
        replace: '',
      },
    ],
    tests: ['test/access/costs.test.ts'],
  },
  {
    ids: [],
    fault: 'one caller’s queries can use more than half of the connections',
    edits: [
      {
        find: 'const own = connection.dbOf(userId ?? network);',
        replace: 'const own = (userId ?? network) && connection.db;',
      },
    ],
    tests: ['test/items/connections.test.ts'],
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'the error for a forbidden update does not name the field',
    edits: [
      {
        find: 'reason: `You are not allowed to write ${withheld} of ${name}`',
        replace: "reason: 'You are not allowed to write all of these fields'",
      },
    ],
    tests: ['test/users/update.test.ts'],
  },
  {
    ids: [],
    fault: 'an update of several users does not return the address that waits for confirmation',
    edits: [
      {
        find: 'return marked(caller, await readUpdated(caller, name, updates, query));',
        replace:
          'return marked(caller, await readResponse(caller, name, [...new Set(updates.flatMap((update) => update.keys))], query));',
      },
    ],
    tests: ['test/users/email-change.test.ts'],
  },
];
