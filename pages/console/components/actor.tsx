import { Link } from 'wouter-preact';
import type { Activity, User } from '../api/types.js';
import { t } from '../texts.js';
import { nameOf } from './person.js';

/** An event with the user who caused it. */
export type ActorEvent = Omit<Activity, 'user'> & { user?: User | string | null };

/** The fields to read for {@link Actor}. */
export const actorFields = 'user.id,user.first_name,user.last_name,user.email';

/** Who did it: the name of the user, if the caller may read it. */
export function Actor({ user }: { user: ActorEvent['user'] }) {
  if (!user) return <span class="muted">{t('activity_nobody')}</span>;
  const id = typeof user === 'string' ? user : (user.id ?? '');
  return <Link href={`/users/${id}`}>{typeof user === 'string' ? id : nameOf(user, id)}</Link>;
}
