import { patch } from '../../api/client.js';
import type { User } from '../../api/types.js';
import { changed, useApi } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useDraft } from '../../app/draft.js';
import { useUrlState } from '../../app/url-state.js';
import { usePage } from '../../app/use-page.js';
import { StatusBadge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { Dialog } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { Form } from '../../components/form.js';
import { Empty } from '../../components/layout.js';
import { nameOf, PersonCell } from '../../components/person.js';
import { ManyPicker, type Picked } from '../../components/picker.js';
import { SearchField } from '../../components/search-field.js';
import { type Column, Pager, Table } from '../../components/table.js';
import { toast } from '../../components/toast.js';
import { fieldText, t, tn } from '../../texts.js';
import type { RoleItem } from './index.js';

type Row = User & { id: string };

const columns: readonly Column<Row>[] = [
  {
    key: 'name',
    title: t('users_name'),
    cell: (user) => <PersonCell person={user} id={user.id} />,
  },
  {
    key: 'status',
    title: fieldText('status'),
    cell: ({ status }) => <StatusBadge status={status} />,
  },
];

/** The users with a role, page by page. */
export function Members({ role }: { role: RoleItem }) {
  const { isAdmin } = useAccess();
  const [{ q = '', add }, change] = useUrlState<'q' | 'add'>();
  const list = usePage<Row>('/users', {
    filter: { role: { _eq: role.id } },
    fields: 'id,first_name,last_name,email,avatar,status',
    search: q,
    // The order in which they were created. Unlike the time, it is indexed with the role.
    sort: '-id',
  });
  const addMembers = (
    <Button kind="primary" icon="plus" onPress={() => change({ add: 'members' })}>
      {t('role_add_members')}
    </Button>
  );
  const removeMember = async (user: Row) => {
    const params = { id: user.id };
    await patch('/users/{id}', { role: null }, { params });
    void changed('users', 'roles');
    toast(t('role_member_removed', { user: nameOf(user, user.id), role: role.name }), {
      undo: () => patch('/users/{id}', { role: role.id }, { params }).then(() => changed('users', 'roles')),
    });
  };
  const removal: Column<Row> = {
    key: 'remove',
    title: t('role_membership'),
    align: 'end',
    cell: (user) => (
      <Button
        label={t('role_remove_member', { name: nameOf(user, user.id) })}
        icon="close"
        kind="quiet"
        onPress={() => removeMember(user)}
      />
    ),
  };
  return (
    <>
      <div class="toolbar">
        <SearchField
          label={t('users_search')}
          value={q}
          onSearch={(search) => change({ q: search }, { replace: true })}
        />
        {isAdmin && <div class="toolbar-end">{addMembers}</div>}
      </div>
      <Failure failure={list.failure} retry={list.reload} />
      <Table
        label={t('roles_members')}
        columns={isAdmin ? [...columns, removal] : columns}
        rows={list.data}
        rowKey={({ id }) => id}
        rowName={(user) => nameOf(user, user.id)}
        href={({ id }) => `/users/${id}`}
        isLoading={list.isLoading}
        empty={
          <Empty
            icon="users"
            title={t(q ? 'users_none_title' : 'role_no_members_title')}
            action={!q && isAdmin ? addMembers : undefined}
          >
            {t(q ? 'users_none' : 'role_no_members')}
          </Empty>
        }
      />
      <Pager number={list.number} next={list.next} previous={list.previous} />
      {add !== undefined && isAdmin && <AddMembers role={role} close={() => change({ add: undefined })} />}
    </>
  );
}

/** As many users as one request may change here. */
const maxAdded = 100;

interface WithRole {
  id: string;
  role?: { id: string; name: string } | null;
}

function AddMembers({ role, close }: { role: RoleItem; close: () => void }) {
  const [{ picked }, enter, discard] = useDraft<{ picked: readonly Picked[] }>(`role-members-${role.id}`, {
    picked: [],
  });
  const keys = picked.map(({ id }) => id);
  const { data } = useApi(keys.length > 0 ? '/users' : undefined, {
    query: { filter: { id: { _in: keys } }, fields: 'id,role.id,role.name', limit: maxAdded },
  });
  // What was read before the last pick is shown until the next response.
  const current = ((data?.data ?? []) as WithRole[]).filter(({ id }) => keys.includes(id));
  const replaced = current.filter((user) => user.role && user.role.id !== role.id);
  const save = async () => {
    await patch('/users', { keys, data: { role: role.id } }, { query: { fields: 'id' } });
    void changed('users', 'roles');
    toast(tn('role_members_added', keys.length, { role: role.name }), {
      // Each user gets back the role that they had, in one request.
      undo: () =>
        patch(
          '/users',
          current.map((user) => ({ id: user.id, role: user.role?.id ?? null })),
          { query: { fields: 'id' } },
        ).then(() => changed('users', 'roles')),
    });
    discard(close);
  };
  return (
    <Dialog
      title={t('role_add_members_title', { name: role.name })}
      lead={t('role_add_members_lead')}
      onClose={close}
      size="large"
    >
      <Form
        submit={picked.length === 0 ? t('role_add_members') : tn('role_add_count', picked.length)}
        fields={[]}
        onSubmit={save}
        onCancel={() => discard(close)}
        disabled={picked.length === 0 || picked.length > maxAdded || current.length < picked.length}
      >
        {() => (
          <>
            <ManyPicker
              kind="users"
              label={t('nav_users')}
              value={picked}
              onChange={(next) => enter({ picked: next })}
            />
            {replaced.length > 0 && (
              <div class="notice notice-warning">
                <div>
                  <p>{tn('role_replaces', replaced.length)}</p>
                  <ul class="plain-list">
                    {replaced.map((user) => (
                      <li key={user.id}>
                        {t('role_replaced', {
                          user: picked.find(({ id }) => id === user.id)?.name ?? user.id,
                          role: user.role?.name ?? '',
                        })}
                      </li>
                    ))}
                  </ul>
                </div>
              </div>
            )}
          </>
        )}
      </Form>
    </Dialog>
  );
}
