import type { Mutation } from './mutation.js';

/** The cost of queries. */
export const queryCost: readonly Mutation[] = [
  {
    ids: [],
    fault: 'a filter can have any number of conditions and values',
    edits: [
      {
        file: 'db/query-language/filter.ts',
        find: '  if (limits === null) return;\n',
        replace: '  if (limits === null || counts) return;\n',
      },
    ],
    tests: ['test/items/cost.test.ts'],
  },
  {
    ids: [],
    fault: 'a list can have any number of rows',
    edits: [
      {
        file: 'plugins/items/query-limits.ts',
        find: 'maximum: maxRows ?? defaultMaximum,',
        replace: 'maximum: maxRows ?? (defaultMaximum > 0 ? null : 0),',
      },
    ],
    tests: ['test/items/cost.test.ts'],
  },
  {
    ids: [],
    fault: 'aggregate and groupBy can have any number of columns',
    edits: [{ file: 'plugins/items/query-limits.ts', find: 'columns: 20,', replace: 'columns: null,' }],
    tests: ['test/items/cost.test.ts'],
  },
  {
    ids: [],
    fault: 'a repeated name in aggregate counts more than once',
    edits: [
      {
        file: 'db/query-language/query.ts',
        find: 'return [...new Set(fields)].map(',
        replace: 'return fields.map(',
      },
    ],
    tests: ['test/items/cost.test.ts'],
  },
  {
    ids: [],
    fault: 'the query of a write can select more items than the row limit allows',
    edits: [
      {
        file: 'plugins/items/write-requests.ts',
        find: 'const maxItems = Math.min(maxBatch, limits.maximum ?? maxBatch);',
        replace: 'const maxItems = maxBatch;',
      },
    ],
    tests: ['test/items/cost.test.ts'],
  },
  {
    ids: [],
    fault: 'related items inside rows are not counted',
    edits: [
      {
        file: 'db/queries/items/items.ts',
        find: '  if (limits.listed === null) return;\n',
        replace: '  if (limits.listed === null || weights) return;\n',
      },
    ],
    tests: ['test/items/response-size.test.ts'],
  },
  {
    ids: [],
    fault: 'a relation is read separately for every row',
    edits: [
      {
        file: 'db/queries/items/items.ts',
        find: 'const missing = keys.filter((key) => !found.has(key));',
        replace: 'const missing = keys;',
      },
      {
        file: 'db/queries/items/items.ts',
        find: '    const related = await readByKeys(reading, collections[field.target], subtree, [...keys]);\n',
        replace:
          '    const related: Awaited<ReturnType<typeof readByKeys>> = new Map();\n    for (const item of found) {\n      const own = [item[name] ?? []].flat() as Key[];\n      for (const one of await readByKeys(reading, collections[field.target], subtree, own)) related.set(...one);\n    }\n',
      },
    ],
    tests: ['test/items/response-size.test.ts'],
  },
  {
    ids: [],
    fault: 'long values are read regardless of their total size',
    edits: [
      {
        file: 'db/queries/items/items.ts',
        find: '  if ((sum?.bytes ?? 0) > limits.bytes) throw tooLarge(limits);\n',
        replace: '',
      },
    ],
    tests: ['test/items/response-size.test.ts'],
  },
  {
    ids: [],
    fault: 'related items that repeat in many rows can exceed the maximum response size',
    edits: [
      {
        file: 'db/queries/items/items.ts',
        find: '    if (bytes > limits.bytes) throw tooLarge(limits);\n',
        replace: '',
      },
    ],
    tests: ['test/items/response-size.test.ts'],
  },
  {
    ids: [],
    fault: 'one caller can hold all connections',
    edits: [
      {
        file: 'db/postgres/pool.ts',
        find: 'createShares(Math.max(1, Math.floor(max / 2)))',
        replace: 'createShares(max)',
      },
    ],
    tests: ['test/items/connections.test.ts'],
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'PostgreSQL keeps running a query after its request has timed out',
    edits: [
      {
        file: 'db/postgres/pool.ts',
        find: 'if (now < deadline || !query.state) continue;',
        replace: 'continue;',
      },
    ],
    tests: ['test/items/connections.test.ts'],
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'items with null in a sort field are missing after the first page',
    edits: [
      {
        file: 'db/queries/items/items.ts',
        find: 'return isNeverNull(compiler, row, path, value) ? greater',
        replace: 'return path ? greater',
      },
    ],
    tests: ['test/items/cursor.test.ts'],
  },
  {
    ids: [],
    fault: 'a cursor is accepted with a different sort',
    edits: [
      {
        file: 'plugins/items/cursors.ts',
        find: '`${name} ${nameOfSort(sort)}`',
        replace: '(sort ? name : nameOfSort(sort))',
      },
    ],
    tests: ['test/items/cursor.test.ts'],
  },
  {
    ids: [],
    fault: 'the link to the next page contains the access token',
    edits: [
      {
        file: 'routes/items/definition.ts',
        find: '/^(fields|filter|search|sort|limit|meta)\\b/.test(name)',
        replace: "name !== 'cursor'",
      },
    ],
    tests: ['test/items/cursor.test.ts'],
  },
  {
    ids: [],
    fault: 'the embedded database evaluates a costly filter in one statement',
    edits: [
      {
        file: 'plugins/items/index.ts',
        find: 'isEmbedded ? createCostlyQueries',
        replace: '!isEmbedded ? createCostlyQueries',
      },
    ],
    tests: ['test/items/others-wait.test.ts'],
  },
  {
    ids: [],
    fault: 'the item count is missing when values are also counted',
    edits: [
      {
        file: 'db/queries/items/items.ts',
        find: 'if (field === null && !countsValues) item[name] = value;',
        replace: 'if (field === null) item[name] = value;',
      },
    ],
    tests: ['test/items/query-language.test.ts'],
  },
  {
    ids: [],
    fault: 'each part of a long list reads the same relations again',
    edits: [
      {
        file: 'db/queries/items/items.ts',
        find: 'const missing = keys.filter((key) => !found.has(key));',
        replace: 'const missing = keys;',
      },
    ],
    tests: ['test/items/response-size.test.ts'],
  },
  {
    ids: [],
    fault: 'QUERY_TIMEOUT stops the hourly cleanup',
    edits: [
      {
        file: 'db/postgres/pool.ts',
        find: '    if (isMaintenance) return query;\n',
        replace: '',
      },
    ],
    tests: ['test/items/connections.test.ts'],
    engine: 'postgres',
  },
];
