import { collections } from './collections.js';

/** A field of a collection, as the API describes it. */
export interface Field {
  name: string;
  type: 'text' | 'id' | 'boolean' | 'number' | 'time' | 'choice' | 'list' | 'json' | 'relation' | 'relations';
  /** The values of a `choice`. */
  choices?: readonly string[];
  /** The collection of the items that a `relation` or `relations` refers to. */
  collection?: string;
  /** Whether a request that creates an item can contain it. */
  creatable: boolean;
  /** Whether a request that changes an item can contain it. */
  updatable: boolean;
}

export type Collection = keyof typeof collections;

/** The fields of a collection, in the order of the API. */
export const fieldsOf = (collection: Collection): readonly Field[] => collections[collection];

export const fieldOf = (collection: Collection, name: string): Field | undefined =>
  fieldsOf(collection).find((field) => field.name === name);
