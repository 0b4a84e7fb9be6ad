import type { Mutation } from './mutation.js';

/** What queries can read, and who may do what. */
export const queriesAndRights: readonly Mutation[] = [
  {
    ids: [],
    fault: 'what roles and policies grant is kept in memory although it has changed',
    edits: [
      {
        find: 'key.version !== null && key.version === current ? kept.get(nameOf(key)) : undefined',
        replace: 'current !== null ? kept.get(nameOf(key)) : undefined',
      },
    ],
    tests: ['test/access/policies.test.ts'],
  },
  {
    ids: [],
    fault: 'a read joins a statement that was sent before',
    edits: [
      {
        find: 'if (open?.keys === keys) open = undefined;\n      return read([...keys]);',
        replace: 'return read([...keys]).finally(() => {\nif (open?.keys === keys) open = undefined;\n});',
      },
    ],
    tests: ['test/db/batch-reader.test.ts'],
  },
  {
    ids: ['CVE-2023-27481', 'CVE-2024-34708', 'CVE-2026-35442', 'CVE-2023-22894', 'GHSA-2m6g-crv8-p3c6'],
    fault: 'filters compare the real value of a secret that is masked with asterisks',
    edits: [
      {
        find: "concealed ? sql`case when ${column} is not null then '**********' end` : column,",
        replace: "concealed && name === '' ? sql`case when ${column} is not null then '**********' end` : column,",
      },
    ],
    tests: ['test/access/secrets.test.ts'],
  },
  {
    ids: ['CVE-2023-27481', 'CVE-2023-22894', 'GHSA-2m6g-crv8-p3c6', 'CVE-2026-35442', 'CVE-2024-34708'],
    fault: 'the password can be queried like any other field',
    edits: [
      {
        find: "...texts(255, 'last_page'),",
        replace: "...texts(255, 'password'),\n...texts(255, 'last_page'),",
      },
    ],
    tests: ['test/access/secrets.test.ts'],
  },
  {
    ids: ['CVE-2025-30352', 'CVE-2025-64748'],
    fault: 'a search includes secret fields',
    edits: [
      {
        find: "if (field?.kind !== 'value' || field.concealed) return [];\n    if (field.whole)",
        replace: "if (field?.kind !== 'value') return [];\n    if (field.whole)",
      },
    ],
    tests: ['test/access/secrets.test.ts'],
  },
  {
    ids: ['CVE-2025-64748'],
    fault: 'a search looks at texts that are hidden on some rows',
    edits: [
      {
        find: 'if (conditions.length === 0 || isShown === null) return conditions;',
        replace: 'return conditions;\nif (isShown === null) return [];',
      },
    ],
    tests: ['test/access/hidden-fields.test.ts', 'test/access/secrets.test.ts'],
  },
  {
    ids: [],
    fault: 'the signature of the audit log does not cover the reason',
    edits: [{ find: '    row.reason,\n', replace: '' }],
    tests: ['test/activity/reasons.test.ts', 'test/activity/chain.test.ts'],
  },
  {
    ids: [],
    fault: 'a failed login of a user who is not active is recorded with a wrong password',
    edits: [{ find: "if (user.status !== 'active') return reasonOfStatus(user.status);", replace: '' }],
    tests: ['test/activity/reasons.test.ts'],
  },
  {
    ids: ['CVE-2026-39943'],
    fault: 'the audit log stores the written values',
    edits: [
      {
        find: 'const changed = writtenFields(name, change);',
        replace:
          'const changed = writtenFields(name, change).map((field) => `${field}=${JSON.stringify(change.input[field])}`);',
      },
    ],
    tests: ['test/activity/read.test.ts'],
  },
  {
    ids: ['CVE-2024-39701'],
    fault: 'a condition on a variable without a value is ignored',
    edits: [
      {
        find: 'if (given.includes(null) || (given.length === 0 && listed.length > 0)) return unresolved;',
        replace: "if (given.includes(null) || given.length === 0) return { kind: 'and', filters: [] };",
      },
    ],
    tests: ['test/access/policies.test.ts'],
  },
  {
    ids: ['CVE-2024-39701'],
    fault: 'a condition with an empty list is ignored',
    edits: [
      {
        find: "} else if (values.length === 0) return { kind: 'never' };",
        replace: "} else if (values.length === 0) return { kind: 'and', filters: [] };",
      },
    ],
    tests: ['test/access/policies.test.ts'],
  },
  {
    ids: ['CVE-2025-67717'],
    fault: 'the item count includes items that the caller cannot read',
    edits: [
      {
        find: 'metaOf(query, (selection) => countItems(db, collection, selection, view), next);',
        replace:
          'metaOf(query, (selection) => countItems(db, collection, selection, () => [{ fields: "*", rule: null }]), next);',
      },
    ],
    tests: ['test/access/policies.test.ts'],
  },
  {
    ids: ['CVE-2026-39356'],
    fault: 'an unknown field name is inserted into the statement as a column',
    edits: [
      {
        find: 'if (!field || !isReadable(access(place.name), name)) throw forbiddenField(place.name, name);\n    if (field.kind',
        replace:
          'if (!field) return;\nif (!isReadable(access(place.name), name)) throw forbiddenField(place.name, name);\nif (field.kind',
      },
      {
        find: 'if (!found) throw new Error(`${row.collection.name} has no field ${name}.`);\n      return found;',
        replace: "return found ?? { kind: 'value', column: name, type: 'text' };",
      },
      {
        find: 'return sql`${sql.identifier(alias)}.${sql.identifier(column)}`;',
        replace: 'return sql`${sql.identifier(alias)}.${sql.raw(`"${column}"`)}`;',
      },
    ],
    tests: ['test/items/hostile-queries.test.ts'],
  },
  {
    ids: ['CVE-2025-24353', 'GHSA-7h45-q5jx-7r87'],
    fault: 'users who may invite can invite to any role',
    edits: [
      {
        find: 'if (!caller.admin) await requireRightsOverPrincipals(db, caller, [holder], clock());',
        replace: '',
      },
    ],
    tests: ['test/invites/invite.test.ts'],
  },
  {
    ids: [],
    fault: 'users who may invite can repeat the invitation of a user with more rights',
    edits: [
      {
        find: 'if (!caller.admin) await requireRightsOverUsers(tx, caller, new Set(keys), clock());',
        replace: '',
      },
    ],
    tests: ['test/access/escalation.test.ts'],
  },
  {
    ids: [],
    fault: 'users who may write the status can set a user with more rights to invited',
    edits: [
      {
        find: "new Set<unknown>(['active', 'invited', 'unverified'])",
        replace: "new Set<unknown>(['active'])",
      },
    ],
    tests: ['test/access/escalation.test.ts'],
  },
  {
    ids: [],
    fault: 'a caller who is not an administrator can change a user’s role by repeating the invitation',
    edits: [
      {
        find: "const changesRole = role !== undefined && isUnlimited(caller, 'users', 'update');",
        replace: 'const changesRole = role !== undefined;',
      },
    ],
    tests: ['test/access/escalation.test.ts'],
  },
  {
    ids: [],
    fault: 'an invitation runs separate statements for each address',
    edits: [
      {
        find: "invited.map(({ id }) => ({ kind: 'invite', user: id, url: url ?? defaultUrl, invitedBy: caller.userId })),\n      'low',\n    );",
        replace:
          "[],\n);\nfor (const { id } of invited) await mail.enqueueAll(tx, [{ kind: 'invite', user: id, url: url ?? defaultUrl }]);",
      },
    ],
    tests: ['test/invites/bulk.test.ts'],
  },
  {
    ids: [],
    fault: 'an invitation continues after the client disconnects',
    edits: [
      {
        find: "else response?.once('close', abort);",
        replace: '',
      },
    ],
    tests: ['test/invites/bulk.test.ts'],
  },
  {
    ids: ['CVE-2025-27089'],
    fault: 'fields that one permission grants for its rows are also granted for the rows of another',
    edits: [
      {
        find: 'if (!written.every((item) => isCovered(item, applied))) throw',
        replace:
          'const all = applied.map(({ grant }) => ({ grant, keys: new Set(applied.flatMap(({ keys }) => [...keys])) }));\nif (!written.every((item) => isCovered(item, all))) throw',
      },
    ],
    tests: ['test/access/matrix.test.ts'],
  },
  {
    ids: ['GHSA-p623-wgx3-wxp8'],
    fault: 'a forbidden change is written before it is rejected',
    edits: [
      {
        find: 'const isDangerous = touches(items, rules[name].affectsAdministrators);',
        replace:
          'const isDangerous = touches(items, rules[name].affectsAdministrators);\nawait updateRecords(dbOf(caller), collection, rowsOf(items));',
      },
      {
        find: "if (withheld !== undefined) throw new ApiError('FORBIDDEN', { reason: `You are not allowed to write ${withheld} of ${name}` });",
        replace: '',
      },
    ],
    tests: ['test/access/matrix.test.ts'],
  },
  {
    ids: ['CVE-2026-55077'],
    fault: 'users who may update users can change the password of any user',
    edits: [
      {
        find: "if (hasMoreRights({ policies, variables }, own)) return 'rights';",
        replace: "if (hasMoreRights({ policies, variables }, own) && id === null) return 'rights';",
      },
    ],
    tests: ['test/access/escalation.test.ts'],
  },
  {
    ids: [],
    fault: 'users who may update users can change administrators',
    edits: [
      {
        in: 'requireNoAdministrator',
        find: 'if (administrators.size > 0)',
        replace: 'if (administrators.size > 1000)',
      },
    ],
    tests: ['test/access/escalation.test.ts'],
  },
  {
    ids: ['GHSA-8xq9-g7ch-35hg'],
    fault: 'creating a user with an existing id replaces that user',
    edits: [
      {
        find: 'if (existing.has(id))',
        replace: 'if (existing.has(id) && existing.size > 1000)',
      },
      {
        find: '${recordset(collection, records)} r returning id`,',
        replace:
          "${recordset(collection, records)} r on conflict (id) do update set (${identifiers(columns)}) = row(${identifiers(columns, 'excluded')}) returning id`,",
      },
    ],
    tests: ['test/access/escalation.test.ts'],
  },
  {
    ids: [],
    fault: 'everyone who registers through a provider becomes an administrator when the default role does',
    edits: [{ find: 'const open = config.PROVIDERS.flatMap(openRoles)', replace: 'const open: string[] = []' }],
    tests: ['test/access/public-rights.test.ts'],
  },
  {
    ids: [],
    fault: 'everyone who registers through a provider is an administrator if the default role already is one',
    edits: [
      {
        find: 'if ((await rolesWithAdminAccess(db, openRoles(provider))).size === 0) return;',
        replace: 'if (provider) return;',
      },
    ],
    tests: ['test/providers/settings.test.ts'],
  },
  {
    ids: [],
    fault: 'an administrator who has only a passkey does not count as one',
    edits: [{ find: '${acceptsPasskeys}::boolean and exists', replace: 'false and exists' }],
    tests: ['test/access/last-administrator.test.ts'],
  },
  {
    ids: [],
    fault: 'a support desk sees the events of administrators',
    edits: [{ find: 'rule: both(within, rule),', replace: 'rule,' }],
    tests: ['test/access/support-desk.test.ts'],
  },
  {
    ids: [],
    fault: 'a support desk sees the events of users whose own policies give them more rights',
    edits: [
      {
        find: 'select coalesce(${role}, false) and ${hasNoOthers} from',
        replace: 'select coalesce(${role}, false) from',
      },
    ],
    tests: ['test/access/support-desk.test.ts'],
  },
  {
    ids: [],
    fault: 'a support desk sees the events of users whose role gives them more rights',
    edits: [{ find: 'select coalesce(${role}, false) and ${hasNoOthers} from', replace: 'select ${hasNoOthers} from' }],
    tests: ['test/access/support-desk.test.ts'],
  },
  {
    ids: [],
    fault: 'a support desk can end the sessions of users with more rights',
    edits: [
      {
        find: 'return principals.length > 0 && (await excessOver(executor, caller, principals, now)) === null;',
        replace: 'return principals.length > 0;',
      },
    ],
    tests: ['test/access/support-desk.test.ts'],
  },
  {
    ids: [],
    fault: 'a support desk can send emails again that are not for a user',
    edits: [
      {
        find: '(user !== null && (await hasRightsOverUser(tx, caller, user, now)));',
        replace: '(user === null || (await hasRightsOverUser(tx, caller, user, now)));',
      },
    ],
    tests: ['test/access/support-desk.test.ts'],
  },
  {
    ids: [],
    fault: 'users who may read their own events see why others cannot sign in',
    edits: [{ find: "fields === '*' && (rule === null || rule.kind === 'reachable')", replace: "fields === '*'" }],
    tests: ['test/access/support-desk.test.ts'],
  },
  {
    ids: [],
    fault: 'all sessions of a user can be ended with a permission for some of them',
    edits: [{ find: 'return others.length === 0;', replace: 'return others.length >= 0;' }],
    tests: ['test/access/support-desk.test.ts'],
  },
];
