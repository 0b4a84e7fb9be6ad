import type { Executor } from '../../db/client.js';
import type { ItemReach } from '../../db/queries/items/reach.js';
import { findQueuedMail, type MailSelection, type QueuedMail, readQueuedMails } from '../../db/queries/mail/mails.js';
import type { Filter, UserReach } from '../../db/query-language/filter.js';
import { ApiError } from '../../schemas/errors.js';
import type { ListedMail } from '../../schemas/mails.js';
import { hasRightsOverUser } from '../access/account-rights.js';
import { isUnlimited } from '../access/permissions.js';
import { accessViewOf, variablesOf } from '../access/view.js';
import { writeGrantsOf } from '../access/write-grants.js';
import type { Caller, Principal } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import { readableFields } from './readable-fields.js';

/**
 * The emails in the queue. Callers who are not administrators need permissions on `mails`, and reach only emails to users whose rights
 * they have. An email for which only an address is known so far is not the email of a user.
 */
export interface MailsOfUsers {
  /** The emails that the caller may read, with the fields that they may read, newest first. */
  list(caller: Principal, selection: MailSelection): Promise<(Partial<QueuedMail> & Pick<ListedMail, 'can_retry'>)[]>;
  /** Queues an email again after its last attempt has failed. @throws {ApiError} FORBIDDEN, also if there is no such email */
  retry(caller: Principal, id: string): Promise<void>;
  /**
   * Whether a caller may read an email, and which rules of their permissions to read it matches.
   * @param reach the users in the caller's reach
   * @returns undefined if there is no such email
   */
  reachToRead(
    tx: Executor,
    caller: Caller,
    id: string,
    rules: readonly (Filter | null)[],
    now: Date,
    reach: UserReach,
  ): Promise<Reach | undefined>;
  /**
   * Whether a caller may queue an email again if it has failed, and which rules of their permissions to update it matches.
   * @returns undefined if there is no such email
   */
  reachToRetry(
    tx: Executor,
    caller: Caller,
    id: string,
    rules: readonly (Filter | null)[],
    now: Date,
  ): Promise<Reach | undefined>;
}

type Reach = Pick<ItemReach, 'isVisible' | 'matches'>;

export function createMailsOfUsers({
  db,
  dbOf,
  databaseConnection,
  clock,
  mail,
  reachOf,
  activity,
}: Services): MailsOfUsers {
  const { schemas } = databaseConnection;

  const readGrants = (caller: Caller, now: Date, reach: UserReach | null) => accessViewOf(caller, now, reach)('mails');

  const rulesToRetry = (caller: Caller, now: Date) =>
    writeGrantsOf(caller, 'mails', 'update', variablesOf(caller, now)).map(({ rule }) => rule);

  const reachToRetry: MailsOfUsers['reachToRetry'] = async (tx, caller, id, rules, now) => {
    const found = await findQueuedMail(tx, schemas, id, rules);
    if (!found) return undefined;
    const { user, matching } = found;
    const isReached = async () =>
      isUnlimited(caller, 'mails', 'update') || (user !== null && (await hasRightsOverUser(tx, caller, user, now)));
    return { matches: matching, isVisible: matching.includes(true) && (await isReached()) };
  };

  return {
    list: async (caller, selection) => {
      const now = clock();
      const reach = isUnlimited(caller, 'mails', 'read') ? null : await reachOf(caller, now);
      const grants = readGrants(caller, now, reach);
      const rules = grants.map(({ rule }) => rule);
      const found = await readQueuedMails(db, schemas, selection, rules, rulesToRetry(caller, now));
      return found.map(({ matching, isWritable, ...queued }) => ({
        ...readableFields(queued, grants, matching),
        // Emails that the caller can read are for users whose rights they have, so that only the rules are left to check.
        can_retry: queued.state === 'failed' && isWritable,
      }));
    },

    retry: (caller, id) =>
      dbOf(caller).transaction(async (tx) => {
        const now = clock();
        const reach = await reachToRetry(tx, caller, id, rulesToRetry(caller, now), now);
        // The same error as for any item that does not exist.
        if (!reach?.isVisible || !(await mail.retry(tx, id))) throw new ApiError('FORBIDDEN');
        await activity.record(tx, caller, [{ action: 'mail_retry', collection: 'mails', item: id.toLowerCase() }]);
      }),

    reachToRead: async (tx, caller, id, rules, now, reach) => {
      const within = readGrants(caller, now, reach).map(({ rule }) => rule);
      const found = await findQueuedMail(tx, schemas, id, [...rules, ...within]);
      if (!found) return undefined;
      const { matching } = found;
      return { matches: matching.slice(0, rules.length), isVisible: matching.slice(rules.length).includes(true) };
    },

    reachToRetry,
  };
}
