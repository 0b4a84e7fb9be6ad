import type { Executor } from '../../db/client.js';
import type { CostlyQueries } from '../../db/queries/items/costly-queries.js';
import { countReached, reachOfItem } from '../../db/queries/items/reach.js';
import type { Key } from '../../db/queries/items/writes.js';
import { type CollectionName, collections } from '../../db/query-language/collections.js';
import { seesAll } from '../../db/query-language/filter.js';
import { ApiError } from '../../schemas/errors.js';
import type { ExplainBody, Missing } from '../../schemas/explanations.js';
import type { NeededRight } from '../../schemas/needs.js';
import { meetsNeed } from '../access/needs.js';
import { accessViewOf, variablesOf } from '../access/view.js';
import { type WriteGrant, writeGrantsOf } from '../access/write-grants.js';
import type { Caller } from '../http/caller.js';
import { readKey } from '../items/payload.js';
import { presetsOf, requireWritable, writableFields } from '../items/writable-fields.js';
import type { WriteRules } from '../items/write-engine.js';
import type { AboutUsers } from './items-about-users.js';
import {
  type Grant,
  missingField,
  names,
  nothingAllowed,
  obstacle,
  permissionsOf,
  sorted,
  type Verdict,
} from './verdict.js';

interface Question extends Pick<ExplainBody, 'action' | 'item' | 'field'> {
  collection: Exclude<CollectionName & NeededRight['collection'], AboutUsers>;
}

interface Context {
  costly: Pick<CostlyQueries, 'isCheap'>;
  writeRules: Readonly<Partial<Record<CollectionName, WriteRules>>>;
  now: Date;
}

const reaches = (grants: readonly Grant[], field: string) => grants.some((grant) => names(grant, field));

const noRules: Pick<WriteRules, 'special' | 'adminOnly' | 'required' | 'check'> = {
  special: {},
  adminOnly: new Set(),
  required: () => [],
};

/** What a caller may do with the items of a collection. */
export async function explainItems(
  tx: Executor,
  { costly, writeRules, now }: Context,
  caller: Caller,
  { collection: name, action, item, field }: Question,
): Promise<Verdict> {
  const collection = collections[name];
  const rules = writeRules[name] ?? noRules;
  const view = accessViewOf(caller, now);
  const granted: readonly Grant[] =
    action === 'read' ? view(name) : writeGrantsOf(caller, name, action, variablesOf(caller, now));
  const grants = sorted(granted);
  const known = action === 'read' ? [...collection.fields.keys()] : writableFields(collection, rules, action);
  const none = nothingAllowed(known.length);
  if (grants.length === 0 || !meetsNeed(caller, { collection: name, action }))
    return { ...none, missing: [obstacle('no_permission')] };

  const relevant = grants.filter((grant) => field === undefined || names(grant, field));
  const verdict = {
    ...none,
    rules: relevant.map(({ rule }) => rule),
    validations: relevant.flatMap(({ validation }) => (validation === undefined ? [] : [validation])),
  };
  const items = action === 'create' ? null : await countReached(tx, costly, collection, verdict.rules);
  const key = item === undefined ? undefined : readKey(collection, item);
  const reach =
    key === undefined
      ? undefined
      : await reachOfItem(
          tx,
          collection,
          key,
          action === 'read' ? view : seesAll,
          grants.map(({ rule }) => rule),
        );
  if (item !== undefined && !reach) return { ...verdict, items, missing: [obstacle('no_such_item')] };
  const reaching = grants.filter((_, index) => reach?.matches[index] ?? true);
  const isReached = action === 'read' && reach ? reach.isVisible : reaching.length > 0;
  if (!isReached) return { ...verdict, items, missing: [obstacle('item_not_reached')] };

  const covered = known.filter((one) => reaches(reaching, one));
  const permitted =
    action === 'read'
      ? { fields: reach ? reach.shown : covered, missing: [] }
      : await writableAmong(tx, caller, { name, action, rules, grants, keys: key === undefined ? [] : [key] }, covered);
  const { fields } = permitted;
  const missing: Missing[] = [...permitted.missing];
  const missed = missingField(field, known, covered);
  if (missed) missing.push(missed);
  else if (field !== undefined && !fields.includes(field) && !missing.some(({ code }) => code === 'reserved')) {
    missing.push(obstacle('reserved', { field }));
  }
  return {
    ...verdict,
    items,
    missing,
    fields,
    permissions: permissionsOf(relevant, reaching, known),
  };
}

/** Which fields a caller can write, after the checks that do not depend on the values. */
async function writableAmong(
  tx: Executor,
  caller: Caller,
  {
    name,
    action,
    rules,
    grants,
    keys,
  }: {
    name: CollectionName;
    action: 'create' | 'update' | 'delete';
    rules: typeof noRules;
    grants: readonly Grant[];
    keys: readonly Key[];
  },
  covered: readonly string[],
): Promise<Pick<Verdict, 'fields' | 'missing'>> {
  const presets = action === 'create' ? presetsOf(grants as readonly WriteGrant[]) : {};
  const isAccepted = async (fields: readonly string[], written: readonly Key[]): Promise<boolean> => {
    const given = Object.fromEntries(fields.map((field) => [field, null]));
    const input = { ...presets, ...given };
    try {
      requireWritable(caller, collections[name], rules, grants as readonly WriteGrant[], { given, merged: input });
      await rules.check?.(tx, caller, [{ keys: written, payload: { columns: {}, links: new Map() }, input }], action);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      return false;
    }
  };
  const acceptedAmong = async (fields: readonly string[], written: readonly Key[]): Promise<readonly string[]> => {
    if (await isAccepted(fields, written)) return fields;
    const accepted = [];
    for (const field of fields) if (await isAccepted([field], written)) accepted.push(field);
    return accepted;
  };
  if (!(await isAccepted([], keys))) return { fields: [], missing: [obstacle('reserved')] };
  // Most fields that are reserved are so for every item, and finding that out takes no statement.
  const onAny = await acceptedAmong(covered, []);
  const fields = keys.length === 0 ? onAny : await acceptedAmong(onAny, keys);
  const required = action === 'create' ? rules.required(presets, false) : [];
  const lacking = required.filter((field) => (presets[field] ?? null) === null && !fields.includes(field));
  return { fields, missing: lacking.map((field) => obstacle('required_field', { field })) };
}
