import { type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { Closed, Nullable, named } from './common.js';
import { filterOn, isComparable, isOrdered, type Relation, relation, relationOf } from './filters.js';
import { exporting, paging } from './item-requests.js';

/** A field that refers to an item: its key or, if fields of it are requested, the item. */
export const Related = (description: string, target: string): TSchema => ({
  ...Type.Union([Type.String({ format: 'uuid' }), Type.Unsafe({ $ref: `${target}#` }), Type.Null()], { description }),
  [relation]: { target, isList: false } satisfies Relation,
});

/** A field that lists items: their keys or, if fields of them are requested, the items. */
export const RelatedList = (key: TSchema, target: string, description: string): TSchema => ({
  ...Type.Array(Type.Union([key, Type.Unsafe({ $ref: `${target}#` })]), { description }),
  [relation]: { target, isList: true } satisfies Relation,
});

export const Meta = named(
  'Meta',
  Closed(
    {
      total_count: Type.Optional(Type.Integer({ description: 'The number of items that you can read.' })),
      filter_count: Type.Optional(
        Type.Integer({
          description: 'The number of items that you can read and that match the filter and the search.',
        }),
      ),
      next_cursor: Type.Optional(
        Nullable(Type.String({ description: 'The `cursor` of the next page. Null on the last page.' })),
      ),
      dry_run: Type.Optional(Type.Literal(true, { description: 'Nothing was changed.' })),
    },
    {
      description: 'The values requested with `meta`, and `dry_run` if nothing was changed.',
      examples: [{ filter_count: 2 }],
    },
  ),
);

const MetaName = named(
  'MetaName',
  Type.Union([Type.Literal('total_count'), Type.Literal('filter_count'), Type.Literal('cursor'), Type.Literal('*')], {
    description:
      'A count to return with the items, or the cursor of the next page. `*` returns both counts, but not the cursor.',
  }),
);

/** A parameter with a list of names. In a URL, the names are comma-separated or the parameter is repeated. */
export const list = (item: TSchema, description: string, example: string[]) =>
  Type.Optional(Type.Array(item, { description, examples: [example] }));

const meta = list(MetaName, 'The counts to return with the items, and whether to return `next_cursor`.', [
  'filter_count',
]);

const anyOfNames = (names: string[]) => Type.Union(names.map((name) => Type.Literal(name)));

/** A path through up to five relations. The pattern does not list the fields of related items; the service checks them. */
const nested = (first: string[], last: string) => `(${first.join('|')})(\\.[a-z_]+){0,4}\\.${last}`;

/** One or more names, as a list or comma-separated. */
const oneOrMore = (name: TSchema) => Type.Optional(Type.Array(name));

/**
 * The query schemas of a collection, built from the names and types of its fields.
 * @param one the name of an item in the OpenAPI document, such as `User`
 * @param properties the fields of an item in a response
 * @param example an example of a filter
 */
export function queryOn(one: string, properties: TProperties, example: object) {
  const names = Object.keys(properties);
  const having = (matches: (schema: TSchema) => boolean) =>
    names.filter((name) => matches(properties[name] as TSchema));
  const relations = having((schema) => relationOf(schema) !== undefined);
  const singular = having((schema) => relationOf(schema)?.isList === false);
  const sortable = having((schema) => !relationOf(schema)?.isList);
  const comparable = anyOfNames(having(isComparable));

  const field = named(
    `${one}Field`,
    Type.Union(
      [anyOfNames([...names, '*']), Type.String({ pattern: `^${nested([...relations, '\\*'], '([a-z_]+|\\*)')}$` })],
      {
        description:
          'The name of a field, `*` for all fields, or a field of a related item, such as `role.name` or `policies.*`.',
      },
    ),
  );
  const sortKeys = [
    anyOfNames([...sortable, ...sortable.map((name) => `-${name}`)]),
    ...(singular.length > 0 ? [Type.String({ pattern: `^-?${nested(singular, '[a-z_]+')}$` })] : []),
  ];
  const sortKey = named(
    `${one}SortKey`,
    Type.Union(sortKeys, {
      description:
        'A field to sort by, which can also belong to a related item, such as `role.name`. A leading `-` sorts in descending order.',
    }),
  );
  const aggregation = named(
    `${one}Aggregation`,
    Type.Object(
      {
        count: oneOrMore(anyOfNames([...sortable, '*'])),
        countDistinct: oneOrMore(comparable),
        min: oneOrMore(anyOfNames(having(isOrdered))),
        max: oneOrMore(anyOfNames(having(isOrdered))),
      },
      {
        additionalProperties: false,
        minProperties: 1,
        description: 'The aggregate functions to apply, each with its fields. `*` counts the items.',
        examples: [{ count: ['*'] }],
      },
    ),
  );
  const filter = filterOn(one, properties, example);

  const fields = list(field, 'The fields to return. By default, all fields that you can read.', ['id']);
  const parameters = {
    fields,
    filter: Type.Optional(filter),
    search: Type.Optional(
      Type.String({
        maxLength: 255,
        description: 'The text to search for in the fields that you can read. Letter case is ignored.',
        examples: ['ada'],
      }),
    ),
    sort: list(sortKey, 'The fields to sort by, in order of priority.', ['-id']),
    ...paging,
    aggregate: Type.Optional(aggregation),
    groupBy: list(comparable, 'The fields to group the results of `aggregate` by.', ['id']),
    meta,
  };

  return {
    /** For one item, in a URL. */
    item: Type.Object({ fields, meta }),
    /** For many items, in a URL. */
    list: Type.Object({ ...parameters, ...exporting }),
    /** For many items, in a body. */
    body: named(
      `${one}Query`,
      Type.Object(parameters, {
        description: 'The items to select and the fields to return.',
        examples: [{ filter: example, sort: ['-id'], limit: 10 }],
      }),
    ),
    filter,
    aggregate: aggregateOf(one, properties),
  };
}

const byField = (value: TSchema) => Type.Record(Type.String(), value);

/** A result row of `aggregate`: the fields that it is grouped by, and the results of the functions. */
function aggregateOf(one: string, properties: TProperties): TSchema {
  const grouped = Object.entries(properties)
    .filter(([, schema]) => isComparable(schema))
    .map(([name, schema]) => [name, relationOf(schema) ? Nullable(Type.String({ format: 'uuid' })) : schema] as const);
  const counted =
    'For `*`, the number of items. For fields, an object with the number of non-null values of each field. If you request both, the object contains the number of items under the key `*`.';
  return named(
    `${one}Aggregate`,
    Type.Partial(
      Closed(
        {
          ...(Object.fromEntries(grouped) as TProperties),
          count: Type.Union([Type.Integer(), byField(Type.Integer())], { description: counted }),
          countDistinct: { ...byField(Type.Integer()), description: 'The number of distinct values of each field.' },
          min: { ...byField(Type.Unknown()), description: 'The smallest value of each field.' },
          max: { ...byField(Type.Unknown()), description: 'The largest value of each field.' },
        },
        {
          description: 'The values of the `groupBy` fields and the results of the aggregate functions.',
          examples: [{ count: 6 }],
        },
      ),
    ),
  );
}

/** The response to a query: the items and, if requested, `meta`. */
export const withMeta = (data: TSchema, example: unknown) =>
  Closed({ data, meta: Type.Optional(Meta) }, { examples: [{ data: example }] });
