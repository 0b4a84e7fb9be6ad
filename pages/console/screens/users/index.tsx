import type { User } from '../../api/types.js';
import { usePage } from '../../api/use-api.js';
import { useUrlState } from '../../app/url-state.js';
import { StatusBadge } from '../../components/badge.js';
import { Failure } from '../../components/failure.js';
import { Empty, Screen } from '../../components/layout.js';
import { Avatar, fullName, nameOf } from '../../components/person.js';
import { SearchField } from '../../components/search-field.js';
import { type Column, Pager, Table } from '../../components/table.js';
import { Ago } from '../../components/time.js';
import { fieldText, t } from '../../texts.js';

type Row = User & { role?: { id: string; name: string } | null };

const columns: readonly Column<Row>[] = [
  {
    key: 'name',
    title: t('users_name'),
    sort: 'last_name',
    cell: (user) => (
      <span class="person-cell">
        <Avatar person={user} />
        <span>
          <strong>{nameOf(user, user.id)}</strong>
          {fullName(user) && <span class="hint">{user.email}</span>}
        </span>
      </span>
    ),
  },
  { key: 'status', title: fieldText('status'), sort: 'status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'role',
    title: fieldText('role'),
    cell: ({ role }) => role?.name ?? <span class="muted">{t('none')}</span>,
    isSecondary: true,
  },
  {
    key: 'last_access',
    title: fieldText('last_access'),
    sort: 'last_access',
    cell: ({ last_access }) => <Ago time={last_access} otherwise={t('never')} />,
    isSecondary: true,
  },
];

/** The list of users. */
export default function Users() {
  const [state, change] = useUrlState<'q' | 'sort'>();
  const { q = '', sort = '-created_at' } = state;
  const list = usePage<Row>('/users', {
    fields: 'id,first_name,last_name,email,avatar,status,last_access,role.id,role.name',
    search: q,
    sort,
  });
  return (
    <Screen title={t('nav_users')}>
      <div class="toolbar">
        <SearchField
          label={t('users_search')}
          value={q}
          onSearch={(search) => change({ q: search }, { replace: true })}
        />
      </div>
      <Failure failure={list.failure} retry={list.reload} />
      <Table
        label={t('nav_users')}
        columns={columns}
        rows={list.data}
        rowKey={(user) => user.id ?? ''}
        rowName={(user) => nameOf(user, user.id)}
        href={(user) => `/users/${user.id}`}
        sort={sort}
        onSort={(next) => change({ sort: next })}
        isLoading={list.isLoading}
        empty={
          <Empty icon="search" title={t('users_none_title')}>
            {t('users_none')}
          </Empty>
        }
      />
      <Pager number={list.number} next={list.next} previous={list.previous} />
    </Screen>
  );
}
