import { useState } from 'preact/hooks';
import { post } from '../../api/client.js';
import type { Schemas } from '../../api/types.js';
import { changed } from '../../api/use-api.js';
import { useDraft } from '../../app/draft.js';
import { Button } from '../../components/button.js';
import { Dialog } from '../../components/dialog.js';
import { CheckField, SelectField, TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { Copyable, Fact, Facts } from '../../components/layout.js';
import { t } from '../../texts.js';
import { type Framework, frameworks, Snippet } from './snippets.js';

interface Props {
  close: () => void;
  open: (id: string) => void;
}

type Created = { id: string; secret: string | undefined; redirectUri: string };

/** Registers an application, and ends with what its developer needs. */
export function NewApplication({ close, open }: Props) {
  const [draft, enter, discard] = useDraft('application-new', {
    framework: 'express' as Framework,
    name: '',
    redirectUri: '',
    isFirstParty: true,
  });
  const { framework, name, redirectUri, isFirstParty } = draft;
  const [created, setCreated] = useState<Created>();
  const create = async () => {
    const { type } = frameworks[framework];
    const { data } = await post('/clients', {
      name,
      type,
      first_party: isFirstParty,
      redirect_uris: [redirectUri],
    } as Schemas['NewClient']);
    const client = data as Schemas['CreatedClient'];
    void changed('clients');
    setCreated({ id: client.id ?? '', secret: client.secret, redirectUri });
  };
  if (created)
    return (
      <Dialog
        title={t('applications_created_title', { name })}
        onClose={() => discard(() => open(created.id))}
        size="large"
      >
        <Facts>
          <Fact name={t('applications_client_id')}>
            <Copyable value={created.id} label={t('applications_client_id')} />
          </Fact>
          {created.secret && (
            <Fact name={t('applications_secret')}>
              <Copyable value={created.secret} label={t('applications_secret')} />
              <p class="hint">{t('applications_secret_once')}</p>
            </Fact>
          )}
        </Facts>
        <Snippet framework={framework} clientId={created.id} redirectUri={created.redirectUri} />
        <div class="buttons">
          <Button kind="primary" onPress={() => discard(() => open(created.id))}>
            {t('applications_done')}
          </Button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title={t('applications_new')} lead={t('applications_new_lead')} onClose={close}>
      <Form
        submit={t('applications_create')}
        fields={['name', 'redirect_uris']}
        onSubmit={create}
        onCancel={() => discard(close)}
        disabled={name.trim() === '' || redirectUri.trim() === ''}
      >
        {(faultOf) => (
          <>
            <TextField
              label={t('applications_name')}
              value={name}
              onInput={(typed) => enter({ name: typed })}
              fault={faultOf('name')}
              maxLength={100}
            />
            <SelectField
              label={t('applications_framework')}
              value={framework}
              options={(Object.keys(frameworks) as Framework[]).map((one) => ({
                value: one,
                text: frameworks[one].name ?? t('applications_other'),
              }))}
              onChange={(chosen) => enter({ framework: chosen })}
              hint={t(
                frameworks[framework].type === 'public' ? 'applications_public_hint' : 'applications_confidential_hint',
              )}
            />
            <TextField
              label={t('applications_redirect_uri')}
              hint={t('applications_redirect_uri_hint')}
              type="url"
              placeholder={frameworks[framework].redirectUri}
              value={redirectUri}
              onInput={(typed) => enter({ redirectUri: typed })}
              fault={faultOf('redirect_uris')}
            />
            <CheckField
              label={t('applications_own')}
              hint={t('applications_own_hint')}
              checked={isFirstParty}
              onChange={(checked) => enter({ isFirstParty: checked })}
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}
