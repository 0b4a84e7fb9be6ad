import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import type { Activity, User } from '../api/types.js';
import { useAccess } from '../app/access.js';
import { t } from '../texts.js';
import { nameOf } from './person.js';

/** An event with the user who caused it. */
export type ActorEvent = Omit<Activity, 'user'> & { user?: User | string | null };

/** The fields to read for {@link Actor}. Without the name, the ID remains. */
export const actorFields = 'user,user.id,user.first_name,user.last_name,user.email';

/** A link to a user, for those who may read users. */
export function UserLink({ id, children }: { id: string; children: ComponentChildren }) {
  return useAccess().can('read', 'users') ? <Link href={`/users/${id}`}>{children}</Link> : <span>{children}</span>;
}

/** Who did it: the name of the user, if the caller may read it. */
export function Actor({ user }: { user: ActorEvent['user'] }) {
  if (!user) return <span class="muted">{t('activity_nobody')}</span>;
  const id = typeof user === 'string' ? user : (user.id ?? '');
  return <UserLink id={id}>{typeof user === 'string' ? id : nameOf(user, id)}</UserLink>;
}
