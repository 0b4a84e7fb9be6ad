import { isObject, storedEmail, uuidPattern, withAsciiDomain } from '../../schemas/common.js';
import { type Operator, operatorsOf, type ValueType } from '../../schemas/operators.js';
import {
  collections,
  type Field,
  type RuledCollection,
  type RuledCollectionName,
  ruledCollections,
  type ValueField,
} from './collections.js';
import { forbiddenField, invalidQuery } from './invalid-query.js';
import { readMoment } from './timestamps.js';
import { resolveVariable, type Variables } from './variables.js';

/** A value that a column can be compared with. Timestamps are ISO 8601 texts. */
export type Scalar = string | number | boolean;

/** A parsed and validated filter: every name exists in the map of collections, and every value has the type of its field. */
export type Filter =
  | { kind: 'and' | 'or'; filters: readonly Filter[] }
  | { kind: 'compare'; field: string; operator: Operator; values: readonly Scalar[] }
  /** The related item that a key refers to. */
  | { kind: 'through'; field: string; filter: Filter }
  /** At least one, or none, of the items in a list. */
  | { kind: 'some' | 'none'; field: string; filter: Filter }
  /** The user whom this field names is in the reach of the caller. No query contains it, only what a caller may read. */
  | { kind: 'reachable'; field: string; reach: UserReach }
  /** A filter that matches nothing. `unresolved`: because a variable has no value in this request. */
  | { kind: 'never'; unresolved?: true };

/** The users whose rights do not exceed those of a caller: the caller, and the users who match both lists. */
export interface UserReach {
  self: string | null;
  /** The roles that a user may have; null: no role. */
  roles: readonly (string | null)[];
  /** The policies that a user may have of their own. */
  policies: readonly string[];
}

/** Permission to read these fields of the items that match the rule. */
export interface ReadGrant {
  fields: ReadonlySet<string> | '*';
  /** Null: all items. */
  rule: Filter | null;
  /** The ID of the permission that grants it. Absent: it does not come from a permission. */
  permission?: number;
}

/**
 * What a query may read. Grants add up: an item is visible if the rule of any grant matches it, and a field of the item is
 * visible if the rule of any grant that includes the field matches. Without grants, nothing is visible.
 */
export type AccessView = (collection: RuledCollectionName) => readonly ReadGrant[];

/** Gives access to everything: for administrators, and for the evaluation of rules. */
export const seesAll: AccessView = () => [{ fields: '*', rule: null }];

/** Whether the grants make every field of every item visible. */
export const coverEverything = (grants: readonly ReadGrant[]): boolean =>
  grants.some(({ fields, rule }) => fields === '*' && rule === null);

/** Whether a query may name a field at all, on any item. */
export const isReadable = (grants: readonly ReadGrant[], field: string): boolean =>
  grants.some(({ fields }) => fields === '*' || fields.has(field));

/** Whether the grants make every item visible, whatever it contains. */
export const coverAllItems = (grants: readonly ReadGrant[]): boolean => grants.some(({ rule }) => rule === null);

const maxDepth = 10;
const maxNodes = 1000;

/** Maximum number of conditions, and of values in them, in a filter. The groups around the conditions are not counted. */
export interface FilterLimits {
  conditions: number;
  values: number;
}

interface Context {
  access: AccessView;
  variables: Variables;
  limits: FilterLimits | null;
  counts: { nodes: number; conditions: number; values: number };
}

/**
 * Parses a filter.
 * @param input an object, or its JSON
 * @param limits null for rules, and for administrators
 * @throws {ApiError} INVALID_QUERY; FORBIDDEN for a field that does not exist or may not be read
 */
export function parseFilter(
  input: unknown,
  collection: RuledCollection,
  access: AccessView,
  variables: Variables,
  limits: FilterLimits | null = null,
): Filter {
  const context = { access, variables, limits, counts: { nodes: 0, conditions: 0, values: 0 } };
  return parseObject(typeof input === 'string' ? parseJson(input) : input, collection, context, 1);
}

/** Parses a stored rule. Null: there is no rule, so all items match. If the rule cannot be parsed, no item matches. */
export function ruleOf(
  stored: Record<string, unknown> | null,
  name: RuledCollectionName,
  variables: Variables,
): Filter | null {
  if (stored === null || Object.keys(stored).length === 0) return null;
  try {
    return parseFilter(stored, ruledCollections[name], seesAll, variables);
  } catch {
    return { kind: 'never' };
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidQuery('filter is not valid JSON');
  }
}

