import type { Mutation } from './mutation.js';

/** What queries may ask, and who may do what. */
export const queriesAndRights: readonly Mutation[] = [
  {
    ids: ['CVE-2023-27481', 'CVE-2024-34708', 'CVE-2026-35442', 'CVE-2023-22894', 'GHSA-2m6g-crv8-p3c6'],
    fault: 'a secret that is shown as asterisks is compared as it is',
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
    fault: 'the password is a field like any other',
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
    fault: 'a search looks into secrets, too',
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
    fault: 'the audit log keeps what was written',
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
    fault: 'a variable that stands for nothing is no condition',
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
    fault: 'an empty list is no condition',
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
    fault: 'the number of all there is is told to everybody',
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
    fault: 'a name that is no field goes into the statement as a column',
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
    fault: 'who may invite may invite to any role',
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
    fault: 'who may invite gets a link to an account with more rights by inviting its user again',
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
    fault: 'anyone who may write the status of a user can make an invited one of a user with more rights',
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
    fault: 'who repeats an invitation changes the role of the user',
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
    fault: 'each address of an invitation costs statements of its own',
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
    fault: 'an invitation goes on when nobody waits for the response',
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
    fault: 'fields that one permission grants of some rows are granted of all that another has',
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
    fault: 'what is refused was done already',
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
    fault: 'who may change users may change the password of any',
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
    fault: 'administrators are changed by who may change users',
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
    fault: 'who is made with an id that is in use takes the place of who has it',
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
