import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { patch, post, remove } from '../../api/client.js';
import type { Client, Schemas } from '../../api/types.js';
import { changed, useApi } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useDraft } from '../../app/draft.js';
import type { ScreenProps } from '../../app/screens.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { ask, Dialog } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { CheckField, SelectField, TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { Card, Copyable, Fact, Facts, Screen } from '../../components/layout.js';
import { Time } from '../../components/time.js';
import { toast } from '../../components/toast.js';
import { type Field, fieldsOf } from '../../model/fields.js';
import { page } from '../../page-data.js';
import { fieldText, t, textIfAny } from '../../texts.js';

type Values = Record<string, unknown>;

/** Lists with one value per line. */
const lines = new Set([
  'redirect_uris',
  'post_logout_redirect_uris',
  'allowed_origins',
  'scopes',
  'resources',
  'grant_types',
]);
const editable = fieldsOf('clients').filter(({ updatable }) => updatable);

/** One application: what it may do, and its secret. */
export default function ApplicationScreen({ params: { id = '' } }: ScreenProps) {
  const { can } = useAccess();
  const [, navigate] = useLocation();
  const { data, failure, reload } = useApi('/clients/{id}', { params: { id } });
  const client = data?.data as Client | undefined;
  const parent = { href: '/applications', text: t('nav_applications') };
  if (!client || client.id !== id)
    return (
      <Screen title={t('application_title')} parent={parent}>
        {failure ? <Failure failure={failure} retry={reload} /> : <div class="screen-loading" aria-busy="true" />}
      </Screen>
    );
  const name = client.name ?? id;
  const isConfidential = client.type === 'confidential';
  return (
    <Screen
      title={name}
      parent={parent}
      aside={<Badge>{t(isConfidential ? 'applications_confidential' : 'applications_public')}</Badge>}
      lead={<Copyable value={id} label={t('applications_client_id')} />}
      {...(can('delete', 'clients')
        ? {
            actions: (
              <Button
                kind="danger"
                icon="trash"
                onPress={() =>
                  ask({
                    title: t('application_delete_title', { name }),
                    text: t('application_delete_text'),
                    action: t('application_delete'),
                    act: async () => {
                      await remove('/clients/{id}', undefined, { params: { id } });
                      void changed('clients');
                      toast(t('application_deleted', { name }));
                      navigate('/applications', { replace: true });
                    },
                  })
                }
              >
                {t('application_delete')}
              </Button>
            ),
          }
        : {})}
    >
      <div class="split">
        <ClientForm client={client} reload={reload} mayEdit={can('update', 'clients')} />
        <div>
          <Card title={t('application_connect')}>
            <Facts>
              <Fact name={t('application_issuer')}>
                <Copyable value={`${location.origin}${page.base}`} />
              </Fact>
              <Fact name={t('applications_client_id')}>
                <Copyable value={id} />
              </Fact>
              <Fact name={fieldText('created_at')}>
                <Time time={client.created_at} />
              </Fact>
            </Facts>
          </Card>
          {isConfidential && can('update', 'clients') && <Secret id={id} name={name} />}
        </div>
      </div>
    </Screen>
  );
}

function ClientForm({ client, reload, mayEdit }: { client: Client; reload: () => void; mayEdit: boolean }) {
  const [draft, setDraft, clearDraft] = useDraft<Values>(`application-${client.id}`, {});
  const stored = client as Values;
  const shown = editable.filter(({ name }) => name in client);
  const changes = Object.fromEntries(
    Object.entries(draft).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(stored[name])),
  );
  const hasChanges = Object.keys(changes).length > 0;
  const save = async () => {
    const before = Object.fromEntries(Object.keys(changes).map((name) => [name, stored[name]]));
    const send = (values: Values) =>
      patch('/clients/{id}', values as Schemas['ClientChangesById'], { params: { id: client.id ?? '' } }).then(reload);
    await send(changes);
    clearDraft();
    void changed('clients');
    toast(t('application_saved', { name: client.name ?? '' }), { undo: () => send(before) });
  };
  return (
    <Card title={t('application_settings')}>
      <Form
        submit={t('save')}
        fields={shown.map(({ name }) => name)}
        onSubmit={save}
        disabled={!hasChanges}
        {...(hasChanges ? { onCancel: clearDraft } : {})}
      >
        {(faultOf) =>
          shown.map((field) => (
            <ClientField
              key={field.name}
              field={field}
              value={field.name in draft ? draft[field.name] : stored[field.name]}
              disabled={!mayEdit}
              fault={faultOf(field.name)}
              onChange={(value) => setDraft({ ...draft, [field.name]: value })}
            />
          ))
        }
      </Form>
    </Card>
  );
}

interface FieldProps {
  field: Field;
  value: unknown;
  disabled: boolean;
  fault: string | undefined;
  onChange: (value: unknown) => void;
}

function ClientField({ field: { name, type, choices }, value, disabled, fault, onChange }: FieldProps) {
  const label = fieldText(name);
  const hint = textIfAny(`application_${name}_hint`);
  const labeled = { label, fault, disabled, ...(hint === undefined ? {} : { hint }) };
  if (type === 'boolean')
    return (
      <CheckField
        label={label}
        checked={value === true}
        disabled={disabled}
        onChange={onChange}
        {...(hint === undefined ? {} : { hint })}
      />
    );
  if (type === 'choice')
    return (
      <SelectField
        {...labeled}
        value={String(value)}
        options={(choices ?? []).map((one) => ({ value: one, text: one }))}
        onChange={onChange}
      />
    );
  if (lines.has(name))
    return (
      <TextField
        {...labeled}
        lines={3}
        value={Array.isArray(value) ? value.join('\n') : ''}
        onInput={(input) => onChange(input === '' && name === 'scopes' ? null : input.split(/\s+/).filter(Boolean))}
      />
    );
  return (
    <TextField
      {...labeled}
      value={value === null || value === undefined ? '' : String(value)}
      onInput={(input) => onChange(input === '' ? null : input)}
    />
  );
}

function Secret({ id, name }: { id: string; name: string }) {
  const [secret, setSecret] = useState<string>();
  return (
    <Card title={t('applications_secret')} lead={t('application_secret_lead')}>
      <Button
        icon="key"
        onPress={() =>
          ask({
            title: t('application_secret_new_title', { name }),
            text: t('application_secret_new_text'),
            action: t('application_secret_new'),
            isDangerous: false,
            act: async () => {
              const { data } = await post('/clients/{id}/secret', undefined, { params: { id } });
              setSecret(data.secret);
            },
          })
        }
      >
        {t('application_secret_new')}
      </Button>
      {secret && (
        <Dialog
          title={t('applications_secret')}
          lead={t('applications_secret_once')}
          onClose={() => setSecret(undefined)}
        >
          <Copyable value={secret} label={t('applications_secret')} />
        </Dialog>
      )}
    </Card>
  );
}
