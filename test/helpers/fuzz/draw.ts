import fc from 'fast-check';
import type { OpenApiDocument } from '../openapi/document.js';

/** Draws a value from an arbitrary. Drawn values can be shrunk. */
export type Draw = fc.GeneratorValue;

/** The parts of JSON Schema that the document uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  format?: string;
  pattern?: string;
  examples?: unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

/** The ids, addresses, and tokens that exist in the world for which requests are created. */
export interface Known {
  ids: string[];
  emails: string[];
  texts: string[];
}

/** Beyond this depth, values stop nesting as soon as possible. */
const depthOfFilters = 4;

const oneOf = <T>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

/** Draws a value that a schema of the document allows. */
export function drawValid(draw: Draw, document: OpenApiDocument, known: Known) {
  const resolve = (schema: Schema): Schema =>
    schema.$ref === undefined
      ? schema
      : resolve((document.components.schemas as Record<string, Schema>)[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  const pick = <T>(values: readonly T[]): T => draw(oneOf<T>, ...values);
  const chance = (percent: number) => draw(fc.integer, { min: 1, max: 100 }) <= percent;

  const text = ({ format, pattern, minLength = 0, maxLength = 40 }: Schema): string => {
    if (format === 'uuid') return chance(80) ? pick(known.ids) : draw(fc.uuid);
    if (format === 'email') return chance(50) ? pick(known.emails) : draw(fc.emailAddress);
    if (format === 'date-time') return draw(fc.date, { noInvalidDate: true }).toISOString();
    if (pattern !== undefined) return draw(fc.stringMatching, new RegExp(pattern));
    if (chance(50)) return pick([...known.texts, ...known.emails, ...known.ids]);
    return draw(fc.string, { unit: 'grapheme', minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)) });
  };

  const value = (given: Schema, depth = 0): unknown => {
    const schema = resolve(given);
    if (schema.examples && chance(20)) return pick(schema.examples);
    if (schema.enum) return pick(schema.enum);
    if (schema.anyOf) {
      const flat = schema.anyOf.map(resolve).filter(({ properties, items, anyOf }) => !properties && !items && !anyOf);
      return value(pick(depth > depthOfFilters && flat.length > 0 ? flat : schema.anyOf), depth + 1);
    }
    const type = Array.isArray(schema.type) ? pick(schema.type) : schema.type;
    switch (type) {
      case 'string':
        return text(schema);
      case 'integer':
        return draw(fc.integer, { min: schema.minimum ?? -3, max: schema.maximum ?? 100 });
      case 'number':
        return draw(fc.double, { min: schema.minimum ?? -3, max: schema.maximum ?? 100, noNaN: true });
      case 'boolean':
        return chance(50);
      case 'null':
        return null;
      case 'array': {
        const { minItems = 0, maxItems = 3, items = {} } = schema;
        const most = depth > depthOfFilters ? minItems : Math.max(minItems, Math.min(maxItems, minItems + 3));
        return Array.from({ length: draw(fc.integer, { min: minItems, max: most }) }, () => value(items, depth + 1));
      }
      case 'object':
        return object(schema, depth);
      default:
        return draw(fc.jsonValue, { maxDepth: 2 });
    }
  };

  const object = ({ properties = {}, required = [], additionalProperties }: Schema, depth: number) => {
    const isWanted = (name: string) =>
      required.includes(name) || (depth <= depthOfFilters && chance(depth > 0 ? 15 : 30));
    const names = Object.keys(properties).filter(isWanted);
    const entries = names.map((name): [string, unknown] => [name, value(properties[name] ?? {}, depth + 1)]);
    if (typeof additionalProperties === 'object' && depth <= depthOfFilters && chance(30)) {
      entries.push([draw(fc.string, { minLength: 1, maxLength: 8 }), value(additionalProperties, depth + 1)]);
    }
    return Object.fromEntries(entries);
  };

  return { value, pick, chance };
}

/** Values that clients should never send, but sometimes do. */
const hostile: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  1e308,
  '',
  ' ',
  '0',
  'null',
  '*',
  '**********',
  '\0',
  '\ud800',
  'a\u202eb\r\nSet-Cookie: a=b',
  '😀'.repeat(300),
  'a'.repeat(20_000),
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  "' or 1=1 --",
  '%00%ff%c0%ae',
  '$CURRENT_USER',
  '$CURRENT_USER.role.name',
  '$NOW(-1 year)',
  '0000-00-00T00:00:00Z',
  '-292277026596-12-31',
  '00000000-0000-0000-0000-000000000000',
  'https://evil.example/?token=x',
  'javascript:alert(1)',
  '(a+)+$',
  [],
  {},
  [[]],
  [null],
  { '': '' },
  JSON.parse('{"__proto__": {"admin_access": true}}'),
  { _and: [] },
  { _or: [{ _and: [{ id: { _in: [] } }] }] },
  { id: { _eq: { _eq: 1 } } },
  { role: { policies: { policy: { permissions: { policy: { _nnull: true } } } } } },
  Array.from({ length: 200 }, () => 'id'),
  Array.from({ length: 60 }).reduce((inner: unknown) => ({ _and: [inner] }), {}),
];

export const drawHostile = (draw: Draw): unknown =>
  draw(fc.integer, { min: 1, max: 100 }) <= 85 ? draw(oneOf, ...hostile) : draw(fc.jsonValue, { maxDepth: 3 });

/** Changes a value in one place: replaces, removes, or adds something. */
export function drawMutation(draw: Draw, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || draw(fc.integer, { min: 1, max: 100 }) <= 15)
    return drawHostile(draw);
  const isList = Array.isArray(value);
  const keys = Object.keys(value);
  const key = draw(oneOf, ...keys, '');
  const entries = Object.entries(value);
  if (key === '') {
    const added = draw(
      fc.constantFrom,
      'id',
      'role',
      'password',
      'token',
      'admin_access',
      '__proto__',
      'x',
      'permissions.*',
    );
    const grown = [...entries, [added, drawHostile(draw)] as [string, unknown]];
    return isList ? grown.map(([, one]) => one) : fromEntries(grown);
  }
  const isKept = draw(fc.integer, { min: 1, max: 100 }) > 15;
  const changed = entries.flatMap(([name, one]): [string, unknown][] =>
    name !== key ? [[name, one]] : isKept ? [[name, drawMutation(draw, one)]] : [],
  );
  return isList ? changed.map(([, one]) => one) : fromEntries(changed);
}

/** Creates an object like `JSON.parse`, for which `__proto__` is an ordinary name. */
function fromEntries(entries: [string, unknown][]): object {
  const made = {};
  for (const [name, value] of entries) {
    Object.defineProperty(made, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return made;
}
