import type { Mutation } from './mutation.js';

const ownApi = ['test/applications/own-api.test.ts'];
const actor = ['test/applications/actor.test.ts'];

export const applications: readonly Mutation[] = [
  {
    ids: [],
    fault: 'an application reads related items for which it has no scope',
    edits: [
      {
        find: 'isInScope(caller, collection, action) ? caller.policies',
        replace: '(isInScope(caller, collection, action) || true) ? caller.policies',
      },
    ],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'scopes do not limit applications that act for administrators',
    edits: [
      {
        find: 'caller.admin && isInScope(caller, collection, action);',
        replace: 'caller.admin || !action && isInScope(caller, collection, action);',
      },
    ],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'an application calls operations for which it has no scope',
    edits: [{ find: 'if (principal && scope) requireScope(principal, scope);', replace: 'void requireScope;' }],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'an application can do what requires a fresh session',
    edits: [
      {
        find: 'sessionOf(caller) !== undefined || isOfApplication(caller);',
        replace: 'sessionOf(caller) !== undefined;',
      },
    ],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'an access token keeps the scopes that its client has lost',
    edits: [{ find: 'allowed?.includes(scope) === true &&', replace: 'allowed !== undefined &&' }],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'an access token that is bound to a key works without the key',
    edits: [{ find: 'if (token.jkt !== null)', replace: "if (token.jkt === '')" }],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'a token that was exchanged outlives the permission of the first client',
    edits: [{ find: 'if (former.some(', replace: 'if (former.length > 9 && former.some(' }],
    tests: ownApi,
  },
  {
    ids: [],
    fault: 'the actor of a row in the audit log is not signed',
    edits: [{ find: '...(row.actor === null ? [] : [row.actor]),', replace: '' }],
    tests: actor,
  },
];
