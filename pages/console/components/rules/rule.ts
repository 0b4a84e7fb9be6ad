import type { Schemas } from '../../api/types.js';
import { collections } from '../../model/collections.js';
import { type Collection, type Field, fieldsOf } from '../../model/fields.js';
import type { TextKey } from '../../texts.js';

export const actions = ['read', 'create', 'update', 'delete'] as const;
export type Action = (typeof actions)[number];

/** Collections on which the API has only some of the actions. */
const fewerActions: Readonly<Record<string, readonly Action[]>> = {
  activity: ['read'],
  mails: ['read', 'update'],
  sessions: ['read', 'delete'],
};

/** The actions that a rule on a collection can allow. */
export const actionsOn = (collection: string): readonly Action[] => fewerActions[collection] ?? actions;

export type Filter = Readonly<Record<string, unknown>>;

/** A permission: what a policy allows. */
export interface Rule {
  /** Not set while the rule is new. */
  id?: number;
  collection: string;
  action: Action;
  fields: readonly string[] | null;
  permissions: Filter | null;
  validation: Filter | null;
  presets: Filter | null;
}

type Stored = Schemas['Permission'];

export const ruleOf = (stored: Stored): Rule => ({
  ...(stored.id === undefined ? {} : { id: stored.id }),
  collection: stored.collection ?? '',
  action: stored.action ?? 'read',
  fields: stored.fields ?? null,
  permissions: stored.permissions ?? null,
  validation: stored.validation ?? null,
  presets: stored.presets ?? null,
});

/** The body of a request that stores a rule. */
export const bodyOf = ({ id: _, fields, ...rule }: Rule): Omit<Schemas['NewPermission'], 'policy'> => ({
  ...rule,
  fields: fields && [...fields],
});

export const ruleFields = 'id,collection,action,fields,permissions,validation,presets';

export const sortRules = (rules: readonly Rule[]): Rule[] =>
  [...rules].sort(
    (one, other) =>
      one.collection.localeCompare(other.collection) ||
      actions.indexOf(one.action) - actions.indexOf(other.action) ||
      (one.id ?? 0) - (other.id ?? 0),
  );

export const isCollection = (name: string): name is Collection => name in collections;

/** What only a request that writes can contain. */
const writeOnly: Readonly<Record<string, readonly string[]>> = { users: ['password'] };

/** The names of the fields to which a rule can apply. */
export function fieldNames(collection: string, action: Action): string[] {
  if (action === 'delete' || !isCollection(collection)) return [];
  const isUsable = ({ creatable, updatable }: Field) =>
    action === 'read' || (action === 'create' ? creatable : updatable);
  const names = fieldsOf(collection)
    .filter(isUsable)
    .map(({ name }) => name);
  return action === 'read' ? names : [...names, ...(writeOnly[collection] ?? [])];
}

/** Whether a filter selects everything. */
export const isEverything = (filter: Filter | null): boolean => filter === null || Object.keys(filter).length === 0;

/** With these, someone can sign in as another user. */
const credentials = ['password', 'email'];

/** Why a rule deserves a second look. */
export function warningOf({ collection, action, fields, permissions }: Rule): TextKey | undefined {
  if (action !== 'delete' && (fields ?? []).length === 0) return 'rule_warning_no_fields';
  if (!isEverything(permissions)) return undefined;
  if (action === 'delete') return 'rule_warning_delete';
  if (collection !== 'users') return undefined;
  const isAll = fields?.includes('*') ?? false;
  if (action === 'read') return isAll ? 'rule_warning_read_all' : undefined;
  if (action === 'update' && (isAll || fields?.some((field) => credentials.includes(field))))
    return 'rule_warning_credentials';
  return undefined;
}