function parseObject(input: unknown, collection: RuledCollection, context: Context, depth: number): Filter {
  if (!isObject(input)) throw invalidQuery('A filter must be an object');
  if (depth > maxDepth) throw invalidQuery(`A filter can be at most ${maxDepth} levels deep`);
  const filters = Object.entries(input).map(([key, value]) => {
    if (++context.counts.nodes > maxNodes) throw invalidQuery(`A filter can have at most ${maxNodes} conditions`);
    if (key === '_and' || key === '_or') {
      const kind = key === '_and' ? ('and' as const) : ('or' as const);
      return { kind, filters: listOf(value, key).map((item) => parseObject(item, collection, context, depth + 1)) };
    }
    return parseField(key, value, collection, context, depth);
  });
  return filters.length === 1 && filters[0] ? filters[0] : { kind: 'and', filters };
}

/** In the bracket form, long lists are parsed as objects with numeric keys. */
function listOf(value: unknown, key: string): unknown[] {
  if (Array.isArray(value)) return value;
  if (isObject(value) && Object.keys(value).every((name) => /^\d+$/.test(name))) return Object.values(value);
  throw invalidQuery(`${key} must be a list of filters`);
}

function parseField(
  name: string,
  value: unknown,
  collection: RuledCollection,
  context: Context,
  depth: number,
): Filter {
  const field = collection.fields.get(name);
  if (!field || !isReadable(context.access(collection.name), name)) throw forbiddenField(collection.name, name);
  if (!isObject(value)) return parseCondition(name, field, '_eq', value, context);
  const filters: Filter[] = [];
  const nested: [string, unknown][] = [];
  for (const [key, part] of Object.entries(value)) {
    if (key === '_some' || key === '_none') {
      if (field.kind !== 'list') throw invalidQuery(`${name} does not support the operator ${key}`);
      const filter = parseObject(part, collections[field.target], context, depth + 1);
      // Negation must not turn a denied condition into an allowed one.
      if (key === '_none' && isUnresolved(filter)) filters.push(unresolved);
      else filters.push({ kind: key === '_some' ? 'some' : 'none', field: name, filter });
    } else if (key.startsWith('_') && key !== '_and' && key !== '_or') {
      filters.push(parseCondition(name, field, key, part, context));
    } else nested.push([key, part]);
  }
  if (nested.length > 0) {
    if (field.target === undefined) throw forbiddenField(collection.name, `${name}.${nested[0]?.[0]}`);
    const filter = parseObject(Object.fromEntries(nested), collections[field.target], context, depth + 1);
    filters.push({ kind: field.kind === 'list' ? 'some' : 'through', field: name, filter });
  }
  if (filters.length === 0) throw invalidQuery(`${name} requires an operator`);
  return filters.length === 1 && filters[0] ? filters[0] : { kind: 'and', filters };
}

const unresolved: Filter = { kind: 'never', unresolved: true };

function isUnresolved(filter: Filter): boolean {
  if ('filters' in filter) return filter.filters.some(isUnresolved);
  if ('filter' in filter) return isUnresolved(filter.filter);
  return filter.kind === 'never' && filter.unresolved === true;
}

function parseCondition(name: string, field: Field, key: string, value: unknown, context: Context): Filter {
  const operator = key.slice(1);
  if (field.kind === 'list' || !operatorsOf[field.type].some((known) => known === operator))
    throw invalidQuery(`${name} has no operator ${key.slice(0, 32)}`);
  return condition(name, field, operator as Operator, value, context);
}

/** Counts a condition with this number of values, and checks the limits. */
function countCondition({ limits, counts }: Context, values: number): void {
  counts.conditions++;
  counts.values += values;
  if (limits === null) return;
  if (counts.conditions > limits.conditions) {
    throw invalidQuery(`A filter can have at most ${limits.conditions} conditions`);
  }
  if (counts.values > limits.values) throw invalidQuery(`A filter can have at most ${limits.values} values`);
}

