import { useState } from 'preact/hooks';
import { patch } from '../../api/client.js';
import type { Schemas } from '../../api/types.js';
import { changed } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useDraft } from '../../app/draft.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { ask, Dialog } from '../../components/dialog.js';
import { TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { Icon, type IconName } from '../../components/icon.js';
import { Card } from '../../components/layout.js';
import { toast } from '../../components/toast.js';
import { t } from '../../texts.js';
import type { PolicyItem } from './index.js';

interface Props {
  policy: PolicyItem;
  reload: () => void;
}

const switches = [
  { field: 'app_access', name: 'app', icon: 'user' },
  { field: 'enforce_tfa', name: 'tfa', icon: 'shield' },
  { field: 'admin_access', name: 'admin', icon: 'bolt' },
] as const satisfies { field: keyof PolicyItem; name: string; icon: IconName }[];

/** What a policy allows and requires in addition to its rules. */
export function Options({ policy, reload }: Props) {
  const { isAdmin } = useAccess();
  const [isEditing, setIsEditing] = useState(false);
  const { id, name, ip_access } = policy;
  const addresses = ip_access ?? [];
  const send = async (changes: Schemas['PolicyChanges']) => {
    await patch('/policies/{id}', changes, { params: { id } });
    reload();
    void changed('policies', 'roles', 'permissions');
  };
  const setTo = async (field: (typeof switches)[number]['field'], next: boolean) => {
    await send({ [field]: next });
    toast(t('policy_saved', { name }), { undo: () => send({ [field]: !next }) });
  };
  return (
    <Card title={t('policy_options')} lead={t('policy_options_lead')}>
      <ul class="lines">
        {switches.map(({ field, name: option, icon }) => {
          const isOn = policy[field] === true;
          const label = t(`policy_${option}`);
          const isGrave = field === 'admin_access' && !isOn;
          return (
            <li class="line" key={field}>
              <Icon name={icon} />
              <div class="line-text">
                <strong>
                  {label} {isOn && <Badge tone={field === 'admin_access' ? 'warning' : 'good'}>{t('policy_on')}</Badge>}
                </strong>
                <span class="hint">{t(`policy_${option}_hint`)}</span>
              </div>
              {isAdmin && (
                <Button
                  onPress={() =>
                    isGrave
                      ? ask({
                          title: t('policy_admin_title', { name }),
                          text: t('policy_admin_text'),
                          action: t('policy_admin_on'),
                          act: () => setTo(field, true),
                        })
                      : setTo(field, !isOn)
                  }
                >
                  {t(isOn ? 'policy_turn_off' : 'policy_turn_on')}
                  <span class="visually-hidden"> {label}</span>
                </Button>
              )}
            </li>
          );
        })}
        <li class="line">
          <Icon name="lock" />
          <div class="line-text">
            <strong>
              {t('policy_ip')} {addresses.length > 0 && <Badge tone="good">{t('policy_on')}</Badge>}
            </strong>
            <span class="hint">
              {addresses.length > 0 ? t('policy_says_ip', { addresses: addresses.join(', ') }) : t('policy_ip_hint')}
            </span>
          </div>
          {isAdmin && (
            <Button onPress={() => setIsEditing(true)}>
              {t('edit')}
              <span class="visually-hidden"> {t('policy_ip')}</span>
            </Button>
          )}
        </li>
      </ul>
      {isEditing && <EditAddresses policy={policy} send={send} close={() => setIsEditing(false)} />}
    </Card>
  );
}

interface EditProps {
  policy: PolicyItem;
  send: (changes: Schemas['PolicyChanges']) => Promise<void>;
  close: () => void;
}

function EditAddresses({ policy: { id, name, ip_access = null }, send, close }: EditProps) {
  const [draft, enter, discard] = useDraft<{ text?: string }>(`policy-addresses-${id}`, {});
  const { text = (ip_access ?? []).join('\n') } = draft;
  const save = async () => {
    const lines = text
      .split(/[\s,]+/)
      .map((line) => line.trim())
      .filter(Boolean);
    await send({ ip_access: lines.length > 0 ? lines : null });
    toast(t('policy_saved', { name }), { undo: () => send({ ip_access }) });
    discard(close);
  };
  return (
    <Dialog title={t('policy_ip')} lead={t('policy_ip_hint')} onClose={close}>
      <Form submit={t('save')} fields={['ip_access']} onSubmit={save} onCancel={() => discard(close)}>
        {(faultOf) => (
          <TextField
            label={t('policy_addresses')}
            hint={t('policy_addresses_hint')}
            value={text}
            onInput={(typed) => enter({ text: typed })}
            lines={5}
            fault={faultOf('ip_access')}
          />
        )}
      </Form>
    </Dialog>
  );
}
