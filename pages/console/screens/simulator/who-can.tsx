import { Link } from 'wouter-preact';
import { type ChildRole, maxChildRoles as maxItems, useChildRoles, withDescendants } from '../../api/role-tree.js';
import type { Permission, Policy } from '../../api/types.js';
import { useApi } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { Failure } from '../../components/failure.js';
import { SelectField } from '../../components/field.js';
import { Card, Empty } from '../../components/layout.js';
import { useExplanation } from '../../components/rules/explanation.js';
import { usersHref } from '../../components/rules/members.js';
import { useNames } from '../../components/rules/names.js';
import { type Action, actionsOn, fieldNames, type Rule, ruleFields, ruleOf } from '../../components/rules/rule.js';
import { useRuleCollections } from '../../components/rules/rule-collections.js';
import { collectionText, filterText } from '../../components/rules/sentence.js';
import { simulatorHref } from '../../components/rules/simulation.js';
import { fieldText, t } from '../../texts.js';
import type { StateProps } from './index.js';

interface Holder {
  id: string;
  name: string;
}

type PolicyWithRoles = Omit<Policy, 'roles'> & { id: string; name: string; roles?: Holder[] | null };
type RuleWithPolicy = Omit<Permission, 'policy'> & { policy: PolicyWithRoles };

const policyFields = ['id', 'name', 'ip_access', 'admin_access', 'app_access', 'roles.id', 'roles.name'];

/** Who may read or write a field: the policies that allow it, and the roles that have them. It takes four requests. */
export function WhoCan({ state, change }: StateProps) {
  const { collection = 'users', action = 'read', field = 'email' } = state;
  const { can } = useAccess();
  const collections = useRuleCollections();
  const isAction = (name: string): name is Action => (actionsOn(collection) as readonly string[]).includes(name);
  const asked = isAction(action) ? action : 'read';
  const fields = fieldNames(collection, asked);
  const shownField = fields.includes(field) ? field : (fields[0] ?? '');
  const rules = useApi('/permissions', {
    query: {
      filter: { collection: { _eq: collection }, action: { _eq: asked } },
      fields: [...ruleFields.split(','), ...policyFields.map((name) => `policy.${name}`)].join(','),
      limit: maxItems,
    },
  });
  const wide = useApi('/policies', {
    query: {
      filter: { _or: [{ admin_access: { _eq: true } }, { app_access: { _eq: true } }] },
      fields: policyFields.join(','),
      limit: maxItems,
    },
  });
  const { children: tree = [], ...children } = useChildRoles();
  const isReserved = useReserved(collection, asked, shownField);
  const settings = useApi(can('read', 'settings') ? '/settings' : undefined, { query: { fields: 'public_policy' } });
  const failure = rules.failure ?? wide.failure ?? children.failure;
  const found = ((rules.data?.data ?? []) as unknown as RuleWithPolicy[]).filter(
    ({ fields: allowed }) => fields.length === 0 || allowed?.includes('*') || allowed?.includes(shownField),
  );
  const nameOfId = useNames(
    found.map((rule) => ruleOf(rule as unknown as Permission)),
    can,
  );
  const policies = (wide.data?.data ?? []) as unknown as PolicyWithRoles[];
  const publicPolicy = settings.data?.data.public_policy;
  const isOwnAccount = asked === 'read' && (collection === 'users' || collection === 'roles');
  const entries = [
    ...policies.filter(({ admin_access }) => admin_access).map((policy) => ({ policy, scope: t('who_everything') })),
    ...found
      .filter(({ policy }) => !policy.admin_access && !isReserved)
      .map((rule) => ({ policy: rule.policy, scope: scopeOf(ruleOf(rule as unknown as Permission), nameOfId) })),
    ...policies
      .filter(({ admin_access, app_access }) => isOwnAccount && app_access && !admin_access)
      .map((policy) => ({ policy, scope: t('who_own_account') })),
  ];
  const isComplete = [rules.data?.data, wide.data?.data, tree].every((all) => (all?.length ?? 0) < maxItems);
  const isLoaded = rules.data && wide.data && children.isLoaded && isReserved !== undefined;
  return (
    <div class="simulator">
      <Card>
        <SelectField
          label={t('rule_action')}
          value={asked}
          options={actionsOn(collection).map((value) => ({ value, text: t(`rule_action_${value}`) }))}
          onChange={(next) => change({ action: next, field: undefined })}
        />
        <SelectField
          label={t('simulator_collection')}
          value={collection}
          options={(collections.length > 0 ? collections : [collection]).map((value) => ({
            value,
            text: collectionText(value),
          }))}
          onChange={(next) => change({ collection: next, action: undefined, field: undefined })}
        />
        {fields.length > 0 && (
          <SelectField
            label={fieldText('fields')}
            value={shownField}
            options={fields.map((value) => ({ value, text: fieldText(value) }))}
            onChange={(next) => change({ field: next })}
          />
        )}
        <p class="hint">{t('who_hint')}</p>
      </Card>
      <Card>
        <Failure failure={failure} />
        {!isLoaded && !failure && <div class="verdict is-loading" aria-busy="true" />}
        {isReserved && <p class="notice">{t('missing_reserved')}</p>}
        {isLoaded && entries.length === 0 && <Empty icon="lock" title={t('who_nobody')} />}
        <ul class="lines">
          {(isLoaded ? entries : []).map(({ policy, scope }, index) => (
            <li class="line who" key={`${policy.id}${index}`}>
              <div class="line-text">
                <strong>
                  {t('who_policy')} <Link href={`/policies/${policy.id}`}>{policy.name}</Link>
                </strong>
                <span>{scope}</span>
                <span class="hint">
                  {policy.id === publicPolicy && <>{t('who_public')} · </>}
                  {policy.ip_access && policy.ip_access.length > 0 && (
                    <>{t('policy_says_ip', { addresses: policy.ip_access.join(', ') })} </>
                  )}
                  <Holders policy={policy} tree={tree} collection={collection} />
                </span>
              </div>
            </li>
          ))}
        </ul>
        {!isComplete && <p class="hint">{t('who_incomplete', { count: maxItems })}</p>}
      </Card>
    </div>
  );
}

