import type { Mutation } from './mutation.js';

/** What queries may cost. */
export const queryCost: readonly Mutation[] = [
  {
    ids: [],
    fault: 'a filter has as many conditions and values as it likes',
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
    fault: 'a list has as many rows as are asked for',
    edits: [
      {
        file: 'plugins/items/query-limits.ts',
        find: 'maximum: mostRows ?? defaultMaximum,',
        replace: 'maximum: mostRows ?? (defaultMaximum > 0 ? null : 0),',
      },
    ],
    tests: ['test/items/cost.test.ts'],
  },
  {
    ids: [],
    fault: 'aggregate and groupBy have as many columns as are asked for',
    edits: [{ file: 'plugins/items/query-limits.ts', find: 'columns: 20,', replace: 'columns: null,' }],
    tests: ['test/items/cost.test.ts'],
  },
  {
    ids: [],
    fault: 'a name in aggregate is counted as often as it is given',
    edits: [
      {
        file: 'db/query-language/query.ts',
        find: 'return [...new Set(parseNames(`aggregate[${known}]`, fields))].map(',
        replace: 'return parseNames(`aggregate[${known}]`, fields).map(',
      },
    ],
    tests: ['test/items/cost.test.ts'],
  },
  {
    ids: [],
    fault: 'the query of a write selects any number of items',
    edits: [
      {
        file: 'plugins/items/write-requests.ts',
        find: 'const most = Math.min(maxBatch, limits.maximum ?? maxBatch);',
        replace: 'const most = maxBatch;',
      },
    ],
    tests: ['test/items/cost.test.ts'],
  },
  {
    ids: [],
    fault: 'the items inside rows are not counted',
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
    fault: 'a relation is read for every row',
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
    fault: 'long values are read whatever they come to',
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
    fault: 'what is behind a relation is written out for every row',
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
    fault: 'a caller holds all connections',
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
    fault: 'PostgreSQL works on when the request has been told no',
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
    fault: 'what is null in the sort is left out after the first page',
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
    fault: 'a cursor is taken for any sort',
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
    fault: 'the link to the next page repeats the token',
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
    fault: 'the embedded database evaluates any filter at once',
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
    fault: 'the number of items is lost where values are counted too',
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
    fault: 'each part of a long list reads its relations again',
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
    fault: 'QUERY_TIMEOUT stops what is cleared away every hour',
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
