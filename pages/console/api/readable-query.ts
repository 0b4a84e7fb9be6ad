import type { Access } from '../app/access.js';
import { collections } from '../model/collections.js';
import { type Collection, fieldOf } from '../model/fields.js';
import type { Query } from './client.js';

const isCollection = (name: string | undefined): name is Collection => name !== undefined && name in collections;

/** Whether the caller may read a field, and the fields of related items that a path such as `role.name` leads to. */
function isReadable(access: Access, collection: Collection, [name = '', ...rest]: readonly string[]): boolean {
  if (name === '*') return access.can('read', collection);
  if (!access.canUse('read', collection, name)) return false;
  const target = fieldOf(collection, name)?.collection;
  return rest.length === 0 || (isCollection(target) && isReadable(access, target, rest));
}

const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [];

/**
 * A query without the fields that the caller may not read, and without an order that depends on them: a request that names one is refused,
 * and a screen should rather show less. What a filter names stays, because without it, the list would contain other items.
 */
export function readableQuery(access: Access, path: string, { fields, sort, ...query }: Query): Query {
  const [, collection] = /^\/(\w+)(?:\/\{id\})?$/.exec(path) ?? [];
  if (!isCollection(collection)) return { fields, sort, ...query };
  const readable = (value: unknown) => {
    const names = listOf(value).filter((name) => isReadable(access, collection, name.replace(/^-/, '').split('.')));
    return names.length > 0 ? names : undefined;
  };
  return { ...query, fields: readable(fields), sort: readable(sort) };
}
