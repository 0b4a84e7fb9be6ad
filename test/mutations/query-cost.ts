import type { Mutation } from './mutation.js';

/** The cost of queries. */
export const queryCost: readonly Mutation[] = [
  {
    ids: [],
    fault: 'a filter can have any number of conditions and values',
    edits: [
      {
        find: 'if (limits === null) return;',
        replace: 'if (limits === null || counts) return;',
      },
    ],
    tests: ['test/items/cost.test.ts'],
  },
  {
    ids: [],
    fault: 'a list can have any number of rows',
    edits: [
      {
        in: 'createQueryLimits',
        find: 'maximum: maxRows ?? defaultMaximum,',
        replace: 'maximum: maxRows ?? (defaultMaximum > 0 ? null : 0),',
      },
    ],
    tests: ['test/items/cost.test.ts'],
  },
  {
    ids: [],
    fault: 'aggregate and groupBy can have any number of columns',
    edits: [{ in: 'createQueryLimits', find: 'columns: 20,', replace: 'columns: null,' }],
    tests: ['test/items/cost.test.ts'],
  },
  {
    ids: [],
    fault: 'a repeated name in aggregate counts more than once',
    edits: [
      {
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
        find: 'if (limits.listed === null) return;',
        replace: 'if (limits.listed === null || weights) return;',
      },
    ],
    tests: ['test/items/response-size.test.ts'],
  },
  {
    ids: [],
    fault: 'a relation is read separately for every row',
    edits: [
      {
        find: 'const missing = keys.filter((key) => !found.has(key));',
        replace: 'const missing = keys;',
      },
      {
        find: 'const related = await readByKeys(reading, collections[field.target], subtree, [...keys]);',
        replace:
          'const related: Awaited<ReturnType<typeof readByKeys>> = new Map();\nfor (const item of found) {\nconst own = [item[name] ?? []].flat() as Key[];\nfor (const one of await readByKeys(reading, collections[field.target], subtree, own)) related.set(...one);\n}',
      },
    ],
    tests: ['test/items/response-size.test.ts'],
  },
  {
    ids: [],
    fault: 'long values are read regardless of their total size',
    edits: [
      {
        find: 'if ((sum?.bytes ?? 0) > limits.bytes) throw tooLarge(limits);',
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
        in: 'readItems',
        find: 'if (bytes > limits.bytes) throw tooLarge(limits);',
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
        in: 'itemsPlugin',
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
        in: 'withTimeLimit',
        find: 'if (isMaintenance) return query;',
        replace: '',
      },
    ],
    tests: ['test/items/connections.test.ts'],
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'made up names fill a cache for good',
    edits: [{ find: '    kept.set(name, value);', replace: '    if (kept.size < max) kept.set(name, value);' }],
    tests: ['test/db/bounded-cache.test.ts'],
  },
  {
    ids: [],
    fault: 'made up statements keep out those in use for good',
    edits: [{ find: 'if (seen.delete(text)) {', replace: 'if (prepared.size < max && seen.delete(text)) {' }],
    tests: ['test/db/prepared.test.ts'],
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'made up statements pile up on a connection',
    edits: [{ find: '|| isCluttered(connection))', replace: '|| (isCluttered(connection) && isClosing))' }],
    tests: ['test/db/prepared.test.ts'],
    engine: 'postgres',
  },
  {
    ids: [],
    fault: 'users without a role are not found by what their role lacks',
    edits: [
      {
        find: 'return filter.filters.every(needsItem);',
        replace: 'return filter.filters.some(needsItem);',
      },
    ],
    tests: ['test/items/known-keys.test.ts'],
  },
  {
    ids: [],
    fault: 'each condition on a role costs a statement',
    edits: [{ find: ' || left === 0) return part;', replace: ') return part;' }],
    tests: ['test/items/known-keys.test.ts'],
  },
  {
    ids: [],
    fault: 'HEAD exports a list',
    edits: [
      {
        find: "if (request.method === 'HEAD') throw new ApiError('INVALID_QUERY', { reason: 'export is only possible with GET' });",
        replace: '',
      },
    ],
    tests: ['test/items/export.test.ts'],
  },
  {
    ids: [],
    fault: 'a search reads the last access of every user who matches',
    edits: [{ find: 'row.readsBesideLast = readsBesideLast && row.beside === undefined;', replace: '' }],
    tests: ['test/users/last-access.test.ts'],
  },
];
