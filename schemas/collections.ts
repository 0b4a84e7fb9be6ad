import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { Closed, Nullable, named } from './common.js';
import { relation, relationOf } from './filters.js';
import { queryOn, withMeta } from './query.js';

/** The schemas of the read operations. All but the URL queries are named components of the OpenAPI document. */
export interface ReadSchemas {
  itemQuery: TSchema;
  listQuery: TSchema;
  searchBody: TSchema;
  /** One item. */
  response: TSchema;
  /** Several items. */
  listResponse: TSchema;
  /** The response to a query: items or, with `aggregate`, result rows. */
  queryResponse: TSchema;
}

/** The schemas of the read and write operations. */
export interface CollectionSchemas extends ReadSchemas {
  createBody: TSchema;
  createResponse: TSchema;
  updateBody: TSchema;
  updateManyBody: TSchema;
  deleteBody: TSchema;
  /** The response to a dry run of a deletion. */
  deleteResponse: TSchema;
}

interface ReadDefinition {
  /** `User` */
  one: string;
  /** `Users` */
  many: string;
  /** The fields of an item in a response. */
  properties: TProperties;
  /** Further fields, which a response contains only if the query names them, and which nothing else in a query can name. */
  onRequest?: TProperties;
  description: string;
  /** An example of an item. */
  example: { id: string | number } & Record<string, unknown>;
  /** An example of a filter on the items. */
  filterExample: object;
}

/** The read schemas of a collection, and the query schemas that its write schemas are built from. */
function describedReads({
  one,
  many,
  properties,
  onRequest = {},
  description,
  example,
  filterExample,
}: ReadDefinition) {
  const query = queryOn(one, properties, filterExample);
  const item = named(one, {
    ...Type.Partial(Closed({ ...properties, ...onRequest }, { description })),
    examples: [example],
  });
  const schemas: ReadSchemas = {
    itemQuery: query.item,
    listQuery: query.list,
    searchBody: named(
      `Search${many}Body`,
      Type.Object(
        { query: Type.Optional(query.body) },
        { description: 'A query.', examples: [{ query: { filter: filterExample, sort: ['-id'], limit: 10 } }] },
      ),
    ),
    response: named(`${one}Response`, withMeta(item, example)),
    listResponse: named(`${one}ListResponse`, withMeta(Type.Array(item), [example])),
    queryResponse: named(
      `${one}QueryResponse`,
      withMeta(Type.Union([Type.Array(item), Type.Array(query.aggregate)]), [example]),
    ),
  };
  return { query, schemas };
}

/** The schemas of a read-only collection. */
export const readSchemas = (definition: ReadDefinition): ReadSchemas => describedReads(definition).schemas;

/** The same fields, for items on which permission rules can hide them: a hidden field is null, but a hidden `id` is left out. */
export const orHidden = ({ id, ...fields }: TProperties): TProperties => ({
  ...(id && { id }),
  ...Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [
      name,
      isNullable(schema) ? schema : ({ ...Nullable(schema), [relation]: relationOf(schema) } as TSchema),
    ]),
  ),
});

const isNullable = ({ anyOf = [] }: TSchema): boolean => anyOf.some(({ type }: TSchema) => type === 'null');

/**
 * The schemas of a collection that can be read and written.
 * @param input the writable fields of an item
 * @param inputExample an example of a new item
 */
export function collectionSchemas({
  input,
  updateOnly,
  createdOnly,
  isForAdministrators,
  key,
  inputExample,
  ...read
}: ReadDefinition & {
  input: TObject;
  /** Properties that an update of one item accepts in addition to its fields. */
  updateOnly?: TProperties;
  /** Properties that the response to a creation contains in addition to the fields of the item. */
  createdOnly?: TProperties;
  /** Whether only administrators can read the items. No field is ever hidden from them. */
  isForAdministrators?: true;
  key: TSchema;
  inputExample: Record<string, unknown>;
}): CollectionSchemas {
  const { one, many, example } = read;
  const { query, schemas } = describedReads(
    isForAdministrators
      ? read
      : {
          ...read,
          properties: orHidden(read.properties),
          description: `${read.description} If you can read a field on other items but not on this one, the field is null. \`id\` is omitted instead of being null.`,
        },
  );
  const createdItem =
    createdOnly &&
    named(`Created${one}`, {
      ...Type.Partial(Closed({ ...read.properties, ...createdOnly }, { description: `A new ${one.toLowerCase()}.` })),
      examples: [example],
    });
  const response = createdItem ? withMeta(createdItem, example) : schemas.response;
  const listResponse = createdItem ? withMeta(Type.Array(createdItem), [example]) : schemas.listResponse;

  const created = named(`New${one}`, {
    ...input,
    description: `The fields of the new ${one.toLowerCase()}.`,
    examples: [inputExample],
  });
  const { id: _id, ...changeable } = input.properties;
  const changed = Type.Partial(Type.Object(changeable, { additionalProperties: false }));
  const changes = named(`${one}Changes`, {
    ...changed,
    description: 'The fields to change. Other fields remain unchanged.',
    examples: [inputExample],
  });
  const keyed = named(`${one}ChangesById`, {
    ...Type.Object({ id: key, ...changed.properties }, { additionalProperties: false }),
    description: 'The ID of the item and the fields to change.',
    examples: [{ id: example.id, ...inputExample }],
  });
  const keys = Type.Array(key, { description: 'The IDs of the items.' });

  return {
    ...schemas,
    createBody: named(
      `Create${many}Body`,
      Type.Union([created, Type.Array(created), Closed({ data: Type.Array(created) })], {
        description: 'The item or items to create.',
        examples: [inputExample, [inputExample]],
      }),
    ),
    createResponse: named(
      `Create${many}Response`,
      Type.Union([response, listResponse], {
        description: 'The created item, or a list of the created items if the request contained a list.',
        examples: [{ data: example }],
      }),
    ),
    updateBody:
      updateOnly === undefined
        ? changes
        : named(`Update${one}Body`, {
            ...Type.Object({ ...changed.properties, ...updateOnly }, { additionalProperties: false }),
            description: 'The fields to change. Other fields remain unchanged.',
            examples: [inputExample],
          }),
    updateManyBody: named(
      `Update${many}Body`,
      Type.Union([Closed({ keys, data: changes }), Closed({ query: query.body, data: changes }), Type.Array(keyed)], {
        description:
          'Either one set of changes for all items that are listed in `keys` or selected by `query`, or a list of items, each with its ID and its own changes.',
        examples: [{ keys: [example.id], data: inputExample }],
      }),
    ),
    deleteBody: named(
      `Delete${many}Body`,
      Type.Union([keys, Closed({ keys }), Closed({ query: query.body })], {
        description: 'The items to delete: their keys, or a query that selects them.',
        examples: [[example.id], { keys: [example.id] }],
      }),
    ),
    deleteResponse: named(
      `Delete${many}Response`,
      Closed(
        { data: keys, meta: Closed({ dry_run: Type.Literal(true, { description: 'Nothing was deleted.' }) }) },
        { examples: [{ data: [example.id], meta: { dry_run: true } }] },
      ),
    ),
  };
}
