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
import { History } from './history.js';
import { Profile } from './profile.js';
import { Rights } from './rights.js';
import { Security } from './security.js';

/** A user, with the role and the policies by name. */
export type UserItem = Omit<User, 'role' | 'policies'> & {
  id: string;
  role?: { id: string; name: string } | null;
  policies?: { id: string; name: string }[] | null;
};

/** The fields that are read with the names of the items, and their collections. */
const related = [
  ['role', 'roles'],
  ['policies', 'policies'],
] as const;

/** Without roles and policies whose names the caller may not read: they are only IDs. */
function withNames({ role, policies, ...user }: User): UserItem {
  return {
    ...user,
    ...(typeof role === 'string' ? {} : { role }),
    ...(policies?.some((policy) => typeof policy === 'string') ? {} : { policies }),
  } as UserItem;
}

export interface PartProps {
  user: UserItem;
  /** Whether the caller has all rights of the user, and may therefore help with the account. */
  isInReach: boolean;
  reload: () => void;
}

const parts = {
  profile: { text: 'user_profile', Part: Profile },
  security: { text: 'user_security', Part: Security },
  access: { text: 'user_access', Part: Rights },
  applications: { text: 'user_applications', Part: Applications },
  history: { text: 'user_history', Part: History },
} as const satisfies Record<string, { text: TextKey; Part: (props: PartProps) => unknown }>;

type PartName = keyof typeof parts;
const isPartName = (name: string): name is PartName => name in parts;

/** One user: who they are, what they may do, how they sign in, and what happened. */
export default function UserScreen({ params }: ScreenProps) {
  const { id = '', part = 'profile' } = params;
  const access = useAccess();
  const seesEvents = access.can('read', 'activity');
  const fields = [
    '*',
    ...related
      .filter(([field, name]) => access.canUse('read', 'users', field) && access.canUse('read', name, 'name'))
      .map(([field]) => `${field}.id,${field}.name`),
    ...(seesEvents ? ['locked_until', 'has_password', 'last_failure'] : []),
  ];
  const { data, failure, reload } = useApi('/users/{id}', { params: { id }, query: { fields: fields.join() } });
  const user = data && withNames(data.data);
  const parent = { href: '/users', text: t('nav_users') };
  if (failure)
    return (
      <Screen title={t('user_title')} parent={parent}>
        <Failure failure={failure} retry={reload} />
      </Screen>
    );
  if (!user || user.id !== id)
    return (
      <Screen title={t('user_title')} parent={parent}>
        <div class="screen-loading" aria-busy="true" />
      </Screen>
    );
  const name = nameOf(user, user.id);
  // The API returns null if the user has more rights than the caller.
  const isInReach = access.isAdmin || !seesEvents || user.has_password !== null;
  const isOpen: Record<PartName, boolean> = {
    profile: true,
    security: true,
    access: access.can('read', 'roles') || access.can('read', 'policies'),
    applications: access.isAdmin,
    history: seesEvents,
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
