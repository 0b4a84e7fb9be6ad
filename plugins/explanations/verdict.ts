import type { Filter } from '../../db/query-language/filter.js';
import { type Missing, messageOf, type Obstacle } from '../../schemas/explanations.js';

/** What somebody may do, apart from who they are and why their policies apply. */
export interface Verdict {
  /** What prevents it. Empty: it is allowed. */
  missing: readonly Missing[];
  fields: readonly string[];
  /** The number of fields that there are for the action. */
  allFields: number;
  /** The rules of the permissions for the field in the question; null: all items. Empty: there is no such permission. */
  rules: readonly (Filter | null)[];
  validations: readonly (Filter | null)[];
  /** The permissions that allow it, each with its fields. Null: the access flags of policies allow it. */
  permissions: ReadonlyMap<number | null, readonly string[]>;
  /** The number of items that the rules reach; null if it is unknown. */
  items: number | null;
}

/** The verdict before anything is known to allow it. @param allFields the number of fields that there are for the action */
export const nothingAllowed = (allFields: number): Omit<Verdict, 'missing'> => ({
  fields: [],
  allFields,
  rules: [],
  validations: [],
  permissions: new Map(),
  items: null,
});

export const obstacle = (code: Obstacle, more: Omit<Missing, 'code' | 'message'> = {}): Missing => ({
  code,
  message: messageOf(code),
  ...more,
});
