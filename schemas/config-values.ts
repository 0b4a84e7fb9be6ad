import { FormatRegistry, type StringOptions, Type } from '@sinclair/typebox';
import bytes from 'bytes';
import ms, { type StringValue } from 'ms';
import { Email, isObject, parseUrl, storedEmail } from './common.js';
import { isIpRange } from './ip-ranges.js';

/** The kinds of values that variables can have. */

/** The documentation of a variable. `expected` completes the sentence "expected …" in an error message. */
export interface About {
  description: string;
  default?: unknown;
  expected?: string;
  /** Never repeat the value in a message. */
  secret?: boolean;
}

export const text = (options: About & StringOptions) => Type.String({ minLength: 1, expected: 'text', ...options });

export const integer = (minimum: number, maximum: number, options: About) =>
  Type.Integer({ minimum, maximum, expected: `an integer from ${minimum} to ${maximum}`, ...options });

/** A token for an Authorization header, which can contain only these characters. */
export const bearerToken = (minLength: number, description: string) =>
  Type.Optional(
    Type.String({
      minLength,
      maxLength: 255,
      pattern: '^[\\x21-\\x7e]+$',
      secret: true,
      expected: `${minLength} to 255 characters of printable ASCII, without spaces`,
      description,
    }),
  );

export const emailAddress = (options: About) =>
  Type.Transform(Email(options.description, { expected: 'an email address', ...options }))
    .Decode((value) => storedEmail(value) ?? value)
    .Encode((value) => value);

export const flag = (options: About) => Type.Boolean({ expected: 'true or false', ...options });

export const choice = <const T extends readonly string[]>(values: T, options: About) =>
  Type.Unsafe<T[number]>(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      { expected: `one of ${values.join(', ')}`, ...options },
    ),
  );

export const durationText = (pattern: string, options: About & { default: StringValue }) =>
  Type.Transform(Type.String({ pattern, expected: 'a duration such as 10s, 15m, 12h, or 7d', ...options }))
    .Decode((value) => ms(value as StringValue))
    .Encode((value) => ms(value) as StringValue);

/** `15m`, `7d`, `12h`. At least one second, which is the unit of time in tokens. */
const lifetimePattern = '^[1-9](\\d{0,5}[smh]|\\d{0,3}[dw])$';

/** The milliseconds that a text such as `15m` stands for; undefined if it is malformed. */
export const readLifetime = (value: string): number | undefined =>
  new RegExp(lifetimePattern).test(value) ? ms(value as StringValue) : undefined;

/** `15m`, `7d`, `12h`; decoded to milliseconds. */
export const lifetime = (options: About & { default: StringValue }) => durationText(lifetimePattern, options);

/** The same, or `0`. */
export const lifetimeOrNone = (options: About & { default: StringValue }) =>
  durationText('^(0|[1-9](\\d{0,5}[smh]|\\d{0,3}[dw]))$', {
    expected: 'a duration such as 12h or 90d, or 0',
    ...options,
  });

/** `15m`, `500ms` or `0`; decoded to milliseconds. */
export const period = (options: About & { default: StringValue }) =>
  durationText('^(0|\\d{1,5}(ms|s|m|h|d))$', options);

/** `1mb`, `512kb`; decoded to bytes. */
export const size = (options: About & { default: string }) =>
  Type.Transform(
    Type.String({ pattern: '^[1-9]\\d{0,5}(b|kb|mb)$', expected: 'a size such as 512kb or 1mb', ...options }),
  )
    .Decode((value) => bytes.parse(value) ?? 0)
    .Encode((value) => `${value}b`);

export const cookieName = (description: string) =>
  Type.Optional(
    Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", expected: 'a cookie name (RFC 6265)', description }),
  );

export const cookieDomain = (options: About) =>
  Type.Optional(
    Type.String({ pattern: '^\\.?[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*$', expected: 'a domain name', ...options }),
  );

export const sameSite = (options: About) => choice(['lax', 'strict', 'none'], { default: 'lax', ...options });

/** A JSON object; decoded. */
export const jsonObject = (options: About) =>
  Type.Transform(Type.String({ format: 'json-object', ...options }))
    .Decode((value) => JSON.parse(value) as Record<string, unknown>)
    .Encode((value) => JSON.stringify(value));

