import { type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { Closed, Nullable, named } from './common.js';
import { type Operator, operatorsOf, type ValueType } from './operators.js';

/** Marks a schema as a relation, with its target and whether it is a list. */
export const relation = Symbol('relation');

export interface Relation {
  target: string;
  isList: boolean;
}

/** The relation that a field represents, if any. */
export const relationOf = (schema: TSchema): Relation | undefined =>
  (schema as { [relation]?: Relation })[relation] ?? undefined;

const uuid = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}';

/** The values that fields of each type are compared with. JSON fields cannot be compared. */
const operands: Readonly<Record<Exclude<ValueType, 'json'>, TSchema>> = {
  text: Type.String(),
  uuid: Type.String({
    pattern: `^(${uuid}|\\$CURRENT_(USER|ROLE|ROLES|POLICIES))$`,
    description:
      'A UUID, or one of the variables `$CURRENT_USER`, `$CURRENT_ROLE`, `$CURRENT_ROLES`, and `$CURRENT_POLICIES`.',
  }),
  boolean: Type.Boolean(),
  timestamp: Type.String({
    pattern: '^(\\d{4}-\\d{2}-\\d{2}|\\$NOW)',
    description:
      'A time in ISO 8601 format (UTC unless it includes an offset), or `$NOW`, which can include an adjustment: `$NOW(-1 day)`.',
  }),
  integer: Type.Integer({ minimum: -2_147_483_647, maximum: 2_147_483_647 }),
};

const meanings: Readonly<Record<Operator, string>> = {
  eq: 'The field equals this value, or both are null.',
  neq: 'The field is not null and differs from this value.',
  in: 'The field equals one of these values.',
  nin: 'The field is not null and differs from all of these values.',
  null: 'With `true`, the field is null. With `false`, it is not null.',
  nnull: 'With `true`, the field is not null. With `false`, it is null.',
  empty: 'With `true`, the field is null or an empty string. With `false`, it is neither.',
  nempty: 'With `true`, the field is neither null nor an empty string. With `false`, it is one of the two.',
  contains: 'The field contains this text (case-sensitive).',
  ncontains: 'The field does not contain this text (case-sensitive).',
  icontains: 'The field contains this text (case-insensitive).',
  starts_with: 'The field starts with this text (case-sensitive).',
  nstarts_with: 'The field does not start with this text (case-sensitive).',
  istarts_with: 'The field starts with this text (case-insensitive).',
  nistarts_with: 'The field does not start with this text (case-insensitive).',
  ends_with: 'The field ends with this text (case-sensitive).',
  nends_with: 'The field does not end with this text (case-sensitive).',
  iends_with: 'The field ends with this text (case-insensitive).',
  niends_with: 'The field does not end with this text (case-insensitive).',
  lt: 'The field is less than this value or, for timestamps, earlier.',
  lte: 'The field is less than or equal to this value or, for timestamps, not later.',
  gt: 'The field is greater than this value or, for timestamps, later.',
  gte: 'The field is greater than or equal to this value or, for timestamps, not earlier.',
  between: 'The field is between these two values or equals one of them.',
  nbetween: 'The field is not between these two values and equals neither of them.',
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

/** The conditions for each type of field: operators with their operands, or a value that the field must equal. */
const conditions = Object.fromEntries(
  Object.entries(operatorsOf).map(([type, operators]) => {
    const value = type === 'json' ? undefined : operands[type as keyof typeof operands];
    const entries = operators.map((name) => [`_${name}`, Type.Optional(operand(name, value))] as const);
    const closed = Closed(Object.fromEntries(entries) as TProperties, {
      description: `The conditions on a field of type ${type}. All of them must be met.`,
    });
    const all = named(`${pascalCase(type)}Operators`, { ...closed, minProperties: 1 });
    if (!value) return [type, all];
    const description = `A condition on a field of type ${type}. A plain value is shorthand for \`_eq\`.`;
    return [type, named(`${pascalCase(type)}Condition`, Type.Union([value, Type.Null(), all], { description }))];
  }),
) as unknown as Record<ValueType, TSchema>;

/** The type of a field's value, derived from its response schema. */
export function valueTypeOf(schema: TSchema): ValueType {
  const [first = schema] = ((schema.anyOf as TSchema[] | undefined) ?? [schema]).filter(({ type }) => type !== 'null');
  if (first.anyOf) return valueTypeOf(first);
  if (first.format === 'uuid') return 'uuid';
  if (first.format === 'date-time') return 'timestamp';
  if (first.type === 'boolean' || first.type === 'integer') return first.type;
  return first.type === 'object' || first.type === 'array' ? 'json' : 'text';
}

/**
 * The filter on a collection: for each field, the conditions of its type; for each relation, the filter on its target; and
 * `_and` and `_or`, which combine filters.
 */
export function filterOn(item: string, properties: TProperties, example: object): TSchema {
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
        { description: 'The conditions for each field. All of them must be met.', examples: [example] },
      ),
    ),
  );
}

/** Whether a query can group by the field and count its distinct values. */
export const isComparable = (schema: TSchema): boolean =>
  relationOf(schema) ? !relationOf(schema)?.isList : valueTypeOf(schema) !== 'json';

/** Whether a field has a minimum and a maximum. */
export const isOrdered = (schema: TSchema): boolean =>
  !relationOf(schema) && ['text', 'timestamp', 'integer'].includes(valueTypeOf(schema));
