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

/** Where people expect what they have typed to stand at the beginning. */
const names = ['first_name', 'last_name', 'email'];

/**
 * The filter for users of whom each word of a search starts a name or the address.
 * @returns undefined if there is nothing to look for
 */
export function startingWith(
  search: string,
  canUse: (action: 'read', collection: 'users', field: string) => boolean,
): string | undefined {
  const words = search.split(/\s+/).filter(Boolean);
  const readable = names.filter((name) => canUse('read', 'users', name));
  if (words.length === 0 || words.length > maxWords || readable.length === 0) return undefined;
  return JSON.stringify({
    _and: words.map((word) => ({ _or: readable.map((name) => ({ [name]: { _istarts_with: word } })) })),
  });
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
