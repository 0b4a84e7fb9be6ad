import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { post, remove } from '../../api/client.js';
import { changed } from '../../api/use-api.js';
import { useDraft } from '../../app/draft.js';
import { useUrlState } from '../../app/url-state.js';
import { TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { Card, Screen } from '../../components/layout.js';
import { ManyPicker, type Picked, useLater } from '../../components/picker.js';
import { actions, bodyOf } from '../../components/rules/rule.js';
import { useRuleCollections } from '../../components/rules/rule-collections.js';
import { OptionSentences, RuleSentence } from '../../components/rules/sentence.js';
import { Verdicts } from '../../components/rules/verdict.js';
import { toast } from '../../components/toast.js';
import { fieldText, t } from '../../texts.js';
import { templates } from './templates.js';

/** A random UUID. `crypto.randomUUID` does not exist on pages that are not served over HTTPS. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const choices = ['empty', ...templates.map(({ name }) => name)] as const;
type Choice = (typeof choices)[number];

/** What has been entered. Without a name, the role has that of the template. */
interface Draft {
  typed?: string;
  description: string;
  picked: readonly Picked[];
}

const pauseMs = 400;
/** Of a role or a policy, in characters. */
const maxName = 100;

/** The name of the policy that a template creates, so that it can be told from its role. @param role the name of the role */
const policyName = (role: string): string => [...t('new_role_policy', { role })].slice(0, maxName).join('');

/** Creates a role, with a policy from a template or with policies that exist. What it will allow is shown before. */
export default function NewRole() {
  const [{ template = 'empty' }, change] = useUrlState<'template'>();
  const choice: Choice = choices.find((one) => one === template) ?? 'empty';
  const chosen = templates.find(({ name }) => name === choice);
  const collections = useRuleCollections();
  const [, navigate] = useLocation();
  const [{ typed, description, picked }, enter, discard] = useDraft<Draft>('role-new', { description: '', picked: [] });
  // The changes that the simulator rehearses are those that are made. It does not depend on the texts, so typing asks for nothing.
  const [ids] = useState(() => ({ role: newId(), policy: newId() }));
  const name = typed ?? (chosen ? t(`template_${choice}`) : '');
  const rules = chosen?.rules(collections) ?? [];
  const policy = { id: ids.policy, name: policyName(name.trim() || t(`template_${choice}`)), ...chosen?.options };
  const permissions = rules.map((rule) => ({ ...bodyOf(rule), policy: ids.policy }));
  const policies = [...picked.map(({ id }) => id), ...(chosen ? [ids.policy] : [])];
  const role = { id: ids.role, name: name.trim(), description: description.trim() || null, policies };
  const rehearsed = useLater(
    JSON.stringify({
      ...(chosen ? { policies: [{ ...policy, name: policyName(t(`template_${choice}`)) }], permissions } : {}),
      roles: [{ id: ids.role, name: t('role_title'), policies }],
    }),
    pauseMs,
  );

  const save = async () => {
    if (chosen) await post('/policies', policy);
    // Neither needs the other.
    const [allowed, created] = await Promise.allSettled([
      permissions.length > 0 ? post('/permissions', permissions) : undefined,
      post('/roles', role),
    ]);
    const failed = [allowed, created].find((result) => result.status === 'rejected');
    if (failed) {
      // Nothing half-finished stays behind. Deleting the policy deletes its permissions.
      if (created.status === 'fulfilled') await remove('/roles/{id}', undefined, { params: { id: ids.role } });
      if (chosen) await remove('/policies/{id}', undefined, { params: { id: ids.policy } });
      throw failed.reason;
    }
    toast(t('new_role_created', { name: role.name }), {
      link: { href: `/roles/${ids.role}/members?add=members`, text: t('role_add_members') },
    });
    discard();
    navigate(`/roles/${ids.role}`, { replace: true });
    // What this screen asked for is no longer needed by then.
    setTimeout(() => changed('roles', 'policies', 'permissions'));
  };
  return (
    <Screen title={t('roles_new')} lead={t('new_role_lead')} parent={{ href: '/roles', text: t('nav_roles') }}>
      <div class="new-role">
        <Card>
          <fieldset class="templates">
            <legend class="label">{t('new_role_start')}</legend>
            {choices.map((one) => (
              <label key={one} class="template">
                <input
                  type="radio"
                  name="template"
                  checked={one === choice}
                  onChange={() => change({ template: one }, { replace: true })}
                />
                <span>
                  <strong>{t(`template_${one}`)}</strong>
                  <span class="hint">{t(`template_${one}_hint`)}</span>
                </span>
              </label>
            ))}
          </fieldset>
          <Form
            submit={t('new_role_create')}
            fields={['name', 'description']}
            onSubmit={save}
            onCancel={() => discard(() => navigate('/roles'))}
            disabled={name.trim() === '' || (chosen !== undefined && rules.length === 0)}
          >
            {(faultOf) => (
              <>
                <TextField
                  label={t('roles_name')}
                  value={name}
                  onInput={(text) => enter({ typed: text })}
                  maxLength={maxName}
                  fault={faultOf('name')}
                />
                <TextField
                  label={fieldText('description')}
                  value={description}
                  onInput={(text) => enter({ description: text })}
                  lines={2}
                  fault={faultOf('description')}
                />
                <ManyPicker
                  kind="policies"
                  label={t(chosen ? 'new_role_more_policies' : 'new_role_policies')}
                  value={picked}
                  onChange={(chosenPolicies) => enter({ picked: chosenPolicies })}
                />
              </>
            )}
          </Form>
        </Card>
        <Card title={t('new_role_preview')} lead={t('new_role_preview_lead')}>
          {chosen ? (
            <div class="rules">
              <OptionSentences policy={chosen.options} />
              {rules.map((rule) => (
                <RuleSentence key={`${rule.collection}${rule.action}`} rule={rule} nameOfId={(id) => id} />
              ))}
            </div>
          ) : (
            picked.length === 0 && <p class="muted">{t('new_role_nothing')}</p>
          )}
          {(chosen || picked.length > 0) && (
            <>
              <h3>{t('new_role_users')}</h3>
              <Verdicts
                subject={{ kind: 'role', id: ids.role, name: role.name }}
                asked={{ collection: 'users' }}
                actions={actions}
                changes={JSON.parse(rehearsed)}
                compares={false}
                unsaved={{ [ids.role]: role.name || t('role_title'), [ids.policy]: policy.name }}
              />
            </>
          )}
        </Card>
      </div>
    </Screen>
  );
}
