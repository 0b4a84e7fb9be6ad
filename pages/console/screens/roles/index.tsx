import { Link, useLocation } from 'wouter-preact';
import type { Role } from '../../api/types.js';
import { useAccess } from '../../app/access.js';
import { useUrlState } from '../../app/url-state.js';
import { usePage } from '../../app/use-page.js';
import { Button } from '../../components/button.js';
import { Failure } from '../../components/failure.js';
import { Empty, Screen } from '../../components/layout.js';
import { usersHref } from '../../components/rules/members.js';
import { SearchField } from '../../components/search-field.js';
import { type Column, Pager, Table } from '../../components/table.js';
import { fieldText, numberText, t } from '../../texts.js';

type Row = Omit<Role, 'parent'> & { id: string; parent?: { id: string; name: string } | null };

const columns: readonly Column<Row>[] = [
  {
    key: 'name',
    title: t('roles_name'),
    sort: 'name',
    cell: ({ name, description }) => (
      <span class="named-cell">
        <strong>{name}</strong>
        {description && <span class="hint">{description}</span>}
      </span>
    ),
  },
  {
    key: 'parent',
    title: fieldText('parent'),
    cell: ({ parent }) =>
      parent ? <Link href={`/roles/${parent.id}`}>{parent.name}</Link> : <span class="muted">{t('none')}</span>,
  },
  {
    key: 'policies',
    title: fieldText('policies'),
    cell: ({ policies }) => numberText(policies?.length ?? 0),
    align: 'end',
  },
];

const members: Column<Row> = {
  key: 'members',
  title: t('roles_members'),
  cell: ({ id, name }) => (
    <Link class="cell-link" href={usersHref({ role: { _eq: id } })}>
      {t('roles_show_members')}
      <span class="visually-hidden"> ({name})</span>
    </Link>
  ),
  align: 'end',
};

/** The list of roles. */
export default function Roles() {
  const [{ q = '', sort = 'name' }, change] = useUrlState<'q' | 'sort'>();
  const { isAdmin, can } = useAccess();
  const [, navigate] = useLocation();
  const list = usePage<Row>('/roles', {
    fields: 'id,name,description,policies,parent.id,parent.name',
    search: q,
    sort,
  });
  const create = (
    <Button kind="primary" icon="plus" onPress={() => navigate('/roles/new')}>
      {t('roles_new')}
    </Button>
  );
  return (
    <Screen title={t('nav_roles')} lead={t('roles_lead')} {...(isAdmin ? { actions: create } : {})}>
      <div class="toolbar">
        <SearchField
          label={t('roles_search')}
          value={q}
          onSearch={(search) => change({ q: search }, { replace: true })}
        />
      </div>
      <Failure failure={list.failure} retry={list.reload} />
      <Table
        label={t('nav_roles')}
        columns={can('read', 'users') ? [...columns, members] : columns}
        rows={list.data}
        rowKey={({ id }) => id}
        rowName={({ name, id }) => name ?? id}
        href={({ id }) => `/roles/${id}`}
        sort={sort}
        onSort={(next) => change({ sort: next })}
        isLoading={list.isLoading}
        empty={
          <Empty
            icon={q ? 'search' : 'role'}
            title={t(q ? 'roles_nothing_title' : 'roles_none_title')}
            action={!q && isAdmin ? create : undefined}
          >
            {t(q ? 'roles_nothing' : 'roles_none')}
          </Empty>
        }
      />
      <Pager number={list.number} next={list.next} previous={list.previous} />
    </Screen>
  );
}
