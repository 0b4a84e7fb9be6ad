import { AjvCompiler } from '@fastify/ajv-compiler';
import type { Ajv, ErrorObject } from 'ajv';
import type { DataValidationCxt } from 'ajv/dist/types/index.js';
import type { FastifySchemaValidationError, FastifyServerOptions } from 'fastify';
import { formats, isObject, readEmail } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import { refusalOf } from '../../schemas/validation.js';

interface Properties {
  properties?: Record<string, { type?: string }>;
  [keyword: string]: unknown;
}

/** Converts a value to the type of its schema. A value that cannot be converted stays as it is, and the schema rejects it. */
const converters: Record<string, (value: unknown) => unknown> = {
  integer: (value) => (typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value),
  string: (value) => (typeof value === 'number' ? String(value) : value),
  array: (value) => {
    const parts = [value].flat();
    if (!parts.every((part) => typeof part === 'string')) return value;
    return parts.flatMap((part) => part.split(',').map((name) => name.trim())).filter((name) => name !== '');
  },
  object: (value) => {
    if (typeof value !== 'string') return value;
    try {
      return JSON.parse(value);
    } catch {
      return value;
    }
  },
};

/** Converts the properties of an object. `null` and empty text are treated as absent, but empty text is valid for a string. */
function convert(values: unknown, { properties = {} }: Properties): void {
  if (!isObject(values)) return;
  for (const [name, { type = '' }] of Object.entries(properties)) {
    const { [name]: value } = values;
    const convertTo = converters[type];
    if (value === undefined || !convertTo) continue;
    if (value === null || (value === '' && type !== 'string')) delete values[name];
    else values[name] = convertTo(value);
  }
}

/**
 * The options of the validator. Its own conversion is off: it would accept `1e3` and `0x10` as integers, and a list of one item as
 * that item. `convertsText` marks the objects whose properties arrive as text, such as the query in a URL.
 */
export const ajvOptions: NonNullable<FastifyServerOptions['ajv']>['customOptions'] & object = {
  coerceTypes: false,
  removeAdditional: false,
  allErrors: false,
  // Errors refer to their schema, which can define the response.
  verbose: true,
  strictTypes: false,
  // The linter of the OpenAPI document checks the schemas. Checking them again would take a tenth of a second at every start.
  validateSchema: false,
  keywords: [
    {
      keyword: 'convertsText',
      modifying: true,
      errors: false,
      compile: (_value, schema: Properties) => (values: unknown) => {
        convert(values, schema);
        return true;
      },
    },
  ],
};

type FormatCheck = FormatError & ((value: string, context?: DataValidationCxt) => boolean);
interface FormatError {
  errors?: Partial<ErrorObject>[];
}

/** Checks a value, and replaces an email address with the form in which it is stored. */
function formatCheck(name: string): FormatCheck {
  if (name === 'email') {
    const check: FormatCheck = (value, context) => {
      const read = readEmail(value);
      if ('email' in read && context) context.parentData[context.parentDataProperty] = read.email;
      if ('fault' in read) check.errors = [{ keyword: 'format', params: { format: name }, message: read.fault }];
      return 'email' in read;
    };
    return check;
  }
  const matches = formats[name as keyof typeof formats];
  if (matches === undefined) throw new Error(`There is no format ${name}.`);
  const check: FormatCheck = (value) => matches(value);
  check.errors = [{ keyword: 'format', params: { format: name }, message: `must match format "${name}"` }];
  return check;
}

/**
 * Replaces the keyword `format`. Fastify's compiler adds the package ajv-formats after all options, and its formats differ: its UUIDs
 * include `urn:uuid:…`, and its email addresses exclude `root@localhost`.
 */
export function useOwnFormats(ajv: Ajv): void {
  ajv.removeKeyword('format');
  ajv.addKeyword({ keyword: 'format', type: 'string', modifying: true, errors: true, compile: formatCheck });
}

type Factory = ReturnType<typeof AjvCompiler>;

/** A schema that already converts stays the same object, so that the routes that share it also share its validator. */
const converting = (schema: object): object => ('convertsText' in schema ? schema : { ...schema, convertsText: true });

/**
 * Creates the validators. The parameters in a query and in a path arrive as text; in a body, types must match exactly. All routes
 * use the same shared schemas and therefore the same compiler.
 */
export function createValidatorFactory(): Factory {
  const create = AjvCompiler();
  let compile: ((route: { schema: object; httpPart?: string }) => unknown) | undefined;
  return ((...options: Parameters<Factory>) => {
    compile ??= create(...options) as unknown as typeof compile;
    return (route: { schema: object; httpPart?: string }) =>
      compile?.(route.httpPart === 'body' ? route : { ...route, schema: converting(route.schema) });
  }) as Factory;
}

/** Converts the errors of the validator to the error of the API. This is the only place that does so. */
export function toValidationError(
  errors: readonly (FastifySchemaValidationError & { parentSchema?: object })[],
  part: string | undefined,
): ApiError {
  // A malformed key gets the same response as one that does not exist.
  if (part === 'params') return new ApiError('FORBIDDEN');
  const refusal = errors.map(({ parentSchema = {} }) => refusalOf(parentSchema)).find((found) => found !== undefined);
  if (refusal) return new ApiError(refusal.code, { reason: refusal.reason });
  const [first] = errors;
  const name = first?.instancePath.slice(1).replaceAll('/', '.');
  const reason = `${name ? `${name}: ` : ''}${first?.message ?? 'invalid'}`;
  return new ApiError(part === 'querystring' ? 'INVALID_QUERY' : 'INVALID_PAYLOAD', { reason });
}
