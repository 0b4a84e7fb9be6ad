import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { patch, post, remove } from '../../api/client.js';
import type { Client, Schemas } from '../../api/types.js';
import { changed, useApi } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useEdits, type Values } from '../../app/edits.js';
import type { ScreenProps } from '../../app/screens.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { ask, Dialog } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { Form } from '../../components/form.js';
import { Card, Copyable, Fact, Facts, Screen } from '../../components/layout.js';
import { Time } from '../../components/time.js';
import { toast } from '../../components/toast.js';
import { ValueField } from '../../components/value-field.js';
import { fieldsOf } from '../../model/fields.js';
import { page } from '../../page-data.js';
import { fieldText, t, textIfAny } from '../../texts.js';

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
      <Failure failure={failure} retry={reload} />
      <div class="split">
        <ClientForm client={client} reload={async () => (await reload())?.data} mayEdit={can('update', 'clients')} />
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

interface FormProps {
  client: Client;
  /** Reads the application again. */
  reload: () => Promise<Client | undefined>;
  mayEdit: boolean;
}

function ClientForm({ client, reload, mayEdit }: FormProps) {
  const shown = editable.filter(({ name }) => name in client);
  const send = (values: Values) =>
    patch('/clients/{id}', values as Schemas['ClientChangesById'], { params: { id: client.id ?? '' } }).then(() => {
      void changed('clients');
    });
  const edits = useEdits(`application-${client.id}`, client as Values, {
    reread: reload as () => Promise<Values | undefined>,
    send,
    saved: (values) => t('application_saved', { name: String(values.name ?? client.name ?? '') }),
  });
  return (
    <Card title={t('application_settings')}>
      <Form
        submit={t('save')}
        fields={shown.map(({ name }) => name)}
        onSubmit={edits.save}
        disabled={!edits.hasChanges}
        {...(edits.hasChanges ? { onCancel: edits.discard } : {})}
      >
        {(faultOf) =>
          shown.map((field) => (
            <ValueField
              key={field.name}
              field={field}
              label={fieldText(field.name)}
              hint={hintOf(field)}
              value={edits.valueOf(field.name)}
              // Without a list, a client may ask for all scopes.
              onChange={(value) =>
                edits.set(
                  field.name,
                  field.name === 'scopes' && Array.isArray(value) && value.length === 0 ? null : value,
                )
              }
              disabled={!mayEdit}
              fault={faultOf(field.name)}
              choiceText={(choice) => choice}
              lines={field.type === 'list' ? 3 : undefined}
            />
          ))
        }
      </Form>
    </Card>
  );
}

const hintOf = ({ name }: { name: string }) => textIfAny(`application_${name}_hint`);

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