/** A comma-separated list; decoded to an array. */
export const separated = (format: string, options: About) =>
  Type.Transform(Type.String({ format, default: '', ...options }))
    .Decode((value) => listOf(value))
    .Encode((value) => value.join(','));

/** A comma-separated list of URLs; decoded to an array. */
export const urlList = (parameter: string) =>
  separated('url-list', {
    expected: 'a comma-separated list of URLs',
    description: `Comma-separated list of the URLs that clients can pass as ${parameter}. A URL matches if it is identical to one in the list, or has the same origin and path.`,
  });

export const listOf = (value: string): readonly string[] =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);

/** Whether an origin is written exactly as browsers write it (RFC 6454, 6.2), without a path or default port. */
export const isWebOrigin = (value: string): boolean =>
  /^https?:\/\/[a-z0-9.:[\]-]+$/.test(value) && parseUrl(value)?.origin === value;

/** Schemes whose origins are not those of an app. Pages from files and `data:` URLs send the origin `null`. */
const schemesWithoutOrigin = new Set([
  'about',
  'blob',
  'data',
  'file',
  'ftp',
  'http',
  'https',
  'javascript',
  'ws',
  'wss',
]);

/**
 * Whether an origin is that of an app that has its own scheme, such as `capacitor://localhost`, `tauri://localhost`, or
 * `chrome-extension://…`. Browsers write the scheme in lowercase, and keep the case of the host.
 */
export function isAppOrigin(value: string): boolean {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\/[A-Za-z0-9._-]+(:\d{1,5})?$/.exec(value) ?? [];
  return scheme !== undefined && !schemesWithoutOrigin.has(scheme);
}

/** Android apps sign passkey requests with an origin of their own. */
const isAndroidOrigin = (value: string): boolean => /^android:apk-key-hash:[\w-]{43}$/.test(value);

/** Whether browsers offer passkeys to the page: only with https or, for development, on localhost. */
const isPasskeyPage = (value: string): boolean =>
  isWebOrigin(value) && /^https:|^http:\/\/([a-z0-9-]+\.)*localhost(:|$)/.test(value);

FormatRegistry.Set('origin-list', (value) =>
  listOf(value).every((origin) => isWebOrigin(origin) || isAppOrigin(origin)),
);

FormatRegistry.Set('json-object', (value) => {
  try {
    return isObject(JSON.parse(value));
  } catch {
    return false;
  }
});

FormatRegistry.Set('passkey-origins', (value) =>
  listOf(value).every((origin) => isPasskeyPage(origin) || isAppOrigin(origin) || isAndroidOrigin(origin)),
);

FormatRegistry.Set('url-list', (value) => listOf(value).every((url) => parseUrl(url)));

/** Each key occurs once in any letter case, because variable names ignore case. `default` stands for login with a password. */
FormatRegistry.Set('provider-keys', (value) => {
  const keys = listOf(value);
  const names = new Set(keys.map((key) => key.toLowerCase().replaceAll('-', '_')));
  return keys.every((key) => /^[A-Za-z0-9_-]{1,64}$/.test(key)) && names.size === keys.length && !names.has('default');
});

FormatRegistry.Set('sender', (value) => senderOf(value) !== undefined);

/** The parts of `Name <address>` or of a plain address; undefined if it is neither. */
export function senderOf(value: string): { name: string; address: string } | undefined {
  const [, name = '', address = value] = /^([^<>\r\n]*)<([^<>]+)>$/.exec(value) ?? [];
  const stored = storedEmail(address);
  return stored === undefined ? undefined : { name: name.trim().replace(/^"(.*)"$/, '$1'), address: stored };
}

FormatRegistry.Set('breach-check', (value) => /^(off|hibp)$/.test(value) || isHttpUrl(value));

const isHttpUrl = (value: string) => /^https?:$/.test(parseUrl(value)?.protocol ?? '');

FormatRegistry.Set('url', (value) => parseUrl(value) !== undefined);

export const minSecretLength = 32;

FormatRegistry.Set('secrets', (value) => listOf(value).every((secret) => secret.length >= minSecretLength));

FormatRegistry.Set(
  'trusted-proxies',
  (value) => /^(true|false|\d{1,2})$/.test(value) || value.split(',').every((part) => isAddressRange(part.trim())),
);

const isAddressRange = (range: string) => ['loopback', 'linklocal', 'uniquelocal'].includes(range) || isIpRange(range);
