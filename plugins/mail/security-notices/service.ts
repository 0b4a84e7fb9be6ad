import type { Executor } from '../../../db/client.js';
import { type AccountState, readAccountStates } from '../../../db/queries/mail/recipients.js';
import type { ActivityEvent, ActivityListener, SignInMethod } from '../../activity/service.js';
import type { Clock } from '../../platform/clock.js';
import { deviceOf, type Origin } from '../../server/caller.js';
import type { RateLimits } from '../../server/rate-limits/service.js';
import type { Mail } from '../index.js';
import type { NoticeJob } from '../jobs.js';
import { changesOf, userOf } from './changes.js';

interface Dependencies {
  clock: Clock;
  mail: Pick<Mail, 'enqueueAll'>;
  rateLimits: Pick<RateLimits, 'mayNotify'>;
  /** The display name of a provider. */
  labelOf(provider: string): string;
  /** The page where users can end all sessions and request a new password. */
  notMeUrl: string;
  onTooMany(): void;
}

/**
 * Queues an email to each user whose credentials were changed, in the transaction of the change. One email covers all changes to a
 * user in that transaction. It is sent only to active users, at the address that they had before the change.
 */
export function createSecurityNotices(deps: Dependencies): ActivityListener {
  const { clock, mail, rateLimits, labelOf, notMeUrl, onTooMany } = deps;

  const labeled = (item: SignInMethod): SignInMethod =>
    typeof item === 'string' ? item : { provider: labelOf(item.provider) };

  const noticeOf = async (
    { userId, client }: Origin,
    now: AccountState,
    events: readonly ActivityEvent[],
  ): Promise<NoticeJob | undefined> => {
    const former = events.find(({ aside }) => aside?.former)?.aside?.former ?? now;
    const [change, ...others] = new Set(events.flatMap((event) => changesOf(event, former, now)));
    const isInUse = former.status === 'active' && now.status === 'active';
    if (!isInUse || change === undefined || former.email === null) return undefined;
    const isOwn = userId === now.id;
    if (isOwn && !(await rateLimits.mayNotify(former.email))) {
      onTooMany();
      return undefined;
    }
    const changes: NoticeJob['changes'] = [change, ...others];
    const provider = events.find(({ aside }) => aside?.provider !== undefined)?.aside?.provider;
    const reset = events.find(({ aside }) => aside?.reset)?.aside?.reset;
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
    const jobs = await Promise.all(states.map((now) => noticeOf(origin, now, byUser.get(now.id) ?? [])));
    await mail.enqueueAll(
      tx,
      jobs.filter((job) => job !== undefined),
    );
  };

  return async (tx, origin, events) => {
    const byUser = new Map<string, ActivityEvent[]>();
    for (const event of events) {
      const user = userOf(event, origin);
      if (user !== undefined) byUser.set(user, [...(byUser.get(user) ?? []), event]);
    }
    if (byUser.size > 0) await notifyUsers(tx, origin, byUser);
  };
}
