import { type ArrayOptions, type Static, type TSchema, Type } from '@sinclair/typebox';
import { Closed, named } from './common.js';
import { refusedWith } from './validation.js';

/**
 * The envelopes of the requests for items: which parameters and keys there are, and their types. The service validates field names,
 * filters, and the values of items, because their errors depend on the permissions of the caller.
 */

const integer = (name: string, minimum: number, description: string, example: number) =>
  Type.Optional(
    refusedWith(
      'INVALID_QUERY',
      `${name} must be an integer of at least ${minimum}`,
      Type.Integer({ minimum, maximum: Number.MAX_SAFE_INTEGER, description, examples: [example] }),
    ),
  );

/** Where a list starts, and how long it is. */
export const paging = {
  limit: integer(
    'limit',
    -1,
    'The maximum number of items to return. `-1` returns all items, up to `QUERY_LIMIT_MAX`.',
    10,
  ),
  offset: integer('offset', 0, 'The number of items to skip.', 20),
  page: integer(
    'page',
    0,
    'The number of the page to return, starting at 1. Each page contains `limit` items. Takes precedence over `offset`.',
    1,
  ),
  cursor: Type.Optional(
    refusedWith(
      'INVALID_QUERY',
      'cursor must be the next_cursor of another response',
      Type.String({
        description:
          'The `next_cursor` of the previous page. The list continues after the last item of that page. Use the same `sort` as for that page. `offset` and `page` are not allowed.',
      }),
    ),
  ),
};

const listOf = <T extends TSchema>(item: T, reason: string, options: ArrayOptions = {}) =>
  refusedWith(
    'INVALID_QUERY',
    reason,
    Type.Array(refusedWith('INVALID_QUERY', reason, item), { maxItems: 1000, ...options }),
  );

/** A parameter with a list of names. In a URL, the names are comma-separated or the parameter is repeated. */
export const NameList = (parameter: string, options?: ArrayOptions) =>
  Type.Optional(
    listOf(Type.String(), `${parameter} must be a comma-separated string or a list of at most 1000 names`, options),
  );

const Meta = Type.Optional(
  listOf(
    Type.Unsafe<'total_count' | 'filter_count' | 'cursor' | '*'>({
      enum: ['total_count', 'filter_count', 'cursor', '*'],
    }),
    'meta can contain only total_count, filter_count, cursor or *',
  ),
);

/** The query of a request for one item. */
export const ItemQuery = Type.Object({ fields: NameList('fields'), meta: Meta }, { convertsText: true });

/** The query of a request for several items, in a URL or in a body. */
export const ListQuery = refusedWith(
  'INVALID_PAYLOAD',
  'query must be an object',
  Type.Object(
    {
      ...ItemQuery.properties,
      ...paging,
      filter: Type.Optional(Type.Unknown()),
      search: Type.Optional(refusedWith('INVALID_QUERY', 'search must be a string', Type.String())),
      sort: NameList('sort'),
      aggregate: Type.Optional(
        refusedWith(
          'INVALID_QUERY',
          'aggregate must contain functions with their fields, such as aggregate[count]=*',
          Type.Object(
            {
              count: NameList('aggregate[count]'),
              countDistinct: NameList('aggregate[countDistinct]'),
              min: NameList('aggregate[min]'),
              max: NameList('aggregate[max]'),
            },
            { convertsText: true },
          ),
        ),
      ),
      groupBy: NameList('groupBy'),
    },
    // A body may also contain values in the form that they have in a URL.
    { convertsText: true },
  ),
);
export type ListQuery = Static<typeof ListQuery>;

export const exportFormats = ['csv', 'ndjson'] as const;
export type ExportFormat = (typeof exportFormats)[number];

const exported = 'The items as a file. Sent with `export`.';
export const CsvExport = named(
  'CsvExport',
  Type.String({ description: exported, examples: ['id,name\r\n8c2e9f0a-5b1d-4e3c-9a47-6d0f1b2c3e4d,Editor\r\n'] }),
);
export const NdjsonExport = named(
  'NdjsonExport',
  Type.String({
    description: exported,
    examples: ['{"id":"8c2e9f0a-5b1d-4e3c-9a47-6d0f1b2c3e4d","name":"Editor"}\n'],
  }),
);

/** The parameter with which a list is returned as a file. */
export const exporting = {
  export: Type.Optional(
    refusedWith(
      'INVALID_QUERY',
      `export can be ${exportFormats.join(' or ')}`,
      Type.Unsafe<ExportFormat>(
        Type.Union(
          exportFormats.map((format) => Type.Literal(format)),
          {
            description:
              'Returns the items as a file: as CSV, or as one JSON object per line. With `limit=-1`, the file contains all items. It cannot be combined with `aggregate` or `meta`.',
          },
        ),
      ),
    ),
  ),
};

/** The query of a list in a URL. */
export const ListRequest = Type.Object({ ...ListQuery.properties, ...exporting }, { convertsText: true });

const Item = Type.Unsafe<Record<string, unknown>>({ type: 'object' });
const Keys = Type.Array(Type.Unknown());
const NamedKeys = refusedWith('INVALID_PAYLOAD', 'keys must be a list of keys', Keys);

const searchReason = 'The body must be an object, and its query, if any, must be an object.';

export const SearchBody = refusedWith(
  'INVALID_PAYLOAD',
  searchReason,
  Type.Object({ query: Type.Optional(refusedWith('INVALID_PAYLOAD', searchReason, ListQuery)) }),
);

/** One item, a list of items, or `{data: [items]}`. */
export const CreateBody = Type.Union([Item, Type.Array(Type.Unknown())]);
export type CreateBody = Static<typeof CreateBody>;

export const UpdateBody = refusedWith('INVALID_PAYLOAD', 'An item must be an object', Item);

export const UpdateManyBody = refusedWith(
  'INVALID_PAYLOAD',
  'An update must be {keys, data}, {query, data}, or a list of items',
  Type.Union([
    Closed({ keys: NamedKeys, data: Item }),
    Closed({ query: ListQuery, data: Item }),
    Type.Array(
      refusedWith('INVALID_PAYLOAD', 'Each item of a list must have an id', Type.Object({ id: Type.Unknown() })),
    ),
  ]),
);
export type UpdateManyBody = Static<typeof UpdateManyBody>;

export const DeleteBody = refusedWith(
  'INVALID_PAYLOAD',
  'A deletion must be a list of keys, {keys}, or {query}',
  Type.Union([Keys, Closed({ keys: NamedKeys }), Closed({ query: ListQuery })]),
);
export type DeleteBody = Static<typeof DeleteBody>;
