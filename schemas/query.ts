import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { Closed, Nullable, named } from './common.js';

/** A parameter that is CSV, or given several times. */
const names = (description: string, example: string) =>
  Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())], { description, examples: [example] }));

const fields = names(
  'The fields to return; `*`, or nothing, means all. Relations go by dots: `role.name`, `policies.*`.',
  'id,email',
);
const meta = names('`total_count`, `filter_count`, or `*`.', 'filter_count');

/** A filter: conditions by field and operator, and `_and`, `_or` of filters (contract 3). */
export const Filter = named(
  'Filter',
  Type.Object(
    {},
    {
      additionalProperties: true,
      description:
        'Conditions, all of which must hold: `{field: {operator: value}}`, for relations `{role: {name: {…}}}` and `{policies: {_some: {…}}}`; `_and` and `_or` take lists of filters.',
      examples: [{ status: { _eq: 'active' }, email: { _ends_with: '@example.com' } }],
    },
  ),
);

/** One item: which fields of it. */
export const ItemQuery = Type.Object({ fields, meta });
export type ItemQuery = Static<typeof ItemQuery>;

const selection = {
  sort: names('The fields to sort by, a leading `-` for descending.', '-last_access,email'),
  search: Type.Optional(
    Type.String({ description: 'Text to look for in the fields that may be read, in any letter case.' }),
  ),
  groupBy: names('With `aggregate`: the fields to group by.', 'status'),
};

const aggregate = Type.Optional(
  Type.Partial(
    Type.Object({
      count: Type.Union([Type.String(), Type.Array(Type.String())]),
      countDistinct: Type.Union([Type.String(), Type.Array(Type.String())]),
      min: Type.Union([Type.String(), Type.Array(Type.String())]),
      max: Type.Union([Type.String(), Type.Array(Type.String())]),
    }),
    { description: 'Functions over the items, instead of the items: `aggregate[count]=*`.' },
  ),
);

const count = (minimum: number, description: string) => Type.Optional(Type.Integer({ minimum, description }));
const paging = {
  limit: count(-1, 'How many items at the most; -1 for all.'),
  offset: count(0, 'How many items to skip.'),
  page: count(0, 'Which page, from 1 on, of `limit` items each; goes before `offset`.'),
};

/** Many items, by the parameters of the URL. */
export const ListQuery = Type.Object({
  fields,
  filter: Type.Optional(
    Type.Union([Filter, Type.String()], {
      description: 'A filter, in brackets (`filter[status][_eq]=active`) or as JSON.',
    }),
  ),
  ...selection,
  ...paging,
  aggregate,
  meta,
});

/** Many items, by a body. */
export const SearchBody = named(
  'SearchBody',
  Type.Object({
    query: Type.Optional(
      Type.Object({ fields, filter: Type.Optional(Filter), ...selection, ...paging, aggregate, meta }),
    ),
  }),
);

export const Meta = named(
  'Meta',
  Closed(
    {
      total_count: Type.Optional(Type.Integer({ description: 'How many items there are to be seen.' })),
      filter_count: Type.Optional(Type.Integer({ description: 'How many of them match the filter and the search.' })),
    },
    { description: 'What was asked for by `meta`.' },
  ),
);

const optionalMeta = { meta: Type.Optional(Meta) } satisfies TProperties;

export const ItemResponse = <T extends Parameters<typeof Type.Array>[0]>(item: T) =>
  Closed({ data: item, ...optionalMeta });
export const ListResponse = <T extends Parameters<typeof Type.Array>[0]>(item: T) =>
  Closed({ data: Type.Array(item), ...optionalMeta });

/** A row of results of `aggregate`: the fields that it is grouped by, and the functions. */
const AggregateRow = named(
  'AggregateRow',
  Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'The fields of `groupBy`, and for each function a number or a value by field.',
      examples: [{ status: 'active', count: 6 }],
    },
  ),
);

/** What a query answers: items or, with `aggregate`, rows of results. */
export const QueryResponse = <T extends Parameters<typeof Type.Array>[0]>(item: T) =>
  Closed({ data: Type.Union([Type.Array(item), Type.Array(AggregateRow)]), ...optionalMeta });

/** A field that points to an item: its key, or the item when fields of it are asked for. */
export const Related = <Key extends Parameters<typeof Type.Array>[0]>(key: Key, target: string) =>
  Nullable(Type.Union([key, Type.Unsafe<Record<string, unknown>>({ $ref: `${target}#` })]));

/** A field that lists items: their keys, or the items. */
export const RelatedList = <Key extends Parameters<typeof Type.Array>[0]>(
  key: Key,
  target: string,
  description: string,
) => Type.Array(Type.Union([key, Type.Unsafe<Record<string, unknown>>({ $ref: `${target}#` })]), { description });
