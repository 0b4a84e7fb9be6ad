import { useEffect } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { User } from '../../api/types.js';
import { useApi } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import type { ScreenProps } from '../../app/screens.js';
import { Badge, StatusBadge } from '../../components/badge.js';
import { Failure } from '../../components/failure.js';
import { Copyable, Empty, Screen, Tabs } from '../../components/layout.js';
import { Avatar, fullName, nameOf } from '../../components/person.js';
import type { TextKey } from '../../texts.js';
import { t } from '../../texts.js';
import { Actions } from './actions.js';
import { Applications } from './applications.js';
import { Emails } from './emails.js';
import { History } from './history.js';
import { Profile } from './profile.js';
import { useReach } from './reach.js';
import { Rights } from './rights.js';
import { Security } from './security.js';

/** A user, with the role and the policies by name. */
export type UserItem = Omit<User, 'role' | 'policies'> & {
  id: string;
  role?: { id: string; name: string } | null;
  policies?: { id: string; name: string }[] | null;
};

const fields = '*,role.id,role.name,policies.id,policies.name,locked_until,has_password,last_failure';

/** Milliseconds after the end of a lock until the user is read again, in case the clocks differ. */
const spareMs = 1_000;

const isNamed = (item: unknown): boolean => item === null || (typeof item === 'object' && 'name' in item);

/** Without roles and policies whose names the caller may not read: they are only IDs. */
function withNames({ role, policies, ...user }: User): UserItem {
  return {
    ...user,
    ...(isNamed(role) ? { role } : {}),
    ...(policies?.every(isNamed) === false ? {} : { policies }),
  } as UserItem;
}

export interface PartProps {
  user: UserItem;
  /** Whether the caller has all rights of the user, and may therefore help with the account. */
  isInReach: boolean;
  /** Reads the user again. @returns undefined if that is impossible */
  reload: () => Promise<UserItem | undefined>;
}

const parts = {
  profile: { text: 'user_profile', Part: Profile },
  security: { text: 'user_security', Part: Security },
  access: { text: 'user_access', Part: Rights },
  applications: { text: 'user_applications', Part: Applications },
  emails: { text: 'nav_emails', Part: Emails },
  history: { text: 'user_history', Part: History },
} as const satisfies Record<string, { text: TextKey; Part: (props: PartProps) => unknown }>;

type PartName = keyof typeof parts;
const isPartName = (name: string): name is PartName => name in parts;

/** One user: who they are, what they may do, how they sign in, and what happened. */
export default function UserScreen({ params }: ScreenProps) {
  const { id = '', part = 'profile' } = params;
  const access = useAccess();
  const { data, failure, reload: reread } = useApi('/users/{id}', { params: { id }, query: { fields } });
  const reload = async () => {
    const read = await reread();
    return read && withNames(read.data);
  };
  const user = data && withNames(data.data);
  const lockedUntil = user?.locked_until;
  useEffect(() => {
    if (!lockedUntil) return;
    const timer = setTimeout(reload, Date.parse(lockedUntil) - Date.now() + spareMs);
    return () => clearTimeout(timer);
  }, [lockedUntil]);
  const isInReach = useReach(user?.id === id ? user : undefined);
  const parent = { href: '/users', text: t('nav_users') };
  if (!user || user.id !== id)
    return (
      <Screen title={t('user_title')} parent={parent}>
        {failure ? <Failure failure={failure} retry={reload} /> : <div class="screen-loading" aria-busy="true" />}
      </Screen>
    );
  const name = nameOf(user, user.id);
  const isOpen: Record<PartName, boolean> = {
    profile: true,
    security: true,
    access: access.can('read', 'roles') || access.can('read', 'policies'),
    applications: access.isAdmin,
    emails: access.can('read', 'mails'),
    history: access.can('read', 'activity'),
  };
  const open = (Object.keys(parts) as PartName[]).filter((key) => isOpen[key]);
  const current = isPartName(part) && isOpen[part] ? part : undefined;
  const { Part } = parts[current ?? 'profile'];
  return (
    <Screen
      title={name}
      parent={parent}
      picture={<Avatar person={user} size="large" />}
      aside={
        <>
          <StatusBadge status={user.status} />
          {user.locked_until && <Badge tone="bad">{t('user_locked')}</Badge>}
          {user.role && <Badge>{user.role.name}</Badge>}
          {user.id === access.me.id && <Badge tone="accent">{t('user_you')}</Badge>}
        </>
      }
      lead={
        <span class="user-lead">
          {fullName(user) && user.email && <span>{user.email}</span>}
          <Copyable value={user.id} label={t('user_id')} />
        </span>
      }
      actions={<Actions user={user} name={name} isInReach={isInReach} reload={reload} />}
    >
      <Failure failure={failure} retry={reload} />
      <Tabs
        label={name}
        tabs={open.map((key) => ({
          href: key === 'profile' ? `/users/${id}` : `/users/${id}/${key}`,
          text: t(parts[key].text),
          isCurrent: key === current,
        }))}
      />
      {current ? (
        <Part user={user} isInReach={isInReach} reload={reload} />
      ) : (
        <Empty
          icon="search"
          title={t('not_found_title')}
          action={<Link href={`/users/${id}`}>{t('user_profile')}</Link>}
        >
          {t('not_found')}
        </Empty>
      )}
    </Screen>
  );
}
