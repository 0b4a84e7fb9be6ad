import { FormatRegistry, type Static, type StringOptions, type TObject, type TSchema, Type } from '@sinclair/typebox';

/**
 * The one address grammar of the service: the production that HTML uses for `<input type=email>`
 * (https://html.spec.whatwg.org/#valid-e-mail-address). ASCII only, no quoted local part, no comments,
 * no lists: nothing that a mail library could read as two addresses.
 */
export const emailPattern =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

/** A UUID of any version, in either letter case (RFC 9562). */
export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Named string formats, for every validator that is in use. */
export const formats = {
  email: (value: string) => value.length <= 128 && emailPattern.test(value),
  uuid: (value: string) => uuidPattern.test(value),
} as const;

// TypeBox's own checker knows no formats until it is told.
for (const [name, matches] of Object.entries(formats)) FormatRegistry.Set(name, matches);

export const Uuid = (description: string) => Type.String({ format: 'uuid', description });

export const Email = (description: string, options: StringOptions = {}) =>
  Type.String({ format: 'email', maxLength: 128, description, ...options });

export const Timestamp = (description: string) =>
  Type.Unsafe<Date>({ type: 'string', format: 'date-time', description });

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/**
 * The envelope of every successful payload.
 * @param example of what is in it
 */
export const Data = <T extends TSchema>(schema: T, example: unknown) =>
  Type.Object({ data: schema }, { additionalProperties: false, examples: [{ data: example }] });

/** How password hashes begin. A client that sends one probably wants to import it. */
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

/** An object that accepts no other key than its own: what responses are made of, so that no stray column leaks. */
export const Closed = <T extends Parameters<typeof Type.Object>[0]>(
  properties: T,
  options: { description?: string; examples?: unknown[]; minProperties?: number } = {},
) => Type.Object(properties, { additionalProperties: false, ...options }) as TObject<T>;

/** Whether a value from outside is a JSON object. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
