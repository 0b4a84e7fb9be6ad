import { Link } from 'wouter-preact';
import { useAccess } from '../../app/access.js';
import { Button } from '../../components/button.js';
import { Card, Empty, Fact, Facts } from '../../components/layout.js';
import { useNames } from '../../components/rules/names.js';
import { type Rule, ruleOf, sortRules } from '../../components/rules/rule.js';
import { useRuleCollections } from '../../components/rules/rule-collections.js';
import { OptionSentences, RuleSentence } from '../../components/rules/sentence.js';
import { Simulation } from '../../components/rules/simulation.js';
import { fieldText, t } from '../../texts.js';
import type { PolicyOfRole, RoleItem } from './index.js';

const rulesOf = ({ permissions }: PolicyOfRole): Rule[] => sortRules((permissions ?? []).map(ruleOf));

/** What the users with a role may do, and because of which policies. */
export function Rights({ role, edit }: { role: RoleItem; edit: () => void }) {
  const { isAdmin, can, seesAll } = useAccess();
  const { parent } = role;
  const own = role.policies ?? [];
  const inherited = parent?.policies ?? [];
  const isComplete = seesAll('policies', role.policies);
  const nameOfId = useNames([...own, ...inherited].flatMap(rulesOf), can);
  const collections = useRuleCollections();
  return (
    <div class="split">
      <div>
        {own.length === 0 && inherited.length === 0 && (
          <Card>
            <Empty
              icon="policy"
              title={t(isComplete ? 'role_no_policies_title' : 'role_policies_hidden_title')}
              action={
                isAdmin ? (
                  <Button kind="primary" onPress={edit}>
                    {t('role_add_policies')}
                  </Button>
                ) : undefined
              }
            >
              {t(isComplete ? 'role_no_policies' : 'role_policies_hidden')}
            </Empty>
          </Card>
        )}
        {own.map((policy) => (
          <PolicyCard key={policy.id} policy={policy} nameOfId={nameOfId} />
        ))}
        {inherited.map((policy) => (
          <PolicyCard key={policy.id} policy={policy} nameOfId={nameOfId} from={parent?.name} />
        ))}
      </div>
      <div>
        <Card title={t('role_place')}>
          <Facts>
            <Fact name={fieldText('parent')}>
              {parent ? (
                <>
                  <Link href={`/roles/${parent.id}`}>{parent.name}</Link>
                  <p class="hint">{t('role_parent_hint')}</p>
                </>
              ) : (
                <span class="muted">{t('none')}</span>
              )}
            </Fact>
            <Fact name={fieldText('children')}>
              {(role.children ?? []).length === 0 && <span class="muted">{t('none')}</span>}
              <ul class="plain-list">
                {(role.children ?? []).map(({ id, name }) => (
                  <li key={id}>
                    <Link href={`/roles/${id}`}>{name}</Link>
                  </li>
                ))}
              </ul>
            </Fact>
          </Facts>
        </Card>
        {isAdmin && (
          <Card title={t('role_simulation')} lead={t('role_simulation_lead')}>
            <Simulation start={{ kind: 'role', id: role.id, name: role.name }} isFixed collections={collections} />
          </Card>
        )}
      </div>
    </div>
  );
}

interface PolicyProps {
  policy: PolicyOfRole;
  nameOfId: (id: string) => string;
  /** The parent role that it is inherited from. */
  from?: string | undefined;
}

function PolicyCard({ policy, nameOfId, from }: PolicyProps) {
  const { seesAll } = useAccess();
  const rules = rulesOf(policy);
  const isComplete = seesAll('permissions', policy.permissions);
  return (
    <Card
      title={policy.name}
      lead={from === undefined ? undefined : t('role_inherited', { role: from })}
      actions={<Link href={`/policies/${policy.id}`}>{t('role_open_policy')}</Link>}
    >
      <div class="rules">
        <OptionSentences policy={policy} />
        {rules.map((rule) => (
          <RuleSentence key={rule.id} rule={rule} nameOfId={nameOfId} />
        ))}
        {rules.length === 0 && !policy.admin_access && !policy.app_access && (
          <p class="muted">{t(isComplete ? 'policy_no_rules_title' : 'policy_rules_hidden_title')}</p>
        )}
      </div>
    </Card>
  );
}
