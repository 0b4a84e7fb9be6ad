import type { Executor } from '../../db/client.js';
import { findGrantsOverview } from '../../db/queries/access/principals.js';
import { type ItemReach, reachOfItem } from '../../db/queries/items/reach.js';
import { collections, ruledCollections } from '../../db/query-language/collections.js';
import type { ExplainBody } from '../../schemas/explanations.js';
import { sessionFields } from '../../schemas/sessions.js';
import { meetsNeed } from '../access/needs.js';
import { userReachIn } from '../access/user-reach.js';
import { accessViewOf, readGrantsOf, variablesOf } from '../access/view.js';
import { writeGrantsOf } from '../access/write-grants.js';
import type { Caller } from '../http/caller.js';
import { readKey } from '../items/payload.js';
import type { Services } from '../platform/plugin.js';
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

/** The collections whose items are about users, and what the API can do with them. */
const operations = {
  activity: ['read'],
  mails: ['read', 'update'],
  sessions: ['read', 'delete'],
} as const satisfies Record<string, readonly Action[]>;

export type AboutUsers = keyof typeof operations;
type Action = ExplainBody['action'];

export const isAboutUsers = (name: string): name is AboutUsers => Object.hasOwn(operations, name);

interface Context extends Pick<Services, 'mail' | 'mailsOfUsers' | 'sessionsOfUsers'> {
  now: Date;
}

/** The fields of responses. */
const fieldsOf = (name: AboutUsers): readonly string[] =>
  name === 'sessions' ? sessionFields : [...ruledCollections[name].fields.keys()];

/**
 * What a caller may do with entries of the audit log, emails, and sessions. Whatever the permissions, callers reach only the items about
 * users whose rights they have. The items are not counted, because that would require comparing the rights of all these users.
 */
export async function explainItemsAboutUsers(
  tx: Executor,
  context: Context,
  caller: Caller,
  {
    collection: name,
    action,
    item,
    field,
  }: Pick<ExplainBody, 'action' | 'item' | 'field'> & { collection: AboutUsers },
): Promise<Verdict> {
  const isOffered = (operations[name] as readonly Action[]).includes(action);
  if (!isOffered) return { ...nothingAllowed(0), missing: [obstacle('no_operation')] };
  // The operations that update and delete these items write no fields that the caller chooses.
  const known = action === 'read' ? fieldsOf(name) : [];
  const none = nothingAllowed(known.length);
  const variables = variablesOf(caller, context.now);
  const grants = sorted(
    action === 'read' || action === 'create'
      ? readGrantsOf(caller, name, variables)
      : writeGrantsOf(caller, name, action, variables),
  );
  if (grants.length === 0) return { ...none, missing: [obstacle('no_permission')] };
  // Anonymous callers, whatever the public policy allows.
  if (!meetsNeed(caller, { collection: name, action })) return { ...none, missing: [obstacle('reserved')] };

  const relevant = grants.filter((grant) => field === undefined || names(grant, field));
  const verdict = { ...none, rules: relevant.map(({ rule }) => rule) };
  const key = item === undefined ? undefined : readKey(ruledCollections[name], item);
  const reach =
    key === undefined ? undefined : await reachOf(tx, context, caller, { name, action, key: String(key), grants });
  if (item !== undefined && !reach) return { ...verdict, missing: [obstacle('no_such_item')] };
  const reaching = grants.filter((_, index) => reach?.matches[index] ?? true);
  if (reaching.length === 0) return { ...verdict, missing: [obstacle('item_not_reached')] };
  if (reach && !reach.isVisible) return { ...verdict, missing: [obstacle('more_rights')] };
  // Like everything in this transaction, this is rolled back.
  if (name === 'mails' && action === 'update' && key !== undefined && !(await context.mail.retry(tx, String(key))))
    return { ...verdict, missing: [obstacle('not_failed')] };

  const fields = known.filter((one) => reaching.some((grant) => names(grant, one)));
  const missed = missingField(field, known, fields);
  return { ...verdict, missing: missed ? [missed] : [], fields, permissions: permissionsOf(relevant, reaching, known) };
}

/** Whether a caller reaches an item. Decided by the code of the operations, on what the transaction sees. */
async function reachOf(
  tx: Executor,
  { mailsOfUsers, sessionsOfUsers, now }: Context,
  caller: Caller,
  { name, action, key, grants }: { name: AboutUsers; action: Action; key: string; grants: readonly Grant[] },
): Promise<Pick<ItemReach, 'isVisible' | 'matches'> | undefined> {
  const rules = grants.map(({ rule }) => rule);
  if (name === 'sessions') return sessionsOfUsers.reach(tx, caller, key, rules, now);
  if (action === 'update') return mailsOfUsers.reachToRetry(tx, caller, key, rules, now);
  const reach = userReachIn(await findGrantsOverview(tx), caller, now);
  return name === 'mails'
    ? mailsOfUsers.reachToRead(tx, caller, key, rules, now, reach)
    : reachOfItem(tx, collections.activity, key, accessViewOf(caller, now, reach), rules);
}
