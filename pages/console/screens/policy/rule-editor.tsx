import { useState } from 'preact/hooks';
import { useAccess } from '../../app/access.js';
import { useDraft } from '../../app/draft.js';
import { Dialog } from '../../components/dialog.js';
import { SelectField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { useLater } from '../../components/picker.js';
import { ConditionEditor } from '../../components/rules/condition-editor.js';
import type { Subject } from '../../components/rules/explanation.js';
import { FieldsEditor } from '../../components/rules/fields-editor.js';
import { useNames } from '../../components/rules/names.js';
import { PresetsEditor } from '../../components/rules/presets-editor.js';
import { actionsOn, fieldNames, type Rule } from '../../components/rules/rule.js';
import { collectionText, RuleSentence } from '../../components/rules/sentence.js';
import { SubjectPicker } from '../../components/rules/subject-picker.js';
import { Verdict } from '../../components/rules/verdict.js';
import { t } from '../../texts.js';
import type { PolicyItem } from './index.js';

interface Props {
  policy: PolicyItem;
  /** Not set for a new rule. */
  rule: Rule | undefined;
  collections: readonly string[];
  save: (rule: Rule) => Promise<void>;
  close: () => void;
}

const newRule: Rule = {
  collection: 'users',
  action: 'read',
  fields: ['id', 'first_name', 'last_name', 'email'],
  permissions: null,
  validation: null,
  presets: null,
};

/** Milliseconds without a change before the simulator asks again. */
const pauseMs = 500;

/** Edits a rule. Its sentence, and what it would change, are shown while it is edited. */
export function RuleEditor({ policy, rule, collections, save, close }: Props) {
  const { can } = useAccess();
  const stored = rule ?? newRule;
  const [draft, enter, discard] = useDraft<Rule>(`rule-${rule?.id ?? `new-${policy.id}`}`, stored);
  const nameOfId = useNames([draft], can);
  const { collection, action } = draft;
  const isChanged = rule === undefined || JSON.stringify(draft) !== JSON.stringify(rule);

  /** Fields that do not exist for another action or collection are left out. */
  const move = (wanted: Pick<Rule, 'collection' | 'action'>) => {
    const to = actionsOn(wanted.collection).includes(wanted.action) ? wanted : { ...wanted, action: 'read' as const };
    const known = fieldNames(to.collection, to.action);
    const isSame = to.collection === collection;
    const kept = (draft.fields ?? []).filter((name) => name === '*' || (isSame && known.includes(name)));
    enter({
      ...to,
      fields: to.action === 'delete' ? null : known.length === 0 ? ['*'] : kept,
      permissions: isSame ? draft.permissions : null,
      validation: isSame && to.action !== 'delete' ? draft.validation : null,
      presets: isSame && to.action === 'create' ? draft.presets : null,
    });
  };
  return (
    <Dialog title={t(rule ? 'rule_edit' : 'rule_add')} onClose={close} size="large">
      <div class="rule-preview" aria-live="polite">
        <RuleSentence rule={draft} nameOfId={nameOfId} />
      </div>
      <Form
        submit={t(rule ? 'save' : 'rule_add')}
        fields={['fields']}
        onSubmit={async () => {
          await save(draft);
          discard();
        }}
        onCancel={() => discard(close)}
        disabled={!isChanged || (action !== 'delete' && (draft.fields ?? []).length === 0)}
      >
        {(faultOf) => (
          <>
            <div class="form-grid">
              <SelectField
                label={t('rule_action')}
                value={action}
                options={actionsOn(collection).map((value) => ({ value, text: t(`rule_action_${value}`) }))}
                onChange={(next) => move({ collection, action: next })}
              />
              <SelectField
                label={t('rule_collection')}
                value={collection}
                options={(collections.includes(collection) ? collections : [collection, ...collections]).map(
                  (value) => ({ value, text: collectionText(value) }),
                )}
                onChange={(next) => move({ collection: next, action })}
              />
            </div>
            {action !== 'delete' && (
              <FieldsEditor
                known={fieldNames(collection, action)}
                value={draft.fields}
                onChange={(fields) => enter({ fields: [...fields] })}
                fault={faultOf('fields')}
              />
            )}
            {collection !== 'settings' && (
              <ConditionEditor
                label={t('rule_conditions')}
                hint={t(action === 'create' ? 'rule_conditions_create_hint' : 'rule_conditions_hint')}
                collection={collection}
                filter={draft.permissions}
                onChange={(permissions) => enter({ permissions })}
                nameOfId={nameOfId}
              />
            )}
            {collection !== 'settings' && (action === 'create' || action === 'update') && (
              <ConditionEditor
                label={t('rule_validation')}
                hint={t('rule_validation_hint')}
                collection={collection}
                filter={draft.validation}
                onChange={(validation) => enter({ validation })}
                nameOfId={nameOfId}
              />
            )}
            {action === 'create' && (
              <PresetsEditor
                collection={collection}
                value={draft.presets}
                onChange={(presets) => enter({ presets })}
                nameOfId={nameOfId}
              />
            )}
            <Try policy={policy} rule={draft} isChanged={isChanged} />
          </>
        )}
      </Form>
    </Dialog>
  );
}

/** What someone can do now, and after the change. */
function Try({ policy, rule, isChanged }: { policy: PolicyItem; rule: Rule; isChanged: boolean }) {
  const [role] = policy.roles ?? [];
  const [subject, setSubject] = useState<Subject | undefined>(role && { kind: 'role', id: role.id, name: role.name });
  const later = useLater(rule, pauseMs);
  const { id, ...values } = later;
  const permission = { ...values, policy: policy.id, ...(id === undefined ? {} : { id }) };
  return (
    <section class="try" aria-label={t('role_simulation')}>
      <h3>{t('role_simulation')}</h3>
      <p class="hint">{t('rule_try_lead')}</p>
      <SubjectPicker value={subject} onChange={setSubject} />
      {subject && (
        <Verdict
          subject={subject}
          asked={{ collection: later.collection, action: later.action }}
          changes={isChanged ? { permissions: [permission] } : undefined}
        />
      )}
    </section>
  );
}
