import { useLocation } from 'wouter-preact';
import { post } from '../../api/client.js';
import type { Policy } from '../../api/types.js';
import { changed } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useDraft } from '../../app/draft.js';
import { useUrlState } from '../../app/url-state.js';
import { usePage } from '../../app/use-page.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { Dialog } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { Empty, Screen } from '../../components/layout.js';
import { PolicyBadges } from '../../components/rules/policy-badges.js';
import { SearchField } from '../../components/search-field.js';
import { type Column, Pager, Table } from '../../components/table.js';
import { toast } from '../../components/toast.js';
import { fieldText, numberText, t } from '../../texts.js';

type Row = Policy & { id: string };

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
    key: 'options',
    title: t('policies_options'),
    cell: (policy) => <PolicyBadges policy={policy} />,
  },
  {
    key: 'rules',
    title: t('policies_rules'),
    cell: ({ permissions, admin_access }) =>
      admin_access ? <Badge tone="warning">{t('policies_everything')}</Badge> : numberText(permissions?.length ?? 0),
    align: 'end',
  },
  {
    key: 'roles',
    title: t('policies_roles'),
    cell: ({ roles }) => numberText(roles?.length ?? 0),
    align: 'end',
  },
];

const listed = [
  ...['id', 'name', 'description', 'permissions', 'roles'],
  ...['admin_access', 'app_access', 'enforce_tfa', 'ip_access'],
];

/** The list of policies. */
export default function Policies() {
  const [{ q = '', sort = 'name', create }, change] = useUrlState<'q' | 'sort' | 'create'>();
  const { isAdmin } = useAccess();
  const list = usePage<Row>('/policies', {
    fields: listed,
    search: q,
    sort,
  });
  const newPolicy = (
    <Button kind="primary" icon="plus" onPress={() => change({ create: 'policy' })}>
      {t('policies_new')}
    </Button>
  );
  return (
    <Screen title={t('nav_policies')} lead={t('policies_lead')} {...(isAdmin ? { actions: newPolicy } : {})}>
      <div class="toolbar">
        <SearchField
          label={t('policies_search')}
          value={q}
          onSearch={(search) => change({ q: search }, { replace: true })}
        />
      </div>
      <Failure failure={list.failure} retry={list.reload} />
      <Table
        label={t('nav_policies')}
        columns={columns}
        rows={list.data}
        rowKey={({ id }) => id}
        rowName={({ name, id }) => name ?? id}
        href={({ id }) => `/policies/${id}`}
        sort={sort}
        onSort={(next) => change({ sort: next })}
        isLoading={list.isLoading}
        empty={
          <Empty
            icon={q ? 'search' : 'policy'}
            title={t(q ? 'policies_nothing_title' : 'policies_none_title')}
            action={!q && isAdmin ? newPolicy : undefined}
          >
            {t(q ? 'roles_nothing' : 'policies_none')}
          </Empty>
        }
      />
      <Pager number={list.number} next={list.next} previous={list.previous} />
      {create !== undefined && isAdmin && <NewPolicy close={() => change({ create: undefined })} />}
    </Screen>
  );
}

function NewPolicy({ close }: { close: () => void }) {
  const [{ name, description }, enter, discard] = useDraft('policy-new', { name: '', description: '' });
  const [, navigate] = useLocation();
  const save = async () => {
    const { data } = await post('/policies', { name: name.trim(), description: description.trim() || null });
    void changed('policies');
    toast(t('policies_created', { name: name.trim() }));
    discard();
    navigate(`/policies/${(data as Row).id}`, { replace: true });
  };
  return (
    <Dialog title={t('policies_new')} lead={t('policies_new_lead')} onClose={close}>
      <Form
        submit={t('policies_create')}
        fields={['name', 'description']}
        onSubmit={save}
        onCancel={() => discard(close)}
        disabled={name.trim() === ''}
      >
        {(faultOf) => (
          <>
            <TextField
              label={t('roles_name')}
              value={name}
              onInput={(text) => enter({ name: text })}
              maxLength={100}
              fault={faultOf('name')}
            />
            <TextField
              label={fieldText('description')}
              value={description}
              onInput={(text) => enter({ description: text })}
              lines={3}
              fault={faultOf('description')}
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}
