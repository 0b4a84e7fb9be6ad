import { domainToASCII } from 'node:url';
import { FormatRegistry, type Static, type StringOptions, type TObject, type TSchema, Type } from '@sinclair/typebox';

/** The characters of an email address before the `@`: dots are allowed between others (RFC 5321, 4.1.2, Dot-string). */
const localPattern = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i;

/** A domain name, as in HTML (https://html.spec.whatwg.org/#valid-e-mail-address). `localhost` is one. */
const domainPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/** Letters, digits, dots, and hyphens of any script. Other ASCII characters have a meaning in URLs, which the conversion would apply. */
const unicodeDomainPattern = /^(?:[a-z0-9.-]|[^\0-\x7f])+$/iu;

export const maxEmailLength = 128;

/** The reasons why an email address is refused. They complete the sentence "`email` …". */
const emailFaults = {
  form: 'must be an email address such as ada@example.com',
  long: `must have at most ${maxEmailLength} characters`,
  local:
    "can contain only the characters a–z, 0–9, and .!#$%&'*+/=?^_`{|}~- before the @, and no dot at the ends or next to another dot",
  domain: 'must contain a valid domain name after the @',
} as const;

/**
 * The only grammar for email addresses. Like `<input type=email>`, it has no quoted local parts, comments or lists, so no email
 * library can read a value as two addresses.
 *
 * An address can contain a Unicode domain, which is converted to its ASCII form (UTS 46), so that each mailbox has one address. A domain
 * that only looks like another one, such as `exampⅼe.com`, is refused.
 * @returns the address in the form in which it is stored, or the reason why it is refused
 */
export function readEmail(text: string): { email: string } | { fault: string } {
  if (text.length > maxEmailLength) return { fault: emailFaults.long };
  const at = text.lastIndexOf('@');
  if (at < 1 || at === text.length - 1) return { fault: emailFaults.form };
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)];
  if (!localPattern.test(local)) return { fault: emailFaults.local };
  if (domainPattern.test(domain)) return { email: text };
  if (!unicodeDomainPattern.test(domain)) return { fault: emailFaults.domain };
  const ascii = domainToASCII(domain);
  if (!domainPattern.test(ascii) || !/(?:^|\.)xn--/.test(ascii)) return { fault: emailFaults.domain };
  const email = `${local}@${ascii}`;
  return email.length > maxEmailLength ? { fault: emailFaults.long } : { email };
}

/** The form in which an address is stored; undefined if it is refused. */
export function storedEmail(text: string): string | undefined {
  const read = readEmail(text);
  return 'email' in read ? read.email : undefined;
}

/**
 * Undefined if the text is not an absolute URL. `URL.canParse` is not an alternative: in Node 20, it rejects URLs with the letters of
 * Latin-1, such as `ä`, once V8 has optimized the function that calls it.
 * @param base the URL that a relative one is resolved against
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** Converts a Unicode domain after the last `@` to ASCII, also in a part of an address, such as `@müller.example`. */
export function withAsciiDomain(text: string): string {
  const end = text.lastIndexOf('@') + 1;
  const domain = text.slice(end);
  return end === 0 || /^[\0-\x7f]*$/.test(domain) ? text : text.slice(0, end) + (domainToASCII(domain) || domain);
}

/** A UUID of any version, in either letter case (RFC 9562). */
export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Named string formats, for all validators in use. */
export const formats = {
  email: (value: string) => storedEmail(value) !== undefined,
  uuid: (value: string) => uuidPattern.test(value),
} as const;

// TypeBox has no built-in formats.
for (const [name, matches] of Object.entries(formats)) FormatRegistry.Set(name, matches);

export const Uuid = (description: string) => Type.String({ format: 'uuid', description });

export const Email = (description: string, options: StringOptions = {}) =>
  Type.String({ format: 'email', maxLength: maxEmailLength, description, ...options });

/**
 * The email address of an account that may exist. It has no format here: an address that was stored before the grammar refused it must
 * still work, so the service decides (`addressToSignIn`).
 */
export const AccountEmail = (description: string) =>
  Type.String({ minLength: 1, maxLength: maxEmailLength, description });

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
