import {
  type Collection,
  type CollectionName,
  collections,
  type Field,
  type RuledCollectionName,
  wildcardFields,
} from './collections.js';
import { type AccessView, isReadable } from './filter.js';
import { forbiddenField, invalidQuery } from './invalid-query.js';

/** The fields to return. For a relation, `null` returns its key or keys; otherwise, the related items are returned with these fields. */
export type FieldTree = Map<string, FieldTree | null>;

const maxDepth = 6;
const maxNodes = 1000;

/**
 * The lists that a path goes through. Their items multiply, so at most two lists are allowed, and users, of whom there are many,
 * may be listed only once.
 */
type Lists = readonly CollectionName[];
const maxLists = 2;

const through = (lists: Lists, { kind, target }: Field): Lists =>
  kind === 'list' && target !== undefined ? [...lists, target] : lists;
const isBounded = (lists: Lists) => lists.length <= maxLists && lists.filter((name) => name === 'users').length <= 1;

/**
 * Parses a list of fields. Absent or empty means `*`: all fields that the caller may read.
 * @throws {ApiError} INVALID_QUERY; FORBIDDEN for a field that does not exist or may not be read
 */
export function parseFields(names: readonly string[] = [], collection: Collection, access: AccessView): FieldTree {
  const tree: FieldTree = new Map();
  const nodes = { count: 0 };
  for (const name of names.length === 0 ? ['*'] : names) add(tree, name.split('.'), collection, access, nodes, []);
  return tree;
}

/** The same, with those fields that are returned only on request apart. */
export function parseNamedFields(
  names: readonly string[] = [],
  collection: Collection,
  access: AccessView,
): { fields: FieldTree; onRequest: readonly string[] } {
  const { onRequest } = collection;
  const isOnRequest = (name: string) => onRequest?.names.has(name) === true;
  const special = [...new Set(names.filter(isOnRequest))];
  const [refused] = special;
  if (onRequest && refused !== undefined && !mayRequest(access, onRequest.requires))
    throw forbiddenField(collection.name, refused);
  const others = names.filter((name) => !isOnRequest(name));
  const isOnly = special.length > 0 && others.length === 0;
  return { fields: isOnly ? new Map() : parseFields(others, collection, access), onRequest: special };
}

/** Whether a caller may read all of a collection, as far as the rights of the users in it allow. */
const mayRequest = (access: AccessView, name: RuledCollectionName): boolean =>
  access(name).some(({ fields, rule }) => fields === '*' && (rule === null || rule.kind === 'reachable'));

/**
 * The fields that a plain `fields` parameter names: one that follows no relation and repeats no field.
 * @returns undefined for any other parameter, valid or not
 */
export function plainFields(input: unknown, collection: Collection): readonly string[] | undefined {
  const { fields } = collection;
  if (input === undefined || input === '*') return wildcardFields(collection).map(([name]) => name);
  const names = typeof input === 'string' ? input.split(',') : [];
  const isPlain = names.length > 0 && new Set(names).size === names.length && names.every((name) => fields.has(name));
  return isPlain ? names : undefined;
}

function add(
  tree: FieldTree,
  [head = '', ...rest]: string[],
  collection: Collection,
  access: AccessView,
  nodes: { count: number },
  lists: Lists,
  depth = 1,
): void {
  if (depth > maxDepth) throw invalidQuery(`fields can be at most ${maxDepth} levels deep`);
  if (++nodes.count > maxNodes) throw invalidQuery(`fields can select at most ${maxNodes} fields`);
  const grants = access(collection.name);

  if (head === '*') {
    for (const [name, field] of wildcardFields(collection)) {
      // A wildcard skips fields for which an explicit name would be rejected.
      if (!isReadable(grants, name) || !isBounded(through(lists, field))) continue;
      const isFollowed = rest.length > 0 && field.target !== undefined && access(field.target).length > 0;
      add(tree, isFollowed ? [name, ...rest] : [name], collection, access, nodes, lists, depth);
    }
    return;
  }

  const field = collection.fields.get(head);
  if (!field || !isReadable(grants, head)) throw forbiddenField(collection.name, head);
  const within = through(lists, field);
  if (!isBounded(within)) {
    throw invalidQuery(`fields can follow at most ${maxLists} lists, and only one list of users`);
  }
  if (rest.length === 0) {
    if (!tree.has(head)) tree.set(head, null);
    return;
  }
  if (field.target === undefined) throw forbiddenField(collection.name, `${head}.${rest[0]}`);
  const subtree = tree.get(head) ?? new Map();
  tree.set(head, subtree);
  add(subtree, rest, collections[field.target], access, nodes, within, depth + 1);
}