function condition(name: string, field: ValueField, operator: Operator, value: unknown, context: Context): Filter {
  const { variables } = context;
  const compare = (negatable: Operator, values: readonly Scalar[] = []): Filter => ({
    kind: 'compare',
    field: name,
    operator: negatable,
    values,
  });
  const opposite = { null: 'nnull', nnull: 'null', empty: 'nempty', nempty: 'empty' } as const;
  if (operator === 'null' || operator === 'nnull' || operator === 'empty' || operator === 'nempty') {
    countCondition(context, 0);
    return compare(flag(name, operator, value) ? operator : opposite[operator]);
  }
  const isMany = operator === 'in' || operator === 'nin' || operator === 'between' || operator === 'nbetween';
  if (isMany) {
    const listed = parseValues(name, operator, value);
    countCondition(context, listed.length);
    const given = listed.flatMap((item) => resolve(item, variables));
    // A variable without a value makes no condition true, not even a negative one.
    if (given.includes(null) || (given.length === 0 && listed.length > 0)) return unresolved;
    const values = given.map((item) => whole(field, scalar(name, field.type, item)));
    if (operator === 'between' || operator === 'nbetween') {
      if (values.length !== 2) throw invalidQuery(`${name}: _${operator} requires two values`);
    } else if (values.length === 0) return { kind: 'never' };
    return compare(operator, values);
  }
  countCondition(context, 1);
  const [first, ...rest] = resolve(value, variables);
  if (rest.length > 0) throw invalidQuery(`${name}: _${operator} accepts only one value`);
  if (first === null || first === undefined || first === 'null') {
    const isVariable = resolveVariable(value, variables) !== undefined;
    if (isVariable) return unresolved;
    if (operator === 'eq') return compare('null');
    if (operator === 'neq') return compare('nnull');
    throw invalidQuery(`${name}: _${operator} requires a value`);
  }
  if (operator === 'eq' && first === '')
    throw invalidQuery(`${name}: _eq requires a value. Use _empty to find empty text.`);
  const only = scalar(name, field.type, first);
  return compare(operator, [operator === 'eq' || operator === 'neq' ? whole(field, only) : partial(field, only)]);
}

/** The stored form of a value: UUIDs are in lower case, including in fields that may contain other text, and domains in ASCII. */
function whole(field: ValueField, value: Scalar): Scalar {
  if (field.folded) return storedEmail(String(value)) ?? value;
  return field.whole && uuidPattern.test(String(value)) ? String(value).toLowerCase() : value;
}

/** A part of a value in the form in which it is stored. */
const partial = (field: ValueField, value: Scalar): Scalar =>
  field.folded && typeof value === 'string' ? withAsciiDomain(value) : value;

/** The values of a variable, or the value itself if it is not a variable. */
function resolve(value: unknown, variables: Variables): unknown[] {
  const resolved = resolveVariable(value, variables);
  return resolved === undefined ? [value] : Array.isArray(resolved) ? [...resolved] : [resolved];
}

/** `_null`, `_empty` and similar operators accept true, false, or nothing, which means true. */
function flag(name: string, operator: string, value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw invalidQuery(`${name}: _${operator} must be true or false`);
}

const maxValues = 5000;

/** Several values: as a list, as a JSON list, or as CSV. */
function parseValues(name: string, operator: string, value: unknown): unknown[] {
  let list: unknown = value;
  if (typeof value === 'string') {
    if (value.trim() === '') return [];
    list = value.trimStart().startsWith('[') ? parseJson(value) : value.split(',').map((part) => part.trim());
  } else if (isObject(value)) list = listOf(value, `${name}: _${operator}`);
  else if (!Array.isArray(value)) list = [value];
  const values = list as unknown[];
  if (values.length === 0) throw invalidQuery(`${name}: _${operator} requires a non-empty list`);
  if (values.length > maxValues) throw invalidQuery(`${name}: _${operator} accepts at most ${maxValues} values`);
  return values;
}

/** Converts a value to the type of its field. Query strings contain only text, so `"true"` becomes a boolean for a boolean field. */
function scalar(name: string, type: ValueType, value: unknown): Scalar {
  const refuse = (what: string) => invalidQuery(`${name}: expected ${what}`);
  if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())) {
    throw refuse('a string without NUL characters or unpaired surrogates');
  }
  switch (type) {
    case 'text':
      if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
      throw refuse('a string');
    case 'uuid':
      if (typeof value === 'string' && uuidPattern.test(value)) return value.toLowerCase();
      throw refuse('a UUID');
    case 'boolean':
      if (value === true || value === 'true') return true;
      if (value === false || value === 'false') return false;
      throw refuse('true or false');
    case 'integer': {
      const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value;
      if (typeof number === 'number' && Number.isInteger(number) && Math.abs(number) <= 2_147_483_647) return number;
      throw refuse('an integer');
    }
    case 'timestamp': {
      const moment = typeof value === 'string' ? readMoment(value) : undefined;
      if (moment === undefined) throw refuse('a date such as 2026-01-31 or 2026-01-31T12:00:00Z');
      return moment;
    }
    case 'json':
      throw invalidQuery(`${name} cannot be compared with a value`);
  }
}
