import type { Mutation } from './mutation.js';

const tests = ['test/access/explain.test.ts'];

/** What administrators are told about the permissions of others. */
export const explanations: readonly Mutation[] = [
  {
    ids: [],
    fault: 'an explanation counts policies that apply only to other addresses',
    edits: [
      {
        find: '...rightsOf(principal, client.ip),\n  userId: principal.id,',
        replace:
          '...rightsOf({ ...principal, policies: principal.policies.map((policy) => ({ ...policy, ip_access: null })) }, client.ip),\n  userId: principal.id,',
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'an explanation ignores that a user is not active',
    edits: [
      {
        find: "...(principal.status === 'active' ? [] : [obstacle('user_not_active')]),",
        replace: '',
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'an explanation ignores that a user must set up a second factor',
    edits: [{ find: "...(caller.mustSetUpTfa ? [obstacle('second_factor')] : []),", replace: '' }],
    tests,
  },
  {
    ids: [],
    fault: 'an explanation of one item includes fields that are hidden on it',
    edits: [
      {
        find: '{ fields: reach ? reach.shown : covered, missing: [] }',
        replace: '{ fields: known.filter((one) => reaches(grants, one)), missing: [] }',
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'an explanation names permissions that do not reach the item',
    edits: [
      {
        find: 'const applied = relevant.filter((grant) => reaching.includes(grant));',
        replace: 'const applied = relevant;',
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'an explanation ignores what only administrators can write',
    edits: [
      {
        find: 'if (!(error instanceof ApiError) || error.status >= 500) throw error;\n      return false;',
        replace: 'if (!(error instanceof ApiError) || error.status >= 500) throw error;\n      return true;',
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'changes that are only explained are written',
    edits: [
      {
        find: 'return dryRun(dbOf(caller), async (tx) => {\n        const created',
        replace: 'return dbOf(caller).transaction(async (tx) => {\n        const created',
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'an explanation calls the policies of an ancestor those of the role',
    edits: [{ find: "then 'role' else 'parent' end", replace: "then 'role' else 'role' end" }],
    tests,
  },
  {
    ids: [],
    fault: 'the filter of an explanation loses a condition',
    edits: [{ find: '_or: part.filters.map(write)', replace: '_or: part.filters.slice(0, 1).map(write)' }],
    tests,
  },
  {
    ids: [],
    fault: 'an explanation of an email ignores the rights of the user whom it is for',
    edits: [
      {
        find: 'isVisible: matching.slice(rules.length).includes(true) };',
        replace: 'isVisible: matching.includes(true) };',
      },
    ],
    tests,
  },
  {
    ids: [],
    fault: 'an explanation says that emails can be sent again that have not failed',
    edits: [{ find: '!(await context.mail.retry(tx, String(key)))', replace: 'false' }],
    tests,
  },
  {
    ids: [],
    fault: 'an explanation ignores whether the caller reaches the user whom an item is about',
    edits: [{ find: 'if (reach && !reach.isVisible) return', replace: 'if (reach && false) return' }],
    tests,
  },
];
