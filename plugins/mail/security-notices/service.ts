import type { Executor } from '../../../db/client.js';
import { readRecentActions } from '../../../db/queries/activity/activity.js';
import { type AccountState, readAccountStates } from '../../../db/queries/mail/recipients.js';
import type { ActivityEvent, ActivityListener, SignInMethod } from '../../activity/service.js';
import { deviceOf, type Origin } from '../../http/caller.js';
import type { Services } from '../../platform/plugin.js';
import type { NoticeJob } from '../jobs.js';
import { actions, changesOf, userOf } from './changes.js';

/** Milliseconds between turning on two-factor authentication and creating the recovery codes, which are one event for the user. */
const setupMs = 15 * 60_000;

/**
 * Queues an email to each user whose credentials were changed, in the transaction of the change. One email covers all changes to a
 * user in that transaction. It is sent only to active users, at the address that they had before the change.
 * @param notMeUrl the page where users can end all sessions and request a new password
 */
export function createSecurityNotices({ config, clock, mail }: Services, notMeUrl: string): ActivityListener {
  const labels = new Map(config.PROVIDERS.map(({ key, LABEL }) => [key, LABEL ?? key]));
  /** The display name of a provider. */
  const labelOf = (provider: string) => labels.get(provider) ?? provider;

  const labeled = (item: SignInMethod): SignInMethod =>
    typeof item === 'string' ? item : { provider: labelOf(item.provider) };

  const noticeOf = (
    { userId, client }: Origin,
    now: AccountState,
    events: readonly ActivityEvent[],
  ): NoticeJob | undefined => {
    const former = events.find(({ details }) => details?.former)?.details?.former ?? now;
    const [change, ...others] = new Set(events.flatMap((event) => changesOf(event, former, now)));
    const isInUse = former.status === 'active' && now.status === 'active';
    if (!isInUse || change === undefined || former.email === null) return undefined;
    const isOwn = userId === now.id;
    const changes: NoticeJob['changes'] = [change, ...others];
    const provider = events.find(({ details }) => details?.provider !== undefined)?.details?.provider;
    const reset = events.find(({ details }) => details?.reset)?.details?.reset;
    return {
      kind: 'notice',
      user: now.id,
      email: former.email,
      changes,
      at: clock().toISOString(),
      isOwn,
      device: isOwn ? deviceOf(client.userAgent) : null,
      provider: provider === undefined ? null : labelOf(provider),
      ...(reset && { reset: { removed: reset.removed.map(labeled), remaining: reset.remaining.map(labeled) } }),
      url: notMeUrl,
    };
  };

  const notifyUsers = async (tx: Executor, origin: Origin, byUser: ReadonlyMap<string, readonly ActivityEvent[]>) => {
    const states = await readAccountStates(tx, [...byUser.keys()]);
    const jobs = states.map((now) => noticeOf(origin, now, byUser.get(now.id) ?? []));
    await mail.enqueueAll(
      tx,
      jobs.filter((job) => job !== undefined),
    );
  };

  /** Whether these recovery codes are the first after two-factor authentication was turned on, of which the user was notified. */
  const isPartOfSetup = async (tx: Executor, { action }: ActivityEvent, user: string) => {
    if (action !== 'recovery_codes') return false;
    const since = new Date(clock().getTime() - setupMs);
    const [, previous] = await readRecentActions(tx, user, ['recovery_codes', 'tfa_enable'], since);
    return previous === 'tfa_enable';
  };

  const onRecord: ActivityListener['onRecord'] = async (tx, origin, events) => {
    if (!origin) return;
    const byUser = new Map<string, ActivityEvent[]>();
    for (const event of events) {
      const user = userOf(event);
      if (user !== undefined && !(await isPartOfSetup(tx, event, user)))
        byUser.set(user, [...(byUser.get(user) ?? []), event]);
    }
    if (byUser.size > 0) await notifyUsers(tx, origin, byUser);
  };

  return { actions, onRecord };
}
