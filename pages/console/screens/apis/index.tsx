import { useState } from 'preact/hooks';
import { patch, post, remove } from '../../api/client.js';
import type { Resource, Schemas } from '../../api/types.js';
import { changed } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useDraft } from '../../app/draft.js';
import { usePage } from '../../app/use-page.js';
import { Button } from '../../components/button.js';
import { ask, Dialog } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { CheckField, TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { Empty, Screen } from '../../components/layout.js';
import { type Column, Pager, Table } from '../../components/table.js';
import { toast } from '../../components/toast.js';
import { fieldText, t } from '../../texts.js';

/** The APIs for which applications get access tokens. */
export default function Apis() {
  const { can } = useAccess();
  const [edited, setEdited] = useState<Resource>();
  const list = usePage<Resource>('/resources', { sort: 'name' });
  const mayEdit = can('update', 'resources');
  const columns: readonly Column<Resource>[] = [
    { key: 'name', title: t('applications_name'), cell: ({ name }) => <strong>{name}</strong> },
    { key: 'identifier', title: t('apis_identifier'), cell: ({ identifier }) => <code>{identifier}</code> },
    { key: 'scopes', title: t('apis_scopes'), cell: ({ scopes }) => scopes?.join(', ') || '–' },
    {
      key: 'actions',
      title: t('user_actions'),
      align: 'end',
      cell: (api) => (
        <span class="cell-actions">
          {mayEdit && <Button onPress={() => setEdited(api)}>{t('edit')}</Button>}
          {can('delete', 'resources') && (
            <Button
              kind="danger"
              onPress={() =>
                ask({
                  title: t('apis_delete_title', { name: api.name ?? '' }),
                  text: t('apis_delete_text'),
                  action: t('apis_delete'),
                  act: async () => {
                    await remove('/resources/{id}', undefined, { params: { id: api.id ?? '' } });
                    void changed('resources');
                    toast(t('apis_deleted', { name: api.name ?? '' }));
                  },
                })
              }
            >
              {t('apis_delete')}
            </Button>
          )}
        </span>
      ),
    },
  ];
  const newButton = (
    <Button kind="primary" icon="plus" onPress={() => setEdited({})}>
      {t('apis_new')}
    </Button>
  );
  const mayCreate = can('create', 'resources');
  return (
    <Screen title={t('nav_apis')} lead={t('apis_lead')} {...(mayCreate ? { actions: newButton } : {})}>
      <Failure failure={list.failure} retry={list.reload} />
      <Table
        label={t('nav_apis')}
        columns={columns}
        rows={list.data}
        rowKey={({ id }) => id ?? ''}
        rowName={({ name }) => name ?? ''}
        isLoading={list.isLoading}
        empty={
          <Empty icon="link" title={t('apis_none_title')} {...(mayCreate ? { action: newButton } : {})}>
            {t('apis_none')}
          </Empty>
        }
      />
      <Pager number={list.number} next={list.next} previous={list.previous} />
      {edited && <EditApi api={edited} close={() => setEdited(undefined)} />}
    </Screen>
  );
}

function EditApi({ api, close }: { api: Resource; close: () => void }) {
  const [draft, enter, discard] = useDraft(`api-${api.id ?? 'new'}`, {
    name: api.name ?? '',
    identifier: api.identifier ?? '',
    scopes: api.scopes?.join(' ') ?? '',
    ttl: api.access_token_ttl ?? '',
    isOpen: api.open_to_unregistered ?? false,
  });
  const { name, identifier, scopes, ttl, isOpen } = draft;
  const save = async () => {
    const values = {
      name,
      scopes: scopes.split(/\s+/).filter(Boolean),
      open_to_unregistered: isOpen,
      // A new API gets the default. The API says that an existing one must have a lifetime.
      ...(ttl === '' && api.id === undefined ? {} : { access_token_ttl: ttl }),
    };
    if (api.id === undefined) await post('/resources', { ...values, identifier } as Schemas['NewResource']);
    else await patch('/resources/{id}', values, { params: { id: api.id } });
    void changed('resources');
    toast(t('apis_saved', { name }));
    discard(close);
  };
  return (
    <Dialog
      title={api.id === undefined ? t('apis_new') : t('apis_edit_title', { name: api.name ?? '' })}
      onClose={close}
    >
      <Form
        submit={t('save')}
        fields={['name', 'identifier', 'scopes', 'access_token_ttl']}
        onSubmit={save}
        onCancel={() => discard(close)}
        disabled={name.trim() === '' || identifier.trim() === ''}
      >
        {(faultOf) => (
          <>
            <TextField
              label={t('applications_name')}
              value={name}
              onInput={(typed) => enter({ name: typed })}
              fault={faultOf('name')}
            />
            <TextField
              label={t('apis_identifier')}
              hint={t('apis_identifier_hint')}
              placeholder="https://api.example.com"
              value={identifier}
              onInput={(typed) => enter({ identifier: typed })}
              disabled={api.id !== undefined}
              fault={faultOf('identifier')}
            />
            <TextField
              label={t('apis_scopes')}
              hint={t('apis_scopes_hint')}
              placeholder="orders:read orders:write"
              value={scopes}
              onInput={(typed) => enter({ scopes: typed })}
              fault={faultOf('scopes')}
            />
            <TextField
              label={fieldText('access_token_ttl')}
              placeholder="15m"
              value={ttl}
              onInput={(typed) => enter({ ttl: typed })}
              fault={faultOf('access_token_ttl')}
            />
            <CheckField
              label={t('apis_open')}
              hint={t('apis_open_hint')}
              checked={isOpen}
              onChange={(checked) => enter({ isOpen: checked })}
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}
