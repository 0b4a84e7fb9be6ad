import { useMemo } from 'preact/hooks';
import { searchingUsers } from '../../api/user-search.js';
import { useAccess } from '../../app/access.js';
import { useShortcuts } from '../../app/screen-shortcuts.js';
import { useUrlState } from '../../app/url-state.js';
import { usePage } from '../../app/use-page.js';
import { Button } from '../../components/button.js';
import { ColumnPicker } from '../../components/column-picker.js';
import { Failure } from '../../components/failure.js';
import { FilterBar } from '../../components/filters/filter-bar.js';
import { Invite } from '../../components/invite.js';
import { Empty, Screen } from '../../components/layout.js';
import { Menu } from '../../components/menu.js';
import { nameOf } from '../../components/person.js';
import { SearchField } from '../../components/search-field.js';
import { focusedKey, moveRow, Pager, Table } from '../../components/table.js';
import { toast } from '../../components/toast.js';
import { t, tn } from '../../texts.js';
import {
  columnFields,
  columnNames,
  columnsOf,
  exportedFields,
  indexed,
  listedFields,
  type Row,
  usualColumns,
} from './columns.js';
import { type Count, useCount } from './count.js';
import { CreateUser } from './create.js';
import { canDownload, download, listUrl } from './export.js';
import { useSelection } from './selection.js';
import { SelectionBar } from './selection-bar.js';
import { type ViewState, Views } from './views.js';

/**
 * New users first: their IDs are in the order in which they were created, and are indexed. Of those who stay away, those who have been away
 * the longest: there is an index for this, too, which also finds them.
 */
const usualSort = (filter: string) => (/"last_access"\s*:\s*\{\s*"_lt/.test(filter) ? 'last_access' : '-id');
/** What people filter by most. */
const usualFilters = [
  'status',
  'role',
  'policies',
  'last_access',
  'created_at',
  'email',
  'email_verified_at',
  'provider',
];

/** The list of users. */
export default function Users() {
  const access = useAccess();
  const [state, change] = useUrlState<keyof ViewState>();
  const { q = '', filter = '' } = state;
  const usual = usualSort(filter);
  const sort = state.sort ?? usual;
  const chosen = columnNames(access, state.columns);
  const isCompact = state.density === 'compact';
  const { can, canUse } = access;
  const mayCreate = canUse('create', 'users', 'email');
  const selecting = searchingUsers(q, canUse, filter);
  const list = usePage<Row>('/users', { ...selecting, sort, fields: listedFields(access, chosen) });
  const exported = { ...selecting, sort, fields: exportedFields(access, chosen) };
  const isOnlyPage = list.data !== undefined && list.number === 1 && !list.next && !list.isLoading;
  const count = useCount(selecting, {
    sort: usual,
    isLoading: list.isLoading,
    known: isOnlyPage ? list.data?.length : undefined,
  });
  const columns = useMemo(() => columnsOf(access, chosen), [access, state.columns]);
  // What is on the screen still belongs to the previous query.
  const isRefused = list.failure !== undefined && ['INVALID_QUERY', 'FORBIDDEN'].includes(list.failure.code);
  const selection = useSelection(selecting);
  const [{ new: dialog }, setDialog] = useUrlState<'new'>();
  const maySelect = can('delete', 'users') || ['status', 'role'].some((name) => canUse('update', 'users', name));
  const mayInvite = access.mayInvite && can('read', 'roles');
  const toggleRow = () => {
    const key = focusedKey();
    if (key && maySelect) selection.table.toggle([key], !selection.table.isSelected(key));
  };
  useShortcuts([
    { key: 'j', text: t('shortcut_next_row'), run: () => moveRow(1) },
    { key: 'k', text: t('shortcut_previous_row'), run: () => moveRow(-1) },
    { key: 'x', text: t('shortcut_select_row'), run: toggleRow },
    {
      key: 'f',
      text: t('shortcut_filter'),
      run: () => document.querySelector<HTMLElement>('[data-add-filter]')?.click(),
    },
    { key: 'Escape', text: t('users_select_none'), run: selection.clear },
  ]);
  return (
    <Screen
      title={t('nav_users')}
      actions={
        <>
          {mayCreate && (
            <Button icon="plus" onPress={() => setDialog({ new: 'create' })}>
              {t('create_title')}
            </Button>
          )}
          {mayInvite && (
            <Button kind="primary" icon="invitation" onPress={() => setDialog({ new: 'invite' })}>
              {t('invite')}
            </Button>
          )}
        </>
      }
    >
      <Views state={state} />
      <div class="toolbar">
        <SearchField
          label={t('users_search')}
          value={q}
          onSearch={(search) => change({ q: search }, { replace: true })}
        />
        <FilterBar
          collection="users"
          value={filter}
          usual={usualFilters}
          onChange={(next) => change({ filter: next })}
        />
        <div class="toolbar-end">
          <ColumnPicker
            fields={columnFields(access)}
            chosen={chosen}
            onChange={(next = usualColumns) =>
              change({ columns: next.join() === usualColumns.join() ? undefined : next.join() || 'none' })
            }
          />
          <Button
            icon="menu"
            label={t('compact')}
            pressed={isCompact}
            onPress={() => change({ density: isCompact ? undefined : 'compact' })}
          />
          <Menu
            label={t('users_export')}
            icon="download"
            items={[
              canDownload && {
                text: t('users_export_csv'),
                icon: 'download',
                onSelect: () => download(exported, 'csv'),
              },
              canDownload && {
                text: t('users_export_ndjson'),
                icon: 'download',
                onSelect: () => download(exported, 'ndjson'),
              },
              {
                text: t('users_copy_request'),
                icon: 'copy',
                onSelect: async () => {
                  await navigator.clipboard.writeText(listUrl(exported));
                  toast(t('users_request_copied'));
                },
              },
            ]}
          />
        </div>
      </div>
      <Failure failure={list.failure} retry={list.reload} />
      {!isRefused && !(list.failure && !list.data) && (
        <Table
          label={t('nav_users')}
          columns={columns}
          rows={list.data}
          rowKey={({ id }) => id}
          rowName={(user) => nameOf(user, user.id)}
          href={({ id }) => `/users/${id}`}
          sort={sort}
          onSort={(next) => change({ sort: next })}
          canSortBy={(field) => typeof count === 'number' || indexed.has(field)}
          {...(maySelect ? { selection: selection.table } : {})}
          isLoading={list.isLoading}
          isCompact={isCompact}
          empty={
            <Empty
              icon="search"
              title={t('users_none_title')}
              action={
                (filter || q) && (
                  <Button onPress={() => change({ filter: undefined, q: undefined })}>{t('users_show_all')}</Button>
                )
              }
            >
              {t('users_none')}
            </Empty>
          }
        />
      )}
      {!list.failure && (
        <Pager number={list.number} next={list.next} previous={list.previous} note={<CountNote count={count} />} />
      )}
      {!selection.isEmpty && (
        <SelectionBar
          selected={selection.selected}
          count={count}
          selectAll={selection.selectAll}
          clear={selection.clear}
        />
      )}
      {dialog === 'invite' && mayInvite && <Invite onClose={() => setDialog({ new: undefined })} />}
      {dialog === 'create' && mayCreate && <CreateUser onClose={() => setDialog({ new: undefined })} />}
    </Screen>
  );
}

function CountNote({ count }: { count: Count }) {
  if (count === undefined) return <span aria-busy="true">…</span>;
  if (typeof count === 'number') return <>{tn('users_count', count)}</>;
  return <>{tn('users_more_than', count.moreThan)}</>;
}
