import { maxAuthDataBytes } from '../../db/query-language/collections.js';
import { formats, isObject } from '../../schemas/common.js';
import type { ProviderConfig } from '../../schemas/provider-config.js';

/** What a provider tells of a user, in our words. */
export interface Profile {
  /** Who it is at the provider; null when it does not say so in a form that could be kept. */
  identifier: string | null;
  email: string | null;
  /** Whether the provider says, in so many words, that the address is verified. */
  isEmailVerified: boolean;
  firstName: string | null;
  lastName: string | null;
  groups: readonly string[];
  /** The profile as it may be stored: without tokens, without what belongs to the protocol, and within the limit of a row. */
  data: Record<string, unknown>;
}

type ProfileKeys = Pick<
  ProviderConfig,
  'IDENTIFIER_KEY' | 'EMAIL_KEY' | 'FIRST_NAME_KEY' | 'LAST_NAME_KEY' | 'GROUP_CLAIM_NAME'
>;

const longestIdentifier = 255;
const longestName = 50;

/** Claims about the token, not about the user (RFC 7519, 4.1; OpenID Connect Core 1.0, 2). */
const protocolClaims = new Set([
  'iss',
  'aud',
  'exp',
  'nbf',
  'iat',
  'jti',
  'nonce',
  'azp',
  'at_hash',
  'c_hash',
  's_hash',
  'sid',
  'auth_time',
  'acr',
  'amr',
]);

/** Reads a profile as a provider gives it; a key may lead into it, as in `user.mail`. */
export function readProfile(given: Readonly<Record<string, unknown>>, keys: ProfileKeys): Profile {
  const at = (key: string): unknown =>
    Object.hasOwn(given, key)
      ? given[key]
      : key
          .split('.')
          .reduce<unknown>(
            (value, part) => (isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined),
            given,
          );
  const raw = cleaned(given, 0) as Record<string, unknown>;
  const email = at(keys.EMAIL_KEY);
  const groups = at(keys.GROUP_CLAIM_NAME);
  return {
    identifier: identifierOf(at(keys.IDENTIFIER_KEY)),
    email: typeof email === 'string' && formats.email(email) ? email : null,
    // It is said of `email`, and of nothing else that may stand for the address.
    isEmailVerified: given.email_verified === true && email === given.email,
    firstName: nameOf(at(keys.FIRST_NAME_KEY)),
    lastName: nameOf(at(keys.LAST_NAME_KEY)),
    groups: (Array.isArray(groups) ? groups : [groups]).filter((group) => typeof group === 'string'),
    data: fitting(Object.entries(raw).filter(([name]) => !protocolClaims.has(name))),
  };
}

/** Leaves out the largest members if together they exceed the limit: the login does not fail for that. */
function fitting(members: readonly [name: string, value: unknown][]): Record<string, unknown> {
  const bytesOf = (member: unknown) => Buffer.byteLength(JSON.stringify(member)) - 1;
  const bySize = members.map(([name, value]) => ({ name, bytes: bytesOf({ [name]: value }) }));
  bySize.sort((a, b) => a.bytes - b.bytes);
  let left = maxAuthDataBytes - 1;
  const kept = new Set<string>();
  for (const { name, bytes } of bySize) {
    left -= bytes;
    if (left >= 0) kept.add(name);
  }
  return Object.fromEntries(members.filter(([name]) => kept.has(name)));
}

/** Some providers number their users. What could not be kept as it is would be taken for somebody else's, and is refused. */
function identifierOf(value: unknown): string | null {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== 'string' || text.trim() === '' || text !== storable(text)) return null;
  return [...text].length <= longestIdentifier ? text : null;
}

function nameOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const name = storable(value).trim();
  return name === '' ? null : [...name].slice(0, longestName).join('');
}

/** Without NUL characters and halves of characters, of which the database knows nothing. */
const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed();

const deepest = 8;
const secret = /token|secret|password/i;

/** A value as the database can keep it, not as deep as a stack is, and without anything that could be a key to somewhere. */
function cleaned(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return storable(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === deepest) return null;
  if (Array.isArray(value)) return value.map((item) => cleaned(item, depth + 1));
  const entries = Object.entries(value).filter(([name]) => !secret.test(name) && name !== '__proto__');
  return Object.fromEntries(entries.map(([name, item]) => [cleaned(name, depth), cleaned(item, depth + 1)]));
}
