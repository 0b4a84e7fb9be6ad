import { type Collection, type Field, fieldOf } from '../../model/fields.js';
import { type Filter, isCollection } from './rule.js';

/** A condition on a field, which the console shows in words. */
export interface FieldCondition {
  /** The field, or the path to a field of a related item, such as `role.name`. */
  path: string;
  operator: Operator;
  value: unknown;
}

/** A condition that the console cannot show in words. It remains as it is. */
export interface JsonCondition {
  json: Filter;
}

export type Condition = FieldCondition | JsonCondition;

/** Conditions of which all, or any, must be met. */
export interface Conditions {
  mode: 'all' | 'any';
  list: readonly Condition[];
}

const withoutValue = ['null', 'nnull', 'empty', 'nempty'] as const;
const membership = ['in', 'nin'] as const;
const order = ['lt', 'lte', 'gt', 'gte'] as const;
const textual = ['icontains', 'contains', 'istarts_with', 'starts_with', 'iends_with', 'ends_with'] as const;

const operators = ['eq', 'neq', ...membership, ...withoutValue, ...order, ...textual] as const;
export type Operator = (typeof operators)[number];

const isOneOf = <T extends string>(list: readonly T[], value: string): value is T =>
  (list as readonly string[]).includes(value);

export const needsValue = (operator: Operator): boolean => !isOneOf(withoutValue, operator);
export const needsList = (operator: Operator): boolean => isOneOf(membership, operator);

/** The operators that the API has for a field. */
export function operatorsFor({ type }: Field): readonly Operator[] {
  if (type === 'boolean') return ['eq', 'null', 'nnull'];
  if (type === 'list' || type === 'json') return ['null', 'nnull'];
  if (type === 'relations') return [];
  const equality = ['eq', 'neq', ...membership, 'null', 'nnull'] as const;
  if (type === 'time' || type === 'number') return [...order, ...equality];
  return type === 'text' ? [...equality, 'empty', 'nempty', ...textual] : equality;
}

/** The field at the end of a path. */
export function fieldAt(collection: string, path: string): Field | undefined {
  const [name = '', ...rest] = path.split('.');
  const field = isCollection(collection) ? fieldOf(collection, name) : undefined;
  if (rest.length === 0 || !field) return field;
  return field.type === 'relation' ? fieldAt(field.collection ?? '', rest.join('.')) : undefined;
}

/** The collection of the items whose IDs a field contains. */
export function targetOf(collection: string, path: string): Collection | undefined {
  const field = fieldAt(collection, path);
  if (!field) return undefined;
  if (field.type === 'relation') return field.collection as Collection;
  if (field.name !== 'id') return undefined;
  const parent = path.includes('.')
    ? fieldAt(collection, path.slice(0, path.lastIndexOf('.')))?.collection
    : collection;
  return parent as Collection | undefined;
}

const isObject = (value: unknown): value is Filter =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function readFilter(collection: string, filter: Filter | null): Conditions {
  const { _or: any } = filter ?? {};
  if (Array.isArray(any) && any.length > 1 && any.every(isObject) && Object.keys(filter ?? {}).length === 1) {
    const list = any.map((part) => {
      const conditions = conditionsIn(collection, part);
      return conditions.length === 1 && conditions[0] ? conditions[0] : { json: part };
    });
    return { mode: 'any', list };
  }
  return { mode: 'all', list: conditionsIn(collection, filter ?? {}) };
}

const conditionsIn = (collection: string, filter: Filter): Condition[] =>
  Object.entries(filter).flatMap(([name, value]): Condition[] => {
    if (name === '_and' && Array.isArray(value) && value.length > 0 && value.every(isObject))
      return value.flatMap((part) => conditionsIn(collection, part));
    return conditionsAt(collection, name, value) ?? [{ json: { [name]: value } }];
  });

/** The conditions on a field. Undefined: at least one of them cannot be shown in words. */
function conditionsAt(collection: string, path: string, value: unknown): FieldCondition[] | undefined {
  const field = fieldAt(collection, path);
  if (!field || !isObject(value)) return undefined;
  const parts = Object.entries(value).map(([key, operand]) => {
    if (!key.startsWith('_'))
      return field.type === 'relation' ? conditionsAt(collection, `${path}.${key}`, operand) : undefined;
    const operator = key.slice(1);
    const isShown =
      isOneOf(operatorsFor(field), operator) && (needsValue(operator) ? isValue(operator, operand) : operand === true);
    return isShown ? [{ path, operator, value: operand }] : undefined;
  });
  return parts.length > 0 && parts.every((part) => part !== undefined) ? parts.flat() : undefined;
}

function isValue(operator: Operator, value: unknown): boolean {
  const isText = typeof value === 'string';
  if (!needsList(operator)) return isText || typeof value === 'number' || typeof value === 'boolean';
  return (isText && value.startsWith('$')) || (Array.isArray(value) && value.every((one) => typeof one === 'string'));
}

export const isFieldCondition = (condition: Condition): condition is FieldCondition => 'path' in condition;

/** @returns null for no conditions */
export function writeFilter({ mode, list }: Conditions): Filter | null {
  const parts = list.map((condition) =>
    isFieldCondition(condition)
      ? condition.path
          .split('.')
          .reduceRight<Filter>((inner, name) => ({ [name]: inner }), { [`_${condition.operator}`]: condition.value })
      : condition.json,
  );
  const [first] = parts;
  if (first === undefined) return null;
  if (parts.length === 1) return first;
  return mode === 'any' ? { _or: parts } : { _and: parts };
}

/** The IDs in the conditions, by the collection of the items that they belong to. */
export function idsIn(collection: string, filter: Filter | null): { target: Collection; id: string }[] {
  return readFilter(collection, filter)
    .list.filter(isFieldCondition)
    .flatMap(({ path, value }) => {
      const target = targetOf(collection, path);
      const values = (Array.isArray(value) ? value : [value]) as unknown[];
      const ids = values.filter((one): one is string => typeof one === 'string' && !one.startsWith('$'));
      return target ? ids.map((id) => ({ target, id })) : [];
    });
}

/** A time before or after now, such as `$NOW(-1 day)`. */
export interface Offset {
  amount: number;
  unit: (typeof units)[number];
}
export const units = ['minutes', 'hours', 'days', 'weeks', 'months', 'years'] as const;

/** @returns undefined if the value is not a time relative to now, or has a form that the console does not write */
export function readOffset(value: unknown): Offset | undefined {
  if (value === '$NOW') return { amount: 0, unit: 'days' };
  const [, digits = '', word = ''] = /^\$NOW\(([+-]?\d{1,9}) ([a-z]+)\)$/.exec(String(value)) ?? [];
  const unit = units.find((one) => one === word || one === `${word}s`);
  return unit && { amount: Number(digits), unit };
}

export const writeOffset = ({ amount, unit }: Offset): string => (amount === 0 ? '$NOW' : `$NOW(${amount} ${unit})`);
