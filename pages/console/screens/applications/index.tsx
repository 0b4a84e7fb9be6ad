import { useLocation } from 'wouter-preact';
import type { Client } from '../../api/types.js';
import { useAccess } from '../../app/access.js';
import { useUrlState } from '../../app/url-state.js';
import { usePage } from '../../app/use-page.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { Failure } from '../../components/failure.js';
import { Empty, Screen } from '../../components/layout.js';
import { SearchField } from '../../components/search-field.js';
import { type Column, Pager, Table } from '../../components/table.js';
import { Day } from '../../components/time.js';
import { fieldText, t } from '../../texts.js';
import { NewApplication } from './new-application.js';

const columns: readonly Column<Client>[] = [
  { key: 'name', title: t('applications_name'), sort: 'name', cell: ({ name }) => <strong>{name}</strong> },
  {
    key: 'type',
    title: t('applications_type'),
    cell: ({ type }) => t(type === 'public' ? 'applications_public' : 'applications_confidential'),
  },
  {
    key: 'first_party',
    title: t('applications_consent'),
    cell: ({ first_party }) =>
      first_party ? (
        <Badge>{t('applications_no_consent')}</Badge>
      ) : (
        <Badge tone="accent">{t('applications_asks')}</Badge>
      ),
  },
  {
    key: 'created_at',
    title: fieldText('created_at'),
    sort: 'created_at',
    cell: ({ created_at }) => <Day time={created_at} />,
  },
];

/** The applications that sign users in with this service. */
export default function Applications() {
  const { can } = useAccess();
  const [, navigate] = useLocation();
  const [state, change] = useUrlState<'q' | 'sort' | 'new'>();
  const { q = '', sort = 'name' } = state;
  const list = usePage<Client>('/clients', { fields: 'id,name,type,first_party,created_at', search: q, sort });
  const mayCreate = can('create', 'clients');
  const newButton = (
    <Button kind="primary" icon="plus" onPress={() => change({ new: 'yes' })}>
      {t('applications_new')}
    </Button>
  );
  return (
    <Screen title={t('nav_applications')} lead={t('applications_lead')} {...(mayCreate ? { actions: newButton } : {})}>
      <div class="toolbar">
        <SearchField
          label={t('applications_search')}
          value={q}
          onSearch={(search) => change({ q: search }, { replace: true })}
        />
      </div>
      <Failure failure={list.failure} retry={list.reload} />
      <Table
        label={t('nav_applications')}
        columns={columns}
        rows={list.data}
        rowKey={({ id }) => id ?? ''}
        rowName={({ name }) => name ?? ''}
        href={({ id }) => `/applications/${id}`}
        sort={sort}
        onSort={(next) => change({ sort: next })}
        isLoading={list.isLoading}
        empty={
          <Empty icon="application" title={t('applications_none_title')} {...(mayCreate ? { action: newButton } : {})}>
            {t('applications_none')}
          </Empty>
        }
      />
      <Pager number={list.number} next={list.next} previous={list.previous} />
      {state.new && mayCreate && (
        <NewApplication close={() => change({ new: undefined })} open={(id) => navigate(`/applications/${id}`)} />
      )}
    </Screen>
  );
}
