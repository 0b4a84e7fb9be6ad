import { type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { Closed, Nullable, named } from './common.js';
import { type Operator, operatorsOf, type ValueType } from './operators.js';

/** Marks a schema as a relation: what it leads to, and whether it lists several items. */
export const relation = Symbol('relation');

export interface Relation {
  target: string;
  isList: boolean;
}

/** The relation that a field is, if it is one. */
export const relationOf = (schema: TSchema): Relation | undefined =>
  (schema as { [relation]?: Relation })[relation] ?? undefined;

const uuid = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}';

/** What fields of each type are compared with. JSON is not compared with anything. */
const operands: Readonly<Record<Exclude<ValueType, 'json'>, TSchema>> = {
  text: Type.String(),
  uuid: Type.String({
    pattern: `^(${uuid}|\\$CURRENT_(USER|ROLE|ROLES|POLICIES))$`,
    description: 'A UUID, or one of `$CURRENT_USER`, `$CURRENT_ROLE`, `$CURRENT_ROLES` and `$CURRENT_POLICIES`.',
  }),
  boolean: Type.Boolean(),
  timestamp: Type.String({
    pattern: '^(\\d{4}-\\d{2}-\\d{2}|\\$NOW)',
    description: 'A time in ISO 8601, in UTC unless it has an offset; or `$NOW`, `$NOW(-1 day)`.',
  }),
  integer: Type.Integer({ minimum: -2_147_483_647, maximum: 2_147_483_647 }),
};

const meanings: Readonly<Record<Operator, string>> = {
  eq: 'Is this; null: is null.',
  neq: 'Is anything but this, and not null; null: is not null.',
  in: 'Is one of these.',
  nin: 'Is none of these values, and not null.',
  null: 'Is null; with `false`: is not.',
  nnull: 'Is not null; with `false`: is.',
  empty: 'Is null or empty text; with `false`: is not.',
  nempty: 'Is neither null nor empty text; with `false`: is.',
  contains: 'Contains this, in this letter case.',
  ncontains: 'Does not contain this, in this letter case.',
  icontains: 'Contains this, in any letter case.',
  starts_with: 'Starts with this, in this letter case.',
  nstarts_with: 'Does not start with this, in this letter case.',
  istarts_with: 'Starts with this, in any letter case.',
  nistarts_with: 'Does not start with this, in any letter case.',
  ends_with: 'Ends with this, in this letter case.',
  nends_with: 'Does not end with this, in this letter case.',
  iends_with: 'Ends with this, in any letter case.',
  niends_with: 'Does not end with this, in any letter case.',
  lt: 'Is before or less than this.',
  lte: 'Is this, or before or less than it.',
  gt: 'Is after or more than this.',
  gte: 'Is this, or after or more than it.',
  between: 'Is between these two, or one of them.',
  nbetween: 'Is not between these two, nor one of them.',
};

function operand(operator: Operator, value: TSchema | undefined): TSchema {
  const description = meanings[operator];
  if (operator === 'null' || operator === 'nnull' || operator === 'empty' || operator === 'nempty' || !value)
    return Type.Boolean({ description });
  if (operator === 'in' || operator === 'nin') return Type.Array(value, { minItems: 1, maxItems: 5000, description });
  if (operator === 'between' || operator === 'nbetween')
    return Type.Array(value, { minItems: 2, maxItems: 2, description });
  if (operator === 'eq' || operator === 'neq') return { ...Nullable(value), description };
  return { ...value, description };
}

const pascalCase = (word: string) => `${word[0]?.toUpperCase()}${word.slice(1)}`;

/** For each type, the conditions that its fields can be held to: operators with what they take, or a value to be equal to. */
const conditions = Object.fromEntries(
  Object.entries(operatorsOf).map(([type, operators]) => {
    const value = type === 'json' ? undefined : operands[type as keyof typeof operands];
    const entries = operators.map((name) => [`_${name}`, Type.Optional(operand(name, value))] as const);
    const closed = Closed(Object.fromEntries(entries) as TProperties, {
      description: `Conditions on a field of type ${type}. All of them must be true.`,
    });
    const all = named(`${pascalCase(type)}Operators`, { ...closed, minProperties: 1 });
    if (!value) return [type, all];
    const description = `A condition on a field of type ${type}; a value alone stands for \`_eq\`.`;
    return [type, named(`${pascalCase(type)}Condition`, Type.Union([value, Type.Null(), all], { description }))];
  }),
) as unknown as Record<ValueType, TSchema>;

/** The type of a field's value, from the schema that it is answered by. */
export function valueTypeOf(schema: TSchema): ValueType {
  const [first = schema] = ((schema.anyOf as TSchema[] | undefined) ?? [schema]).filter(({ type }) => type !== 'null');
  if (first.anyOf) return valueTypeOf(first);
  if (first.format === 'uuid') return 'uuid';
  if (first.format === 'date-time') return 'timestamp';
  if (first.type === 'boolean' || first.type === 'integer') return first.type;
  return first.type === 'object' || first.type === 'array' ? 'json' : 'text';
}

/**
 * The filter on a collection: for each field the conditions of its type, for a relation the filter on what
 * it leads to, and `_and`, `_or` of filters.
 */
export function filterOn(item: string, properties: TProperties): TSchema {
  const self = Type.Unsafe({ $ref: `${item}Filter#` });
  const fields = Object.entries(properties).map(([name, schema]) => {
    const { target, isList } = relationOf(schema) ?? {};
    if (target === undefined) return [name, conditions[valueTypeOf(schema)]] as const;
    const related = Type.Unsafe({ $ref: `${target}Filter#` });
    if (isList) return [name, Type.Unsafe({ $ref: `${target}ListFilter#` })] as const;
    return [name, Type.Union([conditions.uuid, related])] as const;
  });
  named(
    `${item}ListFilter`,
    Type.Union([
      Type.Partial(
        Closed({
          _some: { ...self, description: 'At least one related item matches this filter.' },
          _none: { ...self, description: 'No related item matches this filter.' },
        }),
      ),
      self,
    ]),
  );
  return named(
    `${item}Filter`,
    Type.Partial(
      Closed(
        {
          ...(Object.fromEntries(fields) as TProperties),
          _and: Type.Array(self, { description: 'All of these filters must match.' }),
          _or: Type.Array(self, { description: 'At least one of these filters must match.' }),
        },
        { description: 'Conditions by field. All of them must be true.' },
      ),
    ),
  );
}

/** Whether a field can be grouped by, and counted by its values. */
export const isComparable = (schema: TSchema): boolean =>
  relationOf(schema) ? !relationOf(schema)?.isList : valueTypeOf(schema) !== 'json';

/** Whether a field has a least and a greatest value. */
export const isOrdered = (schema: TSchema): boolean =>
  !relationOf(schema) && ['text', 'timestamp', 'integer'].includes(valueTypeOf(schema));
