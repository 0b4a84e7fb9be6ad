import { collections } from './collections.js';
import type { operators } from './operators.js';

export type OperatorType = keyof typeof operators;
export type Operator = (typeof operators)[OperatorType][number];

/** A field of a collection, as the API describes it. */
export interface Field {
  name: string;
  type: 'text' | 'id' | 'boolean' | 'number' | 'time' | 'choice' | 'list' | 'json' | 'relation' | 'relations';
  /** The values of a `choice`. */
  choices?: readonly string[];
  /** The collection of the items that a `relation` or `relations` refers to. */
  collection?: string;
  /** The type of the operators of a filter, or `items` for a list of related items. Without it, no filter can use the field. */
  filter?: OperatorType | 'items';
  /** Whether a request that creates an item can contain it. */
  creatable: boolean;
  /** Whether a request that changes an item can contain it. */
  updatable: boolean;
  /** The maximum length of a text that a request can contain. */
  maxLength?: number;
}

export type Collection = keyof typeof collections;

/** The fields of a collection, in the order of the API. */
export const fieldsOf = (collection: Collection): readonly Field[] => collections[collection];

export const fieldOf = (collection: Collection, name: string): Field | undefined =>
  fieldsOf(collection).find((field) => field.name === name);

/** What the API lets only administrators write, whatever the permissions say. */
const onlyForAdministrators: Readonly<Record<string, readonly string[]>> = {
  users: ['role', 'policies', 'auth_data', 'last_access'],
  roles: ['parent', 'policies'],
  policies: ['ip_access', 'enforce_tfa', 'admin_access', 'app_access'],
  permissions: collections.permissions.map(({ name }) => name),
};

export const isOnlyForAdministrators = (action: string, collection: string, field: string): boolean =>
  (action === 'create' || action === 'update') && (onlyForAdministrators[collection]?.includes(field) ?? false);

/** The field at the end of a path through relations, such as `role.parent`. */
export function fieldAt(collection: Collection, [name = '', ...rest]: readonly string[]): Field | undefined {
  const field = fieldOf(collection, name);
  if (rest.length === 0 || !field) return field;
  return field.type === 'relation' && field.collection !== undefined && field.collection in collections
    ? fieldAt(field.collection as Collection, rest)
    : undefined;
}