/** A role that does not exist, with a rule that allows everything. */
const [role, policy] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];

/** Whether only administrators can do something, whatever the rules say. Undefined: not known yet. */
function useReserved(collection: string, action: Action, field: string): boolean | undefined {
  const isPossible = action !== 'read';
  const { explanation, failure, isLoading } = useExplanation(
    isPossible
      ? {
          ...{ role, collection, action },
          ...(field === '' ? {} : { field }),
          changes: {
            policies: [{ id: policy, name: policy }],
            roles: [{ id: role, name: role, policies: [policy] }],
            permissions: [{ policy, collection, action, fields: ['*'] }],
          },
        }
      : undefined,
  );
  if (!isPossible || failure) return false;
  return isLoading ? undefined : explanation?.missing.some(({ code }) => code === 'reserved');
}

function scopeOf({ collection, permissions }: Rule, nameOfId: (id: string) => string): string {
  const conditions = filterText(collection, permissions, nameOfId);
  return conditions === '' ? t('who_all', { collection: collectionText(collection) }) : t('rule_where', { conditions });
}

/** The roles that have a policy, also through their parents, and the users to whom it is assigned directly. */
function Holders({
  policy,
  tree,
  collection,
}: {
  policy: PolicyWithRoles;
  tree: readonly ChildRole[];
  collection: string;
}) {
  const direct = policy.roles ?? [];
  const names = new Map([...tree, ...direct].map(({ id, name = '' }) => [id, name]));
  const held = withDescendants(
    direct.map(({ id }) => id),
    tree,
  );
  const roles = held.map((id) => [id, names.get(id) ?? id] as const);
  return (
    <>
      {roles.length === 0 && t('who_no_roles')}
      {roles.map(([id, name], index) => (
        <span key={id}>
          {index > 0 && ', '}
          <Link href={simulatorHref({ kind: 'role', id, name }, collection)}>{name}</Link>
        </span>
      ))}
      {' · '}
      <Link href={usersHref({ policies: { _some: { id: { _in: [policy.id] } } } })}>{t('who_users')}</Link>
    </>
  );
}
