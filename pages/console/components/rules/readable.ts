import type { Collection } from '../../model/fields.js';

type CanUse = (action: 'read', collection: Collection, field: string) => boolean;

/** Those of some fields that the caller may read. A request that names another one would be refused. */
export const readable = (canUse: CanUse, collection: Collection, names: readonly string[], prefix = ''): string[] =>
  names.filter((name) => canUse('read', collection, name)).map((name) => `${prefix}${name}`);
