import type { Executor } from '../../db/client.js';
import { deleteUnclaimedUsers } from '../../db/queries/registration/unclaimed-users.js';
import type { Activity } from '../activity/service.js';
import type { Origin } from '../http/caller.js';

/**
 * Deletes the users who have one of these addresses only because someone registered it. An address that no one has verified is not
 * reserved, so another user can get it.
 * @param except a user who keeps their address
 */
export async function endUnclaimedUsers(
  tx: Executor,
  activity: Pick<Activity, 'record'>,
  origin: Origin,
  emails: readonly string[],
  except?: string,
): Promise<void> {
  const deleted = await deleteUnclaimedUsers(tx, emails, except === undefined ? [] : [except]);
  await activity.record(
    tx,
    origin,
    deleted.map((item) => ({ action: 'delete', collection: 'users', item })),
  );
}
