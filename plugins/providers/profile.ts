import { maxAuthDataBytes } from '../../db/query-language/collections.js';
import { isObject, readEmail } from '../../schemas/common.js';
import type { ProviderConfig } from '../../schemas/provider-config.js';

/** A provider's data about a user, in a form that is the same for all providers. */
export interface Profile {
  /** The user's identifier at the provider; null: the provider does not send one that can be stored. */
  identifier: string | null;
  email: string | null;
  /** Why the address that the provider sent is refused. */
  emailFault: string | null;
  /** Whether the provider explicitly states that the address is verified. */
  isEmailVerified: boolean;
  firstName: string | null;
  lastName: string | null;
  /** The names that a new user gets if the provider does not assert any. They come through the browser, so the user can change them. */
  unverifiedNames: Names;
  /** null: the provider says that the user has groups, but not which. */
  groups: readonly string[] | null;
  /** The domain of the organization that manages the account, which Google calls `hd`. */
  hostedDomain: unknown;
  /** The profile in a form that can be stored: without tokens and protocol claims, and within the size limit of the column. */
  data: Record<string, unknown>;
}

export interface Names {
  firstName: string | null;
  lastName: string | null;
}

type ProfileKeys = Pick<
  ProviderConfig,
  'IDENTIFIER_KEY' | 'EMAIL_KEY' | 'FIRST_NAME_KEY' | 'LAST_NAME_KEY' | 'GROUP_CLAIM_NAME'
>;

const maxIdentifierLength = 255;
const maxNameLength = 50;

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

/** A value in the profile. The key can be a path into nested objects, such as `user.mail`. */
export const readClaim = (given: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(given, key)
    ? given[key]
    : key
        .split('.')
        .reduce<unknown>(
          (value, part) => (isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined),
          given,
        );

/**
 * Reads the profile that a provider returns.
 * @param user what the provider sent about the user through the browser
 */
export function readProfile(given: Readonly<Record<string, unknown>>, keys: ProfileKeys, user?: unknown): Profile {
  const at = (key: string) => readClaim(given, key);
  const raw = cleaned(given, 0) as Record<string, unknown>;
  const email = at(keys.EMAIL_KEY);
  const read = isAbsent(email) ? undefined : typeof email === 'string' ? readEmail(email) : { fault: 'must be text' };
  return {
    identifier: identifierOf(at(keys.IDENTIFIER_KEY)),
    email: read !== undefined && 'email' in read ? read.email : null,
    emailFault: read !== undefined && 'fault' in read ? read.fault : null,
    // `email_verified` applies to `email`, and not to any other field that may contain the address. Apple sends it as text.
    isEmailVerified: (given.email_verified === true || given.email_verified === 'true') && email === given.email,
    firstName: nameOf(at(keys.FIRST_NAME_KEY)),
    lastName: nameOf(at(keys.LAST_NAME_KEY)),
    unverifiedNames: namesIn(user),
    groups: groupsOf(at(keys.GROUP_CLAIM_NAME), given, keys.GROUP_CLAIM_NAME),
    hostedDomain: given.hd,
    data: truncateToLimit(Object.entries(raw).filter(([name]) => !protocolClaims.has(name))),
  };
}

const isAbsent = (value: unknown) => value === undefined || value === null || value === '';

/**
 * The groups of a user: a list, a single group, or an object whose keys are the groups, as Zitadel's roles are. If there are more than
 * 200, Microsoft Entra only announces where they can be read (`_claim_names`, `hasgroups`).
 */
function groupsOf(value: unknown, given: Readonly<Record<string, unknown>>, name: string): readonly string[] | null {
  if (value === undefined && isAnnounced(given, name)) return null;
  if (isObject(value)) return Object.keys(value);
  return (Array.isArray(value) ? value : [value]).filter((group) => typeof group === 'string');
}

const isAnnounced = ({ _claim_names: names, hasgroups }: Readonly<Record<string, unknown>>, name: string): boolean =>
  (isObject(names) && Object.hasOwn(names, name)) ||
  (name === 'groups' && (hasgroups === true || hasgroups === 'true'));

/** Removes the largest members if the profile exceeds the limit, so that the login does not fail. */
function truncateToLimit(members: readonly [name: string, value: unknown][]): Record<string, unknown> {
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

/**
 * Some providers identify users by number. An identifier that cannot be stored unchanged is rejected, because it could be mistaken
 * for the identifier of another user.
 */
function identifierOf(value: unknown): string | null {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== 'string' || text.trim() === '' || text !== storable(text)) return null;
  return [...text].length <= maxIdentifierLength ? text : null;
}

/** The names in Apple's `user` parameter. Nothing else in it is used, because it is not signed. */
function namesIn(user: unknown): Names {
  try {
    const parsed: unknown = typeof user === 'string' ? JSON.parse(user) : undefined;
    const name = isObject(parsed) && isObject(parsed.name) ? parsed.name : {};
    return { firstName: nameOf(name.firstName), lastName: nameOf(name.lastName) };
  } catch {
    return { firstName: null, lastName: null };
  }
}

function nameOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const name = storable(value).trim();
  return name === '' ? null : [...name].slice(0, maxNameLength).join('');
}

/** Removes NUL characters and replaces lone surrogates, because the database cannot store them. */
const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed();

const maxDepth = 8;
const secret = /token|secret|password/i;

/** A value that the database can store, with limited depth, and without members that could be credentials. */
function cleaned(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return storable(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === maxDepth) return null;
  if (Array.isArray(value)) return value.map((item) => cleaned(item, depth + 1));
  const entries = Object.entries(value).filter(([name]) => !secret.test(name) && name !== '__proto__');
  return Object.fromEntries(entries.map(([name, item]) => [cleaned(name, depth), cleaned(item, depth + 1)]));
}
