import type { Filter } from '../../db/query-language/filter.js';
import { type Missing, messageOf, type Obstacle } from '../../schemas/explanations.js';
import type { WriteGrant } from '../access/write-grants.js';

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

/** A right to read or write fields of the items that match a rule. */
export type Grant = Pick<WriteGrant, 'fields' | 'rule' | 'permission'> & Partial<WriteGrant>;

/** Whether a grant includes a field. */
export const names = ({ fields }: Grant, field: string) => fields === '*' || fields.has(field);

/** In the order of their permissions. */
export const sorted = (grants: readonly Grant[]): Grant[] =>
  [...grants].sort((one, other) => (one.permission ?? 0) - (other.permission ?? 0));

/**
 * What prevents access to the field in the question.
 * @param known the fields that there are for the action
 * @param covered those that the permissions include
 */
export function missingField(
  field: string | undefined,
  known: readonly string[],
  covered: readonly string[],
): Missing | undefined {
  if (field === undefined || covered.includes(field)) return undefined;
  return obstacle(known.includes(field) ? 'field_not_permitted' : 'no_such_field', { field });
}

/**
 * The permissions that allow it, each with those fields that it includes.
 * @param relevant the grants for the field in the question
 * @param reaching the grants that reach the item in the question
 */
export function permissionsOf(
  relevant: readonly Grant[],
  reaching: readonly Grant[],
  known: readonly string[],
): Verdict['permissions'] {
  const applied = relevant.filter((grant) => reaching.includes(grant));
  return new Map(applied.map((grant) => [grant.permission ?? null, known.filter((name) => names(grant, name))]));
}
