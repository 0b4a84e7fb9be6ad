import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { Closed, named } from './common.js';
import { queryOn, withMeta } from './query.js';

/** All that crosses the wire of a collection; what is not a query goes by a name of its own in the document. */
export interface CollectionSchemas {
  itemQuery: TSchema;
  listQuery: TSchema;
  searchBody: TSchema;
  /** One item. */
  response: TSchema;
  /** Several items. */
  listResponse: TSchema;
  /** What a query answers: items or, with `aggregate`, rows of results. */
  queryResponse: TSchema;
  createBody: TSchema;
  createResponse: TSchema;
  updateBody: TSchema;
  updateManyBody: TSchema;
  deleteBody: TSchema;
}

/**
 * The schemas of a collection, from those of its items.
 * @param one `User`
 * @param many `Users`
 * @param properties what an item is answered with
 * @param input what is written of an item
 * @param example of an item
 * @param inputExample of an item to be created
 */
export function collectionSchemas({
  one,
  many,
  properties,
  input,
  key,
  description,
  example,
  inputExample,
}: {
  one: string;
  many: string;
  properties: TProperties;
  input: TObject;
  key: TSchema;
  description: string;
  example: { id: string | number } & Record<string, unknown>;
  inputExample: Record<string, unknown>;
}): CollectionSchemas {
  const query = queryOn(one, properties);
  const item = named(one, { ...Type.Partial(Closed(properties, { description })), examples: [example] });
  const response = named(`${one}Response`, withMeta(item, example));
  const listResponse = named(`${one}ListResponse`, withMeta(Type.Array(item), [example]));
  const aggregates = Type.Array(query.aggregate);

  const created = named(`New${one}`, {
    ...input,
    description: `What makes a new item of ${many.toLowerCase()}.`,
    examples: [inputExample],
  });
  const { id: _id, ...changeable } = input.properties;
  const changes = named(`${one}Changes`, {
    ...Type.Partial(Type.Object(changeable, { additionalProperties: false })),
    description: 'The fields to change; the others stay as they are.',
    examples: [inputExample],
  });
  const keyed = named(`${one}ChangesById`, {
    ...Type.Object({ id: key, ...Type.Partial(Type.Object(changeable)).properties }, { additionalProperties: false }),
    description: 'An item by its id, and the fields of it to change.',
    examples: [{ id: example.id, ...inputExample }],
  });
  const keys = Type.Array(key, { description: 'The keys of the items.' });

  return {
    itemQuery: query.item,
    listQuery: query.list,
    searchBody: named(
      `Search${many}Body`,
      Type.Object(
        { query: Type.Optional(query.body) },
        { description: 'A query, as long as it must be.', examples: [{ query: { limit: 10 } }] },
      ),
    ),
    response,
    listResponse,
    queryResponse: named(`${one}QueryResponse`, withMeta(Type.Union([Type.Array(item), aggregates]), [example])),
    createBody: named(
      `Create${many}Body`,
      Type.Union([created, Type.Array(created), Closed({ data: Type.Array(created) })], {
        description: 'One new item, or several.',
        examples: [inputExample, [inputExample]],
      }),
    ),
    createResponse: named(
      `Create${many}Response`,
      Type.Union([response, listResponse], {
        description: 'One item when one was given, a list when a list was given.',
        examples: [{ data: example }],
      }),
    ),
    updateBody: changes,
    updateManyBody: named(
      `Update${many}Body`,
      Type.Union([Closed({ keys, data: changes }), Closed({ query: query.body, data: changes }), Type.Array(keyed)], {
        description:
          'The same changes for the items with these keys, or for those that a query selects; or a list of items, each with its id and changes of its own.',
        examples: [{ keys: [example.id], data: inputExample }],
      }),
    ),
    deleteBody: named(
      `Delete${many}Body`,
      Type.Union([keys, Closed({ keys }), Closed({ query: query.body })], {
        description: 'The items with these keys, or those that a query selects.',
        examples: [[example.id], { keys: [example.id] }],
      }),
    ),
  };
}
