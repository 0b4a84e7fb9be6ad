import { type CollectionName, collections } from '../../db/query-language/collections.js';
import { isObject } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import type { Need, NeededRight } from '../../schemas/needs.js';
import { meetsNeed } from '../access/needs.js';
import type { Caller } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';

/**
 * Requires that a caller may still write the fields that a request has written, and read those that its response contains. Which items
 * the caller may write is not checked again, because the request itself may have moved an item out of the caller's reach.
 * @throws {ApiError} FORBIDDEN
 */
export type RequirePermitted = (caller: Caller, need: Need | undefined, body: unknown, response: string) => void;

/** Keys of an item that are not fields, or that everyone may see who may see the item. */
const exempt = new Set(['id', 'current_password']);

export function createRequirePermitted({ writeRules }: Services): RequirePermitted {
  return (caller, need, body, response) => {
    // Other operations need the same rights, whatever their body contains.
    if (caller.admin || !isOnItems(need)) return;
    const { collection } = need;
    const requireFields = (action: NeededRight['action'], fields: ReadonlySet<string>) => {
      for (const field of fields)
        if (!meetsNeed(caller, { collection, action, fields: [field] })) throw new ApiError('FORBIDDEN');
    };
    const written = fieldsOf(itemsIn(body), exempt);
    requireFields(need.action, written);
    if (!isCollection(collection)) return;
    const { adminOnly } = writeRules[collection as keyof typeof writeRules];
    if ([...written].some((field) => adminOnly.has(field))) throw new ApiError('FORBIDDEN');
    const { fields: known } = collections[collection];
    const shown = [...fieldsOf(itemsIn(response === '' ? {} : JSON.parse(response)), exempt)];
    requireFields('read', new Set(shown.filter((field) => known.has(field))));
  };
}

/** Whether an operation writes the fields that its body contains. */
const isOnItems = (need: Need | undefined): need is NeededRight =>
  typeof need === 'object' &&
  need.fields === undefined &&
  need.unconditional === undefined &&
  (need.action === 'create' || need.action === 'update');

const isCollection = (name: string): name is CollectionName => Object.hasOwn(collections, name);

/** The items of a body or a response, in each form that the API uses. */
function itemsIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (!isObject(value)) return [];
  const { data } = value;
  if (Array.isArray(data)) return data;
  return [isObject(data) ? data : value];
}

const fieldsOf = (items: readonly unknown[], without: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(items.flatMap((item) => (isObject(item) ? Object.keys(item).filter((name) => !without.has(name)) : [])));
