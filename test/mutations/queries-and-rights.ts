import type { Mutation } from './mutation.js';

/** What queries can read, and who may do what. */
export const queriesAndRights: readonly Mutation[] = [
  {
    ids: ['CVE-2023-27481', 'CVE-2024-34708', 'CVE-2026-35442', 'CVE-2023-22894', 'GHSA-2m6g-crv8-p3c6'],
    fault: 'filters compare the real value of a secret that is masked with asterisks',
    edits: [
      {
        file: 'db/query-language/compile.ts',
        find: "          concealed ? sql`case when ${column} is not null then '**********' end` : column,",
        replace:
          "          concealed && name === '' ? sql`case when ${column} is not null then '**********' end` : column,",
      },
    ],
    tests: ['test/access/secrets.test.ts'],
  },
  {
    ids: ['CVE-2023-27481', 'CVE-2023-22894', 'GHSA-2m6g-crv8-p3c6', 'CVE-2026-35442', 'CVE-2024-34708'],
    fault: 'the password can be queried like any other field',
    edits: [
      {
        file: 'db/query-language/collections.ts',
        find: "    ...values('timestamp', 'last_access'),\n    ...texts(255, 'last_page'),",
        replace:
          "    ...texts(255, 'password'),\n    ...values('timestamp', 'last_access'),\n    ...texts(255, 'last_page'),",
      },
    ],
    tests: ['test/access/secrets.test.ts'],
  },
  {
    ids: ['CVE-2025-30352', 'CVE-2025-64748'],
    fault: 'a search includes secret fields',
    edits: [
      {
        file: 'db/queries/items/items.ts',
        find: "    if (field.kind !== 'value' || field.concealed || !compiler.readable(row, name)) return [];\n    if (field.whole) return isUuid ? [sql`${compiler.field(row, name)} = ${term.toLowerCase()}`] : [];\n    if (field.type === 'text') return [sql`${compiler.field(row, name)} ilike ${pattern}`];",
        replace:
          "    if (field.kind !== 'value' || !compiler.readable(row, name)) return [];\n    if (field.whole) return isUuid ? [sql`${compiler.field(row, name)} = ${term.toLowerCase()}`] : [];\n    if (field.type === 'text') return [sql`${compiler.column(row, name)} ilike ${pattern}`];",
      },
    ],
    tests: ['test/access/secrets.test.ts'],
  },
  {
    ids: ['CVE-2026-39943'],
    fault: 'the audit log stores the written values',
    edits: [
      {
        file: 'plugins/items/write-engine.ts',
        find: '        const changed = writtenFields(name, change);',
        replace:
          '        const changed = writtenFields(name, change).map((field) => `${field}=${JSON.stringify(change.input[field])}`);',
      },
    ],
    tests: ['test/activity/read.test.ts'],
  },
  {
    ids: ['CVE-2024-39701'],
    fault: 'a condition on a variable without a value is ignored',
    edits: [
      {
        file: 'db/query-language/filter.ts',
        find: '    if (given.includes(null) || (given.length === 0 && listed.length > 0)) return unresolved;\n',
        replace: "    if (given.includes(null) || given.length === 0) return { kind: 'and', filters: [] };\n",
      },
    ],
    tests: ['test/access/policies.test.ts'],
  },
  {
    ids: ['CVE-2024-39701'],
    fault: 'a condition with an empty list is ignored',
    edits: [
      {
        file: 'db/query-language/filter.ts',
        find: "    } else if (values.length === 0) return { kind: 'never' };",
        replace: "    } else if (values.length === 0) return { kind: 'and', filters: [] };",
      },
    ],
    tests: ['test/access/policies.test.ts'],
  },
  {
    ids: ['CVE-2025-67717'],
    fault: 'the item count includes items that the caller cannot read',
    edits: [
      {
        file: 'plugins/items/service.ts',
        find: '        metaOf(query, (selection) => countItems(db, collection, selection, view), next);\n',
        replace:
          '        metaOf(query, (selection) => countItems(db, collection, selection, () => [{ fields: "*", rule: null }]), next);\n',
      },
    ],
    tests: ['test/access/policies.test.ts'],
  },
  {
    ids: ['CVE-2026-39356'],
    fault: 'an unknown field name is inserted into the statement as a column',
    edits: [
      {
        file: 'db/query-language/query.ts',
        find: '    if (!field || !isReadable(access(place.name), name)) throw forbiddenField(place.name, name);\n    if (field.kind',
        replace:
          '    if (!field) return;\n    if (!isReadable(access(place.name), name)) throw forbiddenField(place.name, name);\n    if (field.kind',
      },
      {
        file: 'db/query-language/compile.ts',
        find: '      if (!found) throw new Error(`${row.collection.name} has no field ${name}.`);\n      return found;',
        replace: "      return found ?? { kind: 'value', column: name, type: 'text' };",
      },
      {
        file: 'db/query-language/compile.ts',
        find: '      column: (row, name) => sql`${sql.identifier(row.alias)}.${sql.identifier(valueField(row, name).column)}`,',
        replace:
          '      column: (row, name) => sql`${sql.identifier(row.alias)}.${sql.raw(`"${valueField(row, name).column}"`)}`,',
      },
    ],
    tests: ['test/items/hostile-queries.test.ts'],
  },
  {
    ids: ['CVE-2025-24353', 'GHSA-7h45-q5jx-7r87'],
    fault: 'users who may invite can invite to any role',
    edits: [
      {
        file: 'plugins/invites/service.ts',
        find: '      if (!caller.admin) await requireRightsOf(db, caller, [holder], clock());\n',
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
        file: 'plugins/invites/service.ts',
        find: '    if (!caller.admin) await requireRightsOver(tx, caller, new Set(pending.map(({ id }) => id)), clock());\n',
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
        file: 'plugins/access/account-rights.ts',
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
        file: 'plugins/invites/service.ts',
        find: 'new Set(caller.admin ? repeated.filter(',
        replace: 'new Set(true ? repeated.filter(',
      },
    ],
    tests: ['test/access/escalation.test.ts'],
  },
  {
    ids: [],
    fault: 'an invitation runs separate statements for each address',
    edits: [
      {
        file: 'plugins/invites/service.ts',
        find: "invited.map(({ id }) => ({ kind: 'invite', user: id, url: url ?? defaultUrl })),\n      'low',\n    );\n",
        replace:
          "[],\n    );\n    for (const { id } of invited) await mail.enqueueAll(tx, [{ kind: 'invite', user: id, url: url ?? defaultUrl }]);\n",
      },
    ],
    tests: ['test/invites/bulk.test.ts'],
  },
  {
    ids: [],
    fault: 'an invitation continues after the client disconnects',
    edits: [
      {
        file: 'plugins/server/client-info.ts',
        find: "  else response?.once('close', abort);\n",
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
        file: 'plugins/items/grant-checks.ts',
        find: '  if (!written.every((item) => isCovered(item, applied))) throw',
        replace:
          '  const all = applied.map(({ grant }) => ({ grant, keys: new Set(applied.flatMap(({ keys }) => [...keys])) }));\n  if (!written.every((item) => isCovered(item, all))) throw',
      },
    ],
    tests: ['test/access/matrix.test.ts'],
  },
  {
    ids: ['GHSA-p623-wgx3-wxp8'],
    fault: 'a forbidden change is written before it is rejected',
    edits: [
      {
        file: 'plugins/items/write-engine.ts',
        find: '      const isDangerous = touches(items, rules[name].carriesAdministrators);\n',
        replace:
          '      const isDangerous = touches(items, rules[name].carriesAdministrators);\n      for (const batch of sameColumns(items)) await updateRecords(db, collection, batch);\n',
      },
      {
        file: 'plugins/items/write-engine.ts',
        find: '    if (withheld !== undefined) throw forbidden(`You are not allowed to write ${withheld} of ${name}`);\n',
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
        file: 'plugins/access/account-rights.ts',
        find: '    if (!hasMoreRights({ policies, variables }, own)) continue;\n',
        replace: '    if (!hasMoreRights({ policies, variables }, own) || id !== null) continue;\n',
      },
    ],
    tests: ['test/access/escalation.test.ts'],
  },
  {
    ids: ['CVE-2026-55077'],
    fault: 'users who may update users can change administrators',
    edits: [
      {
        file: 'plugins/access/account-rights.ts',
        find: '  if (administrators.size > 0)\n',
        replace: '  if (administrators.size > 1000)\n',
      },
    ],
    tests: ['test/access/escalation.test.ts'],
  },
  {
    ids: ['GHSA-8xq9-g7ch-35hg'],
    fault: 'creating a user with an existing id replaces that user',
    edits: [
      {
        file: 'plugins/items/reference-checks.ts',
        find: '    if (existing.has(id))\n',
        replace: '    if (existing.has(id) && existing.size > 1000)\n',
      },
      {
        file: 'db/queries/items/writes.ts',
        find: '${recordset(collection, records)} r returning id`,',
        replace:
          "${recordset(collection, records)} r on conflict (id) do update set (${identifiers(columns)}) = row(${identifiers(columns, 'excluded')}) returning id`,",
      },
    ],
    tests: ['test/access/escalation.test.ts'],
  },
];
