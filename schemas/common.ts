import { FormatRegistry, type Static, type StringOptions, type TObject, type TSchema, Type } from '@sinclair/typebox';

/**
 * The only email address grammar of the service: the one that HTML uses for `<input type=email>`
 * (https://html.spec.whatwg.org/#valid-e-mail-address). It is limited to ASCII and has no quoted local parts, comments
 * or lists, so no email library can read a value as two addresses.
 */
export const emailPattern =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

/** A UUID of any version, in either letter case (RFC 9562). */
export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Named string formats, for all validators in use. */
export const formats = {
  email: (value: string) => value.length <= 128 && emailPattern.test(value),
  uuid: (value: string) => uuidPattern.test(value),
} as const;

// TypeBox has no built-in formats.
for (const [name, matches] of Object.entries(formats)) FormatRegistry.Set(name, matches);

export const Uuid = (description: string) => Type.String({ format: 'uuid', description });

export const Email = (description: string, options: StringOptions = {}) =>
  Type.String({ format: 'email', maxLength: 128, description, ...options });

export const Timestamp = (description: string) =>
  Type.Unsafe<Date>({ type: 'string', format: 'date-time', description });

/** The description is beside `anyOf`, because client generators drop the descriptions of its parts. */
export function Nullable<T extends TSchema>(schema: T) {
  const { description, ...rest } = schema;
  return Type.Union([rest as T, Type.Null()], description === undefined ? {} : { description });
}

/**
 * The envelope of every successful payload.
 * @param example an example of the payload
 */
export const Data = <T extends TSchema>(schema: T, example: unknown) =>
  Type.Object({ data: schema }, { additionalProperties: false, examples: [{ data: example }] });

/** Matches the start of a password hash. A client that sends a hash as the password probably wants to import it. */
export const hashStart = String.raw`(\$argon2|\$2[aby]\$|\$scrypt\$|pbkdf2)`;

const components = new Map<string, TSchema>();

/**
 * Gives a schema its name in the OpenAPI document and returns a reference to it.
 * The application registers every named schema once, before the routes.
 */
export function named<T extends TSchema>(name: string, schema: T) {
  if (components.has(name)) throw new Error(`Two schemas are named ${name}; give one of them another name.`);
  components.set(name, { ...schema, $id: name });
  return Type.Unsafe<Static<T>>({ $ref: `${name}#` });
}

/** Every named schema, each with its name as `$id`. */
export const namedSchemas = (): readonly TSchema[] => [...components.values()];

/** An object that accepts only its own keys. Responses consist of such objects, so that no unintended column leaks. */
export const Closed = <T extends Parameters<typeof Type.Object>[0]>(
  properties: T,
  options: { description?: string; examples?: unknown[]; minProperties?: number } = {},
) => Type.Object(properties, { additionalProperties: false, ...options }) as TObject<T>;

/** Whether a value from outside is a JSON object. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
