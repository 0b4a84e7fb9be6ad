import { patch, post, remove } from '../../api/client.js';
import { changed } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { useUrlState } from '../../app/url-state.js';
import { Button } from '../../components/button.js';
import { Card, Empty } from '../../components/layout.js';
import { useNames } from '../../components/rules/names.js';
import { bodyOf, type Rule, ruleOf, sortRules } from '../../components/rules/rule.js';
import { collectionText, RuleSentence } from '../../components/rules/sentence.js';
import { toast } from '../../components/toast.js';
import { t } from '../../texts.js';
import type { PolicyItem } from './index.js';
import { RuleEditor } from './rule-editor.js';

interface Props {
  policy: PolicyItem;
  reload: () => void;
  collections: readonly string[];
}

/** The rules of a policy. The URL names the one that is edited. */
export function Rules({ policy, reload, collections }: Props) {
  const { isAdmin, can, seesAll } = useAccess();
  const [{ rule: opened }, change] = useUrlState<'rule'>();
  const rules = sortRules((policy.permissions ?? []).map(ruleOf));
  const isComplete = seesAll('permissions', policy.permissions);
  const nameOfId = useNames(rules, can);
  const done = () => {
    reload();
    void changed('permissions', 'policies', 'roles');
  };
  const create = async (rule: Rule): Promise<number> => {
    const { data } = await post('/permissions', { ...bodyOf(rule), policy: policy.id });
    done();
    return (data as { id: number }).id;
  };
  const update = (id: number, rule: Rule) =>
    patch('/permissions/{id}', bodyOf(rule), { params: { id: String(id) } }).then(done);
  const destroy = (id: number) => remove('/permissions/{id}', undefined, { params: { id: String(id) } }).then(done);

  const save = async (rule: Rule, before: Rule | undefined) => {
    if (before?.id !== undefined) {
      const { id } = before;
      await update(id, rule);
      toast(t('rule_saved'), { undo: () => update(id, before) });
    } else {
      const id = await create(rule);
      toast(t('rule_created'), { undo: () => destroy(id) });
    }
    change({ rule: undefined });
  };
  const discard = async (rule: Rule) => {
    if (rule.id === undefined) return;
    await destroy(rule.id);
    toast(t('rule_deleted'), { undo: () => create(rule) });
  };

  const add = (
    <Button kind="primary" icon="plus" onPress={() => change({ rule: 'new' })}>
      {t('rule_add')}
    </Button>
  );
  const edited = rules.find(({ id }) => String(id) === opened);
  return (
    <Card title={t('policy_rules')} lead={t('policy_rules_lead')} {...(isAdmin ? { actions: add } : {})}>
      {rules.length === 0 ? (
        <Empty
          icon={isComplete ? 'policy' : 'lock'}
          title={t(isComplete ? 'policy_no_rules_title' : 'policy_rules_hidden_title')}
        >
          {t(isComplete ? 'policy_no_rules' : 'policy_rules_hidden')}
        </Empty>
      ) : (
        <div class="rules">
          {rules.map((rule) => (
            <RuleSentence key={rule.id} rule={rule} nameOfId={nameOfId}>
              {isAdmin && (
                <span class="rule-actions">
                  <Button
                    kind="quiet"
                    icon="edit"
                    label={t('rule_edit_named', { rule: titleOf(rule) })}
                    onPress={() => change({ rule: String(rule.id) })}
                  />
                  <Button
                    kind="quiet"
                    icon="trash"
                    label={t('rule_delete_named', { rule: titleOf(rule) })}
                    onPress={() => discard(rule)}
                  />
                </span>
              )}
            </RuleSentence>
          ))}
        </div>
      )}
      {isAdmin && (opened === 'new' || edited) && (
        <RuleEditor
          key={opened}
          policy={policy}
          rule={edited}
          collections={collections}
          save={(rule) => save(rule, edited)}
          close={() => change({ rule: undefined })}
        />
      )}
    </Card>
  );
}

const titleOf = ({ action, collection }: Rule): string =>
  t(`rule_can_${action}`, { collection: collectionText(collection) });
