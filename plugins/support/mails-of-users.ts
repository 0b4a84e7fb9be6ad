import { findQueuedMail, type MailSelection, type QueuedMail, readQueuedMails } from '../../db/queries/mail/mails.js';
import { ApiError } from '../../schemas/errors.js';
import { hasRightsOverUser } from '../access/account-rights.js';
import { isUnlimited } from '../access/permissions.js';
import { accessViewOf, variablesOf } from '../access/view.js';
import { writeGrantsOf } from '../access/write-grants.js';
import type { Principal } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import { readableFields } from './readable-fields.js';

/**
 * The emails in the queue. Callers who are not administrators need permissions on `mails`, and reach only emails to users whose rights
 * they have. An email for which only an address is known is not the email of a user.
 */
export interface MailsOfUsers {
  /** The emails that the caller may read, with the fields that they may read, newest first. */
  list(caller: Principal, selection: MailSelection): Promise<Partial<QueuedMail>[]>;
  /** Queues an email again after its last attempt has failed. @throws {ApiError} FORBIDDEN, also if there is no such email */
  retry(caller: Principal, id: string): Promise<void>;
}

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

  return {
    list: async (caller, selection) => {
      const now = clock();
      const reach = isUnlimited(caller, 'mails', 'read') ? null : await reachOf(caller, now);
      const grants = accessViewOf(caller, now, reach)('mails');
      const rules = grants.map(({ rule }) => rule);
      const found = await readQueuedMails(db, schemas, selection, rules);
      return found.map(({ matching, ...queued }) => readableFields(queued, grants, matching));
    },

    retry: (caller, id) =>
      dbOf(caller).transaction(async (tx) => {
        const now = clock();
        const grants = writeGrantsOf(caller, 'mails', 'update', variablesOf(caller, now));
        const rules = grants.map(({ rule }) => rule);
        const found = await findQueuedMail(tx, schemas, id, rules);
        const user = found?.user ?? null;
        const isReached =
          isUnlimited(caller, 'mails', 'update') || (user !== null && (await hasRightsOverUser(tx, caller, user, now)));
        // The same error as for any item that does not exist.
        if (!found || !isReached || !(await mail.retry(tx, id))) throw new ApiError('FORBIDDEN');
        await activity.record(tx, caller, [{ action: 'mail_retry', collection: 'mails', item: id.toLowerCase() }]);
      }),
  };
}
