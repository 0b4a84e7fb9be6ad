import { type Collection, fieldAt, type Operator } from '../../model/fields.js';
import { operators } from '../../model/operators.js';

/** A condition of a filter that the console can show in words and edit. */
export interface FieldCondition {
  /** The field, such as `status`, or a field of a related item, such as `role` and `parent`. */
  path: readonly string[];
  /** `some` and `none` are about lists of related items. */
  operator: Operator | 'some' | 'none';
  /** For `some` and `none`, the IDs of the items; an empty list means any item. */
  value: unknown;
  /** Whether items without a value match as well. */
  orEmpty?: boolean;
}

/** A part of a filter that the console shows as JSON, because it cannot describe it. */
interface JsonCondition {
  json: Readonly<Record<string, unknown>>;
}

/** A filter in the URL that is not a JSON object. It stays there until the user changes it. */
interface InvalidFilter {
  text: string;
}

export type Condition = FieldCondition | JsonCondition | InvalidFilter;

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isListOfTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');

/** The conditions of a filter, as in the URL. All of them must be met. */
export function readFilter(collection: Collection, text: string): Condition[] {
  if (text === '') return [];
  try {
    const filter: unknown = JSON.parse(text);
    return isObject(filter) ? conditionsIn(collection, filter) : [{ text }];
  } catch {
    return [{ text }];
  }
}

const conditionsIn = (collection: Collection, filter: Json): Condition[] =>
  Object.entries(filter).flatMap(([name, value]): Condition[] => {
    if (name === '_and' && Array.isArray(value) && value.every(isObject))
      return value.flatMap((part) => conditionsIn(collection, part));
    const orEmpty = name === '_or' ? orEmptyIn(collection, value) : undefined;
    if (orEmpty) return [orEmpty];
    return conditionsAt(collection, [name], value) ?? [{ json: { [name]: value } }];
  });

/** A condition that items without a value meet as well: `{"_or": [{"last_access": {"_lt": …}}, {"last_access": {"_null": true}}]}`. */
function orEmptyIn(collection: Collection, parts: unknown): FieldCondition | undefined {
  if (!Array.isArray(parts) || !parts.every(isObject)) return undefined;
  const [condition, empty, ...others] = parts.flatMap((part) => conditionsIn(collection, part));
  const isPair = condition && empty && isFieldCondition(condition) && isFieldCondition(empty) && others.length === 0;
  if (!isPair || parts.length !== 2 || empty.operator !== 'null' || condition.orEmpty) return undefined;
  const [name, ...below] = condition.path;
  return name === empty.path.join() && below.length === 0 ? { ...condition, orEmpty: true } : undefined;
}

/** The conditions on a field. Undefined: the console cannot describe all of them. */
function conditionsAt(collection: Collection, path: readonly string[], value: unknown): FieldCondition[] | undefined {
  const field = fieldAt(collection, path);
  if (!field?.filter) return undefined;
  if (!isObject(value)) return Array.isArray(value) ? undefined : listed(conditionOf(path, 'eq', value));
  const parts = Object.entries(value).map(([key, operand]) => {
    const operator = key.startsWith('_') ? key.slice(1) : undefined;
    if (operator === undefined)
      return field.type === 'relation' ? conditionsAt(collection, [...path, key], operand) : undefined;
    if (field.filter === 'items') {
      const ids = operator === 'some' || operator === 'none' ? idsIn(operand) : undefined;
      return ids && [{ path, operator: operator as 'some' | 'none', value: ids }];
    }
    const isKnown = (operators[field.filter ?? 'json'] as readonly string[]).includes(operator);
    return isKnown ? listed(conditionOf(path, operator as Operator, operand)) : undefined;
  });
  return parts.length > 0 && parts.every((part) => part !== undefined) ? parts.flat() : undefined;
}

const listed = (condition: FieldCondition | undefined): FieldCondition[] | undefined => condition && [condition];

const opposites: Partial<Record<Operator, Operator>> = {
  null: 'nnull',
  nnull: 'null',
  empty: 'nempty',
  nempty: 'empty',
};

function conditionOf(path: readonly string[], operator: Operator, operand: unknown): FieldCondition | undefined {
  const opposite = opposites[operator];
  if (opposite)
    return typeof operand === 'boolean' ? { path, operator: operand ? operator : opposite, value: true } : undefined;
  if (operand === null) {
    const meant = { eq: 'null', neq: 'nnull' }[operator as string] as Operator | undefined;
    return meant && { path, operator: meant, value: true };
  }
  if (operator === 'in' || operator === 'nin')
    return isListOfTexts(operand) ? { path, operator, value: operand } : undefined;
  if (operator === 'between' || operator === 'nbetween')
    return isListOfTexts(operand) && operand.length === 2 ? { path, operator, value: operand } : undefined;
  return ['string', 'number', 'boolean'].includes(typeof operand) ? { path, operator, value: operand } : undefined;
}

/** The IDs in the filter of a list: `{"id": {"_in": […]}}`. An empty list: any item. */
function idsIn(filter: unknown): string[] | undefined {
  if (!isObject(filter)) return undefined;
  const names = Object.keys(filter);
  if (names.length === 0) return [];
  const { id } = filter;
  if (names.length > 1 || id === undefined) return undefined;
  if (typeof id === 'string') return [id];
  if (!isObject(id) || Object.keys(id).length !== 1) return undefined;
  if (isListOfTexts(id._in)) return id._in;
  if (typeof id._eq === 'string') return [id._eq];
  return id._nnull === true ? [] : undefined;
}

export const isFieldCondition = (condition: Condition): condition is FieldCondition => 'path' in condition;

/** A filter, as the API expects it, in a URL or a body. Undefined: there are no conditions. */
export function writeFilter(conditions: readonly Condition[]): Json | string | undefined {
  const invalid = conditions.find((condition): condition is InvalidFilter => 'text' in condition);
  if (invalid) return invalid.text;
  const parts = conditions.map(partOf);
  const names = parts.flatMap(Object.keys);
  if (names.length === 0) return undefined;
  return new Set(names).size === names.length ? Object.assign({}, ...parts) : { _and: parts };
}

/** The same, as text for the URL. */
export function filterText(conditions: readonly Condition[]): string | undefined {
  const filter = writeFilter(conditions);
  return typeof filter === 'object' ? JSON.stringify(filter) : filter;
}

function partOf(condition: Condition): Json {
  if ('text' in condition) return {};
  if ('json' in condition) return condition.json;
  const { path, operator, value, orEmpty } = condition;
  const operand = operator === 'some' || operator === 'none' ? itemsFilter(value as string[]) : value;
  const at = (comparison: Json): Json => path.reduceRight((inner, name) => ({ [name]: inner }), comparison);
  const part = at({ [`_${operator}`]: operand });
  return orEmpty ? { _or: [part, at({ _null: true })] } : part;
}

const itemsFilter = (ids: readonly string[]): Json => ({ id: ids.length > 0 ? { _in: ids } : { _nnull: true } });
