import type { User } from './types.js';

/** The texts in which people look for users. */
const texts = ['first_name', 'last_name', 'email', 'title', 'location', 'description'];
const maxWords = 5;

/**
 * The parameters of a list of users who match a search. The API finds a search only within a single field, but people type first and last
 * names together. So the API looks for the longest word, with its indexes, and a filter looks for the other words. If several words are the
 * longest, it is the last of them, because there are more last names than first names.
 * @param canUse of the caller's access
 * @param filter the filter of the list as JSON, or an empty text
 */
export function searchingUsers(
  search: string,
  canUse: (action: 'read', collection: 'users', field: string) => boolean,
  filter = '',
): { search: string; filter: string } {
  const words = search.split(/\s+/).filter(Boolean);
  const readable = texts.filter((name) => canUse('read', 'users', name));
  const given = parse(filter);
  if (words.length < 2 || words.length > maxWords || readable.length === 0 || given === undefined)
    return { search, filter };
  const longest = words.reduce((one, other) => (other.length >= one.length ? other : one));
  const others = words.filter((word) => word !== longest);
  const conditions = others.map((word) => ({ _or: readable.map((name) => ({ [name]: { _icontains: word } })) }));
  const all = [...(given === null ? [] : [given]), ...conditions];
  return { search: longest, filter: all.length === 0 ? '' : JSON.stringify({ _and: all }) };
}

/** Whether each word of a search starts a name or the address of a user. */
export function startsWith({ first_name, last_name, email }: User, search: string): boolean {
  const lower = [first_name, last_name, email].map((text) => text?.toLowerCase());
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => lower.some((text) => text?.startsWith(word)));
}

/** @returns undefined if the filter is not JSON, so that the API says so */
function parse(filter: string): unknown {
  if (filter === '') return null;
  try {
    return JSON.parse(filter);
  } catch {
    return undefined;
  }
}
